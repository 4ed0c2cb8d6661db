/* SPDX-License-Identifier: MIT */
/*
 * memory.c - what becomes of a started profile when its caller does what it likes to
 * the buffer: no signal, no count in other memory, and the profile stops as ever.
 * rules: start-lock, start-lock-needed, start-lock-whole, start-lock-resident,
 * start-lock-holds
 */
#include "fixture.h"
#include "guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Buckets of 4 bytes over three pages of code: three pages of counters. The slots are
 * one of the pages of code, so hits land in the page of counters that a test chooses.
 */
enum { BUCKET_LOG2 = 2, PAGES = 3, CODE_BYTES = 4096, SLOT = 9, CALLS = 10 };

static size_t
page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t
locked_kb(void)
{
    FILE *const file = fopen("/proc/self/status", "re");
    char line[256];
    size_t kb = SIZE_MAX;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "VmLck: %zu", &kb);
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

/* Opaque to the compiler, which knows nothing of the other mapping. */
static ULONG
value(const ULONG *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void
assert_all(const ULONG *counters, size_t count, ULONG expected)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(value(&counters[i]), expected);
    }
}

/* ---- a profile whose buffer something happens to ---- */

struct buffer {
    unsigned char *pages; /* what the caller does, it does to these */
    size_t bytes;
    ULONG *counters; /* in them: PAGES * CODE_BYTES / 4, or those of one page of code */
    int file;        /* -1: none */
};

struct started {
    struct buffer buffer;
    HANDLE profile;
    size_t counter; /* the slot's */
};

/* Where the counters of the profile lie. */
struct place {
    const char *name;
    int kind;        /* MAP_PRIVATE or MAP_SHARED */
    bool file;       /* of a file, else anonymous */
    size_t offset;   /* of the first counter, in counters */
    size_t hit_page; /* which of the three pages of code the slots are */
};

static const struct place places[] = {
    {"whole private pages", MAP_PRIVATE, false, 0, 1},
    {"private, first page in part", MAP_PRIVATE, false, 1, 0},
    {"private, whole page between parts", MAP_PRIVATE, false, 1, 1},
    {"private, last page in part", MAP_PRIVATE, false, 1019, 2},
    {"shared pages", MAP_SHARED, false, 0, 1},
    {"shared, at an offset", MAP_SHARED, false, 7, 0},
    {"shared file", MAP_SHARED, true, 0, 1},
    {"private file", MAP_PRIVATE, true, 0, 1},
    {"private file, first page in part", MAP_PRIVATE, true, 1, 0},
};

enum { PLACES = sizeof(places) / sizeof(places[0]) };

/* Counters of a buffer. */
static size_t
counters_in_all(void)
{
    return PAGES * page() / sizeof(ULONG);
}

static struct buffer
buffer_make(const struct place *place)
{
    /* Whole pages end where the guard begins; others have a part of one more. */
    const size_t pages = place->offset == 0 ? PAGES : PAGES + 1;
    const size_t bytes = pages * page();
    struct guarded memory = guarded_make(pages, place->kind);
    struct buffer buffer = {memory.pages, bytes, NULL, -1};

    if (place->file) {
        buffer.file = memfd_create("counters", MFD_CLOEXEC);
        assert_int_equal(ftruncate(buffer.file, (off_t)bytes), 0);
        assert_ptr_equal(mmap(memory.pages, bytes, PROT_READ | PROT_WRITE,
                              place->kind | MAP_FIXED, buffer.file, 0),
                         memory.pages);
    }
    buffer.counters = (ULONG *)(void *)memory.pages + place->offset;
    return buffer;
}

static void
buffer_free(struct buffer *buffer)
{
    struct guarded memory = {buffer->pages, buffer->bytes};

    if (buffer->file >= 0) {
        close(buffer->file);
    }
    guarded_free(&memory);
}

static struct started
start_in(const struct place *place)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct started started = {.buffer = buffer_make(place)};

    if (page() != CODE_BYTES) {
        skip_because("pages are not of 4096 bytes");
    }
    started.counter = place->hit_page * (CODE_BYTES >> BUCKET_LOG2) +
                      (SLOT * SLOT_BYTES >> BUCKET_LOG2);
    started.profile = create_profile(
        NtCurrentProcess(), slot_address(0) - place->hit_page * CODE_BYTES,
        (uint64_t)PAGES * CODE_BYTES, BUCKET_LOG2, started.buffer.counters,
        counters_in_all(), source);
    assert_success(NtStartProfile(started.profile));
    return started;
}

/* Hits, which the session's thread delivers as it likes, and we at once. */
static void
hit(void)
{
    call_slot(SLOT, CALLS);
    assert_success(ntprof_session_flush(session));
}

