/* SPDX-License-Identifier: MIT */
/*
 * hits.c - hits that are given to their processes and threads: whatever happens, those
 * of a bucket are in its counter or in rows of it, each once.
 *
 * No session is needed: hits are added to the counters as the counting routine does,
 * and then reported as the session does.
 */
#include "record/collect/collectorp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUCKET_LOG2 = 2, BYTES = 1 << 16, KERNEL_PROGRAM = 0 };

static const uint64_t kernel_base = UINT64_C(0xffffffff81000000);
static const KPROFILE_SOURCE source = ProfileTime;

/* A collector of the whole machine, in whose kernel hits are counted. */
static struct collector *
make_collector(bool threads)
{
    struct collector *const collector = calloc(1, sizeof(*collector));
    struct image *image;

    assert_non_null(collector);
    collector->options = (struct collector_options){.sources = &source,
                                                    .source_count = 1,
                                                    .machine = true,
                                                    .kernel = true,
                                                    .threads = threads};
    collector->cpu_count = 1;
    collector->late = calloc(1, sizeof(*collector->late));
    assert_non_null(collector->late);
    collector->programs.max = PROGRAM_SET_MAX;
    collector->kernel_range = (struct kernel_range){kernel_base, BYTES};
    image_set_init(&collector->images, 1, BUCKET_LOG2);
    assert_true(notify_prepare(collector));
    image = image_set_kernel(&collector->images, IMAGE_KERNEL);
    assert_non_null(image_segment_find(&collector->images, image, kernel_base, BYTES,
                                       KERNEL_PROGRAM));
    collector->machine.mappings = calloc(1, sizeof(struct mapping));
    assert_non_null(collector->machine.mappings);
    collector->machine.mappings[0] = (struct mapping){
        .base = kernel_base, .length = BYTES, .image = image, .place = kernel_base};
    collector->machine.mapping_count = 1;
    collector->watch_started = true;
    return collector;
}

static void
notify(struct collector *collector, uint32_t kind, uint32_t pid, const char *name)
{
    const ntprof_notification notification = {
        .size = sizeof(notification), .kind = kind, .pid = pid, .name = name};

    notify_session(collector, &notification);
}

static void
delete_collector(struct collector *collector)
{
    collector->machine.mapping_count = 0;
    notify_end(collector);
    image_set_finish(&collector->images);
    program_set_finish(&collector->programs);
    thread_set_finish(&collector->threads);
    free(collector->late);
    free(collector);
}

static struct image *
kernel_of(struct collector *collector)
{
    return collector->machine.mappings[0].image;
}

/* Count a hit, and report it. */
static void
hit(struct collector *collector, uint32_t pid, uint32_t tid, uint64_t offset)
{
    const ntprof_hit report = {.size = sizeof(report),
                               .source = source,
                               .pid = pid,
                               .tid = tid,
                               .mode = NTPROF_MODE_KERNEL,
                               .counters = 2,
                               .address = kernel_base + offset};

    ++*image_segment_counter(kernel_of(collector)->segments, 0, report.address);
    notify_hit(collector, &report);
}

/* Return the hits that rows have, of one program or of all (UINT32_MAX). */
static uint64_t
rows_of(struct collector *collector, uint32_t program)
{
    const struct counts *const fresh = &kernel_of(collector)->fresh;
    uint64_t hits = 0;

    for (size_t i = 0; i < fresh->count; i++) {
        if (program == UINT32_MAX || fresh->items[i].program == program) {
            hits += fresh->items[i].hits;
        }
    }
    return hits;
}

/* Return the hits that are still in counters. */
static uint64_t
left_in_counters(struct collector *collector)
{
    const struct image_segment *const segment = kernel_of(collector)->segments;
    uint64_t hits = 0;

    for (size_t i = 0; i < segment->bytes / sizeof(ULONG); i++) {
        hits += segment->counters[0][i];
    }
    return hits;
}

