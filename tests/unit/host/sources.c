/* SPDX-License-Identifier: MIT */
/*
 * sources.c - locks whose counters must be in a source's pages: buffers of ours are
 * made of them, other memory is brought up to date from them.
 *
 * The source is a file in memory. rules: start-lock-holds, stop-final
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
    const struct host_page_supplier pages = {
        .context = source, .allocate = take, .release = give, .map = map};

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

static void
lock__own_memory__differences_in_pages_of_the_source(void **state)
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
        assert_int_equal(value(&buffer[i * per_page + i]), 100);
        flush(&mdl[i]);
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

/* Of a buffer of ours the pages cannot be changed: it is counted in by differences. */
static void
lock__buffer_cannot_be_changed__differences_and_exact(void **state)
{
    ULONG *const buffer = ntprof_buffer_alloc(2 * page());
    const size_t counters = 2 * page() / 4;
    MDL mdl;

    (void)state;
    for (size_t i = 0; i < counters; i++) {
        buffer[i] = 1000;
    }
    sources[0].refuses_maps = true;
    lock_and_map(&mdl, buffer, counters);
    assert_false(mdl.Live);
    hit(&mdl, 5);
    assert_int_equal(value(&buffer[5]), 1000);
    unmap_and_unlock(&mdl);
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&buffer[i]), i == 5 ? 1001 : 1000);
    }
    assert_int_equal(count_taken(&sources[0]), 0);
    ntprof_buffer_free(buffer, 2 * page());
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
        assert_int_equal(mdl.Unwritten, 1);
        assert_int_equal(count_taken(&sources[0]), 0);
        guarded_free(&memory);
    }
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

/* ---- forked children ---- */

struct forked {
    ULONG *own;
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
    if (value(&forked->own[8]) != 1 || value(&forked->buffer[8]) != 1) {
        return 2;
    }
    forked->own[9] = 50; /* which the parent must not see */
    forked->buffer[9] = 50;
    if (host_linux_create(&own) != STATUS_SUCCESS) {
        return 3;
    }
    mdl = (MDL){.StartVa = (uintptr_t)forked->own, .ByteCount = (ULONG)page()};
    if (own.Table->LockPages(own.Context, &mdl) != STATUS_SUCCESS ||
        own.Table->MapPages(own.Context, &mdl) != STATUS_SUCCESS) {
        return 4;
    }
    hit(&mdl, 8);
    own.Table->UnmapPages(own.Context, &mdl);
    own.Table->UnlockPages(own.Context, &mdl);
    if (value(&forked->own[8]) != 2) {
        return 5;
    }
    host_linux_delete(&own);
    ntprof_buffer_free(forked->buffer, page());
    return munmap(forked->own, page()) == 0 ? 0 : 6;
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
    ULONG *const own = (ULONG *)(void *)memory.pages;
    MDL mdl[2];
    struct forked forked = {.own = own, .buffer = buffer, .mdl = {&mdl[0], &mdl[1]}};

    (void)state;
    assert_int_equal(pipe(forked.to_child), 0);
    assert_int_equal(pipe(forked.to_parent), 0);
    lock_and_map(&mdl[0], own, page() / 4);
    lock_and_map(&mdl[1], buffer, page() / 4);
    hit(&mdl[0], 8);
    hit(&mdl[1], 8);
    flush(&mdl[0]);
    assert_int_equal(hit_beside_child(&forked), 0);
    flush(&mdl[0]);
    assert_int_equal(value(&own[8]), 2);
    assert_int_equal(value(&own[9]), 0);
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
        source_test(lock__own_memory__differences_in_pages_of_the_source),
        source_test(lock__buffer_cannot_be_changed__differences_and_exact),
        source_test(lock__source_has_no_memory__refused_and_untouched),
        source_test(unlock__caller_unmapped_it__pages_serve_again),
        source_test(lock__two_sources_one_buffer__exact_in_any_order),
        source_test(buffer__locked_by_sessions_in_turn__live_in_each_ones_pages),
        source_test(fork__while_locked__child_has_its_own_from_then_on),
    };

    return cmocka_run_group_tests_name("host sources", tests, NULL, NULL);
}
