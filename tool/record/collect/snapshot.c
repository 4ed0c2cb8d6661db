/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - a profile of what the collector has counted.
 *
 * A snapshot folds all counters and takes over the fresh counts of each image while no
 * delivery runs (snapshot_take). Then, while deliveries go on, it adds them to the
 * image's totals and makes rows with names of them. image.c defines these terms.
 */
#include "record/collect/collectorp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The hits that a profile contains: all, those since the last snapshot, or those of all
 * snapshots so far. */
enum snapshot { SNAPSHOT_ALL, SNAPSHOT_RECENT, SNAPSHOT_REPEAT };

/* Add the sources with their statistics. Unless these are final or those of the last
 * snapshot are repeated, they are read anew, which folds all counters. */
static bool
snapshot_sources(struct collector *collector, struct profile *profile,
                 enum snapshot kind)
{
    const char *const *const names = collector->options.names;
    bool complete =
        collector->ended || kind == SNAPSHOT_REPEAT || collector_read(collector);

    for (size_t i = 0; complete && i < collector->options.source_count; i++) {
        const ntprof_source_info *const info = &collector->statistics[i];
        const char *const name = names != NULL ? names[i] : NULL;

        complete = naming_add_source(profile, info, name != NULL ? name : info->name,
                                     !collector->options.user);
    }
    return complete;
}

/* Add the names and units of programs, and let the naming know by the number of each
 * which they are in the profile. Returns false if memory runs out. */
static bool
snapshot_programs(struct collector *collector, struct profile *profile)
{
    for (uint32_t i = 0; i < collector->programs.count; i++) {
        const struct program *const program = &collector->programs.items[i];
        struct naming_program *const named = &collector->named[i];

        if (program->name != NULL &&
            (!profile_add_process(profile, program->name, &named->process) ||
             !profile_add_unit(profile, program->unit, &named->unit))) {
            return false;
        }
    }
    naming_set_programs(collector->naming, collector->named);
    return true;
}

/* Add a thread to the profile as "NAME (NUMBER)", or by the one of them that it has.
 * Returns false if memory runs out. */
static bool
snapshot_thread(struct profile *profile, const struct thread *thread,
                struct naming_thread *named)
{
    char shown[THREAD_NAME_BYTES + 16];

    named->pid = thread->pid;
    if (thread->tid == 0) { /* of no process */
        return profile_add_thread(profile, thread->name, &named->thread);
    }
    snprintf(shown, sizeof(shown),
             thread->name[0] != '\0' ? "%s (%" PRIu32 ")" : "%s%" PRIu32, thread->name,
             thread->tid);
    return profile_add_thread(profile, shown, &named->thread);
}

/* Add the threads, so that the naming knows them by their numbers. */
static bool
snapshot_threads(struct collector *collector, struct profile *profile)
{
    const struct thread_set *const set = &collector->threads;
    struct naming_thread *named;
    bool complete = true;

    if (!collector->options.threads) {
        return true;
    }
    named = calloc((size_t)set->count + 1, sizeof(*named));
    if (named == NULL) {
        return false;
    }
    for (uint32_t i = 0; complete && i < set->count; i++) {
        complete = snapshot_thread(profile, &set->items[i], &named[i + 1]);
    }
    naming_set_threads(collector->naming, named);
    return complete;
}

/* Copy what is known of callers, which is of the moment at which the counters were
 * folded. Returns false if memory runs out. */
static bool
snapshot_callers(struct collector *collector, enum snapshot kind,
                 struct naming_stacks *stacks)
{
    static const enum callers_part parts[] = {
        [SNAPSHOT_ALL] = CALLERS_ALL,
        [SNAPSHOT_RECENT] = CALLERS_RECENT,
        [SNAPSHOT_REPEAT] = CALLERS_REPEAT,
    };
    ntprof_session_info info = {.size = sizeof(info)};

    if (collector->callers == NULL) {
        return true;
    }
    if (collector->options.session != NULL) {
        ntprof_session_get_info(collector->options.session, &info);
    } else {
        info.stack_bytes = collector->options.stack_bytes;
    }
    *stacks = (struct naming_stacks){
        .callers = collector->callers,
        .cut = callers_cut_make(collector->callers, parts[kind]),
        .source = (uint32_t)collector->stack_source,
        .recent = kind == SNAPSHOT_RECENT,
        .stack_bytes = info.stack_bytes,
    };
    return stacks->cut != NULL;
}

/* Take over the data that deliveries change, while none runs. Returns a copy of the
 * list of images with *count entries, or NULL if memory runs out. */
static struct image **
snapshot_take(struct collector *collector, struct profile *profile, enum snapshot kind,
              struct collector_gaps *gaps, struct naming_stacks *stacks, size_t *count)
{
    const struct image_set *const set = &collector->images;
    struct image **images = NULL;
    bool complete;

