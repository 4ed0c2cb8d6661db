/* SPDX-License-Identifier: MIT */
/*
 * remapped.c - finds code of a file that its program has moved to anonymous memory.
 *
 * To use large pages, programs such as node copy their code into anonymous memory that
 * takes the place of the file's mapping. Addresses stay the same, so hits there belong
 * to the file. A JIT's code may take the place of a library that was unloaded: then the
 * process does not map that file any more.
 */
#include "record/collect/collectorp.h"
#include "record/collect/map_line.h"

#include <stdio.h>

/* If the distance of two segments of a file is this much larger in memory than in the
 * file, they count as loaded separately. */
static const uint64_t apart_bytes_max = UINT64_C(16) << 20;

/* Whether what replaced has is of the same change of mappings as a notification: what
 * one call unmaps and maps is notified with one time. */
static bool
is_same_change(const struct replaced *replaced, const ntprof_notification *change)
{
    return replaced->pid == change->pid && replaced->time_ns == change->time_ns;
}

void
replaced_add(struct replaced *replaced, const ntprof_notification *unmap,
             const struct mapping *mapping)
{
    if (!is_same_change(replaced, unmap)) {
        replaced->pid = unmap->pid;
        replaced->time_ns = unmap->time_ns;
        replaced->count = 0;
    }
    if (mapping->image->kind == IMAGE_FILE && replaced->count < REPLACED_MAX) {
        replaced->mappings[replaced->count++] = *mapping;
    }
}

/* ---- What the process maps now ---- */

/* Whether a line is a mapping of the file of an image. */
static bool
is_of_image(const struct map_line *line, const struct image *image)
{
    return line->inode == image->inode && line->device_major == image->device_major &&
           line->device_minor == image->device_minor;
}

/* Whether the process still maps the file of a mapping, at about the same addresses;
 * true also if it has exited, since nothing says otherwise then. */
static bool
is_still_mapped(uint32_t pid, const struct mapping *mapping)
{
    FILE *const maps = map_line_open(pid);
    const uint64_t start = mapping->base - mapping->place;
    bool found = maps == NULL;
    struct map_line line;

    while (!found && map_line_read(maps, &line)) {
        const uint64_t apart = line.begin - line.offset - start;

        /* The difference may be negative. */
        found = is_of_image(&line, mapping->image) &&
                apart + apart_bytes_max <= 2 * apart_bytes_max;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Return the end of the anonymous memory right behind a mapping of a file if the file
 * continues right behind that memory, as if it were a part; otherwise 0. */
static uint64_t
find_end_of_gap(uint32_t pid, const struct mapping *before)
{
    const uint64_t start = before->base - before->place;
    const uint64_t address = before->base + before->length;
    FILE *const maps = map_line_open(pid);
    uint64_t end = 0;
    struct map_line line;

    while (maps != NULL && end == 0 && map_line_read(maps, &line)) {
        if (line.begin <= address && address < line.end && line.inode == 0) {
            end = line.end;
        }
    }
    if (end != 0 &&
        (!map_line_read(maps, &line) || line.begin != end ||
         !is_of_image(&line, before->image) || line.begin - line.offset != start)) {
        end = 0;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return end;
}

/* ---- Candidates ---- */

/* Find the first mapping of a file that has bytes of [base, base + length). Returns
 * NULL if there is none. */
static const struct mapping *
find_first(const struct mapping *mappings, size_t count, uint64_t base, uint64_t length)
{
    const struct mapping *first = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct mapping *const mapping = &mappings[i];

        if (mapping->image->kind == IMAGE_FILE && mapping->base < base + length &&
            base < mapping->base + mapping->length &&
            (first == NULL || mapping->base < first->base)) {
            first = mapping;
        }
    }
    return first;
}

/* Find the mapping of a file that ends where a part of a mapping begins, and whose file
 * continues behind the anonymous memory there. *found becomes a mapping of the file at
 * that memory. Returns false if there is none. */
static bool
find_gap(const struct process *process, const struct mapping *part,
         struct mapping *found)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        const struct mapping *const before = &process->mappings[i];
        uint64_t end;

        if (before->image->kind != IMAGE_FILE ||
            before->base + before->length != part->base) {
            continue;
        }
        end = find_end_of_gap(process->pid, before);
        if (end > part->base) {
            *found = *before;
            found->base = part->base;
            found->place = before->place + before->length;
            found->length = end - part->base;
            return true;
        }
    }
    return false;
}

/* Find the first bytes of a part of an anonymous mapping that belong to a file, and
 * store that mapping of the file in *found. Returns false if there are none. */
static bool
find_original(const struct collector *collector, const struct process *process,
              const struct process *parent, const ntprof_notification *map,
              const struct mapping *part, struct mapping *found)
{
    const struct replaced *const replaced = &collector->replaced;
    const struct mapping *original = NULL;

    if (is_same_change(replaced, map)) {
        original =
            find_first(replaced->mappings, replaced->count, part->base, part->length);
    }
    if (original == NULL && parent != NULL && !process->execed) {
        /* A child that was just forked has what its parent has. */
        original = find_first(parent->mappings, parent->mapping_count, part->base,
                              part->length);
    }
    if (original != NULL && is_still_mapped(process->pid, original)) {
        *found = *original;
        return true;
    }
    return find_gap(process, part, found);
}

void
remapped_cut(struct collector *collector, const struct process *process,
             const struct process *parent, const ntprof_notification *map,
             struct mapping *part)
{
    const uint64_t end = part->base + part->length;
    struct mapping original;
    uint64_t original_end;

    if (!find_original(collector, process, parent, map, part, &original)) {
        return;
    }
    if (original.base > part->base) {
        part->length = original.base - part->base;
        return;
    }
    original_end = original.base + original.length;
    part->image = original.image;
    part->place = original.place + (part->base - original.base);
    part->length = (original_end < end ? original_end : end) - part->base;
}