static uint32_t
program_of(const struct collector *collector, const char *name)
{
    for (uint32_t i = 0; i < collector->programs.count; i++) {
        const struct program *const program = &collector->programs.items[i];

        if (program->name != NULL && strcmp(program->name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static void
notify_hit__in_the_kernel__belongs_to_the_interrupted_process(void **state)
{
    struct collector *const collector = make_collector(false);

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 0, "swapper");
    notify(collector, NTPROF_PROCESS_START, 10, "dd");
    notify(collector, NTPROF_PROCESS_START, 11, "kswapd0");
    for (uint32_t i = 0; i < 6; i++) {
        hit(collector, i < 3 ? 10 : 0, 0, 64 * i);
    }
    hit(collector, 77, 77, 0); /* nobody knows this one */
    assert_int_equal(rows_of(collector, program_of(collector, "dd")), 3);
    assert_int_equal(rows_of(collector, program_of(collector, "[idle]")), 3);
    assert_int_equal(program_of(collector, "kswapd0"), UINT32_MAX);
    assert_int_equal(left_in_counters(collector), 1);
    assert_true(image_fold(&collector->images, kernel_of(collector), 0));
    assert_int_equal(rows_of(collector, KERNEL_PROGRAM), 1);
    assert_int_equal(rows_of(collector, UINT32_MAX), 7);
    assert_int_equal(left_in_counters(collector), 0);
    assert_int_equal(collector->gaps.unowned, 0);
    delete_collector(collector);
}

static void
notify_hit__outside_the_pid_namespace__one_row(void **state)
{
    struct collector *const collector = make_collector(false);

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 0, "(others)");
    hit(collector, 0, 0, 8);
    assert_int_equal(rows_of(collector, program_of(collector, "[others]")), 1);
    delete_collector(collector);
}

static void
notify_hit__process_has_just_exited__is_still_its(void **state)
{
    struct collector *const collector = make_collector(false);

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 1, "sh");
    hit(collector, 1, 1, 0);
    for (uint32_t pid = 10; pid < 20 + EXITED_MAX; pid++) {
        notify(collector, NTPROF_PROCESS_START, pid, "true");
        hit(collector, pid, pid, 4);
        notify(collector, NTPROF_PROCESS_EXIT, pid, "");
        hit(collector, pid, pid, 4);
    }
    hit(collector, 10, 10, 4); /* longer ago than any work for it takes */
    assert_int_equal(rows_of(collector, program_of(collector, "true")),
                     2 * (10 + EXITED_MAX));
    assert_int_equal(left_in_counters(collector), 1);
    notify_forget_exited(collector);
    hit(collector, 19 + EXITED_MAX, 1, 4);
    assert_int_equal(left_in_counters(collector), 2);
    delete_collector(collector);
}

static void
notify_hit__while_counting_is_paused__stays_to_be_dropped(void **state)
{
    struct collector *const collector = make_collector(false);

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 10, "dd");
    collector->images.discarding = true;
    hit(collector, 10, 10, 0);
    assert_int_equal(left_in_counters(collector), 1);
    assert_true(image_fold(&collector->images, kernel_of(collector), 0));
    assert_int_equal(left_in_counters(collector), 0);
    assert_int_equal(rows_of(collector, UINT32_MAX), 0);
    delete_collector(collector);
}

/* The limit of memory is met: rows that there are grow, and new ones do not come. */
static void
notify_hit__without_memory_for_rows__hits_stay_and_are_counted_once(void **state)
{
    struct collector *const collector = make_collector(true);
    const uint64_t hits = 100000;
    size_t capacity;

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 10, "many");
    for (uint32_t i = 0; i < 100; i++) {
        hit(collector, 10, 10, 0);
    }
    capacity = kernel_of(collector)->fresh.capacity;
    collector->options.memory_max = 1;
    collector_measure(collector);
    for (uint64_t i = 0; i < hits; i++) {
        hit(collector, 10, 10, 4 * (i % (BYTES / 4)));
    }
    assert_int_equal(kernel_of(collector)->fresh.capacity, capacity);
    assert_true(collector->gaps.unowned > 0);
    assert_int_equal(left_in_counters(collector), collector->gaps.unowned);
    assert_int_equal(rows_of(collector, UINT32_MAX) + left_in_counters(collector),
                     hits + 100);
    assert_true(image_fold(&collector->images, kernel_of(collector), 0));
    assert_int_equal(rows_of(collector, UINT32_MAX), hits + 100);
    delete_collector(collector);
}

static void
notify_hit__with_threads__each_has_its_rows(void **state)
{
    struct collector *const collector = make_collector(true);
    const uint32_t self = (uint32_t)getpid();
    const struct thread *threads;

    (void)state;
    notify(collector, NTPROF_PROCESS_START, self, "me");
    hit(collector, self, self, 0);
    hit(collector, self, 1, 0);
    hit(collector, self, self, 0);
    assert_int_equal(collector->threads.count, 2);
    threads = collector->threads.items;
    assert_int_equal(threads[0].tid, self);
    assert_int_equal(threads[0].hits, 2);
    assert_string_not_equal(threads[0].name, "");
    assert_string_equal(threads[1].name, "me"); /* it is none of this process */
    /* A new process with the old number has threads of its own. */
    notify(collector, NTPROF_PROCESS_EXIT, self, "");
    notify(collector, NTPROF_PROCESS_START, self, "another");
    hit(collector, self, self, 0);
    assert_int_equal(collector->threads.count, 3);
    counts_merge(&kernel_of(collector)->fresh);
    assert_int_equal(kernel_of(collector)->fresh.count, 3);
    assert_int_equal(rows_of(collector, UINT32_MAX), 4);
    delete_collector(collector);
}

