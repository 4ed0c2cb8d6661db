/* SPDX-License-Identifier: MIT */
/*
 * Locked pages: what they are charged for, what the limit does, and that nothing is
 * written to memory that has taken their place. rules: start-lock, start-lock-resident,
 * start-lock-holds
 */
#include "lock.h"

enum { PER_PAGE_SMALL = 64 };

static size_t
page_kb(void)
{
    return page() / 1024;
}

/* ---- what is charged ---- */

/* Locks, and looks at what that is charged for. */
static void
assert_charged(const ULONG *buffer, size_t counters, size_t pages)
{
    MDL mdl;

    for (int round = 0; round < 3; round++) {
        lock_and_map(&mdl, buffer, counters);
        assert_int_equal(locked_kb(), locked_kb_before + pages * page_kb());
        unmap_and_unlock(&mdl);
        assert_int_equal(locked_kb(), locked_kb_before);
    }
}

static void
lock__any_kind_of_memory__charged_until_unlocked(void **state)
{
    struct guarded whole = guarded_make(5, MAP_PRIVATE);
    struct guarded shared = guarded_make(3, MAP_SHARED);
    ULONG *sparse = ntprof_buffer_alloc(9 * page());
    ULONG area[PER_PAGE_SMALL + GUARDED_ROOM / 4];
    ULONG *const stack = guarded_within(area, sizeof(area), PER_PAGE_SMALL);
    const bool straddles =
        (uintptr_t)stack / page() != ((uintptr_t)(stack + PER_PAGE_SMALL) - 1) / page();

    (void)state;
    /* The caller's pages and our counters; of ntprof_buffer_alloc nothing. */
    assert_charged((ULONG *)(void *)whole.pages, whole.bytes / 4, 5 + 5);
    assert_charged(guarded_end(&whole, 1), 1, 2);
    assert_charged(stack, PER_PAGE_SMALL, straddles ? 3 : 2);
    guarded_give_back(area, sizeof(area));
    assert_charged((ULONG *)(void *)shared.pages, shared.bytes / 4, 6);
    assert_charged((ULONG *)(void *)whole.pages + 1, whole.bytes / 4 - 2, 5 + 5);
    assert_charged(sparse, 9 * page() / 4, 0);
    ntprof_buffer_free(sparse, 9 * page());
    guarded_free(&shared);
    guarded_free(&whole);
}

static void
lock__same_memory_again__charged_once_until_the_last_unlock(void **state)
{
    struct guarded whole = guarded_make(4, MAP_PRIVATE);
    const ULONG *buffer = (ULONG *)(void *)whole.pages;
    MDL first;
    MDL second;
    MDL part;

    (void)state;
    lock_and_map(&first, buffer, whole.bytes / 4);
    lock_and_map(&second, buffer, whole.bytes / 4);
    lock_and_map(&part, buffer + 17, 100);
    /* The caller's pages once, and the counters of each. */
    assert_int_equal(locked_kb(), locked_kb_before + (4 + 4 + 4 + 1) * page_kb());
    unmap_and_unlock(&first);
    unmap_and_unlock(&part);
    assert_int_equal(locked_kb(), locked_kb_before + (4 + 4) * page_kb());
    unmap_and_unlock(&second);
    assert_int_equal(locked_kb(), locked_kb_before);
    guarded_free(&whole);
}

static void
lock__two_small_buffers_in_a_page__held_until_the_last_unlock(void **state)
{
    ULONG *buffer = guarded_counters(128);
    MDL first;
    MDL second;

    (void)state;
    lock_and_map(&first, buffer, 64);
    lock_and_map(&second, buffer + 64, 64);
    assert_int_equal(locked_kb(), locked_kb_before + 2 * page_kb());
    unmap_and_unlock(&first);
    assert_int_equal(locked_kb(), locked_kb_before + 2 * page_kb());
    hit(&second, 63);
    flush(&second);
    assert_int_equal(value(&buffer[127]), 1);
    unmap_and_unlock(&second);
}

