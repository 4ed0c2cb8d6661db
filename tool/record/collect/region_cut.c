/* SPDX-License-Identifier: MIT */
/* region_cut.c - cuts mappings to the region that is counted in. */
#include "record/collect/region_cut.h"

bool
region_cut(const struct collector_region *region, struct mapping *mapping)
{
    const uint64_t region_end = region->offset + region->bytes;
    const uint64_t mapping_end = mapping->place + mapping->length;
    const uint64_t begin =
        mapping->place > region->offset ? mapping->place : region->offset;
    const uint64_t end = mapping_end < region_end ? mapping_end : region_end;

    /* There is no image if memory ran out: mapping_add then counts the failure. */
    if (region->bytes == 0 || mapping->image == NULL) {
        return true;
    }
    if (begin >= end || !image_is_file(mapping->image, region->device, region->inode)) {
        return false;
    }
    mapping->base += begin - mapping->place;
    mapping->place = begin;
    mapping->length = end - begin;
    return true;
}
