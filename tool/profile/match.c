/* SPDX-License-Identifier: MIT */
/* match.c - finds the names of a profile that a user's name or glob refers to. */
#include "profile/match.h"

#include "base/text.h"

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
