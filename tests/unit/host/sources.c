/* SPDX-License-Identifier: MIT */
/*
 * sources.c - locks whose counters must be in a source's pages: live or moved exactly,
 * and no page of it serves anybody else while the caller can still see it.
 *
 * The source is a file in memory. As with maps of BPF, all its pages are of one file,
 * so neighbours become one mapping. rules: start-lock-holds, stop-final
 */
#include "lock.h"

enum { SOURCE_PAGES = 64 };

struct source {
    int file;
    unsigned char *memory;
    bool taken[SOURCE_PAGES];
    size_t takes;
    bool refuses;      /* to take */
    bool refuses_maps; /* to map */
};

static struct source sources[2];
static HOST other; /* the second one's */

/* ---- the source ---- */

static size_t
pages_of(size_t bytes)
{
    return (bytes + page() - 1) / page();
}

static bool
is_free(const struct source *source, size_t first, size_t pages)
{
    for (size_t i = first; i < first + pages; i++) {
        if (source->taken[i]) {
            return false;
        }
    }
    return true;
}

static void
set_taken(struct source *source, size_t first, size_t pages, bool taken)
{
    for (size_t i = first; i < first + pages; i++) {
        source->taken[i] = taken;
    }
}

static int
take(void *context, size_t bytes, void **memory)
{
    struct source *const source = context;
    const size_t pages = pages_of(bytes);

    for (size_t first = 0; !source->refuses && first + pages <= SOURCE_PAGES; first++) {
        if (is_free(source, first, pages)) {
            set_taken(source, first, pages, true);
            source->takes++;
            *memory = source->memory + first * page();
            memset(*memory, 0, pages * page());
            return 0;
        }
    }
    return -ENOMEM;
}

/* What is given back must be nobody's: it is spoilt at once. */
static void
give(void *context, void *memory, size_t bytes)
{
    struct source *const source = context;
    const size_t first = (size_t)((unsigned char *)memory - source->memory) / page();

    set_taken(source, first, pages_of(bytes), false);
    memset(memory, 0xEE, pages_of(bytes) * page());
}

static int
map(void *context, const void *memory, size_t bytes, void **mapping)
{
    const struct source *const source = context;
    void *made;

    if (source->refuses_maps) {
        return -ENOMEM;
    }
    made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                source->file, (off_t)((const unsigned char *)memory - source->memory));
    if (made == MAP_FAILED) {
        return -errno;
    }
    *mapping = made;
    return 0;
}

static size_t
count_taken(const struct source *source)
{
    size_t taken = 0;

    for (size_t i = 0; i < SOURCE_PAGES; i++) {
        taken += source->taken[i];
    }
    return taken;
}

static int
source_open(struct source *source)
{
    *source = (struct source){.file = memfd_create("source", MFD_CLOEXEC)};
    if (source->file < 0 ||
        ftruncate(source->file, (off_t)(SOURCE_PAGES * page())) != 0) {
        return -1;
    }
    source->memory = mmap(NULL, SOURCE_PAGES * page(), PROT_READ | PROT_WRITE,
                          MAP_SHARED, source->file, 0);
    return source->memory == MAP_FAILED ? -1 : 0;
}

static void
source_close(struct source *source)
{
    munmap(source->memory, SOURCE_PAGES * page());
    close(source->file);
}

static void
use_source(HOST *user, struct source *source)
{
    const struct host_page_source pages = {
        .context = source, .take = take, .give = give, .map = map};

    host_linux_use_pages(user, &pages);
}

static int
setup(void **state)
{
    if (host_setup(state) != 0 || host_linux_create(&other) != STATUS_SUCCESS ||
        source_open(&sources[0]) != 0 || source_open(&sources[1]) != 0) {
        return -1;
    }
    use_source(&host, &sources[0]);
    use_source(&other, &sources[1]);
    return 0;
}

static int
teardown(void **state)
{
    host_linux_use_pages(&host, NULL);
    host_linux_use_pages(&other, NULL);
    host_linux_delete(&other);
    source_close(&sources[0]);
    source_close(&sources[1]);
    return host_teardown(state);
}

#define source_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- of a second session ---- */

static void
other_lock(MDL *mdl, const void *buffer, size_t counters)
{
    *mdl = (MDL){.StartVa = (uintptr_t)buffer, .ByteCount = (ULONG)(counters * 4)};
    assert_int_equal(other.Table->LockPages(other.Context, mdl), STATUS_SUCCESS);
    assert_int_equal(other.Table->MapPages(other.Context, mdl), STATUS_SUCCESS);
}