static void
finish(struct started *started, size_t locked_before_kb)
{
    assert_success(NtStopProfile(started->profile));
    assert_int_equal(locked_kb(), locked_before_kb);
    assert_success(NtClose(started->profile));
    buffer_free(&started->buffer);
}

/* ---- what the caller does ---- */

static int
discard(struct buffer *buffer)
{
    /* The kernel refuses it for locked pages. */
    return madvise(buffer->pages, buffer->bytes, MADV_DONTNEED) != 0 && errno != EINVAL;
}

static int
punch(struct buffer *buffer)
{
    /* For shared memory alone, of files that can have holes, and not where it is
     * locked. */
    return madvise(buffer->pages, buffer->bytes, MADV_REMOVE) != 0 && errno != EINVAL &&
           errno != EACCES && errno != ENODEV;
}

static int
protect(struct buffer *buffer)
{
    return mprotect(buffer->pages, buffer->bytes, PROT_NONE);
}

static int
write_protect(struct buffer *buffer)
{
    return mprotect(buffer->pages, buffer->bytes, PROT_READ);
}

static int
protect_for_a_while(struct buffer *buffer)
{
    return protect(buffer) != 0 ||
           mprotect(buffer->pages, buffer->bytes, PROT_READ | PROT_WRITE) != 0;
}

static int
unmap(struct buffer *buffer)
{
    return munmap(buffer->pages, buffer->bytes);
}

static int
truncate_file(struct buffer *buffer)
{
    return buffer->file >= 0 && ftruncate(buffer->file, 0) != 0;
}

static int
fork_and_exit(struct buffer *buffer)
{
    const pid_t child = fork();
    int status;

    (void)buffer;
    if (child == 0) {
        call_slot(SLOT, CALLS); /* another process' execution */
        _exit(0);
    }
    return waitpid(child, &status, 0) != child || status != 0;
}

static int
fork_and_unmap(struct buffer *buffer)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        call_slot(SLOT, CALLS);
        _exit(munmap(buffer->pages, buffer->bytes));
    }
    return waitpid(child, &status, 0) != child || status != 0;
}

/* A caller that unlocks its memory, too, may get fewer counts, but no harm. */
static int
unlock(struct buffer *buffer)
{
    return munlock(buffer->pages, buffer->bytes);
}

struct deed {
    const char *name;
    int (*apply)(struct buffer *buffer);
    bool exact; /* what was hit after it is in the caller's buffer */
};

static const struct deed deeds[] = {
    {"madvise DONTNEED", discard, true},
    {"madvise REMOVE", punch, false}, /* of what the page held before, too */
    {"mprotect NONE", protect, false},
    {"mprotect READ", write_protect, false},
    {"mprotect NONE and back", protect_for_a_while, true},
    {"munmap", unmap, false},
    {"ftruncate", truncate_file, false},
    {"fork, exit", fork_and_exit, true},
    {"fork, unmap, exit", fork_and_unmap, true},
    {"munlock", unlock, false},
};

static void
do_to_started(const struct deed *deed, const struct place *place)
{
    const size_t locked_before_kb = locked_kb();
    struct started started = start_in(place);
    const size_t counters = counters_in_all();

    hit();
    assert_only(started.buffer.counters, counters, started.counter, CALLS);
    if (deed->apply(&started.buffer) != 0) {
        fail_msg("%s, %s: %s", deed->name, place->name, strerror(errno));
    }
    hit();
    hit();
    if (deed->exact) {
        assert_only(started.buffer.counters, counters, started.counter, 3 * CALLS);
    }
    call_slot(SLOT, CALLS); /* for the stop to deliver */
    finish(&started, locked_before_kb);
}

/* The kernel cannot bring a map's page back that was discarded under the caller's
 * address: who touches it has SIGBUS, until the profile stops. That is the caller's
 * doing, and no deed of a test. */
static bool
may_be_done(const struct deed *deed, const struct place *place)
{
    return deed->apply != discard || place->kind == MAP_SHARED ||
           !fixture_has(FIXTURE_MAPS);
}

static void
started__caller_works_on_its_buffer__no_signal_and_stops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        for (size_t j = 0; j < PLACES; j++) {
            if (may_be_done(&deeds[i], &places[j])) {
                do_to_started(&deeds[i], &places[j]);
            }
        }
    }
}

/* ---- other memory in its place ---- */

