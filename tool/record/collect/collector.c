/* SPDX-License-Identifier: MIT */
/*
 * collector.c - makes and ends a collector, and reads its counters and statistics.
 *
 * A delivery is a call in which the session counts the hits that are due and notifies
 * of processes and mappings (notify.c). Only deliveries change processes and images;
 * delivery_lock keeps them out.
 */
#include "record/collect/collectorp.h"
#include "record/collect/mapped_file.h"
#include "record/collect/usage.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what a session calls --- */

/* Return the base-2 logarithm of the number of bytes that one counter covers: that of
 * the user's buckets, but at most COUNTED_LOG2_MAX. Larger buckets are sums of several
 * counters. */
static uint32_t
bucket_log2(uint32_t bucket_bytes)
{
    uint32_t log2 = 0;

    while ((UINT32_C(1) << log2) < bucket_bytes && log2 < COUNTED_LOG2_MAX) {
        log2++;
    }
    return log2;
}

void
collector_measure(struct collector *collector)
{
    const uint64_t limit = collector->options.memory_max;

    collector->segments_measured = collector->images.segments_made;
    collector->images.full = limit != 0 && usage_bytes() > limit;
}

/* Hits that take memory before it is measured again. */
enum { HITS_UNMEASURED = 4096 };

void
collector_measure_sometimes(struct collector *collector)
{
    if (++collector->hits_unmeasured == HITS_UNMEASURED) {
        collector->hits_unmeasured = 0;
        collector_measure(collector);
    }
}

/* List the processors of options.affinity; each gets its own profile objects. Returns
 * false if memory runs out or the list is empty. */
static bool
collector_list_cpus(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;
    uint32_t count = 0;

    collector->cpus = calloc((size_t)options->affinity_count * CPUS_A_GROUP + 1,
                             sizeof(*collector->cpus));
    if (collector->cpus == NULL) {
        return false;
    }
    for (uint16_t i = 0; i < options->affinity_count; i++) {
        for (uint32_t bit = 0; bit < CPUS_A_GROUP; bit++) {
            if ((options->affinity[i].Mask >> bit & 1) != 0) {
                collector->cpus[count++] =
                    options->affinity[i].Group * CPUS_A_GROUP + bit;
            }
        }
    }
    collector->cpu_count = count;
    naming_set_cpus(collector->naming, collector->cpus, count);
    return count > 0;
}

/* Find the file of an image; called on threads that ask readers. The path lives as
 * long as the image, and images of recordings with stacks do not go. */
static bool
find_unwind_file(void *context, uint32_t image, struct unwind_file *file)
{
    struct collector *const collector = context;
    const struct image *found;
    int fd;

    delivery_lock(&collector->delivery);
    found = collector->images.images[image];
    fd = found->fd >= 0 ? found->fd : found->taken_fd;
    *file = (struct unwind_file){
        .vdso = found->kind == IMAGE_VDSO && strcmp(found->path, "[vdso]") == 0,
        .way = {.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1,
                .root = found->fd >= 0 ? found->root : found->taken_root,
                .key = mapped_file_key(found),
                .path = found->path},
    };
    delivery_unlock(&collector->delivery);
    return found->kind != IMAGE_FILE || file->way.fd >= 0;
}

/* Return how many addresses a kernel chain of the session has at most, if Linux allows
 * fewer than the library asks for. It keeps to that number as long as there are events
 * with chains. */
static uint32_t
kernel_depth(void)
{
    FILE *const file = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
    char text[32];
    unsigned long depth = UINT32_MAX;

    if (file != NULL) {
        if (fgets(text, sizeof(text), file) != NULL) {
            depth = strtoul(text, /* end */ NULL, 10);
        }
        fclose(file);
    }
    return depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
}

/* Find the callers of stacks, if they are wanted, and have the session report them.
 * Preload objects do so anyway. Returns false if memory runs out or the session has
 * none. */
static bool
collector_follow_stacks(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;
    const struct callers_settings settings = {
        .stack_bytes = options->stack_bytes,
        .kernel_depth = options->stack_bytes != 0 ? kernel_depth() : 0,
        .contexts = options->contexts,
        .find = find_unwind_file,
        .context = collector,
        .symbols = naming_symbols(collector->naming),
    };

    if (options->stack_bytes == 0) {
        return true;
    }
    assert(!options->endless);
    while (options->sources[collector->stack_source] != ProfileTime) {
        collector->stack_source++;
        assert(collector->stack_source < options->source_count);
    }
    collector->callers = callers_new(&settings);
    return collector->callers != NULL &&
           (options->session == NULL ||
            NT_SUCCESS(
                ntprof_session_set_stacks(options->session, notify_stack, collector)));
}

/* Have the session notify this collector or, without a session, have the delivery
 * thread look at the preload objects. Returns false if memory runs out, or the session
 * does not report hits and options.threads needs them. */
