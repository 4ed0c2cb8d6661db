/* SPDX-License-Identifier: MIT */
/*
 * Locking and mapping of counter buffers of every kind, and what is left of them.
 *
 * They are brought up to date by FlushPages; those of ntprof_buffer_alloc, where
 * counting is seen at once, are in buffer.c. Behind every buffer is a page that cannot
 * be touched.
 */
#include "lock.h"

#include <pthread.h>
#include <sched.h>

static void
fill(ULONG *buffer, size_t counters)
{
    for (size_t i = 0; i < counters; i++) {
        buffer[i] = (ULONG)(i * 2654435761u);
    }
}

static void
assert_filled_with_hits(const ULONG *buffer, size_t counters, ULONG hits)
{
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&buffer[i]), (ULONG)(i * 2654435761u) + hits);
    }
}

/* Contents kept, every counter exact while started (after a flush) and stopped, twice.
 */
static void
assert_counts_exactly(ULONG *buffer, size_t counters)
{
    MDL mdl;

    fill(buffer, counters);
    for (ULONG round = 0; round < 2; round++) {
        lock_and_map(&mdl, buffer, counters);
        assert_filled_with_hits(buffer, counters, 2 * round);
        for (size_t i = 0; i < counters; i++) {
            hit(&mdl, i);
        }
        assert_false(mdl.Live);
        flush(&mdl);
        assert_filled_with_hits(buffer, counters, 2 * round + 1);
        for (size_t i = 0; i < counters; i++) {
            hit(&mdl, i);
        }
        unmap_and_unlock(&mdl);
        assert_filled_with_hits(buffer, counters, 2 * round + 2);
    }
    buffer[0] = 5; /* the caller's own again */
    assert_int_equal(value(buffer), 5);
}

enum { KIND_COUNTERS = 40000, STACK_COUNTERS = 6000 };
enum { KIND_BYTES = KIND_COUNTERS * 4 + GUARDED_ROOM };

static ULONG bss[KIND_BYTES / 4];
static ULONG data[KIND_BYTES / 4] = {1};

/* Memory of a kind of its own, with a guard behind the counters. */
static void
assert_kind_counts_exactly(void *area, size_t counters)
{
    const size_t bytes = counters * 4 + GUARDED_ROOM;

    assert_counts_exactly(guarded_within(area, bytes, counters), counters);
    guarded_give_back(area, bytes);
}

static void
lock__bss_and_data__exact(void **state)
{
    (void)state;
    assert_kind_counts_exactly(bss, KIND_COUNTERS);
    assert_kind_counts_exactly(data, KIND_COUNTERS);
    assert_kind_counts_exactly(bss, 3);
}

static void
lock__malloc__exact(void **state)
{
    static const size_t counters[] = {1, 2, 1000, 1024, 5000, 300000};

    (void)state;
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        void *const area = malloc(counters[i] * 4 + GUARDED_ROOM);

        assert_non_null(area);
        assert_kind_counts_exactly(area, counters[i]);
        free(area);
    }
}

static void
lock__stack_array__exact(void **state)
{
    ULONG area[STACK_COUNTERS + GUARDED_ROOM / 4];

    (void)state;
    assert_kind_counts_exactly(area, STACK_COUNTERS);
}

static void
lock__anonymous_pages__exact(void **state)
{
    struct guarded memory = guarded_make(7, MAP_PRIVATE);

    (void)state;
    assert_counts_exactly((ULONG *)(void *)memory.pages, memory.bytes / 4);
    guarded_free(&memory);
}

static void
lock__every_alignment_at_the_guard__exact(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    const size_t per_page = page() / 4;

    (void)state;
    for (size_t counters = 1; counters <= 3 * per_page; counters += per_page / 4 - 1) {
        assert_counts_exactly(guarded_end(&memory, counters), counters);
        assert_counts_exactly((ULONG *)(void *)memory.pages, counters);
    }
    guarded_free(&memory);
}