static ULONG *
put_canary(struct buffer *buffer, int kind)
{
    unsigned char *const made =
        mmap(buffer->pages, buffer->bytes, PROT_READ | PROT_WRITE,
             kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    assert_ptr_equal(made, buffer->pages);
    return (ULONG *)(void *)made;
}

static void
replace_buffer(const struct place *place, int kind)
{
    const size_t locked_before_kb = locked_kb();
    struct started started = start_in(place);
    const size_t all = started.buffer.bytes / sizeof(ULONG);
    ULONG *canary;

    hit();
    canary = put_canary(&started.buffer, kind);
    hit();
    assert_all(canary, all, 0);
    memset(canary, 0x5A, started.buffer.bytes);
    hit();
    assert_all(canary, all, 0x5A5A5A5A);
    call_slot(SLOT, CALLS);
    assert_success(NtStopProfile(started.profile));
    assert_all(canary, all, 0x5A5A5A5A);

    /* What is there now can be counted into. */
    memset(canary, 0, started.buffer.bytes);
    assert_success(NtStartProfile(started.profile));
    hit();
    assert_only(started.buffer.counters, counters_in_all(), started.counter, CALLS);
    finish(&started, locked_before_kb);
}

static void
started__other_memory_put_in_its_place__untouched(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        replace_buffer(&places[i], MAP_PRIVATE);
        replace_buffer(&places[i], MAP_SHARED);
    }
}

static void
move_buffer(const struct place *place)
{
    struct guarded elsewhere = guarded_make(PAGES + 1, MAP_PRIVATE);
    struct started started = start_in(place);
    const size_t all = started.buffer.bytes / sizeof(ULONG);
    const ULONG *canary;

    hit();
    assert_ptr_equal(mremap(started.buffer.pages, started.buffer.bytes,
                            started.buffer.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                            elsewhere.pages),
                     elsewhere.pages);
    hit();
    canary = put_canary(&started.buffer, MAP_PRIVATE);
    hit();
    assert_success(NtStopProfile(started.profile));
    assert_all(canary, all, 0);
    /* What was counted before is where it went. */
    assert_true(value((ULONG *)(void *)elsewhere.pages + place->offset +
                      started.counter) >= CALLS);
    assert_success(NtClose(started.profile));
    buffer_free(&started.buffer);
    guarded_free(&elsewhere);
}

/* mremap moves one mapping: what locks cut into several cannot be moved in older
 * kernels. */
static void
started__buffer_moved_away__old_place_untouched(void **state)
{
    (void)state;
    move_buffer(&places[4]);
}

/* ---- threads and processes that end ---- */

struct stack_profile {
    HANDLE profile;
    ULONG *counters;
    NTSTATUS status;
};

/* A profile whose counters are on the stack of a thread that ends while it is started.
 */
static void *
start_on_stack(void *argument)
{
    struct stack_profile *const made = argument;
    unsigned char area[SLOT_COUNT * sizeof(ULONG) + GUARDED_ROOM] = {0};
    ULONG *const counters = guarded_within(area, sizeof(area), SLOT_COUNT);
    const KPROFILE_SOURCE source = slot_source(SLOT);

    ntprof_session_use(session);
    made->counters = counters;
    made->status = NtCreateProfileEx(&made->profile, NtCurrentProcess(),
                                     (PVOID)(uintptr_t)slot_address(0),
                                     (SIZE_T)SLOT_BYTES * SLOT_COUNT, 4, counters,
                                     SLOT_COUNT * sizeof(ULONG), source, 0, NULL);
    if (NT_SUCCESS(made->status)) {
        made->status = NtStartProfile(made->profile);
    }
    call_slot(SLOT, CALLS);
    guarded_give_back(area, sizeof(area));
    return NULL;
}

static void
started__thread_ends_with_the_buffer_on_its_stack__no_harm(void **state)
{
    const size_t locked_before_kb = locked_kb();
    struct guarded stack = guarded_make(64, MAP_PRIVATE);
    struct stack_profile made;
    pthread_attr_t attributes;
    pthread_t thread;
    ULONG *canary;

    (void)state;
    (void)slot_source(SLOT); /* skips here, if anywhere */
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack.pages, stack.bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, start_on_stack, &made), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_success(made.status);
    assert_true((unsigned char *)made.counters > stack.pages &&
                (unsigned char *)made.counters < stack.pages + stack.bytes);

    canary = mmap(stack.pages, stack.bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(canary, stack.pages);
    hit();
    assert_success(NtStopProfile(made.profile));
    assert_all(canary, stack.bytes / sizeof(ULONG), 0);
    assert_success(NtClose(made.profile));
    assert_int_equal(locked_kb(), locked_before_kb);
    guarded_free(&stack);
}

struct ending {
    bool by_exec;
    ULONG *counters; /* guarded behind those of both profiles */
};

