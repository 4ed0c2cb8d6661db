/* SPDX-License-Identifier: MIT */
/* ntprof_buffer_alloc and _free, and locks of such buffers. */
#include "lock.h"

#include <pthread.h>
#include <sys/sysinfo.h>

static size_t
resident_pages(const void *memory, size_t bytes)
{
    const size_t pages = (bytes + page() - 1) / page();
    unsigned char *resident = malloc(pages);
    size_t count = 0;

    assert_non_null(resident);
    assert_int_equal(mincore((void *)(uintptr_t)memory, bytes, resident), 0);
    for (size_t i = 0; i < pages; i++) {
        count += resident[i] & 1;
    }
    free(resident);
    return count;
}

static void
alloc__sizes__zeroed_page_aligned_whole_pages(void **state)
{
    static const size_t sizes[] = {1, 4, 4095, 4096, 4097, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ULONG *buffer = ntprof_buffer_alloc(sizes[i]);
        const size_t whole = (sizes[i] + page() - 1) / page() * page();

        assert_non_null(buffer);
        assert_int_equal((uintptr_t)buffer % page(), 0);
        for (size_t j = 0; j < whole / 4; j++) {
            assert_int_equal(buffer[j], 0);
        }
        memset(buffer, 0xFF, whole);
        ntprof_buffer_free(buffer, sizes[i]);
    }
}

static void
alloc__impossible_sizes__null(void **state)
{
    (void)state;
    assert_null(ntprof_buffer_alloc(0));
    assert_null(ntprof_buffer_alloc(SIZE_MAX));
    assert_null(ntprof_buffer_alloc(SIZE_MAX - page()));
    assert_null(ntprof_buffer_alloc(SIZE_MAX / 2));
}

static void
free__null_foreign_or_inner_pointer__nothing_happens(void **state)
{
    ULONG foreign[4] = {1, 2, 3, 4};
    ULONG *buffer = ntprof_buffer_alloc(2 * page());

    (void)state;
    ntprof_buffer_free(NULL, 0);
    ntprof_buffer_free(foreign, sizeof(foreign));
    ntprof_buffer_free(buffer + page() / 4, page());
    assert_int_equal(foreign[3], 4);
    buffer[page() / 4] = 1;
    assert_int_equal(value(&buffer[page() / 4]), 1);
    ntprof_buffer_free(buffer, 2 * page());
}

static void
probe_and_lock__large_buffer__no_page_made(void **state)
{
    const size_t bytes = (size_t)256 << 20;
    ULONG *buffer = ntprof_buffer_alloc(bytes);
    MDL mdl;

    (void)state;
    assert_non_null(buffer);
    assert_int_equal(host.Table->ProbeForWrite(host.Context, (uintptr_t)buffer, bytes),
                     STATUS_SUCCESS);
    lock_and_map(&mdl, buffer, bytes / 4);
    assert_int_equal(resident_pages(buffer, bytes), 0);
    hit(&mdl, bytes / 8);
    assert_int_equal(value(&buffer[bytes / 8]), 1);
    assert_int_equal(resident_pages(buffer, bytes), 1);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[bytes / 8]), 1);
    ntprof_buffer_free(buffer, bytes);
}

/* While anything is swapped out, every page may hold counts. */
static size_t
stops_expected(size_t used, size_t pages)
{
    struct sysinfo info;

    assert_int_equal(sysinfo(&info), 0);
    return info.totalswap == info.freeswap ? used : pages;
}

/* The offsets at which ntprof_buffer_next stops, starting over a page behind each. */
static size_t
count_stops(const ULONG *buffer, size_t bytes, size_t *last)
{
    size_t stops = 0;

    for (size_t at = ntprof_buffer_next(buffer, bytes, 0); at < bytes;
         at = ntprof_buffer_next(buffer, bytes, (at / page() + 1) * page())) {
        *last = at;
        stops++;
    }
    return stops;
}

/* Whoever made a page, and through which mapping, it is found; the others stay unmade.
 */