static bool
collector_follow(struct collector *collector)
{
    const struct collector_options *const options = &collector->options;

    if (options->session != NULL) {
        ntprof_session_set_notify(options->session, notify_session, collector);
        /* A back end that does not report hits leaves those of the kernel together. */
        return (!options->threads && !(options->machine && options->kernel)) ||
               NT_SUCCESS(
                   ntprof_session_set_hits(options->session, notify_hit, collector)) ||
               !options->threads;
    }
    collector->preloaded =
        preloaded_new(collector, options->preloaded, options->interval_asked);
    if (collector->preloaded != NULL) {
        delivery_set_look(&collector->delivery, preloaded_look, collector->preloaded);
    }
    return collector->preloaded != NULL;
}

/* Called after a delivery: look for new perf maps of processes, and keep them open, and
 * for processors that have come online. */
static void
collector_look(void *context)
{
    struct collector *const collector = context;

    image_set_find_maps(&collector->images);
    if (collector->preloaded == NULL) {
        online_look(collector);
    }
}

/* --- creation --- */

struct collector *
collector_new(const struct collector_options *options)
{
    struct collector *const collector = calloc(1, sizeof(*collector));

    assert(options->bucket_bytes != 0 &&
           (options->bucket_bytes & (options->bucket_bytes - 1)) == 0);
    assert(options->region.bytes == 0 || !options->kernel);
    if (collector == NULL) {
        return NULL;
    }
    collector->options = *options;
    collector->cpu_count = 1;
    online_init(&collector->online);
    collector->programs.max =
        options->endless ? PROGRAM_SET_ENDLESS_MAX : PROGRAM_SET_MAX;
    delivery_init(&collector->delivery, options->session);
    delivery_set_after(&collector->delivery, collector_look, collector);
    image_set_init(&collector->images, options->source_count,
                   bucket_log2(options->bucket_bytes));
    collector->kernel_range = kernel_range_find();
    collector_measure(collector);
    collector->naming = naming_new(options->memory_max, options->symbols);
    collector->statistics =
        calloc(options->source_count + 1, sizeof(*collector->statistics));
    collector->session_statistics =
        calloc(options->source_count + 1, sizeof(*collector->session_statistics));
    collector->late = calloc(options->source_count + 1, sizeof(*collector->late));
    collector->pauses = calloc(options->source_count + 1, sizeof(*collector->pauses));
    if (collector->naming == NULL || collector->statistics == NULL ||
        collector->session_statistics == NULL || collector->late == NULL ||
        collector->pauses == NULL) {
        collector_delete(collector);
        return NULL;
    }
    if (!notify_prepare(collector) ||
        (options->per_cpu && !collector_list_cpus(collector)) ||
        !collector_follow(collector) || !collector_follow_stacks(collector)) {
        collector_delete(collector);
        return NULL;
    }
    return collector;
}

void
collector_fail(struct collector *collector, NTSTATUS status)
{
    if (collector->gaps.failures++ == 0) {
        collector->gaps.first_failure = status;
    }
}

void
collector_fail_for_memory(struct collector *collector)
{
    if (!collector->images.full) {
        collector_fail(collector, STATUS_INSUFFICIENT_RESOURCES);
    }
}

void
collector_delete(struct collector *collector)
{
    if (collector == NULL) {
        return;
    }
    if (collector->callers != NULL) {
        callers_stop(collector->callers); /* it uses the lock of deliveries */
    }
    delivery_finish(&collector->delivery);
    if (collector->options.session != NULL) {
        ntprof_session_set_notify(collector->options.session, NULL, NULL);
        (void)ntprof_session_set_hits(collector->options.session, NULL, NULL);
        (void)ntprof_session_set_stacks(collector->options.session, NULL, NULL);
    }
    callers_delete(collector->callers);
    preloaded_delete(collector->preloaded);
    notify_end(collector);
    image_set_finish(&collector->images);
    naming_delete(collector->naming);
    free(collector->statistics);
    free(collector->session_statistics);
    free(collector->late);
    free(collector->pauses);
    free(collector->cpus);
    program_set_finish(&collector->programs);
    thread_set_finish(&collector->threads);
    free(collector);
}

/* --- the session's sources --- */

int
collector_start(struct collector *collector)
{
    const int failure =
        collector->callers != NULL ? callers_start(collector->callers) : 0;

    return failure != 0 ? failure : delivery_start(&collector->delivery);
}

/* Fold the counters of one source in all images. Returns false if memory runs out; then
 * some hits stay in their counters. */
static bool
collector_fold_source(struct collector *collector, uint32_t source)
{
    struct image_set *const set = &collector->images;
    bool complete = true;

    if (collector->preloaded != NULL) {
        /* Preload objects count one source, time. */
        return preloaded_fold(collector->preloaded);
    }
    for (size_t i = 0; i < set->count; i++) {
        complete = image_fold(set, set->images[i], source) && complete;
    }
    return complete;
}