/* The caller's own lock is not undone, and what it locked is counted into. */
static void
lock__memory_that_the_caller_has_locked__stays_so(void **state)
{
    ULONG *buffer = guarded_counters(16);
    const size_t before_kb = locked_kb();
    MDL mdl;

    (void)state;
    assert_int_equal(host_memory_lock((uintptr_t)buffer, 64), 0);
    lock_and_map(&mdl, buffer, 16);
    hit(&mdl, 3);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[3]), 1);
    assert_int_equal(locked_kb(), before_kb + page_kb());
    guarded_finish();
}

/* ---- limits ---- */

static int
limit_locked(size_t bytes)
{
    const struct rlimit limit = {bytes, bytes};

    return drop_rights() != 0 || setrlimit(RLIMIT_MEMLOCK, &limit) != 0;
}

/* Refused without a trace, and what fits is locked after that. 0, or which step failed.
 */
static int
lock_too_much(ULONG *buffer, size_t counters, size_t fitting)
{
    const size_t mappings = count_mappings(true);
    MDL mdl;

    buffer[0] = 5;
    buffer[counters - 1] = 6;
    if (lock(&mdl, buffer, counters) != STATUS_WORKING_SET_QUOTA) {
        return 1;
    }
    if (locked_kb() != 0 || count_mappings(true) != mappings) {
        return 2;
    }
    if (buffer[0] != 5 || buffer[counters - 1] != 6) {
        return 3;
    }
    if (fitting == 0) {
        return 0;
    }
    if (lock(&mdl, buffer, fitting) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &mdl) != STATUS_SUCCESS) {
        return 4;
    }
    hit(&mdl, 0);
    unmap_and_unlock(&mdl);
    return buffer[0] == 6 && locked_kb() == 0 ? 0 : 5;
}

/* Each kind of lock, one page below its limit. */
static int
lock_beyond_16_pages(void *argument)
{
    struct guarded *const memory = argument; /* 17 pages private, and 17 shared */
    ULONG *const pages = (ULONG *)(void *)memory[0].pages;
    ULONG *const shared = (ULONG *)(void *)memory[1].pages;
    const size_t per_page = page() / 4;
    int step;

    if (limit_locked(16 * page()) != 0) {
        return 1;
    }
    /* With as many pages of ours. */
    step = lock_too_much(pages, 8 * per_page + 1, 8 * per_page);
    if (step != 0) {
        return 10 + step;
    }
    step = lock_too_much(shared, 8 * per_page + 1, 8 * per_page);
    return step != 0 ? 20 + step : 0;
}

static int
lock_with_limit_0(void *argument)
{
    struct guarded *const memory = argument;
    ULONG *sparse;
    MDL mdl;
    int step;

    if (limit_locked(0) != 0) {
        return 1;
    }
    step = lock_too_much((ULONG *)(void *)memory[0].pages, page() / 4, 0);
    if (step != 0) {
        return 10 + step;
    }
    step = lock_too_much(guarded_end(&memory[0], 2), 2, 0);
    if (step != 0) {
        return 20 + step;
    }
    /* What takes no memory until it is hit, and what is nothing, can be locked all the
     * same. */
    sparse = ntprof_buffer_alloc(3 * page());
    if (sparse == NULL || lock(&mdl, sparse, page() / 2) != STATUS_SUCCESS) {
        return 2;
    }
    host.Table->UnlockPages(host.Context, &mdl);
    if (lock(&mdl, sparse, 0) != STATUS_SUCCESS) {
        return 3;
    }
    host.Table->UnlockPages(host.Context, &mdl);
    ntprof_buffer_free(sparse, 3 * page());
    return 0;
}

static void
lock__beyond_the_limit__working_set_quota_and_nothing_left(void **state)
{
    struct guarded memory[2] = {guarded_make(17, MAP_PRIVATE),
                                guarded_make(17, MAP_SHARED)};

    (void)state;
    assert_child_returns_0(lock_beyond_16_pages, memory);
    assert_child_returns_0(lock_with_limit_0, memory);
    guarded_free(&memory[0]);
    guarded_free(&memory[1]);
}

enum { MANY = 1000, SMALL = 16 };

