/* SPDX-License-Identifier: MIT */
/* main_image.c - prefers images that look like a program, and of those the one with
 * most hits. */
#include "profile/main_image.h"

#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

static bool
looks_like_program(const struct profile_image *image)
{
    return image->path[0] != '\0' && image->path[0] != '[' &&
           strstr(image->path, ".so") == NULL;
}

/* Add up the hits of each image, by the first source. */
static void
count_hits(const struct profile *profile, uint64_t *hits)
{
    for (size_t i = 0; i < profile->row_count && profile->source_count > 0; i++) {
        const struct profile_row *row = &profile->rows[i];

        add_clamped(&hits[row->image], row->hits[0]);
    }
}

bool
main_image_find(const struct profile *profile, size_t *found)
{
    uint64_t *const hits = calloc(profile->image_count, sizeof(*hits));

    if (hits == NULL) {
        return false;
    }
    count_hits(profile, hits);
    *found = 0;
    for (size_t i = 1; i < profile->image_count; i++) {
        const bool is_program = looks_like_program(&profile->images[i]);
        const bool best_is = looks_like_program(&profile->images[*found]);

        if ((is_program && !best_is) ||
            (is_program == best_is && hits[i] > hits[*found])) {
            *found = i;
        }
    }
    free(hits);
    return true;
}
