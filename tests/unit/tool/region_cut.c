/* SPDX-License-Identifier: MIT */
/* region_cut.c - mappings of a file, cut to a region of it. */
#include "record/collect/region_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { DEVICE = 7, INODE = 99, BASE = 0x10000, PLACE = 0x1000, LENGTH = 0x1000 };

static struct image file = {
    .kind = IMAGE_FILE, .inode = INODE, .opened = true, .opened_device = DEVICE};

static struct mapping
whole_mapping(struct image *image)
{
    return (struct mapping){.mapped_at = BASE,
                            .base = BASE,
                            .length = LENGTH,
                            .image = image,
                            .place = PLACE};
}

static void
assert_unchanged(const struct mapping *mapping)
{
    assert_int_equal(mapping->mapped_at, BASE);
    assert_int_equal(mapping->base, BASE);
    assert_int_equal(mapping->place, PLACE);
    assert_int_equal(mapping->length, LENGTH);
}

static void
region_cut__regions_of_the_file__the_common_part(void **state)
{
    static const struct {
        uint64_t offset, bytes;   /* of the region */
        uint64_t skipped, length; /* of the mapping; length 0: nothing in common */
    } rows[] = {
        {PLACE, LENGTH, 0, LENGTH},
        {PLACE, 1, 0, 1},
        {PLACE + 0x10, 0x20, 0x10, 0x20},
        {PLACE + LENGTH - 1, 1, LENGTH - 1, 1},
        {PLACE + LENGTH - 1, 2, LENGTH - 1, 1}, /* the rest is in another mapping */
        {PLACE - 1, 2, 0, 1},
        {PLACE - 1, LENGTH + 2, 0, LENGTH},
        {PLACE - 1, 1, 0, 0},
        {PLACE + LENGTH, 1, 0, 0},
        {0, PLACE, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct collector_region region = {.device = DEVICE,
                                                .inode = INODE,
                                                .offset = rows[i].offset,
                                                .bytes = rows[i].bytes};
        struct mapping mapping = whole_mapping(&file);

        assert_int_equal(region_cut(&region, &mapping), rows[i].length > 0);
        if (rows[i].length == 0) {
            assert_unchanged(&mapping);
            continue;
        }
        assert_int_equal(mapping.mapped_at, BASE);
        assert_int_equal(mapping.base, BASE + rows[i].skipped);
        assert_int_equal(mapping.place, PLACE + rows[i].skipped);
        assert_int_equal(mapping.length, rows[i].length);
    }
}

static void
region_cut__another_file__nothing(void **state)
{
    static const struct collector_region regions[] = {
        {.device = DEVICE, .inode = INODE + 1, .offset = PLACE, .bytes = 1},
        {.device = DEVICE + 1, .inode = INODE, .offset = PLACE, .bytes = 1},
    };
    const struct collector_region region = {
        .device = DEVICE, .inode = INODE, .offset = PLACE, .bytes = 1};
    struct image anonymous = file;
    struct mapping mapping;

    (void)state;
    for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
        mapping = whole_mapping(&file);
        assert_false(region_cut(&regions[i], &mapping));
        assert_unchanged(&mapping);
    }
    anonymous.kind = IMAGE_ANONYMOUS;
    mapping = whole_mapping(&anonymous);
    assert_false(region_cut(&region, &mapping));
    assert_unchanged(&mapping);
}

static void
region_cut__no_region__whole(void **state)
{
    const struct collector_region none = {.bytes = 0};
    struct mapping mapping = whole_mapping(&file);

    (void)state;
    assert_true(region_cut(&none, &mapping));
    assert_unchanged(&mapping);
}

static void
region_cut__unknown_image__left_to_be_counted_as_a_failure(void **state)
{
    const struct collector_region region = {
        .device = DEVICE, .inode = INODE, .offset = PLACE, .bytes = 1};
    struct mapping mapping = whole_mapping(NULL);

    (void)state;
    assert_true(region_cut(&region, &mapping));
    assert_unchanged(&mapping);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(region_cut__regions_of_the_file__the_common_part),
        cmocka_unit_test(region_cut__another_file__nothing),
        cmocka_unit_test(region_cut__no_region__whole),
        cmocka_unit_test(region_cut__unknown_image__left_to_be_counted_as_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