enum { ENDING_OFFSET = 77, ENDING_BYTES = 4096 };

/* In a child: a session of its own, started, and the end of the process. No cmocka. */
static int
start_and_end(const struct peer *test, void *argument)
{
    const struct ending *const ending = argument;
    ntprof_session_options options = {.size = sizeof(options), .backend = backend};
    ntprof_session *own;
    HANDLE profile;

    (void)test;
    if (!NT_SUCCESS(ntprof_session_open(&options, &own))) {
        return 1;
    }
    ntprof_session_use(own);
    for (size_t i = 0; i < 2; i++) {
        if (!NT_SUCCESS(NtCreateProfileEx(&profile, NtCurrentProcess(),
                                          (PVOID)(uintptr_t)slot_address(0),
                                          (SIZE_T)SLOT_BYTES * SLOT_COUNT, BUCKET_LOG2,
                                          ending->counters + i * ENDING_OFFSET,
                                          ENDING_BYTES, ProfileTime, 0, NULL)) ||
            !NT_SUCCESS(NtStartProfile(profile))) {
            return 2;
        }
    }
    if (ending->by_exec) {
        execl("/bin/true", "true", (char *)NULL);
        return 3;
    }
    return 0;
}

static void
started__process_ends_or_runs_another_program__no_signal(void **state)
{
    struct ending ending = {
        .counters = guarded_counters(ENDING_OFFSET + ENDING_BYTES / sizeof(ULONG))};
    struct peer peer;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ending.by_exec = i != 0;
        peer_start(&peer, start_and_end, &ending);
        peer_finish(&peer);
    }
}

/* ---- how much is locked ---- */

/* A profile of as many counters as buckets, of the first page's, in a buffer of three
 * pages. */
static HANDLE
create_with_spare(const struct guarded *memory, ULONG nt_version)
{
    ntprof_session_options options = {.size = sizeof(options),
                                      .nt_version = nt_version};

    fixture_reopen(&options);
    return create_profile(NtCurrentProcess(), slot_address(0), CODE_BYTES, BUCKET_LOG2,
                          (ULONG *)(void *)memory->pages, memory->bytes / sizeof(ULONG),
                          ProfileTime);
}

/* What whole private pages lock, of which a map's are locked without it. */
static size_t
lock_kb_of(size_t bytes)
{
    return bytes / 1024 * (fixture_has(FIXTURE_MAPS) ? 1 : 2);
}

static uint32_t
version_named(const char *name)
{
    uint32_t version;

    assert_success(ntprof_nt_version_lookup(name, &version));
    return version;
}

/* rules: start-lock-needed, start-lock-whole */
static void
start__buffer_larger_than_needed__newest_locks_what_counters_need(void **state)
{
    const size_t locked_before_kb = locked_kb();
    struct guarded memory = guarded_make(PAGES, MAP_PRIVATE);
    HANDLE profile;

    (void)state;
    profile = create_with_spare(&memory, 0);
    assert_success(NtStartProfile(profile));
    assert_int_equal(locked_kb(), locked_before_kb + lock_kb_of(page()));
    assert_success(NtStopProfile(profile));
    assert_int_equal(munmap(memory.pages + 2 * page(), page()), 0);
    assert_success(NtStartProfile(profile));
    assert_success(NtStopProfile(profile));
    assert_success(NtClose(profile));
    guarded_free(&memory);
    assert_int_equal(locked_kb(), locked_before_kb);
}

static void
start__buffer_larger_than_needed__nt_versions_lock_all(void **state)
{
    static const char *const versions[] = {"3.51", "5.2", "6.1", "1809"};
    const size_t locked_before_kb = locked_kb();

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct guarded memory = guarded_make(PAGES, MAP_PRIVATE);
        HANDLE profile;

        if (strcmp(versions[i], "3.51") == 0 || strcmp(versions[i], "5.2") == 0) {
            ntprof_session_options options = {.size = sizeof(options),
                                              .nt_version = version_named(versions[i])};

            fixture_reopen(&options);
            assert_success(NtCreateProfile(
                &profile, NtCurrentProcess(), (PVOID)(uintptr_t)slot_address(0),
                CODE_BYTES, BUCKET_LOG2, (ULONG *)(void *)memory.pages,
                (ULONG)memory.bytes, ProfileTime, ~(KAFFINITY)0));
        } else {
            profile = create_with_spare(&memory, version_named(versions[i]));
        }
        assert_success(NtStartProfile(profile));
        assert_int_equal(locked_kb(), locked_before_kb + lock_kb_of(memory.bytes));
        assert_success(NtStopProfile(profile));
        assert_int_equal(munmap(memory.pages + 2 * page(), page()), 0);
        assert_status(NtStartProfile(profile), STATUS_ACCESS_VIOLATION);
        assert_status(NtStopProfile(profile), STATUS_PROFILING_NOT_STARTED);
        assert_int_equal(locked_kb(), locked_before_kb);
        assert_success(NtClose(profile));
        guarded_free(&memory);
    }
}

