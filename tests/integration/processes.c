/* SPDX-License-Identifier: MIT */
/*
 * processes.c - other processes, their children, their images: each hit goes where it
 * belongs, and a profile started in a notification misses nothing.
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOT = 20, RECORDS_MAX = 64 };

/* ---- what notifications did ---- */

/* A mapping that held the wanted address while it was mapped, with a profile of its
 * own. */
struct record {
    uint32_t pid;
    uint32_t flags;
    uint64_t base;
    char name[128];
    HANDLE profile;
    ULONG *counter; /* one bucket over the whole mapping */
    bool mapped;
};

static struct log {
    uint64_t wanted;
    KPROFILE_SOURCE source;
    KPROFILE_SOURCE library_30; /* the source of that library's mappings */
    struct record records[RECORDS_MAX];
    size_t count;
    uint32_t starts; /* NTPROF_PROCESS_START */
    uint32_t execs;
    uint32_t exits;
    uint32_t last_parent;
    uint32_t losses;
    NTSTATUS failure;
} seen;

static void
log_begin_with(uint64_t wanted, KPROFILE_SOURCE source)
{
    memset(&seen, 0, sizeof(seen));
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        seen.records[i].counter = guarded_counters(1);
    }
    seen.wanted = wanted;
    seen.source = source;
}

static void
log_begin(uint64_t wanted)
{
    log_begin_with(wanted, breakpoint_at(session, wanted));
}

static void
log_note(NTSTATUS status)
{
    if (!NT_SUCCESS(status)) {
        seen.failure = status;
    }
}

static void
log_map(const ntprof_notification *notification)
{
    struct record *const record = &seen.records[seen.count];
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)notification->pid};
    KPROFILE_SOURCE source;
    HANDLE process;
    NTSTATUS status;

    if (seen.wanted - notification->base >= notification->length ||
        seen.count == RECORDS_MAX) {
        return;
    }
    record->pid = notification->pid;
    record->flags = notification->image_flags;
    record->base = notification->base;
    record->mapped = true;
    snprintf(record->name, sizeof(record->name), "%s", notification->name);
    seen.count++;
    status = NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client);
    log_note(status);
    if (!NT_SUCCESS(status)) {
        return;
    }
    source = strstr(record->name, "caller_30") != NULL ? seen.library_30 : seen.source;
    log_note(NtCreateProfileEx(&record->profile, process,
                               (PVOID)(uintptr_t)notification->base,
                               (SIZE_T)notification->length, 31, record->counter,
                               sizeof(ULONG), source, 0, NULL));
    log_note(NtStartProfile(record->profile));
    log_note(NtClose(process));
}

static void
log_unmap(const ntprof_notification *notification)
{
    for (size_t i = 0; i < seen.count; i++) {
        struct record *const record = &seen.records[i];

        if (record->mapped && record->pid == notification->pid &&
            record->base == notification->base) {
            record->mapped = false;
            log_note(NtClose(record->profile));
        }
    }
}

static void
log_notification(void *context, const ntprof_notification *notification)
{
    (void)context;
    switch (notification->kind) {
    case NTPROF_PROCESS_START:
        seen.starts++;
        seen.last_parent = notification->parent_pid;
        break;
    case NTPROF_PROCESS_EXEC:
        seen.execs++;
        break;
    case NTPROF_PROCESS_EXIT:
        seen.exits++;
        break;
    case NTPROF_IMAGE_MAP:
        log_map(notification);
        break;
    case NTPROF_IMAGE_UNMAP:
        log_unmap(notification);
        break;
    case NTPROF_RECORDS_LOST:
        seen.losses++;
        break;
    default:
        break;
    }
}

/* Delivers all, and asserts that mappings of the wanted address had these counts, in
 * order. */
static void
assert_log(const ULONG *counts, size_t count)
{
    assert_success(ntprof_session_flush(session));
    assert_int_equal(seen.losses, 0);
    assert_success(seen.failure);
    for (size_t i = 0; i < seen.count; i++) {
        assert_false(seen.records[i].mapped);
        if (i < count && seen.records[i].counter[0] != counts[i]) {
            fail_msg("mapping %zu (%s) has %u hits instead of %u", i,
                     seen.records[i].name, seen.records[i].counter[0], counts[i]);
        }
    }
    assert_int_equal(seen.count, count);
}

/* ---- another process ---- */

static int
call_when_told(const struct peer *test, void *argument)
{
    uint64_t times;

    (void)argument;
    while ((times = peer_hear(test)) != 0) {
        if (times == UINT64_MAX) {
            return 1;
        }
        call_slot(SLOT, times);
        peer_tell(test, times);
    }
    return 0;
}