static void
other_unlock(MDL *mdl)
{
    other.Table->UnmapPages(other.Context, mdl);
    other.Table->UnlockPages(other.Context, mdl);
}

static bool
is_in(const struct source *source, const void *counters)
{
    return (uintptr_t)counters - (uintptr_t)source->memory < SOURCE_PAGES * page();
}

/* ---- whole pages ---- */

enum { NEIGHBOURS = 12 };

/* Pages of one file side by side are one mapping, here and where the source maps them.
 */
static void
lock__neighbours_each_by_its_own__live_and_all_given_back(void **state)
{
    struct guarded memory = guarded_make(NEIGHBOURS, MAP_PRIVATE);
    ULONG *const buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL mdl[NEIGHBOURS];

    (void)state;
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        buffer[i * per_page + i] = 100;
        lock_and_map(&mdl[i], buffer + i * per_page, per_page);
        assert_true(is_in(&sources[0], mdl[i].MappedSystemVa));
    }
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        hit(&mdl[i], i);
        assert_int_equal(value(&buffer[i * per_page + i]), 101);
    }
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        const size_t next = i * 5 % NEIGHBOURS;

        hit(&mdl[next], next);
        unmap_and_unlock(&mdl[next]);
    }
    assert_int_equal(count_taken(&sources[0]), 0);
    for (size_t i = 0; i < NEIGHBOURS * per_page; i++) {
        assert_int_equal(value(&buffer[i]), i % per_page == i / per_page ? 102 : 0);
    }
    guarded_free(&memory);
}

/* The counters of a lock are in a row, whatever the parts of its buffer are. */
static void
lock__pages_and_parts_of_pages__pages_live_the_rest_moved(void **state)
{
    struct guarded memory = guarded_make(3, MAP_PRIVATE);
    ULONG *const buffer = (ULONG *)(void *)memory.pages + 10;
    const size_t counters = 3 * page() / 4 - 20;
    const size_t live = page() / 4 - 10;
    MDL mdl;

    (void)state;
    buffer[0] = 7;
    buffer[live] = 7;
    lock_and_map(&mdl, buffer, counters);
    for (size_t i = 0; i < counters; i++) {
        hit(&mdl, i);
    }
    assert_int_equal(value(&buffer[0]), 7);
    assert_int_equal(value(&buffer[live]), 8);
    assert_int_equal(value(&buffer[counters - 1]), 0);
    flush(&mdl);
    assert_int_equal(value(&buffer[0]), 8);
    assert_int_equal(value(&buffer[counters - 1]), 1);
    hit(&mdl, 0);
    unmap_and_unlock(&mdl);
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&buffer[i]), i == 0 ? 9 : i == live ? 8 : 1);
    }
    assert_int_equal(count_taken(&sources[0]), 0);
    guarded_free(&memory);
}

/* What was copied to the source's page before it could not be put in its place is no
 * count. */
static void
lock__pages_cannot_be_put_there__differences_and_exact(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *const buffer = (ULONG *)(void *)memory.pages;
    const size_t counters = 2 * page() / 4;
    MDL mdl;

    (void)state;
    for (size_t i = 0; i < counters; i++) {
        buffer[i] = 1000;
    }
    sources[0].refuses_maps = true;
    lock_and_map(&mdl, buffer, counters);
    hit(&mdl, 5);
    assert_int_equal(value(&buffer[5]), 1000);
    unmap_and_unlock(&mdl);
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&buffer[i]), i == 5 ? 1001 : 1000);
    }
    assert_int_equal(count_taken(&sources[0]), 0);
    guarded_free(&memory);
}

/* The same where the last step fails, which has copied by then. */
static int
lock_without_mremap(void *argument)
{
    const struct guarded *const memory = argument;
    ULONG *const buffer = (ULONG *)(void *)memory->pages;
    MDL mdl;

    buffer[5] = 1000;
    if (refuse_call(SYS_mremap, EINVAL) != 0 ||
        lock(&mdl, buffer, page() / 4) != STATUS_SUCCESS ||
        host.Table->MapPages(host.Context, &mdl) != STATUS_SUCCESS) {
        return 1;
    }
    hit(&mdl, 5);
    if (value(&buffer[5]) != 1000) {
        return 2;
    }
    unmap_and_unlock(&mdl);
    return value(&buffer[5]) != 1001 || count_taken(&sources[0]) != 0 ? 3 : 0;
}

static void
lock__mremap_refused__differences_and_exact(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);

    (void)state;
    assert_child_returns_0(lock_without_mremap, &memory);
    guarded_free(&memory);
}

