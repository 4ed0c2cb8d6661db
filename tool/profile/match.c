/* SPDX-License-Identifier: MIT */
/* match.c - finds the names of a profile that a user's name or glob refers to. */
#include "profile/match.h"

#include "base/text.h"
#include "profile/display.h"

#include <fnmatch.h>
#include <string.h>

/* Fewer digits do not identify a build. */
enum { BUILD_ID_DIGITS_MIN = 4 };

/* Whether given is the name or its escaped form; if it is not the name, scratch has the
 * escaped form. */
static bool
is_shown_as(const char *name, const char *given, struct buffer *scratch)
{
    const char *shown;

    if (strcmp(name, given) == 0) {
        return true;
    }
    scratch->size = 0;
    text_escape(scratch, name);
    shown = buffer_text(scratch);
    return shown != NULL && strcmp(shown, given) == 0;
}

bool
match_name(const char *glob, const char *name, struct buffer *scratch)
{
    return is_shown_as(name, glob, scratch) ||
           (!scratch->failed && fnmatch(glob, (const char *)scratch->data, 0) == 0);
}

bool
match_shown(const struct profile_function *function, const struct profile_image *image,
            match_text *matches, const char *text, struct buffer *scratch)
{
    /* The name of code without one is the same with each detail. */
    const int end = function->name[0] != '\0' ? DISPLAY_DETAILS : DISPLAY_SHORT + 1;
    bool found = false;

    for (int detail = DISPLAY_SHORT; !found && detail < end; detail++) {
        const char *shown;

        scratch->size = 0;
        display_function(function, image, (enum display_detail)detail, scratch);
        shown = buffer_text(scratch);
        found = shown != NULL && matches(text, shown);
    }
    return found;
}

/* Whether glob equals what a table shows, is that when cut, or matches it. */
static bool
matches_shown(const char *glob, const char *shown)
{
    return strcmp(shown, glob) == 0 || display_is_cut(glob, shown) ||
           fnmatch(glob, shown, 0) == 0;
}

bool
match_function(const char *glob, const struct profile_function *function,
               const struct profile_image *image, struct buffer *scratch)
{
    if (function->name[0] != '\0' &&
        (match_name(glob, function->name, scratch) ||
         (function->system_name != function->name &&
          match_name(glob, function->system_name, scratch)))) {
        return true;
    }
    if (function->name[0] == '\0' && image == NULL) {
        return false;
    }
    return match_shown(function, image, matches_shown, glob, scratch);
}

bool
match_image(const char *glob, const struct profile_image *image, struct buffer *scratch)
{
    const char *const slash = strrchr(image->path, '/');
    const size_t size = strlen(glob);

    return match_name(glob, image->path, scratch) ||
           (image->path[0] == '\0' && match_name(glob, "[unknown]", scratch)) ||
           (slash != NULL && slash[1] != '\0' &&
            match_name(glob, slash + 1, scratch)) ||
           (size >= BUILD_ID_DIGITS_MIN && strncmp(glob, image->build_id, size) == 0);
}

size_t
match_source(const struct profile *profile, const char *name)
{
    struct buffer scratch = {0};
    size_t i = 0;

    while (i < profile->source_count &&
           !is_shown_as(profile->sources[i].name, name, &scratch)) {
        i++;
    }
    buffer_finish(&scratch);
    return i;
}