static void
next__pages_hit_through_any_mapping__only_those(void **state)
{
    const size_t bytes = 50000 * page() + 12;
    ULONG *buffer = ntprof_buffer_alloc(bytes);
    const size_t counters = bytes / 4;
    size_t last = 0;
    MDL mdl;

    (void)state;
    assert_non_null(buffer);
    assert_int_equal(count_stops(buffer, bytes, &last), stops_expected(0, 50001));
    assert_int_equal(ntprof_buffer_next(buffer, bytes, bytes), bytes);
    assert_int_equal(ntprof_buffer_next(buffer, bytes, bytes + 8), bytes);

    lock_and_map(&mdl, buffer, counters);
    hit(&mdl, counters - 1);
    assert_int_equal(count_stops(buffer, bytes, &last), stops_expected(1, 50001));
    assert_int_equal(last, 50000 * page());
    unmap_and_unlock(&mdl);
    buffer[5000 * page() / 4 + 7] = 1;
    assert_int_equal(count_stops(buffer, bytes, &last), stops_expected(2, 50001));
    /* Within a page that is used, the offset asked for is the answer. */
    assert_int_equal(ntprof_buffer_next(buffer, bytes, 5000 * page() + 28),
                     5000 * page() + 28);
    assert_int_equal(ntprof_buffer_next(buffer, bytes, 3),
                     stops_expected(5000 * page(), 3));
    assert_int_equal(resident_pages(buffer, bytes), 2);
    ntprof_buffer_free(buffer, bytes);
}

static int
list_used_without_rights(void *argument)
{
    size_t last = 0;

    if (geteuid() == 0 &&
        (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)) {
        return 1;
    }
    return count_stops(argument, 50000 * page(), &last) != stops_expected(3, 50000);
}

/* Root seeks in the file behind the buffer, which others may not open. */
static void
next__with_and_without_rights__same_pages(void **state)
{
    ULONG *const buffer = ntprof_buffer_alloc(50000 * page());
    size_t last = 0;

    (void)state;
    buffer[3 * page() / 4] = 1;
    buffer[2000 * page() / 4] = 1;
    buffer[49998 * page() / 4] = 1;
    assert_int_equal(count_stops(buffer, 50000 * page(), &last),
                     stops_expected(3, 50000));
    assert_int_equal(last, stops_expected(49998, 49999) * page());
    assert_child_returns_0(list_used_without_rights, buffer);
    ntprof_buffer_free(buffer, 50000 * page());
}

static int
hit_in_child(void *argument)
{
    ULONG *buffer = argument;

    buffer[page() / 4 * 3] = 1;
    return 0;
}

static void
next__page_hit_by_a_child__found(void **state)
{
    ULONG *buffer = ntprof_buffer_alloc(8 * page());
    size_t last = 0;

    (void)state;
    assert_child_returns_0(hit_in_child, buffer);
    assert_int_equal(count_stops(buffer, 8 * page(), &last), stops_expected(1, 8));
    assert_int_equal(last, stops_expected(3, 7) * page());
    ntprof_buffer_free(buffer, 8 * page());
}

static void
probe__beyond_the_buffer__access_violation(void **state)
{
    struct guarded memory = guarded_make(6, MAP_PRIVATE);
    ULONG *buffer = ntprof_buffer_alloc(2 * page());
    unsigned char *inside = memory.pages + 2 * page();
    NTSTATUS (*const probe)(void *, ULONG64, SIZE_T) = host.Table->ProbeForWrite;

    (void)state;
    assert_int_equal(probe(host.Context, (uintptr_t)buffer, 2 * page()),
                     STATUS_SUCCESS);
    assert_int_equal(probe(host.Context, (uintptr_t)buffer + 5, 1), STATUS_SUCCESS);
    /* A buffer between other memory: what is before and behind is looked at. */
    assert_int_equal(munmap(inside, 2 * page()), 0);
    assert_int_equal(probe(host.Context, (uintptr_t)memory.pages, 6 * page()),
                     STATUS_ACCESS_VIOLATION);
    ntprof_buffer_free(buffer, 2 * page());
    guarded_free(&memory);
}

static void
lock__pieces_at_any_offset__live_and_independent(void **state)
{
    ULONG *buffer = ntprof_buffer_alloc(4 * page());
    const size_t counters = 4 * page() / 4;
    MDL mdl[16];

    (void)state;
    for (size_t i = 0; i < 16; i++) {
        lock_and_map(&mdl[i], buffer + i * 251, counters - i * 251);
        hit(&mdl[i], 0);
        hit(&mdl[i], counters - i * 251 - 1);
        assert_int_equal(value(&buffer[i * 251]), 1);
        assert_int_equal(value(&buffer[counters - 1]), i + 1);
    }
    for (size_t i = 0; i < 16; i++) {
        unmap_and_unlock(&mdl[i]);
    }
    assert_int_equal(value(&buffer[counters - 1]), 16);
    ntprof_buffer_free(buffer, 4 * page());
}

