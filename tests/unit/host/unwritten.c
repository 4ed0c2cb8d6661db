/* SPDX-License-Identifier: MIT */
/*
 * Differences that the caller's memory does not take: none is dropped in silence, and
 * none is added twice. rules: start-lock-holds, stop-unwritten
 */
#include "lock.h"

/* Two pages; the counters are in the first one, up to its end but for the last one,
 * which keeps the pages from being shared whole. */
enum { COUNTERS = 40, FIRST = 3, SECOND = 17, FIRST_HITS = 5, SECOND_HITS = 5000 };

enum { OTHERS = 64 }; /* pages that the library maps until one is at an address */

static ULONG *
counters_in(const struct guarded *memory)
{
    return (ULONG *)(void *)(memory->pages + page()) - COUNTERS - 1;
}

static void
hit_some(const MDL *mdl)
{
    for (int i = 0; i < FIRST_HITS; i++) {
        hit(mdl, FIRST);
    }
    for (int i = 0; i < SECOND_HITS; i++) {
        hit(mdl, SECOND);
    }
}

static void
assert_counted(const ULONG *counters, ULONG times)
{
    for (size_t i = 0; i < COUNTERS; i++) {
        const ULONG expected = i == FIRST ? FIRST_HITS : i == SECOND ? SECOND_HITS : 0;

        assert_int_equal(value(&counters[i]), expected * times);
    }
    assert_int_equal(value(&counters[COUNTERS]), 0);
}

/* ---- what the caller does to its first page ---- */

static void
protect_from_writes(void *memory)
{
    assert_int_equal(mprotect(memory, page(), PROT_READ), 0);
}

static void
protect_from_all(void *memory)
{
    assert_int_equal(mprotect(memory, page(), PROT_NONE), 0);
}

static void
unmap(void *memory)
{
    assert_int_equal(munmap(memory, page()), 0);
}

static void
put_other_memory_there(void *memory)
{
    assert_ptr_equal(mmap(memory, page(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory);
}

/* And the memory there, if any, as it is to be looked at. */
static ULONG *
readable(const struct guarded *memory, bool gone)
{
    if (gone) {
        put_other_memory_there(memory->pages);
    } else {
        assert_int_equal(mprotect(memory->pages, page(), PROT_READ | PROT_WRITE), 0);
    }
    return counters_in(memory);
}

static const struct {
    const char *name;
    void (*apply)(void *memory);
    bool gone; /* what was there before */
} actions[] = {
    {"protected from writes", protect_from_writes, false},
    {"protected from all", protect_from_all, false},
    {"unmapped", unmap, true},
    {"replaced", put_other_memory_there, true},
};

enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static const int kinds[] = {MAP_PRIVATE, MAP_SHARED};

/* ---- tests ---- */

static void
unmap__memory_that_takes_no_counts__told_as_unwritten(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ACTIONS; i++) {
        struct guarded memory = guarded_make(2, kinds[i / ACTIONS]);
        ULONG *counters = counters_in(&memory);
        const bool gone = actions[i % ACTIONS].gone;
        MDL mdl;

        lock_and_map(&mdl, counters, COUNTERS);
        hit_some(&mdl);
        flush(&mdl);
        assert_counted(counters, 1);
        actions[i % ACTIONS].apply(memory.pages);
        hit_some(&mdl);
        flush(&mdl);
        host.Table->UnmapPages(host.Context, &mdl);
        assert_int_equal(mdl.Unwritten, FIRST_HITS + SECOND_HITS);
        assert_null(mdl.MappedSystemVa);
        host.Table->UnlockPages(host.Context, &mdl);
        assert_int_equal(mdl.Unwritten, FIRST_HITS + SECOND_HITS);
        assert_counted(readable(&memory, gone), gone ? 0 : 1);
        guarded_free(&memory);
    }
}

static void
unmap__protection_gone_in_time__all_is_added_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ACTIONS; i++) {
        struct guarded memory = guarded_make(2, kinds[i / ACTIONS]);
        ULONG *counters = counters_in(&memory);
        MDL mdl;

        if (!actions[i % ACTIONS].gone) {
            lock_and_map(&mdl, counters, COUNTERS);
            hit_some(&mdl);
            actions[i % ACTIONS].apply(memory.pages);
            flush(&mdl);
            hit_some(&mdl);
            flush(&mdl);
            assert_counted(readable(&memory, false), 0);
            flush(&mdl);
            assert_counted(counters, 2);
            hit_some(&mdl);
            unmap_and_unlock(&mdl);
            assert_int_equal(mdl.Unwritten, 0);
            assert_counted(counters, 3);
        }
        guarded_free(&memory);
    }
}