static void
profile__of_another_process__counts_its_hits_and_not_ours(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peer;
    HANDLE process;
    HANDLE profile;

    (void)state;
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    profile = start_slots(process, counters, source);
    for (ULONG round = 1; round <= 5; round++) {
        peer_tell(&peer, 8);
        peer_hear(&peer);
        call_slot(SLOT, 100);
        assert_success(ntprof_session_flush(session));
        assert_only(counters, SLOT_COUNT, SLOT, 8 * round);
    }
    assert_success(NtStopProfile(profile));
    peer_tell(&peer, 50);
    peer_hear(&peer);
    assert_success(NtStartProfile(profile));
    peer_tell(&peer, 2);
    peer_hear(&peer);
    peer_tell(&peer, 0);
    peer_finish(&peer);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 42);
    assert_statistics_beside(session, source, 42, 42, 500);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
}

static void
profile__of_a_process_that_ended__counts_nothing(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const CLIENT_ID nobody = {.UniqueProcess = (HANDLE)(uintptr_t)0x7ffffff0};
    struct peer peer;
    HANDLE process;
    HANDLE profile;
    HANDLE none = NULL;

    (void)state;
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    profile = create_profile(process, slot_address(0), SLOT_BYTES * SLOT_COUNT, 4,
                             counters, SLOT_COUNT, source);
    peer_tell(&peer, 0);
    peer_finish(&peer);
    assert_success(NtStartProfile(profile));
    call_slot(SLOT, 3);
    assert_success(NtStopProfile(profile));
    assert_int_equal(sum_counters(counters, SLOT_COUNT), 0);
    assert_exact_statistics(session, source, 0, 0);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
    assert_status(NtOpenProcess(&none, PROCESS_QUERY_INFORMATION, NULL, &nobody),
                  STATUS_INVALID_CID);
    assert_null(none);
}

static int
become_another_user(const struct peer *test, void *argument)
{
    (void)argument;
    if (setresgid(65533, 65533, 65533) != 0 || setresuid(65533, 65533, 65533) != 0) {
        return 1;
    }
    peer_tell(test, 1);
    return call_when_told(test, NULL);
}

static bool
may_read_maps_of_first(void)
{
    const int fd = open("/proc/1/maps", O_RDONLY | O_CLOEXEC);
    char byte;
    bool may = false;

    if (fd >= 0) {
        may = read(fd, &byte, 1) == 1;
        close(fd);
    }
    return may;
}

static void
process_of_another_user__for_root_only(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    const CLIENT_ID first = {.UniqueProcess = (HANDLE)(uintptr_t)1};
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peer;
    HANDLE process = NULL;
    HANDLE profile;

    (void)state;
    if (!is_root()) {
        /* Some kernels let who has CAP_PERFMON read what others have mapped. */
        const NTSTATUS expected =
            may_read_maps_of_first() ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;

        assert_status(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &first),
                      expected);
        if (expected == STATUS_SUCCESS) {
            assert_success(NtClose(process));
        } else {
            assert_null(process);
        }
        return;
    }
    peer_start(&peer, become_another_user, NULL);
    peer_hear(&peer);
    process = open_process(peer.pid);
    profile = start_slots(process, counters, source);
    peer_tell(&peer, 25);
    peer_hear(&peer);
    peer_tell(&peer, 0);
    peer_finish(&peer);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
    assert_only(counters, SLOT_COUNT, SLOT, 25);
}

/* ---- fork and exec ---- */

static void
fork__without_a_watch__the_child_is_not_counted(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peer;
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    peer_start(&peer, call_when_told, NULL);
    peer_tell(&peer, 30);
    peer_hear(&peer);
    call_slot(SLOT, 4);
    peer_tell(&peer, 0);
    peer_finish(&peer);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 4);
    assert_success(NtClose(profile));
    /* What the child wrote into its copy of the buffer does not show here either. */
    assert_only(counters, SLOT_COUNT, SLOT, 4);
}

/* Calls, forks a child that calls and forks a grandchild that calls, without any exec.
 */