static void
lock__ten_thousand_pieces_of_one_buffer__one_mapping(void **state)
{
    enum { LOCKS = 10000, COUNTERS = 13 };
    const size_t bytes = (size_t)LOCKS * COUNTERS * 4;
    ULONG *buffer = ntprof_buffer_alloc(bytes);
    MDL *mdl = malloc(LOCKS * sizeof(*mdl));

    (void)state;
    assert_non_null(mdl);
    for (size_t i = 0; i < LOCKS; i++) {
        lock_and_map(&mdl[i], buffer + i * COUNTERS, COUNTERS);
        hit(&mdl[i], i % COUNTERS);
    }
    /* The buffer's, and one alias. */
    assert_int_equal(count_mappings(true), shared_before + 2);
    for (size_t i = 0; i < LOCKS; i++) {
        for (size_t j = 0; j < COUNTERS; j++) {
            assert_int_equal(value(&buffer[i * COUNTERS + j]), j == i % COUNTERS);
        }
        unmap_and_unlock(&mdl[i]);
    }
    free(mdl);
    ntprof_buffer_free(buffer, bytes);
}

static void
free__while_locked__pages_stay_until_unlocked(void **state)
{
    ULONG *buffer = ntprof_buffer_alloc(page());
    ULONG *next;
    MDL first;
    MDL second;
    MDL third;

    (void)state;
    lock_and_map(&first, buffer, 4);
    lock_and_map(&second, buffer + 4, 4);
    ntprof_buffer_free(buffer, page());
    hit(&first, 0);
    hit(&second, 3);
    assert_int_equal(*(ULONG *)first.MappedSystemVa, 1);

    /* A new buffer, likely at the same address, has nothing to do with the old one. */
    next = ntprof_buffer_alloc(page());
    lock_and_map(&third, next, 4);
    hit(&first, 1);
    assert_int_equal(value(&next[1]), 0);
    hit(&third, 1);
    unmap_and_unlock(&first);
    unmap_and_unlock(&second);
    hit(&third, 1);
    assert_int_equal(value(&next[1]), 2);
    unmap_and_unlock(&third);
    ntprof_buffer_free(next, page());
}

enum { ROW = 64 };

/* Allocates until three buffers lie side by side, frees the outer two, and has the
 * middle. */
static ULONG *
alloc_between_free_pages(void)
{
    const size_t counters = 2 * page() / 4;
    ULONG *row[ROW];
    ULONG *middle = NULL;

    for (int i = 0; i < ROW; i++) {
        row[i] = ntprof_buffer_alloc(2 * page());
        assert_non_null(row[i]);
    }
    for (int i = 1; i < ROW - 1 && middle == NULL; i++) {
        if ((row[i - 1] == row[i] + counters && row[i + 1] + counters == row[i]) ||
            (row[i + 1] == row[i] + counters && row[i - 1] + counters == row[i])) {
            middle = row[i];
        }
    }
    assert_non_null(middle);
    for (int i = 0; i < ROW; i++) {
        if (row[i] != middle) {
            ntprof_buffer_free(row[i], 2 * page());
        }
    }
    return middle;
}

/* One lock over private pages, a buffer, and private pages, with partial ends. */
static void
lock__buffer_between_private_pages__all_count(void **state)
{
    const size_t counters = 6 * page() / 4;
    ULONG *const buffer = alloc_between_free_pages();
    ULONG *const start = buffer - 2 * page() / 4;
    MDL mdl;

    (void)state;
    for (int side = -2; side <= 2; side += 4) {
        void *wanted = (char *)buffer + side * (long)page();

        assert_ptr_equal(mmap(wanted, 2 * page(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                         wanted);
    }
    lock_and_map(&mdl, start + 1, counters - 2);
    for (size_t i = 0; i < counters - 2; i++) {
        hit(&mdl, i);
    }
    assert_false(mdl.Live);
    unmap_and_unlock(&mdl);
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&start[i]), i > 0 && i < counters - 1);
    }
    munmap(start, 2 * page());
    munmap(start + 4 * page() / 4, 2 * page());
    assert_int_equal(value(buffer), 1);
    ntprof_buffer_free(buffer, 2 * page());
}

