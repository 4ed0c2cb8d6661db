/* SPDX-License-Identifier: MIT */
/*
 * Which mappings the process has, asked and read; ranges among many; and what there is
 * when the process may have no more mappings. rules: start-lock, start-lock-resident
 *
 * Runs twice: as it is, and where the kernel does not answer for single mappings.
 * Linked with --wrap for the calls below. The system is said to allow so few mappings
 * that 120 locks are spliced.
 */
#include "lock.h"

enum { MAPPINGS_ALLOWED = 408, SPLICES = 120 };

ssize_t __real_host_file_read(const char *path, char *text, size_t capacity);
ssize_t __wrap_host_file_read(const char *path, char *text, size_t capacity);
void *__real_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to);
void *__wrap_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to);

ssize_t
__wrap_host_file_read(const char *path, char *text, size_t capacity)
{
    if (strcmp(path, "/proc/sys/vm/max_map_count") != 0) {
        return __real_host_file_read(path, text, capacity);
    }
    return snprintf(text, capacity, "%d\n", MAPPINGS_ALLOWED);
}

/* A page that other memory takes the place of, just before it is mapped once more. */
static void *vanishing;
static ULONG *canary;

void *
__wrap_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to)
{
    if (vanishing != NULL && at == vanishing && old_bytes == 0) {
        canary = mmap(at, page(), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        vanishing = NULL;
    }
    return __real_mremap(at, old_bytes, bytes, flags, to);
}

static bool
kernel_answers(void)
{
    struct host_maps maps;
    bool answers;

    assert_int_equal(host_maps_open(&maps, 0), 0);
    answers = maps.asks;
    host_maps_finish(&maps);
    return answers;
}

static void
assert_same_mapping(const struct host_mapping *got, const struct host_mapping *expected)
{
    assert_non_null(got);
    assert_int_equal(got->start, expected->start);
    assert_int_equal(got->last, expected->last);
    assert_int_equal(got->offset, expected->offset);
    assert_int_equal(got->device, expected->device);
    assert_int_equal(got->inode, expected->inode);
    assert_int_equal(got->protection, expected->protection);
    assert_int_equal(got->shared, expected->shared);
    assert_int_equal(got->stack, expected->stack);
}

/* A file whose name is longer than any that is asked for. */
static void *
map_file_of_long_name(void)
{
    char name[240];
    void *mapped;
    int file;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    file = memfd_create(name, MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)page()), 0);
    mapped = mmap(NULL, page(), PROT_READ, MAP_SHARED, file, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    close(file);
    return mapped;
}

/* At its first byte, its last, and from the gap below it, which begins behind the one
 * before. */
static void
assert_found_as_read(const struct host_mapping *expected, uintptr_t behind)
{
    const uintptr_t places[] = {behind, expected->start, expected->last};

    for (size_t i = 0; i < 3; i++) {
        struct host_maps maps;

        assert_int_equal(host_maps_open(&maps, places[i]), 0);
        assert_true(host_maps_are_known(&maps));
        assert_same_mapping(host_maps_find(&maps, places[i]), expected);
        assert_same_mapping(host_maps_find(&maps, expected->start), expected);
        assert_same_mapping(host_maps_find(&maps, behind), expected);
        host_maps_finish(&maps);
    }
}

/* Of sanitizers' own mappings, which they make at any time, nothing can be said. */
static void
maps_find__each_mapping_asked__as_read(void **state)
{
    struct guarded shared = guarded_make(2, MAP_SHARED);
    const uintptr_t own = (uintptr_t)shared.pages;
    void *const file = map_file_of_long_name();
    struct host_maps all;
    uintptr_t behind = 0;
    int local = 0;

    (void)state;
    assert_int_equal(host_maps_read(&all), 0);
    assert_true(host_maps_find(&all, (uintptr_t)&local)->stack);
    assert_false(host_maps_find(&all, (uintptr_t)file)->stack);
    for (size_t i = 0; i < all.count; i++) {
        const struct host_mapping *expected = &all.list[i];

        if (expected->start > host.Table->HighestUserAddress) {
            break; /* the kernel's own page, which it only tells of */
        }
        if (SANITIZED && expected->start != own && expected->start != (uintptr_t)file) {
            continue;
        }
        assert_found_as_read(expected, SANITIZED ? expected->start : behind);
        behind = expected->last + 1;
    }
    host_maps_finish(&all);
    munmap(file, page());
    guarded_free(&shared);
}

