/* SPDX-License-Identifier: MIT */
/*
 * image.c - counters of images: folded into 64 bits before they wrap, while they count
 * on.
 *
 * No session is needed: hits are added to the counters as the counting routine does.
 */
#include "record/collect/image.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

enum { SOURCES = 2, BUCKET_LOG2 = 2 };

static const uint64_t base = 0x10000;
static const uint64_t length = UINT64_C(4) << 20;

/* Code of a JIT in process pid; its places are addresses. */
static struct image *
find_anonymous(struct image_set *set, uint32_t pid)
{
    const ntprof_notification map = {
        .size = sizeof(map),
        .kind = NTPROF_IMAGE_MAP,
        .pid = pid,
        .name = "",
        .base = base,
        .length = length,
        .image_flags = NTPROF_IMAGE_ANONYMOUS,
    };

    return image_set_find(set, &map, NULL, 0);
}

/* What Linux tells of a file whose path has no room in a page. */
static void
path_too_long__is_an_image_of_its_own(void **state)
{
    const ntprof_notification map = {
        .size = sizeof(map),
        .kind = NTPROF_IMAGE_MAP,
        .pid = 1,
        .name = "//toolong",
        .base = base,
        .length = length,
        .image_flags = NTPROF_IMAGE_ANONYMOUS,
    };
    struct image_set set;
    struct image *image;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = image_set_find(&set, &map, NULL, 0);
    assert_non_null(image);
    assert_int_equal(image->kind, IMAGE_ANONYMOUS);
    assert_string_equal(image->path, "[anon:1:path-too-long]");
    assert_ptr_not_equal(find_anonymous(&set, 1), image);
    image_set_finish(&set);
}

static struct image_segment *
find_segment(struct image_set *set, struct image *image, uint32_t program)
{
    struct image_segment *const segment =
        image_segment_find(set, image, base, length, program);

    assert_non_null(segment);
    return segment;
}

static void
hit(const struct image_segment *segment, size_t source, uint64_t place, ULONG hits)
{
    __atomic_fetch_add(image_segment_counter(segment, source, place), hits,
                       __ATOMIC_RELAXED);
}

static void
fold_all(struct image_set *set, struct image *image)
{
    for (uint32_t i = 0; i < SOURCES; i++) {
        assert_true(image_fold(set, image, i));
    }
}

/* Hits of one bucket that have been taken over so far. */
static uint64_t
total(struct image *image, uint64_t place, uint32_t program, uint32_t source)
{
    assert_true(image_take(image));
    assert_true(image_total(image));
    for (size_t i = 0; i < image->totals.count; i++) {
        const struct count *const count = &image->totals.items[i];

        if (count->place == place && count->program == program &&
            count->source == source) {
            return count->hits;
        }
    }
    return 0;
}

static void
image_fold__counters_near_their_end__sum_is_exact(void **state)
{
    struct image_set set;
    struct image *image;
    const struct image_segment *segment;
    uint64_t wanted = 0;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = find_segment(&set, image, 0);
    for (int round = 0; round < 5; round++) {
        hit(segment, 1, base + 400, 0xFFFFFFF0);
        wanted += 0xFFFFFFF0;
        fold_all(&set, image);
        assert_int_equal(*image_segment_counter(segment, 1, base + 400), 0);
        hit(segment, 1, base + 400, 0x20); /* would have wrapped */
        wanted += 0x20;
        fold_all(&set, image);
    }
    assert_int_equal(total(image, base + 400, 0, 1), wanted);
    assert_true(wanted > UINT64_C(5) * UINT32_MAX);
    assert_int_equal(image->totals.count, 1);
    assert_int_equal(total(image, base + 400, 0, 0), 0);
    image_set_finish(&set);
}

static void
image_fold__sparse_buffer__all_counters_found_and_others_untouched(void **state)
{
    const uint64_t places[] = {base, base + 4, base + 4096, base + length / 2,
                               base + length - 4};
    const size_t count = sizeof(places) / sizeof(places[0]);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct image_set set;
    struct image *image;
    const struct image_segment *segment;
    size_t used = 0;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = find_segment(&set, image, 0);
    for (size_t i = 0; i < count; i++) {
        hit(segment, 0, places[i], (ULONG)i + 1);
    }
    fold_all(&set, image);
    fold_all(&set, image); /* finds nothing more */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(total(image, places[i], 0, 0), i + 1);
    }
    assert_int_equal(image->totals.count, count);
    for (size_t at = ntprof_buffer_next(segment->counters[0], segment->bytes, 0);
         at < segment->bytes;
         at = ntprof_buffer_next(segment->counters[0], segment->bytes, at + page)) {
        used++;
    }
    /* Where something is swapped out all pages count as used. */
    assert_true(used <= count || used == segment->bytes / page);
    image_set_finish(&set);
}