    delivery_lock(&collector->delivery);
    if (collector->ended) {
        naming_end(collector->naming);
    }
    collector_measure(collector);
    complete = snapshot_sources(collector, profile, kind) &&
               snapshot_programs(collector, profile) &&
               snapshot_threads(collector, profile) &&
               snapshot_callers(collector, kind, stacks);
    *gaps = collector->gaps;
    if (collector->callers != NULL) {
        const struct unwind_gaps unread = callers_gaps(collector->callers);

        gaps->unread_tables = unread.images;
        memcpy(gaps->unread_why, unread.why, sizeof(gaps->unread_why));
    }
    gaps->unopened = set->unopened;
    gaps->refused = set->refused;
    gaps->running = collector_count_processes(collector);
    if (collector->preloaded != NULL) {
        preloaded_describe(collector->preloaded, gaps);
    }
    *count = set->count;
    for (size_t i = 0; complete && kind != SNAPSHOT_REPEAT && i < set->count; i++) {
        complete = image_take(set->images[i]);
    }
    if (complete) {
        images = malloc((set->count + 1) * sizeof(struct image *));
    }
    if (images != NULL && set->count > 0) {
        memcpy(images, set->images, set->count * sizeof(struct image *));
    }
    delivery_unlock(&collector->delivery);
    return images;
}

/* Make the rows of an image: of all counts, or of those that were just taken, which
 * then join the totals, unless the recording has no end and needs none. */
static bool
snapshot_image(struct collector *collector, struct profile *profile, enum snapshot kind,
               struct image *image, size_t number)
{
    if (kind != SNAPSHOT_RECENT) {
        return naming_add_rows(collector->naming, profile, image, &image->totals,
                               number);
    }
    return naming_add_rows(collector->naming, profile, image, &image->taken, number) &&
           (collector->options.endless || image_keep(image));
}

/* Merge the counts that rows will be made of. Returns false if memory runs out. */
static bool
snapshot_merge(struct image *image, enum snapshot kind)
{
    if (kind != SNAPSHOT_RECENT) {
        return image_total(image);
    }
    counts_merge(&image->taken);
    return true;
}

/* Make the rows of all images in the order of images, after the calls of their stacks,
 * if there are any. Returns false if memory runs out. */
static bool
snapshot_rows(struct collector *collector, struct profile *profile, enum snapshot kind,
              struct image **images, size_t count)
{
    bool complete = true;

    for (size_t i = 0; complete && i < count; i++) {
        complete = snapshot_merge(images[i], kind);
    }
    complete =
        complete && (collector->callers == NULL ||
                     naming_add_calls(collector->naming, profile, images, count));
    for (size_t i = 0; complete && i < count; i++) {
        complete = snapshot_image(collector, profile, kind, images[i], i);
    }
    return complete;
}

/* Fill an empty profile with sources, programs and rows. Returns false if memory runs
 * out. */
static bool
snapshot_fill(struct collector *collector, struct profile *profile, enum snapshot kind,
              struct collector_gaps *gaps)
{
    struct naming_stacks stacks = {0};
    size_t count;
    struct image **const images =
        snapshot_take(collector, profile, kind, gaps, &stacks, &count);
    const char *why;
    bool complete = images != NULL;

    profile->bucket_bytes = collector->options.bucket_bytes;
    naming_set_stacks(collector->naming, stacks.cut != NULL ? &stacks : NULL);
    complete = complete && naming_begin(collector->naming, images, count, profile) &&
               snapshot_rows(collector, profile, kind, images, count);
    naming_set_stacks(collector->naming, NULL);
    memcpy(gaps->stack_ends, stacks.ends, sizeof(gaps->stack_ends));
    gaps->contexts = stacks.cut != NULL ? stacks.cut->contexts : 0;
    callers_cut_delete(stacks.cut);
    gaps->unnamed = naming_unnamed(collector->naming);
    gaps->refused_maps = naming_refused_maps(collector->naming, &why);
    snprintf(gaps->refused_why, sizeof(gaps->refused_why), "%s", why);
    gaps->bounded_images = naming_bounded_images(collector->naming);
    free(images);
    if (complete && collector->options.endless) {
        collector_forget(collector);
    }
    return complete;
}

/* Make a profile of one kind. Returns NULL if memory runs out. */
static struct profile *
snapshot_make(struct collector *collector, enum snapshot kind,
              struct collector_gaps *gaps)
{
    struct profile *const profile = profile_new();

    *gaps = (struct collector_gaps){0};
    if (profile == NULL || !snapshot_fill(collector, profile, kind, gaps)) {
        profile_delete(profile);
        return NULL;
    }
    profile_sort(profile);
    return profile;
}

struct profile *
collector_snapshot(struct collector *collector, struct collector_gaps *gaps)
{
    return snapshot_make(collector, SNAPSHOT_ALL, gaps);
}

struct profile *
collector_recent(struct collector *collector, struct collector_gaps *gaps)
{
    return snapshot_make(collector, SNAPSHOT_RECENT, gaps);
}

struct profile *
collector_repeat(struct collector *collector, struct collector_gaps *gaps)
{
    return snapshot_make(collector, SNAPSHOT_REPEAT, gaps);
}