static void
maps_find__asked_again__what_is_there_then(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    const uintptr_t start = (uintptr_t)memory.pages;
    struct host_maps maps;

    (void)state;
    assert_int_equal(host_maps_open(&maps, start), 0);
    assert_int_equal(host_maps_find(&maps, start)->last, start + 3 * page() - 1);
    host_maps_finish(&maps);
    assert_false(host_maps_are_known(&maps));
    assert_int_equal(munmap(memory.pages + page(), page()), 0);
    assert_int_equal(host_maps_open(&maps, start), 0);
    assert_int_equal(host_maps_find(&maps, start)->last, start + page() - 1);
    assert_int_equal(host_maps_find(&maps, start + page())->start, start + 2 * page());
    host_maps_finish(&maps);
    guarded_free(&memory);
}

/* ---- ranges ---- */

enum { BUFFERS = 400 };

static void
assert_found(ULONG *const *buffers, const size_t *pages)
{
    for (size_t i = 0; i < BUFFERS; i++) {
        const uintptr_t start = (uintptr_t)buffers[i];
        const struct host_range *range;

        if (buffers[i] == NULL) {
            continue;
        }
        range = host_range_find(start + pages[i] * page() - 1);
        assert_int_equal(range->start, start);
        assert_int_equal(range->bytes, pages[i] * page());
        assert_ptr_equal(host_range_find(start), range);
        /* From below: itself, or one that lies between. */
        range = host_range_find(start - 1);
        assert_true(range->start <= start);
    }
}

/* The range that covers an address, or else the next above, while others come and go.
 */
static void
range_find__many_in_any_order__covering_or_next(void **state)
{
    static ULONG *buffers[BUFFERS];
    static size_t pages[BUFFERS];
    const uintptr_t top = UINTPTR_MAX;

    (void)state;
    host_arena_lock();
    assert_null(host_range_find(0));
    host_arena_unlock();
    for (size_t step = 0; step < 6 * (size_t)BUFFERS; step++) {
        const size_t i = step * 2654435761u % 1000003 % BUFFERS;
        const uintptr_t old = (uintptr_t)buffers[i];

        if (old != 0) {
            ntprof_buffer_free(buffers[i], pages[i] * page());
            buffers[i] = NULL;
            host_arena_lock();
            assert_true(host_range_find(old) == NULL ||
                        host_range_find(old)->start > old);
            host_arena_unlock();
        } else {
            pages[i] = 1 + step % 5;
            buffers[i] = ntprof_buffer_alloc(pages[i] * page());
            assert_non_null(buffers[i]);
        }
        if (step % 50 == 0) {
            host_arena_lock();
            assert_found(buffers, pages);
            assert_null(host_range_find(top));
            host_arena_unlock();
        }
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        ntprof_buffer_free(buffers[i], pages[i] * page());
        buffers[i] = NULL;
    }
    host_arena_lock();
    assert_null(host_range_find(0));
    host_arena_unlock();
}

/* ---- locks ---- */

static bool
is_live(const MDL *mdl, size_t counter)
{
    const ULONG *const counters = (const ULONG *)(uintptr_t)mdl->StartVa;
    const ULONG before = value(&counters[counter]);

    hit(mdl, counter);
    return value(&counters[counter]) == before + 1;
}

