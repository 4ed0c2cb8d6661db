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

/* Return whether the whole name matches a glob. If it does not match behind a star,
 * only the last star tries more characters: those before it matched as few as possible,
 * which leaves the most for the rest. exact: letters match in their case only. */
static bool
fits_glob(const char *glob, const char *name, bool exact)
{
    const char *star = NULL;     /* what follows the last star */
    const char *star_end = NULL; /* end of what the last star matches */

    while (*name != '\0') {
        if (*glob == '*') {
            star = ++glob;
            star_end = name;
        } else if (*glob != '\0' && matches_letter(*glob, *name, exact)) {
            glob++;
            name++;
        } else if (star != NULL) {
            glob = star;
            name = ++star_end;
        } else {
            return false;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}

/* Return whether the name begins with the filter. exact: letters match in their case
 * only; otherwise the filter has no capitals. */
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
