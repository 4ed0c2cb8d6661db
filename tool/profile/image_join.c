/* SPDX-License-Identifier: MIT */
/* image_join.c - hashes images by what makes them the same, and widens their ranges. */
#include "profile/image_join.h"

#include "base/path.h"

#include <string.h>

/* Whether the image is a mapped file, not the kernel, the vdso or JIT code. */
static bool
is_file(const struct profile_image *image)
{
    return image->path[0] != '\0' && image->path[0] != '[';
}

bool
image_join_is_build(const struct profile_image *image)
{
    return is_file(image) && image->build_id[0] != '\0';
}

/* Return the difference between addresses and file offsets of an image. */
static uint64_t
load_bias(const struct profile_image *image)
{
    return image->start - image->offset;
}

/* Whether two images of one file have the same addresses. Images of its different
 * segments may have different ones. An unknown range matches any. */
static bool
same_addresses(const struct profile_image *a, const struct profile_image *b)
{
    return a->limit <= a->start || b->limit <= b->start || load_bias(a) == load_bias(b);
}

/* Whether the profile has run-time addresses, as those of other tools; ours have
 * link-time addresses of files. */
static bool
has_run_addresses(const struct profile *profile)
{
    return profile->bucket_bytes == 0;
}

/* Whether two images are the same in the sum, as image_join.h says. */
static bool
same_image(const struct profile *sum, const struct profile_image *a,
           const struct profile_image *b)
{
    if (strcmp(a->build_id, b->build_id) != 0) {
        return false;
    }
    if (image_join_is_build(a) && image_join_is_build(b)) {
        return strcmp(path_file_name(a->path), path_file_name(b->path)) == 0 &&
               (has_run_addresses(sum) || same_addresses(a, b));
    }
    return strcmp(a->path, b->path) == 0 &&
           (!is_file(a) || !has_run_addresses(sum) || load_bias(a) == load_bias(b));
}

static uint32_t
hash_image(const struct profile_image *image)
{
    const char *name =
        image_join_is_build(image) ? path_file_name(image->path) : image->path;

    return hash_mix(hash_bytes(image->build_id, strlen(image->build_id)),
                    hash_bytes(name, strlen(name)));
}

/* Extend the image of the sum to cover the other one, after shifting that to its
 * addresses. */
static void
widen_image(struct profile_image *sum, const struct profile_image *image,
            uint64_t shift)
{
    const uint64_t start = image->start + shift;
    const uint64_t limit = image->limit + shift;

    sum->named |= image->named;
    if (image->limit <= image->start) {
        return;
    }
    if (sum->limit <= sum->start) {
        sum->start = start;
        sum->limit = limit;
        sum->offset = image->offset;
        return;
    }
    if (start < sum->start) {
        sum->start = start;
        sum->offset = image->offset;
    }
    if (limit > sum->limit) {
        sum->limit = limit;
    }
}

bool
image_join_add(struct image_join *join, struct profile *sum,
               const struct profile_image *image, uint32_t *index, uint64_t *shift)
{
    const uint32_t hash = hash_image(image);
    size_t probe = 0;

    *shift = 0;
    while ((*index = hash_index_find(&join->by_key, hash, &probe)) != HASH_INDEX_NONE) {
        struct profile_image *known = &sum->images[*index];

        if (same_image(sum, known, image)) {
            if (image_join_is_build(image) && has_run_addresses(sum)) {
                *shift = load_bias(known) - load_bias(image);
            }
            widen_image(known, image, *shift);
            return true;
        }
    }
    return profile_add_image(sum, image, index) &&
           hash_index_add(&join->by_key, hash, *index);
}

void
image_join_finish(struct image_join *join)
{
    hash_index_finish(&join->by_key);
}

void
image_join_clear(struct image_join *join)
{
    hash_index_clear(&join->by_key);
}