/* rule: start-lock. More would take the mappings that the program needs for itself. */
static void
lock__more_pages_than_mappings_for_them__differences_and_exact(void **state)
{
    enum { LOCKS = 2 * SPLICES + 3 };
    struct guarded memory = guarded_make(LOCKS, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL mdl[LOCKS];

    (void)state;
    for (size_t i = 0; i < LOCKS; i++) {
        lock_and_map(&mdl[i], buffer + i * per_page, per_page);
        assert_int_equal(is_live(&mdl[i], 7), i < SPLICES);
    }
    /* One that is given back makes room for one. */
    unmap_and_unlock(&mdl[3]);
    unmap_and_unlock(&mdl[SPLICES]);
    unmap_and_unlock(&mdl[LOCKS - 1]);
    lock_and_map(&mdl[LOCKS - 1], buffer + (LOCKS - 1) * per_page, per_page);
    assert_true(is_live(&mdl[LOCKS - 1], 7));
    lock_and_map(&mdl[3], buffer + 3 * per_page, per_page);
    assert_false(is_live(&mdl[3], 7));
    lock_and_map(&mdl[SPLICES], buffer + SPLICES * per_page, per_page);
    for (size_t i = 0; i < LOCKS; i++) {
        hit(&mdl[i], i);
        flush(&mdl[i]);
        assert_int_equal(value(&buffer[i * per_page + i]), i == 7 ? 2 : 1);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        const size_t next = i * 10 % LOCKS;

        unmap_and_unlock(&mdl[next]);
        assert_int_equal(value(&buffer[next * per_page + 7]),
                         1 + (next == 3 || next == LOCKS - 1) + (next == 7));
    }
    guarded_free(&memory);
}

enum { TRIES = 1100 }; /* until mappings are counted again */

/* What is given back stays a mapping: places of buffers must not use them up one after
 * the other. */
static void
lock__many_places_in_turn__mappings_bounded_and_live_when_unmapped(void **state)
{
    enum { PLACES = TRIES + MAPPINGS_ALLOWED };
    struct guarded memory = guarded_make(2 * PLACES, MAP_PRIVATE);
    const size_t before = count_mappings(false);
    const size_t per_page = page() / 4;
    size_t tries = 0;
    MDL mdl;

    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        ULONG *const buffer = (ULONG *)(void *)memory.pages + 2 * i * per_page;

        buffer[per_page] = 1; /* there are pages on both sides */
        lock_and_map(&mdl, buffer, per_page);
        hit(&mdl, 5);
        unmap_and_unlock(&mdl);
        assert_int_equal(value(&buffer[5]), 1);
    }
    assert_true(count_mappings(false) <= before + MAPPINGS_ALLOWED);
    lock_and_map(&mdl, memory.pages, per_page);
    assert_false(is_live(&mdl, 6));
    unmap_and_unlock(&mdl);
    guarded_free(&memory);

    memory = guarded_make(1, MAP_PRIVATE);
    for (bool live = false; !live; tries++) {
        assert_true(tries < TRIES);
        lock_and_map(&mdl, memory.pages, per_page);
        live = is_live(&mdl, 6);
        unmap_and_unlock(&mdl);
    }
    guarded_free(&memory);
}

/* All that the process may have, but for room; -1 if that is not found out. */
static int
use_up_mappings(size_t room)
{
    enum { MOST = 1 << 20 };
    const int kinds[] = {PROT_READ, PROT_NONE};
    void *last[64];
    size_t i = 0;

    for (; i < MOST; i++) {
        void *const made =
            mmap(NULL, page(), kinds[i % 2], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (made == MAP_FAILED) {
            break;
        }
        last[i % 64] = made;
    }
    for (size_t j = 0; j < room && j < i; j++) {
        munmap(last[(i - 1 - j) % 64], page());
    }
    return i > 64 && i < MOST ? 0 : -1;
}

/* 0, or which step failed. Any status of a limit will do, but all or nothing. */
static int
lock_with_room(ULONG *buffer, size_t counters)
{
    NTSTATUS status;
    MDL mdl;

    for (size_t i = 0; i < counters; i++) {
        buffer[i] = (ULONG)i;
    }
    status = lock(&mdl, buffer, counters);
    if (NT_SUCCESS(status)) {
        if (!NT_SUCCESS(host.Table->MapPages(host.Context, &mdl))) {
            return 1;
        }
        for (size_t i = 0; i < counters; i++) {
            hit(&mdl, i);
        }
        unmap_and_unlock(&mdl);
    } else if (status != STATUS_INSUFFICIENT_RESOURCES &&
               status != STATUS_WORKING_SET_QUOTA) {
        return 2;
    }
    for (size_t i = 0; i < counters; i++) {
        if (value(&buffer[i]) != i + NT_SUCCESS(status)) {
            return 3;
        }
    }
    return locked_kb() != 0 ? 4 : 0;
}

struct shortage {
    struct guarded memory; /* four pages */
    size_t room;
};

static int
lock_with_few_mappings(void *argument)
{
    const struct shortage *shortage = argument;
    ULONG *const buffer = (ULONG *)(void *)shortage->memory.pages;
    const size_t per_page = page() / 4;
    int step;

    if (use_up_mappings(shortage->room) != 0) {
        return 1;
    }
    step = lock_with_room(buffer, per_page);
    if (step == 0) {
        step = lock_with_room(buffer + 2 * per_page, per_page);
    }
    if (step == 0) {
        step = lock_with_room(buffer + 5, 3 * per_page);
    }
    if (step == 0) {
        step = lock_with_room(buffer + 9, 4);
    }
    return step == 0 ? 0 : 10 + step;
}

static void
lock__hardly_a_mapping_left__exact_or_refused_whole(void **state)
{
    static const size_t rooms[] = {0, 1, 2, 3, 4, 6, 9};

    (void)state;
    if (SANITIZED) {
        print_message("a sanitizer needs mappings of its own\n");
        skip();
    }
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        struct shortage shortage = {guarded_make(4, MAP_PRIVATE), rooms[i]};

        assert_child_returns_0(lock_with_few_mappings, &shortage);
        guarded_free(&shortage.memory);
    }
}