static int
call_and_fork(const struct peer *test, void *argument)
{
    int status = 0;
    pid_t child;

    (void)argument;
    peer_hear(test);
    call_slot(SLOT, 1);
    child = fork();
    if (child == 0) {
        call_slot(SLOT, 20);
        child = fork();
        if (child == 0) {
            call_slot(SLOT, 300);
            _exit(0);
        }
        call_slot(SLOT, 20);
        _exit(child < 0 || waitpid(child, &status, 0) != child || status != 0);
    }
    call_slot(SLOT, 1);
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static void
fork__of_a_watched_process__each_process_has_its_own_hits(void **state)
{
    static const ULONG counts[] = {2, 40, 300};
    struct peer peer;

    (void)state;
    log_begin(slot_address(SLOT));
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, call_and_fork, NULL);
    watch_peer(&peer, NTPROF_WATCH_DESCENDANTS, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_log(counts, 3);
    assert_int_equal(seen.starts, 3);
    assert_int_equal(seen.exits, 3);
    assert_exact_statistics(session, seen.source, 342, 342);
}

static void
fork__of_a_process_watched_alone__descendants_are_not_told(void **state)
{
    static const ULONG counts[] = {2};
    struct peer peer;

    (void)state;
    log_begin(slot_address(SLOT));
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, call_and_fork, NULL);
    watch_peer(&peer, 0, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_log(counts, 1);
    assert_int_equal(seen.starts, 1);
}

/* Calls a slot of a file, and so does the program that it becomes, at the same address.
 */
static int
call_and_exec(const struct peer *test, void *argument)
{
    const int fd = open(slots_path(), O_RDONLY);
    char address[32];

    snprintf(address, sizeof(address), "%" PRIx64, FIXED_ADDRESS);
    if (dup2(fd, STDIN_FILENO) < 0) {
        return 1;
    }
    peer_hear(test);
    if (map_fixed_slots() != 0) {
        return 1;
    }
    call_address(FIXED_ADDRESS, 3);
    execl(argument, argument, address, "500", "0", (char *)NULL);
    return 1;
}

static void
exec__of_a_watched_process__hits_before_and_after_keep_apart(void **state)
{
    static const ULONG counts[] = {3, 500};
    struct peer peer;

    (void)state;
    log_begin_with(FIXED_ADDRESS, fixed_source(session));
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, call_and_exec, (void *)(uintptr_t)program_path("PAGE_CALLER"));
    watch_peer(&peer, NTPROF_WATCH_DESCENDANTS, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_log(counts, 2);
    assert_int_equal(seen.execs, 1);
    assert_int_equal(seen.exits, 1);
    assert_exact_statistics(session, seen.source, 503, 503);
}

static int
wait_until_told(const struct peer *test, void *argument)
{
    (void)argument;
    peer_hear(test);
    return 0;
}

/* The events of the first watch are not inherited by the children that the second one
 * would have to count. */
static void
watch__with_descendants_after_one_without__refused(void **state)
{
    const KPROFILE_SOURCE source = ProfileTime;
    const ntprof_watch_options options = {.size = sizeof(options),
                                          .flags = NTPROF_WATCH_DESCENDANTS,
                                          .source_count = 1,
                                          .sources = &source};
    struct peer peer;
    HANDLE process;

    (void)state;
    peer_start(&peer, wait_until_told, NULL);
    watch_peer(&peer, 0, source);
    process = open_process(peer.pid);
    assert_status(ntprof_session_watch(session, process, &options),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "without its descendants"));
    assert_success(NtClose(process));
    watch_peer(&peer, 0, source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
}

static void
watch__on_exec__begins_with_the_program(void **state)
{
    static const ULONG counts[] = {500};
    struct peer peer;

    (void)state;
    log_begin_with(FIXED_ADDRESS, fixed_source(session));
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, call_and_exec, (void *)(uintptr_t)program_path("PAGE_CALLER"));
    watch_peer(&peer, NTPROF_WATCH_DESCENDANTS | NTPROF_WATCH_ON_EXEC, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_log(counts, 1);
    assert_exact_statistics(session, seen.source, 500, 500);
}

static int
many_children(const struct peer *test, void *argument)
{
    (void)argument;
    peer_hear(test);
    for (int i = 0; i < 300; i++) {
        const pid_t child = fork();
        int status;

        if (child == 0) {
            call_slot(SLOT, 2);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            return 1;
        }
    }
    return 0;
}

/* All processes' profiles count into one buffer, as the command does it. */
static ULONG *pooled; /* one counter for all of them */

static void
pool_notification(void *context, const ntprof_notification *notification)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)notification->pid};
    HANDLE process;
    HANDLE profile;

    (void)context;
    seen.losses += notification->kind == NTPROF_RECORDS_LOST;
    if (notification->kind != NTPROF_IMAGE_MAP ||
        seen.wanted - notification->base >= notification->length) {
        return;
    }
    log_note(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client));
    log_note(NtCreateProfileEx(&profile, process, (PVOID)(uintptr_t)notification->base,
                               (SIZE_T)notification->length, 31, pooled, sizeof(ULONG),
                               seen.source, 0, NULL));
    log_note(NtStartProfile(profile));
    log_note(NtClose(process));
    seen.count++;
}

