/* SPDX-License-Identifier: MIT */
/*
 * forget.c - frees what a recording without an end does not need any more: hits that a
 * profile contains, images that no process maps, programs that no process runs, and the
 * counters of these images and programs. So memory depends on the processes that run,
 * and not on the length of the recording.
 */
#include "record/collect/collectorp.h"

/* Free the counts that the last snapshot moved to taken, since its profile contains
 * them. Hits that were folded since then are in fresh and stay. */
static void
drop_taken(struct collector *collector)
{
    for (size_t i = 0; i < collector->images.count; i++) {
        struct counts *const taken = &collector->images.images[i]->taken;

        if (taken->count != 0) {
            naming_forget_hits(collector->naming, i);
        }
        counts_finish(taken);
    }
}

/* Delete the images that no process maps and that have no hits left. Since the symbols
 * of an image have its index as their number, those of the images behind it move with
 * it. */
static void
drop_images(struct collector *collector)
{
    struct image_set *const set = &collector->images;
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (image_fold_unused(set, set->images[i])) {
            naming_remove(collector->naming, i);
            image_delete(set, set->images[i]);
        } else {
            naming_move(collector->naming, i, kept);
            set->images[i]->number = (uint32_t)kept;
            set->images[kept++] = set->images[i];
        }
    }
    if (kept != set->count) {
        set->count = kept;
        image_set_tidy(set);
    }
}

/* Whether fresh, the counts that no snapshot has taken yet, has hits of a program. */
static bool
has_fresh_hits(const struct image_set *set, uint32_t program)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct counts *const fresh = &set->images[i]->fresh;

        for (size_t k = 0; k < fresh->count; k++) {
            if (fresh->items[k].program == program) {
                return true;
            }
        }
    }
    return false;
}

/* Free the counters of programs that no process runs, and the number of each that has
 * no hits left for a later snapshot: another program may then have it. */
static void
drop_programs(struct collector *collector)
{
    struct program_set *const programs = &collector->programs;
    struct image_set *const set = &collector->images;

    for (uint32_t number = 0; number < programs->count; number++) {
        const struct program *const program = &programs->items[number];
        bool complete = true;

        if (program->name == NULL || program->users != 0) {
            continue;
        }
        for (size_t i = 0; i < set->count; i++) {
            complete = image_drop_program(set, set->images[i], number) && complete;
        }
        /* Otherwise the number is freed after the next snapshot. */
        if (complete && !has_fresh_hits(set, number)) {
            notify_forget_exited(collector);
            program_set_free(programs, number);
        }
    }
}

void
collector_forget(struct collector *collector)
{
    delivery_lock(&collector->delivery);
    collector->replaced.count = 0; /* images in it may be deleted */
    drop_taken(collector);
    drop_images(collector);
    drop_programs(collector);
    collector_measure(collector);
    delivery_unlock(&collector->delivery);
}