static void
lock__shared_mapping_and_file__by_differences(void **state)
{
    const int file = memfd_create("file", MFD_CLOEXEC);
    struct guarded memory = guarded_make(2, MAP_SHARED);
    ULONG *both[2];

    (void)state;
    assert_counts_exactly((ULONG *)(void *)memory.pages, memory.bytes / 4);
    guarded_free(&memory);

    assert_int_equal(ftruncate(file, (off_t)(2 * page())), 0);
    for (int i = 0; i < 2; i++) {
        both[i] = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        assert_ptr_not_equal(both[i], MAP_FAILED);
    }
    assert_counts_exactly(both[0], page() / 2);
    /* It is still that file. */
    assert_memory_equal(both[0], both[1], 2 * page());
    both[1][1] = 77;
    assert_int_equal(value(&both[0][1]), 77);
    for (int i = 0; i < 2; i++) {
        munmap(both[i], 2 * page());
    }
    close(file);
}

static void
lock__private_file_mapping__exact_and_file_unchanged(void **state)
{
    const int file = memfd_create("file", MFD_CLOEXEC);
    ULONG *mapped;
    ULONG first;

    (void)state;
    assert_int_equal(ftruncate(file, (off_t)(2 * page())), 0);
    mapped = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_counts_exactly(mapped, page() / 2);
    assert_int_equal(pread(file, &first, 4, 0), 4);
    assert_int_equal(first, 0);
    munmap(mapped, 2 * page());
    close(file);
}

static void
lock__pages_of_several_kinds_in_one_buffer__exact(void **state)
{
    struct guarded memory = guarded_make(9, MAP_PRIVATE);
    MDL part;

    (void)state;
    assert_ptr_equal(mmap(memory.pages + 2 * page(), 2 * page(), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory.pages + 2 * page());
    assert_int_equal(
        mprotect(memory.pages + 5 * page(), page(), PROT_READ | PROT_WRITE | PROT_EXEC),
        0);
    lock_and_map(&part, memory.pages + 7 * page(), page() / 4);
    assert_counts_exactly((ULONG *)(void *)memory.pages + 3, memory.bytes / 4 - 5);
    unmap_and_unlock(&part);
    guarded_free(&memory);
}

static void
lock__memory_missing_or_read_only__access_violation_and_unchanged(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    const size_t counters = memory.bytes / 4;
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL mdl;

    (void)state;
    fill(buffer, counters);
    assert_int_equal(lock(&mdl, buffer, counters + 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, buffer - 1, 4), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, buffer + counters, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, NULL, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, (void *)(UINTPTR_MAX - 3), 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, (void *)(UINTPTR_MAX - 3), 100),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, memory.pages + 1, 1), STATUS_DATATYPE_MISALIGNMENT);

    assert_int_equal(mprotect(memory.pages + page(), page(), PROT_READ), 0);
    assert_int_equal(lock(&mdl, buffer, counters), STATUS_ACCESS_VIOLATION);
    assert_filled_with_hits(buffer, counters, 0);
    assert_int_equal(mprotect(memory.pages + page(), page(), PROT_NONE), 0);
    assert_int_equal(lock(&mdl, buffer, counters), STATUS_ACCESS_VIOLATION);
    assert_int_equal(munmap(memory.pages + page(), page()), 0);
    assert_int_equal(lock(&mdl, buffer, counters), STATUS_ACCESS_VIOLATION);
    assert_int_equal(lock(&mdl, buffer, counters / 3), STATUS_SUCCESS);
    host.Table->UnlockPages(host.Context, &mdl);
    guarded_free(&memory);
}

/* rule: create-buffer-size-zero-old. Nothing is looked at, nothing is locked. */
static void
lock__no_bytes__mapped_wherever_they_are(void **state)
{
    static const uintptr_t anywhere[] = {0, 8, 9, UINTPTR_MAX, UINTPTR_MAX / 2};
    MDL mdl;

    (void)state;
    for (size_t i = 0; i < sizeof(anywhere) / sizeof(anywhere[0]); i++) {
        lock_and_map(&mdl, (void *)anywhere[i], 0);
        assert_int_equal(locked_kb(), locked_kb_before);
        flush(&mdl);
        unmap_and_unlock(&mdl);
        assert_null(mdl.MappedSystemVa);
    }
}