static void
fork__many_short_children__none_is_missed(void **state)
{
    struct peer peer;

    (void)state;
    log_begin(slot_address(SLOT));
    pooled = guarded_counters(1);
    ntprof_session_set_notify(session, pool_notification, NULL);
    peer_start(&peer, many_children, NULL);
    watch_peer(&peer, NTPROF_WATCH_DESCENDANTS, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(ntprof_session_flush(session));
    assert_success(seen.failure);
    assert_int_equal(seen.losses, 0);
    assert_int_equal(seen.count, 301);
    assert_int_equal(pooled[0], 600);
    assert_exact_statistics(session, seen.source, 600, 600);
}

/* ---- code that comes and goes ---- */

/* The page of slots at the fixed address, made as JITs make it. */
static int
make_fixed_page(void)
{
    void *const page =
        mmap((void *)(uintptr_t)FIXED_ADDRESS, 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (page == MAP_FAILED) {
        return -1;
    }
    write_slots(page);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int
run_fixed_code(const struct peer *test, void *argument)
{
    (void)argument;
    peer_hear(test);
    if (make_fixed_page() != 0) {
        return 1;
    }
    call_address(FIXED_ADDRESS, 77);
    return 0;
}

static void
jit__code_made_executable_by_mprotect__nothing_is_missed(void **state)
{
    static const ULONG counts[] = {77};
    struct peer peer;

    (void)state;
    log_begin(FIXED_ADDRESS);
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, run_fixed_code, NULL);
    watch_peer(&peer, 0, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_log(counts, 1);
    assert_int_equal(seen.records[0].base, FIXED_ADDRESS);
    assert_int_equal(seen.records[0].flags, NTPROF_IMAGE_ANONYMOUS);
    assert_exact_statistics(session, seen.source, 77, 77);
}

/* Code in a file without a name, mapped twice: where it is written and where it runs.
 * Linux has uprobes in private mappings only. */
static int
run_double_mapped_code(const struct peer *test, void *argument)
{
    const int fd = *(const int *)argument;
    const int sharing = breakpoints_fire() ? MAP_SHARED : MAP_PRIVATE;
    void *writable;
    void *page;

    writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (writable == MAP_FAILED) {
        return 1;
    }
    write_slots(writable);
    peer_hear(test);
    for (int round = 0; round < 3; round++) {
        page = mmap((void *)(uintptr_t)FIXED_ADDRESS, 4096, PROT_READ | PROT_EXEC,
                    sharing | MAP_FIXED, fd, 0);
        if (page == MAP_FAILED) {
            return 1;
        }
        call_address(FIXED_ADDRESS, 10);
    }
    return 0;
}

static void
jit__code_mapped_again_and_again__each_mapping_has_its_hits(void **state)
{
    struct peer peer;
    char path[64];
    int fd;

    (void)state;
    (void)fixed_source(session); /* skips here, if anywhere */
    fd = memfd_create("code", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    log_begin_with(FIXED_ADDRESS, file_source(session, path, 0, FIXED_ADDRESS));
    ntprof_session_set_notify(session, log_notification, NULL);
    peer_start(&peer, run_double_mapped_code, &fd);
    watch_peer(&peer, 0, seen.source);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(ntprof_session_flush(session));
    assert_success(seen.failure);
    /* Mapping the same again may be told as nothing new. */
    assert_in_range(seen.count, 1, 3);
    assert_int_equal(seen.records[0].counter[0] + seen.records[1].counter[0] +
                         seen.records[2].counter[0],
                     30);
    assert_int_equal(seen.records[0].flags, 0);
    assert_exact_statistics(session, seen.source, 30, 30);
    close(fd);
}

/* ---- libraries ---- */

/* Loaded again, a library lands where it was before, and so does one of the same size.
 */
static uint64_t
load_and_unload(const char *path)
{
    void *const library = dlopen(path, RTLD_NOW);
    uint64_t address;

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    address = (uint64_t)(uintptr_t)dlsym(library, "library_slot");
    return dlclose(library) == 0 ? address : 0;
}

static int
load_libraries(const struct peer *test, void *argument)
{
    const char *const *paths = argument;
    uint64_t address = load_and_unload(paths[0]);

    peer_tell(test, address);
    peer_hear(test);
    for (; *paths != NULL; paths++) {
        if (load_and_unload(*paths) != address) {
            return 1;
        }
    }
    return 0;
}

/* The source of the library's slot, which it has at the address. */
static KPROFILE_SOURCE
library_source(const char *path, uint64_t address)
{
    void *const library = dlopen(path, RTLD_NOW);
    uint64_t offset;

    assert_non_null(library);
    offset = code_offset((uint64_t)(uintptr_t)dlsym(library, "library_slot"));
    assert_int_equal(dlclose(library), 0);
    return file_source(session, path, offset, address);
}

static void
run_libraries(const char *const *paths)
{
    ntprof_watch_options options = {.size = sizeof(options)};
    KPROFILE_SOURCE sources[2];
    struct peer peer;
    uint64_t address;
    HANDLE process;

    peer_start(&peer, load_libraries, (void *)(uintptr_t)paths);
    address = peer_hear(&peer);
    assert_true(address != 0 && address != UINT64_MAX);
    sources[0] = library_source(paths[0], address);
    sources[1] = paths[1] != NULL ? library_source(paths[1], address) : sources[0];
    log_begin_with(address, sources[0]);
    seen.library_30 = sources[1];
    ntprof_session_set_notify(session, log_notification, NULL);
    options.sources = sources;
    options.source_count = sources[1] != sources[0] ? 2 : 1; /* one of a breakpoint */
    process = open_process(peer.pid);
    assert_success(ntprof_session_watch(session, process, &options));
    assert_success(NtClose(process));
    peer_tell(&peer, 1);
    peer_finish(&peer);
}

static void
dlopen__whose_constructor_is_hot__no_call_is_missed(void **state)
{
    need_exact_source();

    static const ULONG counts[] = {1000};
    const char *const paths[] = {program_path("LIBRARY_1000"), NULL};

    (void)state;
    run_libraries(paths);
    assert_log(counts, 1);
    assert_non_null(strstr(seen.records[0].name, "caller_1000"));
    assert_exact_statistics(session, seen.source, 1000, 1000);
}

static void
dlopen__another_library_in_the_same_place__each_has_its_own_hits(void **state)
{
    need_exact_source();

    static const ULONG counts[] = {1000, 30, 1000, 30};
    const char *const one = program_path("LIBRARY_1000");
    const char *const other = program_path("LIBRARY_30");
    const char *const paths[] = {one, other, one, other, NULL};

    (void)state;
    run_libraries(paths);
    assert_log(counts, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(
            strstr(seen.records[i].name, i % 2 == 0 ? "caller_1000" : "caller_30."));
    }
    if (seen.library_30 == seen.source) {
        assert_exact_statistics(session, seen.source, 2060, 2060);
    } else {
        assert_exact_statistics(session, seen.source, 2000, 2000);
        assert_exact_statistics(session, seen.library_30, 60, 60);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(profile__of_another_process__counts_its_hits_and_not_ours),
        fixture_test(profile__of_a_process_that_ended__counts_nothing),
        fixture_test(process_of_another_user__for_root_only),
        fixture_test(fork__without_a_watch__the_child_is_not_counted),
        fixture_test_of(fork__of_a_watched_process__each_process_has_its_own_hits,
                        FIXTURE_WATCHES),
        fixture_test_of(fork__of_a_process_watched_alone__descendants_are_not_told,
                        FIXTURE_WATCHES),
        fixture_test_of(exec__of_a_watched_process__hits_before_and_after_keep_apart,
                        FIXTURE_WATCHES),
        fixture_test_of(watch__with_descendants_after_one_without__refused,
                        FIXTURE_WATCHES),
        fixture_test_of(watch__on_exec__begins_with_the_program, FIXTURE_WATCHES),
        fixture_test_of(fork__many_short_children__none_is_missed, FIXTURE_WATCHES),
        fixture_test_of(jit__code_made_executable_by_mprotect__nothing_is_missed,
                        FIXTURE_WATCHES),
        fixture_test_of(jit__code_mapped_again_and_again__each_mapping_has_its_hits,
                        FIXTURE_WATCHES),
        fixture_test_of(dlopen__whose_constructor_is_hot__no_call_is_missed,
                        FIXTURE_WATCHES),
        fixture_test_of(
            dlopen__another_library_in_the_same_place__each_has_its_own_hits,
            FIXTURE_WATCHES),
    };

    return fixture_run("processes", tests, sizeof(tests) / sizeof(tests[0]));
}