static void
lock__source_has_no_memory__refused_and_untouched(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const buffer = (ULONG *)(void *)memory.pages;
    MDL mdl;

    (void)state;
    buffer[3] = 5;
    sources[0].refuses = true;
    assert_int_equal(lock(&mdl, buffer, page() / 4), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(value(&buffer[3]), 5);
    assert_int_equal(count_mappings(true), shared_before + 2);
    guarded_free(&memory);
}

/* ---- what the caller does with its buffer ---- */

static void
unlock__caller_unmapped_it__pages_serve_again(void **state)
{
    const size_t per_page = page() / 4;
    MDL mdl;

    (void)state;
    for (size_t i = 0; i < 3 * (size_t)SOURCE_PAGES; i++) {
        struct guarded memory = guarded_make(2, MAP_PRIVATE);

        lock_and_map(&mdl, memory.pages, 2 * per_page);
        assert_int_equal(munmap(memory.pages + i % 2 * page(), page()), 0);
        hit(&mdl, 0);
        hit(&mdl, per_page);
        unmap_and_unlock(&mdl);
        /* What is left is the caller's own again. */
        assert_int_equal(value((ULONG *)(void *)(memory.pages + (i + 1) % 2 * page())),
                         1);
        assert_true(count_taken(&sources[0]) <= 4);
        guarded_free(&memory);
    }
}

/* The kernel cannot tell where they are, but that they are somewhere. */
static void
unlock__caller_moved_it__pages_serve_nobody_else_until_unmapped(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    struct guarded elsewhere = guarded_make(1, MAP_PRIVATE);
    struct guarded next = guarded_make(1, MAP_PRIVATE);
    ULONG *const moved = (ULONG *)(void *)elsewhere.pages;
    const size_t per_page = page() / 4;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, memory.pages, per_page);
    hit(&mdl, 2);
    assert_ptr_equal(mremap(memory.pages, page(), page(), MREMAP_MAYMOVE | MREMAP_FIXED,
                            elsewhere.pages),
                     elsewhere.pages);
    hit(&mdl, 2);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&moved[2]), 2);
    for (size_t i = 0; i < 2 * (size_t)SOURCE_PAGES; i++) {
        lock_and_map(&mdl, next.pages, per_page);
        hit(&mdl, 2);
        unmap_and_unlock(&mdl);
        assert_int_equal(value(&moved[2]), 2);
        assert_int_equal(count_taken(&sources[0]), 1);
    }
    guarded_free(&elsewhere);
    lock_and_map(&mdl, next.pages, per_page);
    assert_int_equal(count_taken(&sources[0]), 1);
    unmap_and_unlock(&mdl);
    assert_int_equal(count_taken(&sources[0]), 0);
    guarded_free(&next);
    munmap(memory.pages - page(), page());
    munmap(memory.pages + page(), page());
}

/* Nothing can be found out without a descriptor: the caller goes on with the page,
 * alone. */
static void
unlock__no_descriptor_left__page_serves_nobody_else(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    ULONG *const buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    struct rlimit limit;
    struct rlimit none;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, buffer, per_page);
    hit(&mdl, 4);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    unmap_and_unlock(&mdl);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(value(&buffer[4]), 1);
    lock_and_map(&mdl, buffer + per_page, per_page);
    hit(&mdl, 4);
    assert_int_equal(value(&buffer[4]), 1);
    assert_int_equal(count_taken(&sources[0]), 2);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&buffer[4]), 1);
    assert_int_equal(value(&buffer[per_page + 4]), 1);
    guarded_free(&memory);
}

/* ---- several sessions ---- */

static void
lock__two_sources_one_buffer__exact_in_any_order(void **state)
{
    (void)state;
    for (size_t order = 0; order < 4; order++) {
        struct guarded memory = guarded_make(2, MAP_PRIVATE);
        ULONG *const buffer = (ULONG *)(void *)memory.pages + order;
        const size_t counters = page() / 2 - order;
        MDL first;
        MDL second;

        lock_and_map(&first, buffer, counters);
        other_lock(&second, buffer, counters);
        assert_true(is_in(&sources[0], first.MappedSystemVa));
        assert_true(is_in(&sources[1], second.MappedSystemVa));
        for (size_t i = 0; i < counters; i++) {
            hit(&first, i);
            hit(&second, i);
        }
        flush(&first);
        other.Table->FlushPages(other.Context, &second);
        for (size_t i = 0; i < counters; i++) {
            assert_int_equal(value(&buffer[i]), 2);
        }
        if (order % 2 == 0) {
            unmap_and_unlock(&first);
            hit(&second, 1);
            other_unlock(&second);
        } else {
            other_unlock(&second);
            hit(&first, 1);
            unmap_and_unlock(&first);
        }
        assert_int_equal(value(&buffer[0]), 2);
        assert_int_equal(value(&buffer[1]), 3);
        assert_int_equal(count_taken(&sources[0]) + count_taken(&sources[1]), 0);
        guarded_free(&memory);
    }
}