static void
lock__two_buffers_in_one_page__each_exact(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL first;
    MDL second;

    (void)state;
    lock_and_map(&first, buffer, 8);
    lock_and_map(&second, buffer + 8, 8);
    hit(&first, 7);
    hit(&second, 0);
    hit(&second, 0);
    buffer[20] = 3; /* the rest of the page is the caller's all the time */
    unmap_and_unlock(&first);
    assert_int_equal(value(&buffer[7]), 1);
    assert_int_equal(value(&buffer[8]), 0);
    unmap_and_unlock(&second);
    assert_int_equal(value(&buffer[8]), 2);
    assert_int_equal(value(&buffer[20]), 3);
    guarded_free(&memory);
}

/* All pairs of overlapping ranges, unlocked in both orders. */
static void
lock__overlapping_ranges__sum_exact(void **state)
{
    const size_t per_page = page() / 4;
    const size_t edges[] = {0, 1, per_page, per_page + 5, 2 * per_page, 3 * per_page};
    enum { EDGES = 6 };

    (void)state;
    for (int i = 0; i < EDGES * EDGES * EDGES * EDGES; i++) {
        const size_t a = edges[i % EDGES];
        const size_t b = edges[i / EDGES % EDGES];
        const size_t c = edges[i / EDGES / EDGES % EDGES];
        const size_t d = edges[i / EDGES / EDGES / EDGES];
        struct guarded memory;
        ULONG *buffer;
        MDL first;
        MDL second;

        if (a >= b || c >= d || c >= b || a >= d) {
            continue;
        }
        memory = guarded_make(3, MAP_PRIVATE);
        buffer = (ULONG *)(void *)memory.pages;
        fill(buffer, 3 * per_page);
        lock_and_map(&first, buffer + a, b - a);
        lock_and_map(&second, buffer + c, d - c);
        for (size_t j = 0; j < b - a; j++) {
            hit(&first, j);
        }
        for (size_t j = 0; j < d - c; j++) {
            hit(&second, j);
        }
        unmap_and_unlock(i % 2 == 0 ? &first : &second);
        unmap_and_unlock(i % 2 == 0 ? &second : &first);
        for (size_t j = 0; j < 3 * per_page; j++) {
            const ULONG hits = (ULONG)(j >= a && j < b) + (ULONG)(j >= c && j < d);

            assert_int_equal(value(&buffer[j]), (ULONG)(j * 2654435761u) + hits);
        }
        assert_int_equal(count_mappings(true), shared_before);
        guarded_free(&memory);
    }
}

static void
lock__same_pages_many_times__one_count_for_each(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    enum { LOCKS = 100 };
    MDL mdl[LOCKS];

    (void)state;
    for (int i = 0; i < LOCKS; i++) {
        lock_and_map(&mdl[i], buffer, 2 * page() / 4);
        hit(&mdl[i], 3);
        flush(&mdl[i]);
        assert_int_equal(value(&buffer[3]), i + 1);
    }
    for (int i = 0; i < LOCKS; i++) {
        hit(&mdl[i], 3);
        unmap_and_unlock(&mdl[i]);
    }
    assert_int_equal(value(&buffer[3]), 2 * LOCKS);
    guarded_free(&memory);
}

static void
unlock__memory_unmapped_meanwhile__counts_dropped(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    MDL whole;
    MDL part;

    (void)state;
    lock_and_map(&whole, memory.pages, 3 * page() / 4);
    lock_and_map(&part, memory.pages + 4, 3 * page() / 4 - 1);
    guarded_free(&memory);
    hit(&whole, 0);
    hit(&part, 0);
    flush(&part);
    hit(&part, 3 * page() / 4 - 2);
    unmap_and_unlock(&part);
    hit(&whole, 1);
    unmap_and_unlock(&whole);
}