static int
lock_many_small(void *argument)
{
    ULONG *const buffer = argument;
    static MDL mdl[MANY];

    if (limit_locked((size_t)1 << 20) != 0) {
        return 1;
    }
    for (size_t i = 0; i < MANY; i++) {
        if (lock(&mdl[i], buffer + i * SMALL, SMALL) != STATUS_SUCCESS ||
            host.Table->MapPages(host.Context, &mdl[i]) != STATUS_SUCCESS) {
            return 2;
        }
        hit(&mdl[i], i % SMALL);
    }
    for (size_t i = 0; i < MANY; i++) {
        unmap_and_unlock(&mdl[(i * 7) % MANY]);
    }
    for (size_t i = 0; i < (size_t)MANY * SMALL; i++) {
        if (buffer[i] != (i % SMALL == i / SMALL % SMALL)) {
            return 3;
        }
    }
    return locked_kb() == 0 ? 0 : 4;
}

static void
lock__thousand_buffers_of_64_bytes__within_1_mb(void **state)
{
    (void)state;
    assert_child_returns_0(lock_many_small, guarded_counters((size_t)MANY * SMALL));
}

/* ---- memory that is not what it was ---- */

static ULONG *
map_over(void *pages, size_t bytes, int kind)
{
    ULONG *const made = mmap(pages, bytes, PROT_READ | PROT_WRITE,
                             kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    assert_ptr_equal(made, pages);
    return made;
}

static void
assert_all(const ULONG *counters, size_t count, ULONG expected)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(value(&counters[i]), expected);
    }
}

/*
 * A buffer from offset to behind in three pages, all of which the caller replaces while
 * it is locked: by memory of the same kind, and of the other one.
 */
static void
replace_all(int kind, int other_kind, size_t first, size_t counters)
{
    struct guarded memory = guarded_make(3, kind);
    const size_t all = memory.bytes / 4;
    ULONG *canary;
    MDL mdl;

    lock_and_map(&mdl, (ULONG *)(void *)memory.pages + first, counters);
    hit(&mdl, 0);
    flush(&mdl);
    assert_int_equal(value((ULONG *)(void *)memory.pages + first), 1);
    canary = map_over(memory.pages, memory.bytes, other_kind);
    for (int round = 0; round < 2; round++) { /* untouched, and written to */
        hit(&mdl, 0);
        hit(&mdl, counters - 1);
        hit(&mdl, counters / 2);
        flush(&mdl);
        assert_all(canary, all, round == 0 ? 0 : 0x5A5A5A5A);
        memset(canary, 0x5A, memory.bytes);
    }
    hit(&mdl, 0);
    hit(&mdl, counters - 1);
    unmap_and_unlock(&mdl);
    assert_all(canary, all, 0x5A5A5A5A);
    guarded_free(&memory);
}

static void
unlock__other_memory_in_its_place__untouched(void **state)
{
    static const int kinds[] = {MAP_PRIVATE, MAP_SHARED};
    const size_t all = 3 * page() / 4;

    (void)state;
    for (int i = 0; i < 4; i++) {
        replace_all(kinds[i / 2], kinds[i % 2], 0, all);
        replace_all(kinds[i / 2], kinds[i % 2], 1, all - 2);
        replace_all(kinds[i / 2], kinds[i % 2], 5, 3);
        replace_all(kinds[i / 2], kinds[i % 2], all - 1, 1);
    }
}

/* Moved away, the memory is the caller's; what it maps in the old place is not touched.
 */
static void
unlock__memory_of_differences_moved__canary_untouched(void **state)
{
    struct guarded memory = guarded_make(2, MAP_SHARED);
    struct guarded elsewhere = guarded_make(2, MAP_PRIVATE);
    ULONG *moved = (ULONG *)(void *)elsewhere.pages;
    ULONG *canary;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, memory.pages, memory.bytes / 4);
    hit(&mdl, 9);
    flush(&mdl);
    assert_ptr_equal(mremap(memory.pages, memory.bytes, memory.bytes,
                            MREMAP_MAYMOVE | MREMAP_FIXED, moved),
                     moved);
    hit(&mdl, 9);
    flush(&mdl);
    canary = map_over(memory.pages, memory.bytes, MAP_PRIVATE);
    hit(&mdl, 9);
    unmap_and_unlock(&mdl);
    assert_all(canary, memory.bytes / 4, 0);
    assert_int_equal(value(&moved[9]), 1);
    guarded_free(&memory);
    guarded_free(&elsewhere);
}

