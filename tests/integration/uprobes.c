/* SPDX-License-Identifier: MIT */
/*
 * uprobes.c - executions of an instruction of a file, counted exactly and without debug
 * registers; what it takes; nothing is left in the kernel.
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOT = 40, CALLS = 100, THREADS = 3 };

static void
name_of(char *text, size_t size, size_t slot)
{
    snprintf(text, size, "uprobe:/proc/self/exe+0x%" PRIx64,
             code_offset(slot_address(slot)));
}

static KPROFILE_SOURCE
uprobe_of(size_t slot)
{
    KPROFILE_SOURCE source;
    char text[128];

    name_of(text, sizeof(text), slot);
    assert_success(ntprof_source_lookup(session, text, &source));
    return source;
}

static ntprof_source_info
info_of(KPROFILE_SOURCE source)
{
    ntprof_source_info info = {.size = sizeof(info)};

    assert_success(ntprof_source_get(session, source, &info));
    return info;
}

/* The source, where the machine and the caller can have it. */
static KPROFILE_SOURCE
usable_uprobe_of(size_t slot)
{
    const KPROFILE_SOURCE source = uprobe_of(slot);
    const ntprof_source_info info = info_of(source);

    if (!info.supported) {
        print_message("uprobes do not work here: %s\n", info.reason);
        skip();
    }
    return source;
}

/* So many events of a process's sessions does the kernel have. tracefs may be mounted
 * nowhere. */
static int
events_left(pid_t pid)
{
    const int context = fsopen("tracefs", FSOPEN_CLOEXEC);
    char wanted[32];
    char line[4096];
    int count = 0;
    int tracefs;
    FILE *list;

    assert_true(context >= 0);
    assert_int_equal(fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0), 0);
    tracefs = fsmount(context, FSMOUNT_CLOEXEC, 0);
    assert_true(tracefs >= 0);
    list = fdopen(openat(tracefs, "uprobe_events", O_RDONLY | O_CLOEXEC), "r");
    assert_non_null(list);
    snprintf(wanted, sizeof(wanted), "_%d_", (int)pid);
    while (fgets(line, sizeof(line), list) != NULL) {
        count += strncmp(line, "p:ntprof/", 9) == 0 && strstr(line, wanted) != NULL;
    }
    fclose(list);
    close(tracefs);
    close(context);
    return count;
}

static void
own_calls__each_counted_once(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = usable_uprobe_of(SLOT);
    HANDLE profile;

    (void)state;
    call_slot(SLOT, CALLS);
    profile = start_slots(NtCurrentProcess(), counters, source);
    call_slot(SLOT, CALLS);
    call_slot(SLOT + 1, CALLS);
    assert_success(NtStopProfile(profile));
    call_slot(SLOT, CALLS);
    assert_only(counters, SLOT_COUNT, SLOT, CALLS);
    assert_exact_statistics(session, source, CALLS, CALLS);
    assert_success(NtClose(profile));
}

/* More than there are debug registers. */
static void
eight_at_once__each_counts_its_own(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    HANDLE profiles[8];

    (void)state;
    (void)usable_uprobe_of(SLOT);
    for (size_t i = 0; i < 8; i++) {
        profiles[i] = start_slots(NtCurrentProcess(), counters, uprobe_of(SLOT + i));
    }
    for (size_t i = 0; i < 8; i++) {
        call_slot(SLOT + i, CALLS + i);
    }
    for (size_t i = 0; i < 8; i++) {
        assert_success(NtStopProfile(profiles[i]));
        assert_success(NtClose(profiles[i]));
        assert_int_equal(counters[SLOT + i], CALLS + i);
    }
    assert_int_equal(sum_counters(counters, SLOT_COUNT), 8 * CALLS + 28);
}

static void *
thread_main(void *argument)
{
    (void)argument;
    call_slot(SLOT, CALLS);
    return NULL;
}

static void
threads_made_later__counted(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = usable_uprobe_of(SLOT);
    pthread_t threads[THREADS];
    HANDLE profile;

    (void)state;
    profile = start_slots(NtCurrentProcess(), counters, source);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, thread_main, NULL), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, THREADS * CALLS);
    assert_success(NtClose(profile));
}

static int
call_and_fork(const struct peer *test, void *argument)
{
    int status = 1;
    pid_t child;

    (void)argument;
    peer_hear(test);
    call_slot(SLOT, CALLS);
    child = fork();
    if (child == 0) {
        call_slot(SLOT, CALLS);
        _exit(0);
    }
    waitpid(child, &status, 0);
    peer_tell(test, 1);
    peer_hear(test);
    return status;
}