/* The first session ends while the second still counts in what were its pages. */
static void
use_pages__source_goes_while_another_has_its_range__that_goes_on(void **state)
{
    (void)state;
    for (size_t unmapped = 0; unmapped < 2; unmapped++) {
        struct guarded memory = guarded_make(2, MAP_PRIVATE);
        ULONG *const buffer = (ULONG *)(void *)memory.pages;
        const size_t counters = page() / 4;
        struct source gone = sources[0];
        MDL first;
        MDL second;
        MDL third;

        lock_and_map(&first, buffer, counters);
        other_lock(&second, buffer, counters);
        if (unmapped != 0) {
            /* Its address is given up, and it is in no list any more. */
            assert_ptr_equal(mmap(buffer, page(), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                             buffer);
            other_lock(&third, buffer, counters);
            other_unlock(&third);
        }
        unmap_and_unlock(&first);
        host_linux_use_pages(&host, NULL);
        source_close(&gone);
        assert_int_equal(source_open(&sources[0]), 0);
        hit(&second, 3);
        other_unlock(&second);
        assert_int_equal(value(&buffer[3]), unmapped != 0 ? 0 : 1);
        assert_int_equal(count_taken(&sources[0]), 0);
        use_source(&host, &sources[0]);
        guarded_free(&memory);
    }
}

/* ---- memory of ntprof_buffer_alloc ---- */

static void
buffer__locked_by_sessions_in_turn__live_in_each_ones_pages(void **state)
{
    ULONG *const buffer = ntprof_buffer_alloc(2 * page());
    const size_t counters = page() / 4;
    MDL mdl;

    (void)state;
    assert_non_null(buffer);
    for (ULONG round = 1; round <= 3; round++) {
        lock_and_map(&mdl, buffer + 20, counters);
        assert_true(is_in(&sources[0], mdl.MappedSystemVa));
        hit(&mdl, 0);
        assert_int_equal(value(&buffer[20]), 2 * round - 1);
        unmap_and_unlock(&mdl);
        assert_int_equal(count_taken(&sources[0]), 2);
        other_lock(&mdl, buffer + 20, counters);
        assert_true(is_in(&sources[1], mdl.MappedSystemVa));
        hit(&mdl, 0);
        assert_int_equal(value(&buffer[20]), 2 * round);
        other_unlock(&mdl);
        assert_int_equal(count_taken(&sources[0]), 0);
    }
    /* Their sources go; the buffer stays, in pages of nobody's. */
    host_linux_use_pages(&other, NULL);
    assert_int_equal(count_taken(&sources[1]), 0);
    assert_int_equal(value(&buffer[20]), 6);
    buffer[20] = 77;
    ntprof_buffer_free(buffer, 2 * page());
    use_source(&other, &sources[1]);
}

/* Freed in parts: the caller moved one away before. */
static void
buffer__part_moved_away_and_freed__that_page_serves_nobody_else(void **state)
{
    struct guarded elsewhere = guarded_make(1, MAP_PRIVATE);
    struct guarded next = guarded_make(2, MAP_PRIVATE);
    ULONG *const buffer = ntprof_buffer_alloc(2 * page());
    ULONG *const moved = (ULONG *)(void *)elsewhere.pages;
    MDL mdl;

    (void)state;
    lock_and_map(&mdl, buffer, page() / 2);
    hit(&mdl, 9);
    unmap_and_unlock(&mdl);
    assert_ptr_equal(
        mremap(buffer, page(), page(), MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere.pages),
        elsewhere.pages);
    ntprof_buffer_free(buffer, 2 * page());
    lock_and_map(&mdl, next.pages, page() / 2);
    hit(&mdl, 9);
    unmap_and_unlock(&mdl);
    assert_int_equal(value(&moved[9]), 1);
    guarded_free(&elsewhere);
    lock_and_map(&mdl, next.pages, page() / 2);
    unmap_and_unlock(&mdl);
    assert_int_equal(count_taken(&sources[0]), 0);
    guarded_free(&next);
}

/* ---- forked children ---- */

struct forked {
    ULONG *spliced;
    ULONG *buffer;
    MDL *mdl[2];
    int to_child[2];
    int to_parent[2];
};

/* The parent counts on while the child looks. */
static int
look_in_child(void *argument)
{
    const struct forked *const forked = argument;
    char byte = 0;
    MDL mdl;
    HOST own;

    if (write(forked->to_parent[1], &byte, 1) != 1 ||
        read(forked->to_child[0], &byte, 1) != 1) {
        return 1;
    }
    if (value(&forked->spliced[8]) != 1 || value(&forked->buffer[8]) != 1) {
        return 2;
    }
    forked->spliced[9] = 50; /* which the parent must not see */
    forked->buffer[9] = 50;
    if (host_linux_create(&own) != STATUS_SUCCESS) {
        return 3;
    }
    mdl = (MDL){.StartVa = (uintptr_t)forked->spliced, .ByteCount = (ULONG)page()};
    if (own.Table->LockPages(own.Context, &mdl) != STATUS_SUCCESS ||
        own.Table->MapPages(own.Context, &mdl) != STATUS_SUCCESS) {
        return 4;
    }
    hit(&mdl, 8);
    if (value(&forked->spliced[8]) != 2) {
        return 5;
    }
    own.Table->UnmapPages(own.Context, &mdl);
    own.Table->UnlockPages(own.Context, &mdl);
    host_linux_delete(&own);
    ntprof_buffer_free(forked->buffer, page());
    return munmap(forked->spliced, page()) == 0 ? 0 : 6;
}

static int
hit_beside_child(void *argument)
{
    const struct forked *const forked = argument;
    const pid_t child = fork();
    int status;
    char byte = 0;

    if (child == 0) {
        _exit(look_in_child(argument));
    }
    if (child < 0 || read(forked->to_parent[0], &byte, 1) != 1) {
        return 1;
    }
    hit(forked->mdl[0], 8);
    hit(forked->mdl[1], 8);
    if (write(forked->to_child[1], &byte, 1) != 1 ||
        waitpid(child, &status, 0) != child) {
        return 2;
    }
    return status;
}

static void
fork__while_locked__child_has_its_own_from_then_on(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *const buffer = ntprof_buffer_alloc(page());
    ULONG *const spliced = (ULONG *)(void *)memory.pages;
    MDL mdl[2];
    struct forked forked = {
        .spliced = spliced, .buffer = buffer, .mdl = {&mdl[0], &mdl[1]}};

    (void)state;
    assert_int_equal(pipe(forked.to_child), 0);
    assert_int_equal(pipe(forked.to_parent), 0);
    lock_and_map(&mdl[0], spliced, page() / 4);
    lock_and_map(&mdl[1], buffer, page() / 4);
    hit(&mdl[0], 8);
    hit(&mdl[1], 8);
    assert_int_equal(hit_beside_child(&forked), 0);
    assert_int_equal(value(&spliced[8]), 2);
    assert_int_equal(value(&spliced[9]), 0);
    assert_int_equal(value(&buffer[8]), 2);
    assert_int_equal(value(&buffer[9]), 0);
    unmap_and_unlock(&mdl[0]);
    unmap_and_unlock(&mdl[1]);
    ntprof_buffer_free(buffer, page());
    guarded_free(&memory);
    for (size_t i = 0; i < 2; i++) {
        close(forked.to_child[i]);
        close(forked.to_parent[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        source_test(lock__neighbours_each_by_its_own__live_and_all_given_back),
        source_test(lock__pages_and_parts_of_pages__pages_live_the_rest_moved),
        source_test(lock__pages_cannot_be_put_there__differences_and_exact),
        source_test(lock__mremap_refused__differences_and_exact),
        source_test(lock__source_has_no_memory__refused_and_untouched),
        source_test(unlock__caller_unmapped_it__pages_serve_again),
        source_test(unlock__caller_moved_it__pages_serve_nobody_else_until_unmapped),
        source_test(unlock__no_descriptor_left__page_serves_nobody_else),
        source_test(lock__two_sources_one_buffer__exact_in_any_order),
        source_test(use_pages__source_goes_while_another_has_its_range__that_goes_on),
        source_test(buffer__locked_by_sessions_in_turn__live_in_each_ones_pages),
        source_test(buffer__part_moved_away_and_freed__that_page_serves_nobody_else),
        source_test(fork__while_locked__child_has_its_own_from_then_on),
    };

    return cmocka_run_group_tests_name("host sources", tests, NULL, NULL);
}