static void
image_fold__kernel__map_shows_where_and_never_wraps_to_none(void **state)
{
    const uint64_t begin = UINT64_C(0xffffffff80000000);
    const uint64_t bytes = UINT64_C(0x7ffffff0);
    const uint64_t place = begin + UINT64_C(0x1234560);
    struct image_set set;
    struct image *image;
    struct image *map_image;
    const struct image_segment *segment;
    const struct image_segment *map;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    map_image = image_set_kernel(&set, IMAGE_KERNEL_MAP);
    image = image_set_kernel(&set, IMAGE_KERNEL);
    map = image_segment_find(&set, map_image, begin, bytes, 3);
    segment = image_segment_find(&set, image, begin, bytes, 3);
    assert_non_null(map);
    assert_non_null(segment);
    for (int round = 0; round < 3; round++) {
        const uint64_t there = place & ~((UINT64_C(1) << map->log2) - 1);

        hit(map, 0, there, 0xFFFFFFF0);
        hit(segment, 0, place, 0xFFFFFFF0);
        fold_all(&set, map_image);
        fold_all(&set, image);
        /* A hit that the map has, and that comes to its own counter after the fold. */
        hit(map, 0, there, 0x20);
        fold_all(&set, image);
        hit(segment, 0, place, 0x20);
        fold_all(&set, image);
    }
    assert_int_equal(total(image, place, 3, 0), UINT64_C(3) * 0x100000010);
    assert_int_equal(image->totals.count, 1);
    assert_int_equal(map_image->fresh.count, 0);
    image_set_finish(&set);
}

struct hitter {
    const struct image_segment *segment;
    uint64_t hits;
};

static void *
hitter_main(void *argument)
{
    const struct hitter *const hitter = argument;

    for (uint64_t i = 0; i < hitter->hits; i++) {
        hit(hitter->segment, 0, base + (i % 3) * 4096, 1);
    }
    return NULL;
}

static void
image_fold__while_hits_come__none_lost_and_none_twice(void **state)
{
    struct image_set set;
    struct image *image;
    struct hitter hitter = {.hits = 3000000};
    pthread_t thread;
    uint64_t sum = 0;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    hitter.segment = find_segment(&set, image, 0);
    assert_int_equal(pthread_create(&thread, NULL, hitter_main, &hitter), 0);
    for (int i = 0; i < 2000; i++) {
        fold_all(&set, image);
    }
    pthread_join(thread, NULL);
    fold_all(&set, image);
    for (uint64_t i = 0; i < 3; i++) {
        sum += total(image, base + i * 4096, 0, 0);
    }
    assert_int_equal(sum, hitter.hits);
    assert_int_equal(image->totals.count, 3);
    image_set_finish(&set);
}

static void
image_release__after_a_fold__totals_stay_and_counters_begin_anew(void **state)
{
    struct image_set set;
    struct image *image;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    hit(find_segment(&set, image, 0), 0, base, 7);
    hit(find_segment(&set, image, 1), 0, base, 8);
    fold_all(&set, image);
    image_release(&set, image);
    assert_null(image->segments);
    hit(find_segment(&set, image, 0), 0, base, 1);
    fold_all(&set, image);
    assert_int_equal(total(image, base, 0, 0), 8);
    assert_int_equal(total(image, base, 1, 0), 8);
    image_set_finish(&set);
}

static void
image_keep__looks_between_totals__each_hit_in_one_look_and_in_the_totals(void **state)
{
    struct image_set set;
    struct image *image;
    const struct image_segment *segment;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = find_segment(&set, image, 0);
    for (ULONG look = 1; look <= 3; look++) {
        hit(segment, 0, base, look);
        hit(segment, 1, base + 4, 10 * look);
        fold_all(&set, image);
        assert_true(image_take(image));
        counts_merge(&image->taken);
        assert_int_equal(image->taken.count, 2);
        assert_int_equal(image->taken.items[0].hits, look);
        assert_int_equal(image->taken.items[1].hits, 10 * look);
        assert_true(image_keep(image));
        assert_int_equal(image->taken.count, 0);
    }
    assert_int_equal(total(image, base, 0, 0), 6);
    assert_int_equal(total(image, base + 4, 0, 1), 60);
    assert_int_equal(image->totals.count, 2);
    image_set_finish(&set);
}