/* As in NT, a profile of a process has none of what its children do. Forks work. */
static void
two_processes__each_counts_its_own(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peers[2];
    HANDLE processes[2];
    HANDLE profiles[2];

    (void)state;
    (void)usable_uprobe_of(SLOT);
    for (size_t i = 0; i < 2; i++) {
        peer_start(&peers[i], call_and_fork, NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        processes[i] = open_process(peers[i].pid);
        profiles[i] = start_slots(processes[i], counters, uprobe_of(SLOT));
        peer_tell(&peers[i], 1);
        peer_hear(&peers[i]);
        assert_success(NtStopProfile(profiles[i]));
        assert_only(counters, SLOT_COUNT, SLOT, (ULONG)(i + 1) * CALLS);
    }
    for (size_t i = 0; i < 2; i++) {
        peer_tell(&peers[i], 1);
        peer_finish(&peers[i]);
        assert_success(NtClose(profiles[i]));
        assert_success(NtClose(processes[i]));
    }
}

static void
names__one_source_for_one_place(void **state)
{
    KPROFILE_SOURCE source;
    char text[128];

    (void)state;
    name_of(text, sizeof(text), SLOT);
    memcpy(text, "UPROBE", 6);
    assert_success(ntprof_source_lookup(session, text, &source));
    assert_int_equal(source, uprobe_of(SLOT));
    assert_int_not_equal(source, uprobe_of(SLOT + 1));
    assert_status(ntprof_source_lookup(session, "uprobe:/proc/self/exe", &source),
                  STATUS_INVALID_PARAMETER);
    assert_status(ntprof_source_lookup(session, "uprobe:+1", &source),
                  STATUS_INVALID_PARAMETER);
    assert_status(ntprof_source_lookup(session, "uprobe:/bin/sh+x", &source),
                  STATUS_INVALID_PARAMETER);
}

static void
assert_refused(const char *text, const char *why)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ntprof_source_info info;
    KPROFILE_SOURCE source;
    HANDLE profile;

    assert_success(ntprof_source_lookup(session, text, &source));
    info = info_of(source);
    assert_false(info.supported);
    assert_non_null(strstr(info.reason, why));
    assert_status(NtCreateProfile(&profile, NtCurrentProcess(), (PVOID)(uintptr_t)slots,
                                  (SIZE_T)SLOT_COUNT * SLOT_BYTES, 4, counters,
                                  SLOT_COUNT * sizeof(ULONG), source, 1),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), why));
}

static void
what_cannot_be_probed__refused_with_the_reason(void **state)
{
    char text[128];

    (void)state;
    assert_refused("uprobe:/nowhere/at+all+0x10", "cannot be opened");
    assert_refused("uprobe:/tmp+0x10", "no regular file");
    assert_refused("uprobe:/proc/self/exe+0xffffffffffff", "past the end");
    if (!is_root()) {
        name_of(text, sizeof(text), SLOT);
        assert_refused(text, "take root");
    }
}

/* Its session is never closed. */
static int
leave_behind(const struct peer *test, void *argument)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = backend};
    ntprof_source_info info = {.size = sizeof(info)};
    KPROFILE_SOURCE source;
    ntprof_session *own;

    peer_hear(test);
    if (!NT_SUCCESS(ntprof_session_open(&options, &own)) ||
        !NT_SUCCESS(ntprof_source_lookup(own, argument, &source)) ||
        !NT_SUCCESS(ntprof_source_get(own, source, &info))) {
        return 1;
    }
    peer_tell(test, info.supported);
    peer_hear(test);
    _exit(0);
}

static void
events__go_with_the_session_and_after_their_makers_death(void **state)
{
    struct peer peer;
    char text[128];

    (void)state;
    name_of(text, sizeof(text), SLOT);
    (void)usable_uprobe_of(SLOT + 1);
    peer_start(&peer, leave_behind, text);
    assert_int_equal(events_left(getpid()), 1);
    peer_tell(&peer, 1);
    assert_int_equal(peer_hear(&peer), 1);
    assert_int_equal(events_left(peer.pid), 1);
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_in_range(events_left(peer.pid), 0, 1); /* any session may remove it now */
    (void)usable_uprobe_of(SLOT + 2);
    assert_int_equal(events_left(peer.pid), 0);
    fixture_reopen(NULL);
    assert_int_equal(events_left(getpid()), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(own_calls__each_counted_once),
        fixture_test(eight_at_once__each_counts_its_own),
        fixture_test(threads_made_later__counted),
        fixture_test(two_processes__each_counts_its_own),
        fixture_test(names__one_source_for_one_place),
        fixture_test(what_cannot_be_probed__refused_with_the_reason),
        fixture_test(events__go_with_the_session_and_after_their_makers_death),
    };

    return fixture_run("uprobes", tests, sizeof(tests) / sizeof(tests[0]));
}
