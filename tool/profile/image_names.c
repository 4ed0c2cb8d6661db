/* SPDX-License-Identifier: MIT */
/* image_names.c - images by path and by file name. */
#include "profile/image_names.h"

#include "base/path.h"

#include <stdlib.h>
#include <string.h>

static uint32_t
hash_text(const char *text)
{
    return hash_bytes(text, strlen(text));
}

/* Return the index of the first image with a path, or HASH_INDEX_NONE. */
static uint32_t
find_path(const struct image_names *names, const char *path)
{
    const uint32_t hash = hash_text(path);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&names->by_path, hash, &probe)) != HASH_INDEX_NONE &&
           strcmp(names->profile->images[at].path, path) != 0) {
    }
    return at;
}

/* Return the index of the first image with a file name, or HASH_INDEX_NONE. */
static uint32_t
find_name(const struct image_names *names, const char *name)
{
    const uint32_t hash = hash_text(name);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&names->by_name, hash, &probe)) != HASH_INDEX_NONE &&
           strcmp(path_file_name(names->profile->images[at].path), name) != 0) {
    }
    return at;
}

/* Add an image, and find out whether another path has the same last part. Returns false
 * if memory runs out. */
static bool
add_image(struct image_names *names, uint32_t image)
{
    const char *path = names->profile->images[image].path;
    const char *name = path_file_name(path);
    uint32_t first;

    if (find_path(names, path) != HASH_INDEX_NONE) {
        return true;
    }
    first = find_name(names, name);
    if (first != HASH_INDEX_NONE) {
        names->shared[first] = true;
    } else if (!hash_index_add(&names->by_name, hash_text(name), image)) {
        return false;
    }
    return hash_index_add(&names->by_path, hash_text(path), image);
}

bool
image_names_init(struct image_names *names, const struct profile *profile)
{
    *names = (struct image_names){.profile = profile};
    names->shared = calloc(profile->image_count + 1, sizeof(*names->shared));
    if (names->shared == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->image_count; i++) {
        if (!add_image(names, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

void
image_names_finish(struct image_names *names)
{
    hash_index_finish(&names->by_path);
    hash_index_finish(&names->by_name);
    free(names->shared);
}

bool
image_names_have(const struct image_names *names, const char *path)
{
    return find_path(names, path) != HASH_INDEX_NONE;
}

bool
image_names_share(const struct image_names *names, const char *path)
{
    const uint32_t first = find_name(names, path_file_name(path));

    return first != HASH_INDEX_NONE && names->shared[first];
}