/* A JIT may have mapped a gigabyte of code, whose counters nobody reads any more. */
static void
notify_end__code_without_a_file__is_not_folded(void **state)
{
    struct collector *const collector = make_collector(false);
    const ntprof_notification map = {.size = sizeof(map),
                                     .kind = NTPROF_IMAGE_MAP,
                                     .pid = 7,
                                     .name = "//anon",
                                     .image_flags = NTPROF_IMAGE_ANONYMOUS};
    struct image *const image = image_set_find(&collector->images, &map, NULL, 0);
    const struct image_segment *segment;

    (void)state;
    assert_non_null(image);
    segment = image_segment_find(&collector->images, image, 0, BYTES, 0);
    assert_non_null(segment);
    ++*image_segment_counter(segment, 0, 0);
    image->users = 1;
    collector->machine.mappings[0].image = image;
    notify_end(collector);
    assert_int_equal(image->fresh.count, 0);
    assert_non_null(image->segments);
    collector->machine.mappings = NULL;
    delete_collector(collector);
}

/* Hits that reach rows after the statistics of their source were read. */
static void
late__moved_or_unmapped__counted(void **state)
{
    struct collector *const collector = make_collector(false);
    const ntprof_notification map = {.size = sizeof(map),
                                     .kind = NTPROF_IMAGE_MAP,
                                     .pid = 7,
                                     .name = "//anon",
                                     .image_flags = NTPROF_IMAGE_ANONYMOUS};
    struct image *const image = image_set_find(&collector->images, &map, NULL, 0);
    const struct image_segment *segment;

    (void)state;
    notify(collector, NTPROF_PROCESS_START, 7, "seven");
    hit(collector, 7, 7, 0);
    assert_int_equal(collector->late[0], 1);
    assert_non_null(image);
    segment = image_segment_find(&collector->images, image, 0, BYTES, 0);
    assert_non_null(segment);
    *image_segment_counter(segment, 0, 0) += 3;
    image->users = 1;
    collector->machine.mappings[0].image = image;
    mapping_remove(collector, &collector->machine, 0);
    assert_int_equal(image->fresh.count, 1);
    assert_int_equal(collector->late[0], 4);
    delete_collector(collector);
}

static void
late__statistics_set__counted_in_a_pause_too(void **state)
{
    struct collector *const collector = make_collector(false);
    ntprof_source_info in_session = {
        .size = sizeof(in_session), .expected = 10, .taken = 10, .counted = 9};
    ntprof_source_info set = {0};
    struct pause pause = {.paused = false};

    (void)state;
    collector->session_statistics = &in_session;
    collector->statistics = &set;
    collector->pauses = &pause;
    collector->late[0] = 3;
    collector_set_statistics(collector);
    assert_int_equal(set.taken, 13);
    assert_int_equal(set.counted, 12);
    assert_int_equal(set.expected, 13);
    assert_int_equal(in_session.taken, 13);
    assert_int_equal(collector->late[0], 0);
    pause_begin(&pause, &in_session);
    collector->late[0] = 2;
    collector_set_statistics(collector);
    assert_int_equal(set.taken, 13); /* hits of the pause are in no row */
    assert_int_equal(in_session.taken, 15);
    pause_end(&pause, &in_session);
    collector_set_statistics(collector);
    assert_int_equal(set.taken, 13);
    assert_int_equal(set.counted, 12);
    assert_int_equal(set.expected, 13);
    delete_collector(collector);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notify_hit__in_the_kernel__belongs_to_the_interrupted_process),
        cmocka_unit_test(notify_hit__outside_the_pid_namespace__one_row),
        cmocka_unit_test(notify_hit__process_has_just_exited__is_still_its),
        cmocka_unit_test(notify_hit__while_counting_is_paused__stays_to_be_dropped),
        cmocka_unit_test(
            notify_hit__without_memory_for_rows__hits_stay_and_are_counted_once),
        cmocka_unit_test(notify_hit__with_threads__each_has_its_rows),
        cmocka_unit_test(notify_end__code_without_a_file__is_not_folded),
        cmocka_unit_test(late__moved_or_unmapped__counted),
        cmocka_unit_test(late__statistics_set__counted_in_a_pause_too),
    };

    return cmocka_run_group_tests_name("hits", tests, NULL, NULL);
}