/* Another lock uses the place again while the first goes on. */
static void
reuse_place(size_t second_at)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *made;
    MDL first;
    MDL second;
    MDL third;

    lock_and_map(&first, (ULONG *)(void *)memory.pages + 1, 4);
    hit(&first, 0);
    made = map_over(memory.pages, memory.bytes, MAP_PRIVATE);
    lock_and_map(&second, made + second_at, 4);
    lock_and_map(&third, made + second_at + 4, 4);
    hit(&first, 1);
    hit(&second, 2);
    hit(&third, 3);
    flush(&first);
    flush(&second);
    unmap_and_unlock(&second);
    hit(&first, 1);
    unmap_and_unlock(&first);
    unmap_and_unlock(&third);
    for (size_t i = 0; i < page() / 4; i++) {
        assert_int_equal(value(&made[i]), i == second_at + 2 || i == second_at + 4 + 3);
    }
    guarded_free(&memory);
}

static void
flush__place_locked_again_with_other_memory__each_in_its_own(void **state)
{
    (void)state;
    reuse_place(1);
    reuse_place(64);
}

/* One page of a row of differences is another: the others are still counted into. */
static void
flush__one_page_is_another__others_exact(void **state)
{
    struct guarded memory = guarded_make(3, MAP_SHARED);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, buffer, 3 * per_page);
    map_over(memory.pages + page(), page(), MAP_PRIVATE);
    for (size_t i = 0; i < 3 * per_page; i++) {
        hit(&mdl, i);
    }
    unmap_and_unlock(&mdl);
    assert_all(buffer, per_page, 1);
    assert_all(buffer + per_page, per_page, 0);
    assert_all(buffer + 2 * per_page, per_page, 1);
    guarded_free(&memory);
}

/* What the caller does to its buffer while it is locked, and what is counted all the
 * same. */
struct change {
    int (*apply)(unsigned char *pages, size_t bytes);
    bool counted; /* the caller's memory has the hits after it */
};

static int
change_discard(unsigned char *pages, size_t bytes)
{
    /* Refused for locked pages, which differences go to. */
    return madvise(pages, bytes, MADV_DONTNEED) != 0 && errno != EINVAL;
}

static int
change_punch(unsigned char *pages, size_t bytes)
{
    return madvise(pages, bytes, MADV_REMOVE) != 0 && errno != EINVAL;
}

static int
change_protect(unsigned char *pages, size_t bytes)
{
    return mprotect(pages, bytes, PROT_NONE) != 0;
}

static int
change_protect_and_back(unsigned char *pages, size_t bytes)
{
    return mprotect(pages, bytes, PROT_NONE) != 0 ||
           mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0;
}

static int
change_unmap(unsigned char *pages, size_t bytes)
{
    return munmap(pages, bytes) != 0;
}

static const struct change changes[] = {
    {change_discard, true},  {change_punch, true},  {change_protect_and_back, true},
    {change_protect, false}, {change_unmap, false},
};

static void
change_while_locked(const struct change *change, int kind, size_t first)
{
    struct guarded memory = guarded_make(3, kind);
    ULONG *buffer = (ULONG *)(void *)memory.pages + first;
    const size_t counters = memory.bytes / 4 - 2 * first;
    MDL mdl;

    lock_and_map(&mdl, buffer, counters);
    assert_int_equal(change->apply(memory.pages, memory.bytes), 0);
    for (size_t i = 0; i < counters; i++) {
        hit(&mdl, i);
    }
    flush(&mdl);
    if (change->counted) {
        assert_all(buffer, counters, 1);
    }
    hit(&mdl, counters - 1);
    unmap_and_unlock(&mdl);
    if (change->counted) {
        assert_all(buffer, counters - 1, 1);
        assert_int_equal(value(&buffer[counters - 1]), 2);
    }
    assert_int_equal(locked_kb(), locked_kb_before);
    guarded_free(&memory);
}

static void
locked__caller_changes_its_memory__no_signal_and_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        change_while_locked(&changes[i], MAP_PRIVATE, 0);
        change_while_locked(&changes[i], MAP_PRIVATE, 1);
        change_while_locked(&changes[i], MAP_SHARED, 0);
        change_while_locked(&changes[i], MAP_SHARED, 3);
    }
}