static void
image_set_find__more_jit_processes_than_are_told_apart__one_image_and_one_row(
    void **state)
{
    struct image_set set;
    struct image *first;
    struct image *other;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    first = find_anonymous(&set, 1);
    for (uint32_t pid = 2; pid <= IMAGE_SET_ANONYMOUS_MAX; pid++) {
        assert_int_equal(find_anonymous(&set, pid)->pid, pid);
    }
    other = find_anonymous(&set, 100000);
    assert_int_equal(other->pid, 0);
    assert_string_equal(other->path, "[anon:other]");
    assert_ptr_equal(find_anonymous(&set, 100001), other);
    assert_ptr_equal(find_anonymous(&set, 1), first);
    hit(find_segment(&set, other, 0), 0, base, 2);
    hit(find_segment(&set, other, 0), 0, base + 4096, 3);
    fold_all(&set, other);
    assert_int_equal(total(other, 0, 0, 0), 5);
    assert_int_equal(other->totals.count, 1);
    image_set_finish(&set);
}

static void
image_set_find__more_images_than_there_may_be__refused_and_known_ones_found(
    void **state)
{
    struct image_set set;
    struct image *first = NULL;
    ntprof_notification map = {.size = sizeof(map),
                               .kind = NTPROF_IMAGE_MAP,
                               .pid = UINT32_MAX,
                               .base = base,
                               .length = 4096,
                               .inode = 1};
    char name[32];

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    map.name = name;
    for (unsigned i = 0; i < IMAGE_SET_MAX; i++) {
        snprintf(name, sizeof(name), "/nowhere/%u", i);
        assert_non_null(image_set_find(&set, &map, NULL, 0));
        if (i == 0) {
            first = image_set_find(&set, &map, NULL, 0);
        }
    }
    snprintf(name, sizeof(name), "/nowhere/more");
    assert_null(image_set_find(&set, &map, NULL, 0));
    snprintf(name, sizeof(name), "/nowhere/0");
    assert_ptr_equal(image_set_find(&set, &map, NULL, 0), first);
    assert_int_equal(set.count, IMAGE_SET_MAX);
    image_set_finish(&set);
}

/* Maps the file behind name. */
static struct image *
find_file(struct image_set *set, const char *name, uint64_t inode)
{
    const ntprof_notification map = {
        .size = sizeof(map),
        .kind = NTPROF_IMAGE_MAP,
        .pid = UINT32_MAX,
        .name = name,
        .base = base,
        .length = 4096,
        .inode = inode,
    };

    return image_set_find(set, &map, NULL, 0);
}

static void
image_set_find__no_descriptors_left_for_images__counted(void **state)
{
    struct image_set set;
    char name[32];

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    set.files_max = 0;
    snprintf(name, sizeof(name), "/proc/self/exe");
    assert_non_null(find_file(&set, name, 1));
    assert_non_null(find_file(&set, name, 1));
    assert_int_equal(set.unopened, 1);
    assert_non_null(find_file(&set, name, 2));
    assert_int_equal(set.unopened, 2);
    image_set_finish(&set);
}

static void
image_segment_find__full__what_is_new_is_refused_and_counted(void **state)
{
    struct image_set set;
    struct image *image;
    struct image_segment *segment;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = find_segment(&set, image, 0);
    assert_int_equal(set.segments_made, 1);
    set.full = true;
    assert_ptr_equal(find_segment(&set, image, 0), segment);
    assert_ptr_equal(find_anonymous(&set, 1), image);
    assert_int_equal(set.refused, 0);
    assert_null(image_segment_find(&set, image, base, segment->length, 1));
    assert_int_equal(set.refused, 1);
    assert_null(find_anonymous(&set, 2));
    assert_int_equal(set.refused, 2);
    assert_int_equal(set.segments_made, 1);
    assert_int_equal(set.count, 1);
    set.full = false;
    assert_non_null(find_anonymous(&set, 2));
    hit(segment, 0, base, 2);
    fold_all(&set, image);
    assert_int_equal(total(image, base, 0, 0), 2);
    image_set_finish(&set);
}

/* A program may put anything where its file was: what opening that does, it must not
 * have us do. */
static void
image_set_find__name_is_no_file_any_more__it_is_not_opened(void **state)
{
    char folder[] = "/tmp/ntprof-image-XXXXXX";
    char name[64];
    char event[4096];
    struct image_set set;
    struct image *image;
    int watch;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof(name), "%s/pipe", folder);
    assert_int_equal(mkfifo(name, 0600), 0);
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0);
    assert_true(inotify_add_watch(watch, name, IN_OPEN) >= 0);
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_file(&set, name, 1);
    assert_non_null(image);
    assert_int_equal(image->fd, -1);
    assert_true(read(watch, event, sizeof(event)) < 0); /* nobody opened it */
    image_set_finish(&set);
    close(watch);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Neighbours are looked at together, each counts for itself. */
