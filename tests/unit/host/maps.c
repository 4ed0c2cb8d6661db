/* SPDX-License-Identifier: MIT */
/* Lines of /proc/self/maps, and looking addresses up. */
#include "fixture.h"

static void
mapping_parse__line_forms__members(void **state)
{
    static const struct {
        const char *line;
        struct host_mapping expected;
    } rows[] = {
        {"1000-3000 rw-p 00000000 00:00 0 ",
         {.start = 0x1000, .last = 0x2FFF, .protection = PROT_READ | PROT_WRITE}},
        {"1000-3000 rw-p 00000000 00:00 0                          [stack]",
         {.start = 0x1000,
          .last = 0x2FFF,
          .protection = PROT_READ | PROT_WRITE,
          .stack = true}},
        {"400000-600000 rw-p 00000000 00:0f 77 /anon_hugepage (deleted)",
         {.start = 0x400000,
          .last = 0x5FFFFF,
          .device = 15,
          .inode = 77,
          .protection = PROT_READ | PROT_WRITE,
          .stack = true}},
        {"7f00-8000 r-xs 0001f000 fe:01 4294967297 /a b\\012c (deleted)",
         {.start = 0x7F00,
          .last = 0x7FFF,
          .offset = 0x1F000,
          .device = (uint64_t)0xFE << 32 | 1,
          .inode = 4294967297,
          .protection = PROT_READ | PROT_EXEC,
          .shared = true}},
        {"1000-2000 ---p 00000000 00:00 0", {.start = 0x1000, .last = 0x1FFF}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct host_mapping *expected = &rows[i].expected;
        struct host_mapping got;

        assert_true(host_mapping_parse(rows[i].line, &got));
        assert_int_equal(got.start, expected->start);
        assert_int_equal(got.last, expected->last);
        assert_int_equal(got.offset, expected->offset);
        assert_int_equal(got.device, expected->device);
        assert_int_equal(got.inode, expected->inode);
        assert_int_equal(got.protection, expected->protection);
        assert_int_equal(got.shared, expected->shared);
        assert_int_equal(got.stack, expected->stack);
    }
}

static void
mapping_parse__no_such_line__false(void **state)
{
    static const char *const lines[] = {
        "",
        "x",
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 rw-p",
        "1000-2000 rw-p 0 00:00",
        "1000-2000 rw 0 00:00 0",
        "2000-1000 rw-p 0 00:00 0",
        "1000-1000 rw-p 0 00:00 0",
        "1000-2000 rw-p 0 00-00 0",
    };
    struct host_mapping untouched = {.start = 1};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_false(host_mapping_parse(lines[i], &untouched));
        assert_int_equal(untouched.start, 1);
    }
}

static void
maps_find__in_before_between_and_behind__covering_or_next(void **state)
{
    struct host_mapping list[] = {{.start = 0x1000, .last = 0x1FFF},
                                  {.start = 0x2000, .last = 0x2FFF},
                                  {.start = 0x5000, .last = UINTPTR_MAX}};
    struct host_maps maps = {.list = list, .count = 3};
    struct host_maps none = {0};

    (void)state;
    assert_ptr_equal(host_maps_find(&maps, 0), &list[0]);
    assert_ptr_equal(host_maps_find(&maps, 0x1000), &list[0]);
    assert_ptr_equal(host_maps_find(&maps, 0x1FFF), &list[0]);
    assert_ptr_equal(host_maps_find(&maps, 0x2000), &list[1]);
    assert_ptr_equal(host_maps_find(&maps, 0x3000), &list[2]);
    assert_ptr_equal(host_maps_find(&maps, UINTPTR_MAX), &list[2]);
    assert_null(host_maps_find(&none, 0));
}

static void
maps_read__own_process__knows_stack_text_and_guards(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    const struct host_mapping *found;
    struct host_maps maps;
    int local = 0;

    (void)state;
    assert_int_equal(host_maps_read(&maps), 0);
    for (size_t i = 1; i < maps.count; i++) {
        assert_true(maps.list[i - 1].last < maps.list[i].start);
    }
    found = host_maps_find(&maps, (uintptr_t)memory.pages);
    assert_int_equal(found->start, (uintptr_t)memory.pages);
    assert_int_equal(found->last - found->start + 1, memory.bytes);
    assert_int_equal(found->protection, PROT_READ | PROT_WRITE);
    assert_false(found->shared || found->stack);
    assert_int_equal(host_maps_find(&maps, (uintptr_t)memory.pages - 1)->protection,
                     PROT_NONE);
    assert_int_equal(host_maps_find(&maps, (uintptr_t)&count_mappings)->protection,
                     PROT_READ | PROT_EXEC);
    assert_true(host_maps_find(&maps, (uintptr_t)&local)->stack);
    host_maps_finish(&maps);
    guarded_free(&memory);
}

/* More than the first list and one reading hold. */
static void
maps_read__thousands_of_mappings__all_there(void **state)
{
    const size_t pages = 3000;
    struct guarded memory = guarded_make(pages, MAP_PRIVATE);
    struct host_maps maps;

    (void)state;
    for (size_t i = 0; i < pages; i += 2) {
        assert_int_equal(mprotect(memory.pages + i * page(), page(), PROT_READ), 0);
    }
    assert_int_equal(host_maps_read(&maps), 0);
    for (size_t i = 0; i < pages; i++) {
        const struct host_mapping *found =
            host_maps_find(&maps, (uintptr_t)memory.pages + i * page());

        assert_int_equal(found->start, (uintptr_t)memory.pages + i * page());
        assert_int_equal(found->protection,
                         i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE);
    }
    host_maps_finish(&maps);
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapping_parse__line_forms__members),
        cmocka_unit_test(mapping_parse__no_such_line__false),
        cmocka_unit_test(maps_find__in_before_between_and_behind__covering_or_next),
        host_test(maps_read__own_process__knows_stack_text_and_guards),
        host_test(maps_read__thousands_of_mappings__all_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