/* A file that is cut under its mapping would raise SIGBUS for who touches it. */
static void
truncate_while_locked(int kind)
{
    const int file = memfd_create("file", MFD_CLOEXEC);
    const size_t counters = 2 * page() / 4;
    ULONG *mapped;
    MDL mdl;

    assert_int_equal(ftruncate(file, (off_t)(2 * page())), 0);
    mapped = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, kind, file, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    lock_and_map(&mdl, mapped, counters);
    assert_int_equal(ftruncate(file, 0), 0);
    for (size_t i = 0; i < counters; i++) {
        hit(&mdl, i);
    }
    flush(&mdl);
    hit(&mdl, 0);
    unmap_and_unlock(&mdl);
    assert_int_equal(lock(&mdl, mapped, counters), STATUS_ACCESS_VIOLATION);
    munmap(mapped, 2 * page());
    close(file);
}

static void
locked__file_is_truncated__no_signal(void **state)
{
    (void)state;
    truncate_while_locked(MAP_SHARED);
    truncate_while_locked(MAP_PRIVATE);
}

/* ---- counters of ours ---- */

enum { SETS = 700 };

static size_t
set_bytes(size_t set)
{
    return 4 + set * 37 % 5000 / 4 * 4;
}

/* Every byte of each is its own, zeroed each time, and all is given back. */
static void
counters__many_sizes_in_any_order__own_and_zeroed(void **state)
{
    static struct host_counters sets[SETS];

    (void)state;
    for (size_t i = 0; i < 4 * (size_t)SETS; i++) {
        struct host_counters *const set = &sets[i * 11 % SETS];
        const size_t bytes = set_bytes(i);

        host_counters_finish(set);
        assert_null(set->memory);
        assert_int_equal(host_counters_make(set, bytes), 0);
        assert_int_equal((uintptr_t)set->memory % sizeof(ULONG), 0);
        assert_int_equal(set->memory[0], 0);
        assert_memory_equal(set->memory, set->memory + 1, bytes - 1);
        memset(set->memory, (int)(1 + i % 250), bytes);
    }
    for (size_t i = 3 * (size_t)SETS; i < 4 * (size_t)SETS; i++) {
        struct host_counters *const set = &sets[i * 11 % SETS];

        assert_int_equal((unsigned char)set->memory[0], 1 + i % 250);
        assert_memory_equal(set->memory, set->memory + 1, set_bytes(i) - 1);
    }
    for (size_t i = 0; i < SETS; i++) {
        host_counters_finish(&sets[i]);
    }
    assert_int_equal(locked_kb(), locked_kb_before);
}

static void
counters__sixty_four_small_ones__one_page(void **state)
{
    struct host_counters sets[65];

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(host_counters_make(&sets[i], page() / 64), 0);
    }
    assert_int_equal(locked_kb(), locked_kb_before + page_kb());
    assert_int_equal(host_counters_make(&sets[64], 4), 0);
    assert_int_equal(locked_kb(), locked_kb_before + 2 * page_kb());
    /* The place that was given back is taken again. */
    host_counters_finish(&sets[20]);
    assert_int_equal(host_counters_make(&sets[20], 8), 0);
    assert_int_equal(locked_kb(), locked_kb_before + 2 * page_kb());
    for (size_t i = 0; i < 65; i++) {
        host_counters_finish(&sets[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(lock__any_kind_of_memory__charged_until_unlocked),
        host_test(lock__same_memory_again__charged_once_until_the_last_unlock),
        host_test(lock__two_small_buffers_in_a_page__held_until_the_last_unlock),
        host_test(lock__memory_that_the_caller_has_locked__stays_so),
        host_test(lock__beyond_the_limit__working_set_quota_and_nothing_left),
        host_test(lock__thousand_buffers_of_64_bytes__within_1_mb),
        host_test(unlock__other_memory_in_its_place__untouched),
        host_test(unlock__memory_of_differences_moved__canary_untouched),
        host_test(flush__place_locked_again_with_other_memory__each_in_its_own),
        host_test(flush__one_page_is_another__others_exact),
        host_test(locked__caller_changes_its_memory__no_signal_and_exact),
        host_test(locked__file_is_truncated__no_signal),
        host_test(counters__many_sizes_in_any_order__own_and_zeroed),
        host_test(counters__sixty_four_small_ones__one_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