static void
image_fold__neighbours__every_counter_found_and_others_untouched(void **state)
{
    const uint64_t places[] = {base, base + 4, base + 12, base + 4096,
                               base + length - 4};
    const size_t count = sizeof(places) / sizeof(places[0]);
    struct image_set set;
    struct image *image;
    const struct image_segment *segment;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = find_segment(&set, image, 0);
    for (size_t i = 0; i < count; i++) {
        hit(segment, 0, places[i], (ULONG)i + 1);
    }
    fold_all(&set, image);
    fold_all(&set, image); /* finds nothing more */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(total(image, places[i], 0, 0), i + 1);
        assert_int_equal(*image_segment_counter(segment, 0, places[i]), 0);
    }
    assert_int_equal(image->totals.count, count);
    image_set_finish(&set);
}

/* The last one may have no neighbour. */
static void
image_fold__odd_length__the_last_counter_found(void **state)
{
    struct image_set set;
    struct image *image;
    struct image_segment *segment;

    (void)state;
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    image = find_anonymous(&set, 1);
    segment = image_segment_find(&set, image, base, 20, 0);
    assert_non_null(segment);
    assert_int_equal(segment->bytes, 20);
    hit(segment, 0, base + 16, 7);
    fold_all(&set, image);
    assert_int_equal(total(image, base + 16, 0, 0), 7);
    assert_int_equal(image->totals.count, 1);
    image_set_finish(&set);
}

/* Mapped before the watch, which tells no generation, and after it. */
static void
image_set_find__generation_told_later__same_image_if_it_is_the_files(void **state)
{
    char name[] = "/tmp/ntprof-image-XXXXXX";
    const int fd = mkostemp(name, O_CLOEXEC);
    ntprof_notification map = {.size = sizeof(map),
                               .kind = NTPROF_IMAGE_MAP,
                               .pid = UINT32_MAX,
                               .name = name,
                               .base = base,
                               .length = 4096};
    uint32_t version[2] = {0};
    struct image_set set;
    struct image *before;
    struct stat status;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    (void)ioctl(fd, FS_IOC_GETVERSION, version);
    close(fd);
    if (version[0] == 0) {
        assert_int_equal(unlink(name), 0);
        print_message("the file system of /tmp tells no generations\n");
        skip();
    }
    map.inode = status.st_ino;
    map.device_major = major(status.st_dev);
    map.device_minor = minor(status.st_dev);
    image_set_init(&set, SOURCES, BUCKET_LOG2);
    before = image_set_find(&set, &map, NULL, 0);
    assert_non_null(before);
    assert_true(before->fd >= 0);
    map.inode_generation = version[0];
    assert_ptr_equal(image_set_find(&set, &map, NULL, 0), before);
    map.inode_generation = version[0] ^ 1;
    assert_ptr_not_equal(image_set_find(&set, &map, NULL, 0), before);
    map.inode_generation = 0;
    assert_ptr_equal(image_set_find(&set, &map, NULL, 0), before);
    assert_int_equal(set.count, 2);
    image_set_finish(&set);
    assert_int_equal(unlink(name), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_too_long__is_an_image_of_its_own),
        cmocka_unit_test(image_set_find__name_is_no_file_any_more__it_is_not_opened),
        cmocka_unit_test(image_segment_find__full__what_is_new_is_refused_and_counted),
        cmocka_unit_test(image_fold__counters_near_their_end__sum_is_exact),
        cmocka_unit_test(
            image_fold__sparse_buffer__all_counters_found_and_others_untouched),
        cmocka_unit_test(image_fold__kernel__map_shows_where_and_never_wraps_to_none),
        cmocka_unit_test(image_fold__while_hits_come__none_lost_and_none_twice),
        cmocka_unit_test(
            image_keep__looks_between_totals__each_hit_in_one_look_and_in_the_totals),
        cmocka_unit_test(
            image_release__after_a_fold__totals_stay_and_counters_begin_anew),
        cmocka_unit_test(
            image_set_find__more_jit_processes_than_are_told_apart__one_image_and_one_row),
        cmocka_unit_test(
            image_set_find__more_images_than_there_may_be__refused_and_known_ones_found),
        cmocka_unit_test(image_set_find__no_descriptors_left_for_images__counted),
        cmocka_unit_test(
            image_fold__neighbours__every_counter_found_and_others_untouched),
        cmocka_unit_test(image_fold__odd_length__the_last_counter_found),
        cmocka_unit_test(
            image_set_find__generation_told_later__same_image_if_it_is_the_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
