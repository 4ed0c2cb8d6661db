/* SPDX-License-Identifier: MIT */
/* mapping.c - when a mapping is one that is known already. */
#include "cmocka_all.h"

#include "hal/linux/mapping.h"

#include <ntprof/notification.h>

enum { BASE = 0x10000, LENGTH = 0x4000, OFFSET = 0x1000, INODE = 77 };

static struct perf_mapping
mapping_of(const char *name, uint64_t inode, uint64_t file_offset)
{
    struct perf_image *const image = perf_image_create(name, 8, 1, inode, 3);

    assert_non_null(image);
    return (struct perf_mapping){
        .base = BASE, .length = LENGTH, .file_offset = file_offset, .image = image};
}

static bool
is_contained(const struct perf_mappings *mappings, struct perf_mapping mapping)
{
    const bool contained = perf_mappings_contain(mappings, &mapping);

    perf_image_release(mapping.image);
    return contained;
}

static void
contain__file__of_the_same_offset(void **state)
{
    struct perf_mappings mappings = {0};

    (void)state;
    assert_int_equal(
        perf_mappings_insert(&mappings, mapping_of("/bin/true", INODE, OFFSET)), 0);
    assert_true(is_contained(&mappings, mapping_of("/bin/true", INODE, OFFSET)));
    assert_false(is_contained(&mappings, mapping_of("/bin/true", INODE, 0)));
    assert_false(is_contained(&mappings, mapping_of("/bin/true", INODE, 2 * OFFSET)));
    assert_false(is_contained(&mappings, mapping_of("/bin/true", INODE + 1, OFFSET)));
    assert_false(is_contained(&mappings, mapping_of("/bin/false", INODE, OFFSET)));
    perf_mappings_finish(&mappings);
}

/* Records have the address as the offset, /proc has 0. */
static void
contain__anonymous__whatever_its_offset(void **state)
{
    struct perf_mappings mappings = {0};

    (void)state;
    assert_int_equal(perf_mappings_insert(&mappings, mapping_of("//anon", 0, BASE)), 0);
    assert_int_not_equal(mappings.items[0].image->flags & NTPROF_IMAGE_ANONYMOUS, 0);
    assert_true(is_contained(&mappings, mapping_of("//anon", 0, BASE)));
    assert_true(is_contained(&mappings, mapping_of("//anon", 0, 0)));
    perf_mappings_finish(&mappings);
}

static void
contain__other_range__no(void **state)
{
    struct perf_mappings mappings = {0};
    struct perf_mapping other = mapping_of("/bin/true", INODE, OFFSET);

    (void)state;
    assert_false(perf_mappings_contain(&mappings, &other));
    assert_int_equal(
        perf_mappings_insert(&mappings, mapping_of("/bin/true", INODE, OFFSET)), 0);
    other.length /= 2;
    assert_false(perf_mappings_contain(&mappings, &other));
    other.length *= 2;
    other.base += 0x1000;
    assert_false(perf_mappings_contain(&mappings, &other));
    perf_image_release(other.image);
    perf_mappings_finish(&mappings);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contain__file__of_the_same_offset),
        cmocka_unit_test(contain__anonymous__whatever_its_offset),
        cmocka_unit_test(contain__other_range__no),
    };

    return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