static void
alloc_and_free__many_in_any_order__found_and_gone(void **state)
{
    enum { BUFFERS = 2000 };
    ULONG *buffers[BUFFERS] = {NULL};
    uint32_t random = 12345;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t i;

        random = random * 1664525 + 1013904223;
        i = random >> 8 & 1023;
        if (buffers[i] == NULL) {
            buffers[i] = ntprof_buffer_alloc(4 * (i + 1));
            assert_non_null(buffers[i]);
            assert_int_equal(buffers[i][0], 0);
            buffers[i][0] = (ULONG)i;
        } else {
            assert_int_equal(buffers[i][0], i);
            ntprof_buffer_free(buffers[i], 4 * (i + 1));
            buffers[i] = NULL;
        }
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        ntprof_buffer_free(buffers[i], 4 * (i + 1));
    }
}

static void *
use_buffers(void *argument)
{
    size_t *wrong = argument;
    HOST own;

    if (host_linux_create(&own) != STATUS_SUCCESS) {
        *wrong = 1;
        return NULL;
    }
    for (int i = 0; i < 3000; i++) {
        ULONG *buffer = ntprof_buffer_alloc(page() * (1 + (size_t)i % 3));
        MDL mdl = {.StartVa = (uintptr_t)(buffer + i % 5), .ByteCount = 400};

        if (buffer == NULL || own.Table->LockPages(own.Context, &mdl) != 0 ||
            own.Table->MapPages(own.Context, &mdl) != 0) {
            *wrong = 2;
            break;
        }
        hit(&mdl, 3);
        *wrong += value(&buffer[i % 5 + 3]) != 1;
        if (i % 2 == 0) {
            ntprof_buffer_free(buffer, page());
        }
        unmap_and_unlock(&mdl);
        if (i % 2 != 0) {
            ntprof_buffer_free(buffer, page());
        }
    }
    host_linux_delete(&own);
    return NULL;
}

static void
alloc_lock_free__four_threads_with_sessions__nothing_mixed_up(void **state)
{
    pthread_t threads[4];
    size_t wrong[4] = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_buffers, &wrong[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

static int
alloc_with_small_files(void *argument)
{
    struct rlimit none = {0, 0};
    ULONG *buffer;
    MDL mdl;

    (void)argument;
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) {
        return 1;
    }
    buffer = ntprof_buffer_alloc(100000);
    mdl = (MDL){.StartVa = (uintptr_t)buffer, .ByteCount = 100000};
    if (buffer == NULL || host.Table->LockPages(host.Context, &mdl) != 0 ||
        host.Table->MapPages(host.Context, &mdl) != 0) {
        return 2;
    }
    hit(&mdl, 20000);
    return value(&buffer[20000]) == 1 ? 0 : 3;
}

/* A limit on file sizes kills programs that grow one; ours is none. */
static void
alloc__file_size_limit_0__works(void **state)
{
    (void)state;
    assert_child_returns_0(alloc_with_small_files, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(alloc__sizes__zeroed_page_aligned_whole_pages),
        host_test(alloc__impossible_sizes__null),
        host_test(free__null_foreign_or_inner_pointer__nothing_happens),
        host_test(probe_and_lock__large_buffer__no_page_made),
        host_test(next__pages_hit_through_any_mapping__only_those),
        host_test(next__with_and_without_rights__same_pages),
        host_test(next__page_hit_by_a_child__found),
        host_test(probe__beyond_the_buffer__access_violation),
        host_test(lock__pieces_at_any_offset__live_and_independent),
        host_test(lock__ten_thousand_pieces_of_one_buffer__one_mapping),
        host_test(free__while_locked__pages_stay_until_unlocked),
        host_test(lock__buffer_between_private_pages__all_count),
        host_test(alloc_and_free__many_in_any_order__found_and_gone),
        host_test(alloc_lock_free__four_threads_with_sessions__nothing_mixed_up),
        host_test(alloc__file_size_limit_0__works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