static void
unlock__other_memory_there_meanwhile__left_alone(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL old;
    MDL fresh;

    (void)state;
    lock_and_map(&old, buffer, 3 * page() / 4);
    /* The middle page becomes another. */
    assert_ptr_equal(mmap(memory.pages + page(), page(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory.pages + page());
    buffer[page() / 4] = 41;
    for (size_t i = 0; i < 3 * page() / 4; i++) {
        hit(&old, i);
    }
    flush(&old);
    assert_int_equal(value(&buffer[page() / 4]), 41);
    lock_and_map(&fresh, memory.pages + page(), page() / 4);
    hit(&fresh, 0);
    flush(&fresh);
    assert_int_equal(value(&buffer[page() / 4]), 42);
    unmap_and_unlock(&old);
    assert_int_equal(old.Unwritten, page() / 4);
    hit(&fresh, 0);
    unmap_and_unlock(&fresh);
    assert_int_equal(value(&buffer[0]), 1);
    assert_int_equal(value(&buffer[page() / 4]), 43);
    assert_int_equal(value(&buffer[page() / 4 + 1]), 0);
    assert_int_equal(value(&buffer[page() / 2]), 1);
    guarded_free(&memory);
}

static void
unlock__memory_moved_meanwhile__old_place_alone_and_counts_unwritten(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    struct guarded elsewhere = guarded_make(2, MAP_PRIVATE);
    ULONG *moved = (ULONG *)(void *)elsewhere.pages;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, memory.pages, 2 * page() / 4);
    assert_ptr_equal(mremap(memory.pages, 2 * page(), 2 * page(),
                            MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere.pages),
                     elsewhere.pages);
    hit(&mdl, 5);
    unmap_and_unlock(&mdl);
    assert_int_equal(mdl.Unwritten, 1);
    assert_int_equal(value(&moved[5]), 0);
    guarded_free(&memory);
    guarded_free(&elsewhere);
}

static void
unlock__memory_made_read_only__untouched_and_counts_unwritten(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL mdl;
    MDL again;

    (void)state;
    lock_and_map(&mdl, buffer, 2 * page() / 4);
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ), 0);
    hit(&mdl, 0);
    hit(&mdl, page() / 4);
    flush(&mdl);
    assert_int_equal(value(buffer), 0);
    assert_int_equal(value(&buffer[page() / 4]), 1);
    assert_int_equal(lock(&again, buffer, 1), STATUS_ACCESS_VIOLATION);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(buffer), 0);
    assert_int_equal(mdl.Unwritten, 1);
    guarded_free(&memory);
}

struct reader {
    ULONG *buffer;
    size_t counters;
    bool stop;
    size_t wrong;
    size_t rounds;
};

