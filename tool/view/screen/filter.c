/* SPDX-License-Identifier: MIT */
/* filter.c - matches globs and parts of names; case is ignored only for ASCII
 * letters. */
#include "view/screen/filter.h"

#include <string.h>

static char
lower_case(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool
matches_letter(char wanted, char letter, bool exact)
{
    return wanted == '?' || wanted == letter ||
           (!exact && wanted == lower_case(letter));
}

static bool
has_capitals(const char *filter)
{
    for (; *filter != '\0'; filter++) {
        if (*filter >= 'A' && *filter <= 'Z') {
            return true;
        }
    }
    return false;
}

/* Does the name match the pattern? If matching fails after a star, only the last star
 * is retried with more characters: those before it matched as few as possible. */
static bool
fits_glob(const char *glob, const char *name, bool exact)
{
    const char *star = NULL;
    const char *taken = NULL;

    while (*name != '\0') {
        if (*glob == '*') {
            star = ++glob;
            taken = name;
        } else if (*glob != '\0' && matches_letter(*glob, *name, exact)) {
            glob++;
            name++;
        } else if (star != NULL) {
            glob = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}

/* Does the name begin with the filter? exact: also in upper and lower case. */
static bool
starts_here(const char *filter, const char *name, bool exact)
{
    while (*filter != '\0' && *name != '\0' &&
           (*filter == *name || (!exact && *filter == lower_case(*name)))) {
        filter++;
        name++;
    }
    return *filter == '\0';
}

bool
tui_filter_fits(const char *filter, const char *name)
{
    const bool exact = has_capitals(filter);

    if (strpbrk(filter, "*?") != NULL) {
        return fits_glob(filter, name, exact);
    }
    for (; *name != '\0'; name++) {
        if (starts_here(filter, name, exact)) {
            return true;
        }
    }
    return *filter == '\0';
}