bool
collector_fold(struct collector *collector)
{
    bool complete = true;

    delivery_lock(&collector->delivery);
    collector_measure(collector);
    for (size_t i = 0; !collector->ended && i < collector->options.source_count; i++) {
        complete = collector_fold_source(collector, (uint32_t)i) && complete;
    }
    delivery_unlock(&collector->delivery);
    return complete;
}

/* Get the statistics of a source; those of preload objects are as of the last fold. */
static bool
get_statistics(struct collector *collector, size_t source, ntprof_source_info *info)
{
    const struct collector_options *const options = &collector->options;

    if (collector->preloaded != NULL) {
        preloaded_statistics(collector->preloaded, info);
        return true;
    }
    info->size = sizeof(*info);
    return NT_SUCCESS(
        ntprof_source_get(options->session, options->sources[source], info));
}

/* Read the statistics of one source into session_statistics, and fold its counters,
 * which agree with them. Returns false if memory runs out or the session is closed. */
static bool
collector_read_source(struct collector *collector, uint32_t source)
{
    ntprof_source_info *const info = &collector->session_statistics[source];
    bool complete;

    if (collector->preloaded != NULL) {
        /* Preload objects never stop: their statistics are those of what was folded. */
        complete = collector_fold_source(collector, source) &&
                   get_statistics(collector, source, info);
    } else {
        complete = get_statistics(collector, source, info) &&
                   collector_fold_source(collector, source);
    }
    collector->late[source] = 0;
    return complete;
}

void
collector_set_statistics(struct collector *collector)
{
    for (size_t i = 0; i < collector->options.source_count; i++) {
        ntprof_source_info *const info = &collector->session_statistics[i];

        info->expected += collector->late[i];
        info->taken += collector->late[i];
        info->counted += collector->late[i];
        collector->late[i] = 0;
        collector->statistics[i] = *info;
        pause_apply(&collector->pauses[i], &collector->statistics[i]);
    }
}

/* ntprof_source_get delivers everything up to its call, so each source is folded before
 * the next one is read. Hits of the sources before it that are delivered then are late
 * if they leave their counters, and otherwise wait there for the next fold. The source
 * with stacks is the last: then no hit has been delivered since its counters were
 * folded, and counters and callers are of the same moment. */
bool
collector_read(struct collector *collector)
{
    const size_t first = collector->callers != NULL ? collector->stack_source + 1 : 0;

    for (size_t i = 0; i < collector->options.source_count; i++) {
        const uint32_t source =
            (uint32_t)((first + i) % collector->options.source_count);

        if (!collector_read_source(collector, source)) {
            return false;
        }
    }
    collector_set_statistics(collector);
    return true;
}

/* Have the session take no later hits, and deliver those from before. The profile
 * objects are closed afterwards, by collector_delete: closing them takes a while, in
 * which hits of profiles that are closed already would count as outside. */
static void
collector_freeze(struct collector *collector)
{
    if (collector->options.session != NULL) {
        (void)ntprof_session_freeze(collector->options.session);
        (void)ntprof_session_flush(collector->options.session);
    }
}

void
collector_stop(struct collector *collector)
{
    delivery_stop(&collector->delivery);
    delivery_lock(&collector->delivery);
    if (!collector->ended) {
        collector_freeze(collector);
    }
    /* If memory runs out, the recording is not ended: the next snapshot reads counters
     * and statistics again. If the session could not be frozen, hits until then count.
     */
    collector->ended = collector->ended || collector_read(collector);
    delivery_unlock(&collector->delivery);
    if (collector->callers != NULL) {
        callers_stop(collector->callers);
    }
}

bool
collector_has_ended(struct collector *collector)
{
    bool ended;

    delivery_lock(&collector->delivery);
    ended = collector->ended;
    delivery_unlock(&collector->delivery);
    return ended;
}

bool
collector_set_interval(struct collector *collector, size_t source, uint64_t interval,
                       uint64_t *granted)
{
    const KPROFILE_SOURCE number = collector->options.sources[source];
    ntprof_source_info info = {.size = sizeof(info)};
    bool changed;

    delivery_lock(&collector->delivery);
    changed = !collector->ended && collector->preloaded == NULL &&
              NT_SUCCESS(ntprof_source_set_interval(collector->options.session, number,
                                                    interval)) &&
              NT_SUCCESS(ntprof_source_get(collector->options.session, number, &info));
    delivery_unlock(&collector->delivery);
    if (changed) {
        *granted = info.interval_granted;
    }
    return changed;
}

bool
collector_get_source(struct collector *collector, size_t source,
                     ntprof_source_info *info)
{
    bool read;

    delivery_lock(&collector->delivery);
    read = !collector->ended && get_statistics(collector, source, info);
    delivery_unlock(&collector->delivery);
    return read;
}

void
collector_set_names_time(struct collector *collector, uint64_t left_ns,
                         uint64_t headers_ns)
{
    naming_set_time(collector->naming, left_ns, headers_ns);
}