/* Counter 0 may only grow; the others never change. */
static void *
read_all_the_time(void *argument)
{
    struct reader *reader = argument;
    ULONG last = 0;

    while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
        const ULONG now = value(reader->buffer);

        reader->wrong += now < last;
        last = now;
        for (size_t i = 1; i < reader->counters; i += 61) {
            reader->wrong += value(&reader->buffer[i]) != (ULONG)(i * 2654435761u);
        }
        __atomic_fetch_add(&reader->rounds, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void
lock_and_unlock__while_another_thread_reads__no_wrong_value(void **state)
{
    struct guarded memory = guarded_make(4, MAP_PRIVATE);
    struct reader reader = {.buffer = (ULONG *)(void *)memory.pages,
                            .counters = memory.bytes / 4};
    pthread_t thread;
    enum { ROUNDS = 2000 };

    (void)state;
    fill(reader.buffer, reader.counters);
    assert_int_equal(pthread_create(&thread, NULL, read_all_the_time, &reader), 0);
    while (__atomic_load_n(&reader.rounds, __ATOMIC_RELAXED) == 0) {
        sched_yield(); /* on a busy machine all could be over before it begins */
    }
    for (int i = 0; i < ROUNDS; i++) {
        MDL mdl;

        lock_and_map(&mdl, reader.buffer, reader.counters);
        hit(&mdl, 0);
        unmap_and_unlock(&mdl);
    }
    __atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    assert_int_equal(reader.wrong, 0);
    assert_int_equal(value(reader.buffer), ROUNDS);
    guarded_free(&memory);
}

struct hitter {
    const MDL *mdl;
    size_t times;
    bool done;
};

static void *
hit_all_the_time(void *argument)
{
    struct hitter *hitter = argument;

    for (size_t i = 0; i < hitter->times; i++) {
        hit(hitter->mdl, i & 1);
    }
    __atomic_store_n(&hitter->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Differences: neither hits, nor flushes, nor the caller's own atomics lose anything.
 */
static void
flush__while_others_count__nothing_lost(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *buffer = guarded_end(&memory, 2);
    enum { TIMES = 4000000 };
    MDL mdl;
    struct hitter hitter = {&mdl, TIMES, false};
    pthread_t thread;
    ULONG own = 0;

    (void)state;
    lock_and_map(&mdl, buffer, 2);
    assert_int_equal(pthread_create(&thread, NULL, hit_all_the_time, &hitter), 0);
    while (!__atomic_load_n(&hitter.done, __ATOMIC_ACQUIRE)) {
        flush(&mdl);
        __atomic_fetch_add(&buffer[0], 1, __ATOMIC_RELAXED);
        own++;
    }
    pthread_join(thread, NULL);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[0]), TIMES / 2 + own);
    assert_int_equal(value(&buffer[1]), TIMES / 2);
    guarded_free(&memory);
}

/* Another session's lock has the whole page into which this one flushes. */
struct flusher {
    MDL *mdl;
    size_t times;
};

static void *
hit_and_flush(void *argument)
{
    const struct flusher *flusher = argument;

    for (size_t i = 0; i < flusher->times; i++) {
        hit(flusher->mdl, 0);
        flush(flusher->mdl);
    }
    return NULL;
}

static void
flush__while_another_lock_has_the_page__nothing_lost(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL small;
    struct flusher flusher = {&small, 20000};
    pthread_t thread;

    (void)state;
    lock_and_map(&small, buffer + 9, 1);
    assert_int_equal(pthread_create(&thread, NULL, hit_and_flush, &flusher), 0);
    for (int i = 0; i < 500; i++) {
        MDL whole;

        lock_and_map(&whole, buffer, page() / 4);
        hit(&whole, 9);
        unmap_and_unlock(&whole);
    }
    pthread_join(thread, NULL);
    unmap_and_unlock(&small);
    assert_int_equal(value(&buffer[9]), 20500);
    guarded_free(&memory);
}

static void
flush__counter_wraps__modulo_2_32(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *counter = guarded_end(&memory, 1);
    MDL mdl;

    (void)state;
    *counter = 0xFFFFFFFE;
    lock_and_map(&mdl, counter, 1);
    for (int i = 0; i < 5; i++) {
        hit(&mdl, 0);
    }
    flush(&mdl);
    assert_int_equal(value(counter), 3);
    *(ULONG *)mdl.MappedSystemVa = 0x89ABCDEF;
    unmap_and_unlock(&mdl);
    assert_int_equal(value(counter), (ULONG)(0x89ABCDEF + 3u));
    guarded_free(&memory);
}

static void
lock__many_rounds__no_more_mappings(void **state)
{
    struct guarded memory = guarded_make(5, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    size_t mappings = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        MDL mdl;

        lock_and_map(&mdl, buffer + 3, memory.bytes / 4 - 9);
        unmap_and_unlock(&mdl);
        if (i == 10) {
            mappings = count_mappings(false);
        }
    }
    assert_int_equal(count_mappings(false), mappings);
    guarded_free(&memory);
}

enum { SINGLE_PAGES = 40 }; /* more than are made at once */

static int
write_each(void *argument)
{
    const struct guarded *const memory = argument;
    ULONG *const buffer = (ULONG *)(void *)memory->pages;
    const size_t per_page = page() / 4;

    for (size_t i = 0; i < SINGLE_PAGES; i++) {
        if (value(&buffer[i * per_page + i]) != i % 3 + 1) {
            return 1;
        }
        buffer[i * per_page + i] = 100;
    }
    return 0;
}

/* Private ones that were never anybody else's, half of them given back in a child
 * besides. */
static void
unlock__one_page_after_the_other__each_its_own(void **state)
{
    struct guarded memory = guarded_make(SINGLE_PAGES, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL mdl[SINGLE_PAGES];

    (void)state;
    for (size_t i = 0; i < SINGLE_PAGES; i++) {
        buffer[i * per_page + i] = (ULONG)(i % 3);
        lock_and_map(&mdl[i], buffer + i * per_page, per_page);
        hit(&mdl[i], i);
    }
    for (size_t i = 0; i < SINGLE_PAGES; i += 2) {
        unmap_and_unlock(&mdl[i]);
    }
    for (size_t i = 1; i < SINGLE_PAGES; i += 2) {
        flush(&mdl[i]);
    }
    assert_child_returns_0(write_each, &memory);
    for (size_t i = 1; i < SINGLE_PAGES; i += 2) {
        unmap_and_unlock(&mdl[i]);
    }
    assert_int_equal(count_mappings(true), shared_before);
    for (size_t i = 0; i < SINGLE_PAGES * per_page; i++) {
        const size_t at = i / per_page;

        assert_int_equal(buffer[i], i % per_page == at ? at % 3 + 1 : 0);
    }
    assert_int_equal(write_each(&memory), 0);
    for (size_t i = 0; i < SINGLE_PAGES * per_page; i++) {
        assert_int_equal(buffer[i], i % per_page == i / per_page ? 100 : 0);
    }
    guarded_free(&memory);
}

static size_t
resident_pages(const struct guarded *memory)
{
    const size_t pages = memory->bytes / page();
    unsigned char *resident = malloc(pages);
    size_t count = 0;

    assert_non_null(resident);
    assert_int_equal(mincore(memory->pages, memory->bytes, resident), 0);
    for (size_t i = 0; i < pages; i++) {
        count += resident[i] & 1;
    }
    free(resident);
    return count;
}

/* rule: start-lock-resident. */
static void
lock__large_sparse_buffer__resident_while_locked(void **state)
{
    const size_t pages = 1024;
    struct guarded memory = guarded_make(pages, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL mdl;

    (void)state;
    buffer[7] = 1;
    assert_int_equal(resident_pages(&memory), 1);
    lock_and_map(&mdl, buffer, memory.bytes / 4);
    hit(&mdl, page() / 4 * 9);
    assert_int_equal(resident_pages(&memory), pages);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[7]), 1);
    assert_int_equal(value(&buffer[page() / 4 * 9]), 1);
    guarded_free(&memory);
}

static int
use_child_after_fork(void *argument)
{
    const MDL *mdl = argument;
    ULONG *buffer = (ULONG *)(uintptr_t)mdl->StartVa;
    ULONG *own = ntprof_buffer_alloc(1);
    MDL copy;

    if (value(&buffer[1]) != 1 || own == NULL || own[0] != 0) {
        return 1;
    }
    own[0] = 1;
    buffer[1] = 7;
    buffer[2] = 99; /* private, in the child */
    if (lock(&copy, buffer, page() / 4) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &copy) != STATUS_SUCCESS) {
        return 2;
    }
    hit(&copy, 1);
    unmap_and_unlock(&copy);
    if (value(&buffer[1]) != 8) {
        return 3;
    }
    ntprof_buffer_free(own, 1);
    return count_mappings(true) > shared_before;
}

/* The child has a copy of what was private before, and can lock it for itself. */
static void
fork__while_locked__child_has_a_copy(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, buffer, page() / 4);
    hit(&mdl, 1);
    flush(&mdl);
    assert_child_returns_0(use_child_after_fork, &mdl);
    assert_int_equal(value(&buffer[1]), 1);
    assert_int_equal(value(&buffer[2]), 0);
    hit(&mdl, 1);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[1]), 2);
    guarded_free(&memory);
}