static void
unmap__one_of_two_locks_gone__each_tells_its_own(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *counters = counters_in(&memory);
    MDL first;
    MDL second;

    (void)state;
    lock_and_map(&first, counters, COUNTERS);
    hit_some(&first);
    put_other_memory_there(memory.pages);
    lock_and_map(&second, counters, COUNTERS); /* of the memory that is there now */
    hit_some(&second);
    unmap_and_unlock(&first);
    assert_int_equal(first.Unwritten, FIRST_HITS + SECOND_HITS);
    assert_counted(counters, 0);
    unmap_and_unlock(&second);
    assert_int_equal(second.Unwritten, 0);
    assert_counted(counters, 1);
    guarded_free(&memory);
}

static void
unmap__first_page_protected__only_its_counts_unwritten(void **state)
{
    struct guarded memory = guarded_make(4, MAP_PRIVATE);
    ULONG *counters = (ULONG *)(void *)memory.pages + 1;
    const size_t per_page = page() / sizeof(*counters);
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, counters, 3 * per_page);
    hit(&mdl, 0);                /* part of page 0 */
    hit(&mdl, per_page);         /* page 1, whole */
    hit(&mdl, 3 * per_page - 1); /* part of page 3 */
    protect_from_writes(memory.pages);
    unmap_and_unlock(&mdl);
    assert_int_equal(mdl.Unwritten, 1);
    assert_int_equal(value(&counters[0]), 0);
    assert_int_equal(value(&counters[per_page]), 1);
    assert_int_equal(value(&counters[3 * per_page - 1]), 1);
    guarded_free(&memory);
}

/* The library maps and locks pages of its own where the caller has unmapped. rule:
 * start-lock-holds, stop-unwritten */
static void
unmap__library_maps_its_own_there__nothing_is_added_to_it(void **state)
{
    const size_t counters = page() / sizeof(ULONG);
    ULONG *const memory =
        mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ULONG *const other =
        mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MDL mdl;
    MDL others[OTHERS];
    size_t count = 0;
    bool placed;

    (void)state;
    lock_and_map(&mdl, memory, counters);
    hit_some(&mdl);
    unmap(memory);
    do {
        lock_and_map(&others[count], other, counters);
        count++;
    } while (others[count - 1].MappedSystemVa != memory && count < OTHERS);
    placed = others[count - 1].MappedSystemVa == memory;
    if (placed) {
        flush(&mdl);
        assert_int_equal(value(&memory[FIRST]), 0);
        unmap_and_unlock(&mdl);
        assert_int_equal(mdl.Unwritten, FIRST_HITS + SECOND_HITS);
    } else {
        unmap_and_unlock(&mdl);
    }
    for (size_t i = 0; i < count; i++) {
        unmap_and_unlock(&others[i]);
        assert_int_equal(others[i].Unwritten, 0);
    }
    assert_int_equal(value(&other[FIRST]), 0);
    unmap(other);
    if (!placed) {
        print_message("Linux puts new mappings elsewhere\n");
        skip();
    }
}

static void
unmap__usual_memory__nothing_unwritten(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    ULONG *const whole = (ULONG *)(void *)memory.pages;
    MDL mdl;

    (void)state;
    for (size_t offset = 0; offset < 2; offset++) {
        lock_and_map(&mdl, whole + offset, 2 * page() / sizeof(*whole));
        mdl.Unwritten = 99; /* set by the call, whatever it was */
        hit_some(&mdl);
        unmap_and_unlock(&mdl);
        assert_int_equal(mdl.Unwritten, 0);
    }
    lock_and_map(&mdl, whole, 0);
    unmap_and_unlock(&mdl);
    assert_int_equal(mdl.Unwritten, 0);
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(unmap__memory_that_takes_no_counts__told_as_unwritten),
        host_test(unmap__protection_gone_in_time__all_is_added_once),
        host_test(unmap__one_of_two_locks_gone__each_tells_its_own),
        host_test(unmap__first_page_protected__only_its_counts_unwritten),
        host_test(unmap__library_maps_its_own_there__nothing_is_added_to_it),
        host_test(unmap__usual_memory__nothing_unwritten),
    };

    return cmocka_run_group_tests_name("unwritten", tests, NULL, NULL);
}
