/* SPDX-License-Identifier: MIT */
/* hal/linux/mapping.c - sorted ranges with shared images. */
#include "hal/linux/mapping.h"

#include "hal/linux/array.h"

#include <assert.h>
#include <errno.h>
#include <ntprof/notification.h>
#include <string.h>

struct perf_image *
perf_image_create(const char *name, uint32_t device_major, uint32_t device_minor,
                  uint64_t inode, uint64_t inode_generation)
{
    const size_t bytes = strlen(name) + 1;
    struct perf_image *image = malloc(sizeof(*image) + bytes);

    if (image == NULL) {
        return NULL;
    }
    *image = (struct perf_image){
        .references = 1,
        .flags = inode == 0 ? NTPROF_IMAGE_ANONYMOUS : 0,
        .device_major = device_major,
        .device_minor = device_minor,
        .inode = inode,
        .inode_generation = inode_generation,
    };
    memcpy(image->name, name, bytes);
    return image;
}

void
perf_image_release(struct perf_image *image)
{
    assert(image->references > 0);
    if (--image->references == 0) {
        free(image);
    }
}

static uint64_t
end_of(const struct perf_mapping *mapping)
{
    return mapping->base + mapping->length;
}

/* Index of the first mapping that ends above address. */
static size_t
first_ending_above(const struct perf_mappings *mappings, uint64_t address)
{
    size_t low = 0;
    size_t high = mappings->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (end_of(&mappings->items[middle]) > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

int
perf_mappings_insert(struct perf_mappings *mappings, struct perf_mapping mapping)
{
    const size_t index = first_ending_above(mappings, mapping.base);
    struct perf_mapping *place;
    int result = -ENOMEM;

    if (index < mappings->count && mappings->items[index].base < end_of(&mapping)) {
        result = -EINVAL;
        goto release_image;
    }
    place = perf_array_grow(mappings->items, mappings->count, sizeof(*place));
    if (place == NULL) {
        goto release_image;
    }
    mappings->items = place;
    place += index;
    memmove(place + 1, place, (mappings->count - index) * sizeof(*place));
    *place = mapping;
    mappings->count++;
    assert(index == 0 || end_of(place - 1) <= place->base);
    assert(index + 1 == mappings->count || end_of(place) <= place[1].base);
    return 0;

release_image:
    perf_image_release(mapping.image);
    return result;
}

int
perf_mappings_copy(struct perf_mappings *to, const struct perf_mappings *from)
{
    assert(to->count == 0);
    for (size_t i = 0; i < from->count; i++) {
        from->items[i].image->references++;
        if (perf_mappings_insert(to, from->items[i]) < 0) {
            perf_mappings_finish(to);
            return -ENOMEM;
        }
    }
    return 0;
}

const struct perf_mapping *
perf_mappings_find(const struct perf_mappings *mappings, uint64_t address)
{
    const size_t index = first_ending_above(mappings, address);

    return index < mappings->count && mappings->items[index].base <= address
               ? &mappings->items[index]
               : NULL;
}

bool
perf_mappings_overlap(const struct perf_mappings *mappings, uint64_t base,
                      uint64_t length)
{
    const size_t index = first_ending_above(mappings, base);

    return index < mappings->count && mappings->items[index].base < base + length;
}

/* Are these the same file? /proc reports no inode generations, only records do: 0
 * matches any. */
static bool
same_image(const struct perf_image *one, const struct perf_image *other)
{
    return one->inode == other->inode && one->device_major == other->device_major &&
           one->device_minor == other->device_minor &&
           (one->inode_generation == other->inode_generation ||
            one->inode_generation == 0 || other->inode_generation == 0) &&
           strcmp(one->name, other->name) == 0;
}

bool
perf_mappings_contain(const struct perf_mappings *mappings,
                      const struct perf_mapping *mapping)
{
    const size_t index = first_ending_above(mappings, mapping->base);
    const struct perf_mapping *found;

    if (index == mappings->count) {
        return false;
    }
    found = &mappings->items[index];
    return found->base == mapping->base && found->length == mapping->length &&
           /* Without a file /proc and records differ in the offset. */
           (found->file_offset == mapping->file_offset ||
            (found->image->flags & NTPROF_IMAGE_ANONYMOUS) != 0) &&
           same_image(found->image, mapping->image);
}

bool
perf_mappings_take(struct perf_mappings *mappings, uint64_t base, uint64_t length,
                   struct perf_mapping *taken)
{
    const size_t index = first_ending_above(mappings, base);
    struct perf_mapping *place;

    if (!perf_mappings_overlap(mappings, base, length)) {
        return false;
    }
    place = mappings->items + index;
    *taken = *place;
    mappings->count--;
    memmove(place, place + 1, (mappings->count - index) * sizeof(*place));
    return true;
}

void
perf_mappings_finish(struct perf_mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++) {
        perf_image_release(mappings->items[i].image);
    }
    free(mappings->items);
    *mappings = (struct perf_mappings){0};
}