/* Every refusal of mremap leaves differences. */
static int
lock_without_mremap(void *argument)
{
    struct guarded *memory = argument;
    ULONG *buffer = (ULONG *)(void *)memory->pages;
    ULONG *own = ntprof_buffer_alloc(1);
    MDL mdl[2];

    if (refuse_call(SYS_mremap, EINVAL) || own == NULL) {
        return 1;
    }
    if (lock(&mdl[0], buffer, page() / 2) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &mdl[0]) != STATUS_SUCCESS ||
        lock(&mdl[1], own, page() / 4) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &mdl[1]) != STATUS_SUCCESS) {
        return 2;
    }
    hit(&mdl[0], 6);
    hit(&mdl[1], 6);
    flush(&mdl[0]);
    flush(&mdl[1]);
    if (value(&buffer[6]) != 1 || value(&own[6]) != 1) {
        return 3;
    }
    unmap_and_unlock(&mdl[0]);
    unmap_and_unlock(&mdl[1]);
    ntprof_buffer_free(own, 1);
    return count_mappings(true) == shared_before ? 0 : 4;
}

static void
lock__mremap_refused__by_differences(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);

    (void)state;
    assert_child_returns_0(lock_without_mremap, &memory);
    guarded_free(&memory);
}

static int
lock_without_address_space(void *argument)
{
    struct guarded *memory = argument;
    struct rlimit none = {0, 0};
    MDL mdl;

    if (setrlimit(RLIMIT_AS, &none) != 0) {
        return 1;
    }
    if (lock(&mdl, memory->pages, memory->bytes / 4) != STATUS_INSUFFICIENT_RESOURCES) {
        return 2;
    }
    return memory->pages[0] == 3 ? 0 : 3;
}