/* ---- limits ---- */

/* May this process lock more than RLIMIT_MEMLOCK? */
static bool
limit_is_ignored(void)
{
    struct guarded memory = guarded_make(17, MAP_PRIVATE);
    const bool ignored = syscall(SYS_mlock, memory.pages, memory.bytes) == 0;

    guarded_free(&memory);
    return ignored;
}

static struct rlimit
limit_to_pages(size_t pages)
{
    struct rlimit old;
    struct rlimit few;

    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
    few = (struct rlimit){pages * page(), old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &few), 0);
    return old;
}

/* On simulated processors: what perf itself locks is another matter. */
static ntprof_session *
open_simulated(void)
{
    const ntprof_session_options options = {.size = sizeof(options), .backend = "sim"};
    ntprof_session *made;

    assert_success(ntprof_session_open(&options, &made));
    ntprof_session_use(made);
    return made;
}

static void
start__beyond_memlock__working_set_quota_and_nothing_left(void **state)
{
    const size_t locked_before_kb = locked_kb();
    struct guarded memory = guarded_make(17, MAP_PRIVATE);
    ntprof_session *const simulated = open_simulated();
    const struct rlimit old = limit_to_pages(16);
    const bool ignored = limit_is_ignored();
    const uint64_t region = memory.bytes; /* one counter for 4 bytes */
    HANDLE profile = create_profile(NtCurrentProcess(), 0x10000, region, 2,
                                    (ULONG *)(void *)memory.pages,
                                    memory.bytes / sizeof(ULONG), ProfileTime);

    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_status(NtStartProfile(profile),
                      ignored ? STATUS_SUCCESS : STATUS_WORKING_SET_QUOTA);
        if (ignored) {
            assert_success(NtStopProfile(profile));
        }
        assert_status(NtStopProfile(profile), STATUS_PROFILING_NOT_STARTED);
        assert_int_equal(locked_kb(), locked_before_kb);
    }
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
    assert_success(NtStartProfile(profile));
    assert_int_equal(locked_kb(), locked_before_kb + 2 * memory.bytes / 1024);
    assert_success(NtClose(profile)); /* which stops it */
    assert_int_equal(locked_kb(), locked_before_kb);
    ntprof_session_use(session);
    ntprof_session_close(simulated);
    guarded_free(&memory);
}

enum { MANY = 1000, SMALL = 16 };

/* Within the 1 MB, whatever the caller may: with it as a limit. */
static void
start__thousand_profiles_of_64_bytes__within_1_mb(void **state)
{
    const size_t locked_before_kb = locked_kb();
    ntprof_session *const simulated = open_simulated();
    const struct rlimit old = limit_to_pages((1 << 20) / page());
    ULONG *const counters = guarded_counters((size_t)MANY * SMALL);
    static HANDLE profiles[MANY];

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        profiles[i] =
            create_profile(NtCurrentProcess(), 0x10000 + i * SMALL * 4, SMALL * 4, 2,
                           counters + i * SMALL, SMALL, ProfileTime);
        assert_success(NtStartProfile(profiles[i]));
    }
    assert_true(locked_kb() - locked_before_kb <= 1024);
    for (size_t i = 0; i < MANY; i++) {
        assert_success(NtClose(profiles[i]));
    }
    assert_int_equal(locked_kb(), locked_before_kb);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
    ntprof_session_use(session);
    ntprof_session_close(simulated);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(started__caller_works_on_its_buffer__no_signal_and_stops),
        fixture_test(started__other_memory_put_in_its_place__untouched),
        fixture_test(started__buffer_moved_away__old_place_untouched),
        fixture_test(started__thread_ends_with_the_buffer_on_its_stack__no_harm),
        fixture_test(started__process_ends_or_runs_another_program__no_signal),
        fixture_test(start__buffer_larger_than_needed__newest_locks_what_counters_need),
        fixture_test(start__buffer_larger_than_needed__nt_versions_lock_all),
        fixture_test(start__beyond_memlock__working_set_quota_and_nothing_left),
        fixture_test(start__thousand_profiles_of_64_bytes__within_1_mb),
    };

    return fixture_run("memory", tests, sizeof(tests) / sizeof(tests[0]));
}