/* Asking is enough: it is what keeps the cost of a call from growing with their number.
 */
static int
lock_without_reading(void *argument)
{
    const struct guarded *const memory = argument;
    const bool answers = kernel_answers();
    MDL mdl;

    if (refuse_call(SYS_read, EIO) != 0) {
        return 1;
    }
    if (lock(&mdl, memory->pages, page() / 4) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &mdl) != STATUS_SUCCESS) {
        return 2;
    }
    if (is_live(&mdl, 5) != answers) {
        return 3;
    }
    unmap_and_unlock(&mdl);
    return value((ULONG *)(void *)memory->pages + 5) == 1 ? 0 : 4;
}

static void
lock__maps_cannot_be_read__live_if_they_can_be_asked(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);

    (void)state;
    assert_child_returns_0(lock_without_reading, &memory);
    guarded_free(&memory);
}

/* The mapping of a spliced range has two neighbours of other protection: the other is
 * of all. */
static void
lock__range_in_parts_and_page_in_part__exact(void **state)
{
    struct guarded memory = guarded_make(4, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL pages;
    MDL all;

    (void)state;
    lock_and_map(&pages, buffer, 3 * per_page);
    assert_int_equal(
        mprotect(memory.pages + page(), page(), PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    lock_and_map(&all, buffer, 3 * per_page + 2);
    for (size_t i = 0; i < 3 * per_page; i++) {
        hit(&pages, i);
        hit(&all, i);
        assert_int_equal(value(&buffer[i]), 2);
    }
    hit(&all, 3 * per_page + 1);
    unmap_and_unlock(&pages);
    hit(&all, 0);
    unmap_and_unlock(&all);
    assert_int_equal(value(&buffer[0]), 3);
    assert_int_equal(value(&buffer[3 * per_page - 1]), 2);
    assert_int_equal(value(&buffer[3 * per_page + 1]), 1);
    guarded_free(&memory);
}

/* The caller's other thread is quicker: what it has put there is never counted into. */
static void
lock__range_replaced_during_the_call__refused_and_untouched(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    const size_t before_kb = locked_kb();
    MDL first;
    MDL both;

    (void)state;
    lock_and_map(&first, buffer, per_page);
    canary = NULL;
    vanishing = buffer;
    assert_int_equal(lock(&both, buffer, per_page + 2), STATUS_ACCESS_VIOLATION);
    assert_ptr_equal(canary, buffer);
    hit(&first, 0);
    assert_int_equal(value(canary), 0);
    assert_int_equal(locked_kb(), before_kb + page() / 1024);
    unmap_and_unlock(&first);
    assert_int_equal(value(canary), 0);
    guarded_free(&memory);
}

/* What is where it was, what has moved, and what is gone. */
static void
unlock__pages_partly_moved_partly_unmapped__each_where_it_is(void **state)
{
    struct guarded memory = guarded_make(4, MAP_PRIVATE);
    struct guarded elsewhere = guarded_make(1, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    ULONG *moved = (ULONG *)(void *)elsewhere.pages;
    const size_t per_page = page() / 4;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, buffer, 4 * per_page);
    assert_ptr_equal(mremap(memory.pages + page(), page(), page(),
                            MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere.pages),
                     elsewhere.pages);
    assert_int_equal(munmap(memory.pages + 2 * page(), page()), 0);
    for (size_t i = 0; i < 4 * per_page; i++) {
        hit(&mdl, i);
    }
    unmap_and_unlock(&mdl);
    assert_int_equal(count_mappings(true), shared_before);
    for (size_t i = 0; i < per_page; i++) {
        assert_int_equal(buffer[i], 1);
        assert_int_equal(moved[i], 1);
        assert_int_equal(buffer[3 * per_page + i], 1);
    }
    guarded_free(&memory);
    guarded_free(&elsewhere);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(maps_find__each_mapping_asked__as_read),
        host_test(maps_find__asked_again__what_is_there_then),
        host_test(range_find__many_in_any_order__covering_or_next),
        host_test(lock__more_pages_than_mappings_for_them__differences_and_exact),
        host_test(lock__many_places_in_turn__mappings_bounded_and_live_when_unmapped),
        host_test(lock__hardly_a_mapping_left__exact_or_refused_whole),
        host_test(lock__maps_cannot_be_read__live_if_they_can_be_asked),
        host_test(lock__range_in_parts_and_page_in_part__exact),
        host_test(lock__range_replaced_during_the_call__refused_and_untouched),
        host_test(unlock__pages_partly_moved_partly_unmapped__each_where_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