/* mlockall and a small RLIMIT_MEMLOCK: the kernel's EAGAIN. */
static int
lock_beyond_memlock(void *argument)
{
    struct guarded *memory = argument;
    struct rlimit few = {65536, 65536};
    MDL mdl;

    if (drop_rights() || setrlimit(RLIMIT_MEMLOCK, &few) != 0 ||
        mlockall(MCL_FUTURE) != 0) {
        return 1;
    }
    if (lock(&mdl, memory->pages, memory->bytes / 4) != STATUS_WORKING_SET_QUOTA) {
        return 2;
    }
    return memory->pages[0] == 3 ? 0 : 3;
}

static void
lock__limits_reached__told_apart(void **state)
{
    struct guarded memory = guarded_make(64, MAP_PRIVATE);

    (void)state;
    memset(memory.pages, 3, memory.bytes);
    if (!SANITIZED) { /* whose own needs for memory come first */
        assert_child_returns_0(lock_without_address_space, &memory);
        assert_child_returns_0(lock_beyond_memlock, &memory);
    }
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(lock__bss_and_data__exact),
        host_test(lock__malloc__exact),
        host_test(lock__stack_array__exact),
        host_test(lock__anonymous_pages__exact),
        host_test(lock__every_alignment_at_the_guard__exact),
        host_test(lock__shared_mapping_and_file__by_differences),
        host_test(lock__private_file_mapping__exact_and_file_unchanged),
        host_test(lock__pages_of_several_kinds_in_one_buffer__exact),
        host_test(lock__memory_missing_or_read_only__access_violation_and_unchanged),
        host_test(lock__no_bytes__mapped_wherever_they_are),
        host_test(lock__two_buffers_in_one_page__each_exact),
        host_test(lock__overlapping_ranges__sum_exact),
        host_test(lock__same_pages_many_times__one_count_for_each),
        host_test(unlock__memory_unmapped_meanwhile__counts_dropped),
        host_test(unlock__other_memory_there_meanwhile__left_alone),
        host_test(unlock__memory_moved_meanwhile__old_place_alone_and_counts_unwritten),
        host_test(unlock__memory_made_read_only__untouched_and_counts_unwritten),
        host_test(lock_and_unlock__while_another_thread_reads__no_wrong_value),
        host_test(flush__while_others_count__nothing_lost),
        host_test(flush__while_another_lock_has_the_page__nothing_lost),
        host_test(flush__counter_wraps__modulo_2_32),
        host_test(lock__many_rounds__no_more_mappings),
        host_test(unlock__one_page_after_the_other__each_its_own),
        host_test(lock__large_sparse_buffer__resident_while_locked),
        host_test(fork__while_locked__child_has_a_copy),
        host_test(lock__mremap_refused__by_differences),
        host_test(lock__limits_reached__told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
