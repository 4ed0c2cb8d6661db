/* SPDX-License-Identifier: MIT */
/*
 * descriptors.c - what a session does with few file descriptors: each call works, or
 * says STATUS_INSUFFICIENT_RESOURCES and names the limit. It never says that rights are
 * missing which are not. rules: create-rights-unknown, set-privilege-unknown,
 * start-hal-fails
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FEWEST = 3, MOST = 12, MOST_TAKEN = 64, SLOT = 7, CALLS = 3 };

/* ---- one call ---- */

struct trial {
    ntprof_session *session;
    const char *phase;
    unsigned limit;
    unsigned refused;
    unsigned wrong;
};

/* Did it work? If not, the reason must be the limit. usual: what it gives with many
 * descriptors. */
static bool
works(struct trial *trial, const char *call, NTSTATUS status, NTSTATUS usual)
{
    const char *const why = ntprof_session_error(trial->session);

    if (status == usual) {
        return NT_SUCCESS(status);
    }
    trial->refused++;
    if (status != STATUS_INSUFFICIENT_RESOURCES ||
        strstr(why, "RLIMIT_NOFILE") == NULL) {
        fprintf(stderr, "limit %u, %s: %s gives %s, \"%s\"\n", trial->limit,
                trial->phase, call, ntprof_status_name(status), why);
        trial->wrong++;
    }
    return false;
}

/* ---- all calls ---- */

struct usual {
    NTSTATUS create_global;
    NTSTATUS create_kernel;
    NTSTATUS set_interval;
    NTSTATUS open_process;
    NTSTATUS watch;
    pid_t parent;
    ULONG *counters;
    char source[64]; /* its name, which takes a descriptor to find out */
};

static NTSTATUS
create(const struct usual *usual, HANDLE process, uint64_t base, KPROFILE_SOURCE source,
       HANDLE *profile)
{
    return NtCreateProfileEx(profile, process, (PVOID)(uintptr_t)base,
                             SLOT_COUNT * SLOT_BYTES, 4, usual->counters,
                             SLOT_COUNT * sizeof(ULONG), source, 0, NULL);
}

static uint64_t
kernel_space(void)
{
    return sizeof(void *) > 4 ? UINT64_C(0xFFFFFFFF80000000) : 0xF0000000u;
}

static NTSTATUS
create_and_close(const struct usual *usual, HANDLE process, uint64_t base)
{
    HANDLE profile;
    const NTSTATUS status = create(usual, process, base, ProfileTime, &profile);

    return NT_SUCCESS(status) ? NtClose(profile) : status;
}

static NTSTATUS
open_parent(const struct usual *usual)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)usual->parent};
    HANDLE process;
    const NTSTATUS status =
        NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client);

    return NT_SUCCESS(status) ? NtClose(process) : status;
}

static NTSTATUS
watch_self(ntprof_session *where)
{
    return ntprof_session_watch(where, NtCurrentProcess(), NULL);
}

static void
try_profile(struct trial *trial, const struct usual *usual)
{
    KPROFILE_SOURCE source;
    HANDLE profile;

    if (!works(trial, "ntprof_source_lookup",
               ntprof_source_lookup(trial->session, usual->source, &source),
               STATUS_SUCCESS) ||
        !works(trial, "NtCreateProfileEx",
               create(usual, NtCurrentProcess(), slot_address(0), source, &profile),
               STATUS_SUCCESS)) {
        return;
    }
    if (works(trial, "NtStartProfile", NtStartProfile(profile), STATUS_SUCCESS)) {
        usual->counters[SLOT] = 0;
        call_slot(SLOT, CALLS);
        (void)works(trial, "NtStopProfile", NtStopProfile(profile), STATUS_SUCCESS);
        if (usual->counters[SLOT] != CALLS) {
            fprintf(stderr, "limit %u, %s: %u hits of %d\n", trial->limit, trial->phase,
                    usual->counters[SLOT], CALLS);
            trial->wrong++;
        }
    }
    (void)works(trial, "NtClose", NtClose(profile), STATUS_SUCCESS);
}

static void
try_calls(struct trial *trial, const struct usual *usual)
{
    ULONG interval;

    try_profile(trial, usual);
    (void)works(trial, "create for all", create_and_close(usual, NULL, slot_address(0)),
                usual->create_global);
    (void)works(trial, "create in kernel space",
                create_and_close(usual, NtCurrentProcess(), kernel_space()),
                usual->create_kernel);
    (void)works(trial, "NtQueryIntervalProfile",
                NtQueryIntervalProfile(ProfileTime, &interval), STATUS_SUCCESS);
    (void)works(trial, "NtSetIntervalProfile", NtSetIntervalProfile(10000, ProfileTime),
                usual->set_interval);
    (void)works(trial, "NtOpenProcess", open_parent(usual), usual->open_process);
    (void)works(trial, "ntprof_session_watch", watch_self(trial->session),
                usual->watch);
    (void)works(trial, "ntprof_session_flush", ntprof_session_flush(trial->session),
                STATUS_SUCCESS);
    /* And once more, with what the calls before have opened. */
    try_profile(trial, usual);
}

/* ---- the limit ---- */

/* Hard too, or the back end raises it. */
static void
set_limit(unsigned limit)
{
    const struct rlimit files = {limit, limit};

    setrlimit(RLIMIT_NOFILE, &files);
}

/* 0 to 2 are open, and nothing else. */
static void
leave_three(void)
{
    int fd;

    for (fd = 3; fd < 1024; fd++) {
        close(fd);
    }
    do {
        fd = dup(0);
    } while (fd >= 0 && fd < 3);
    close(fd);
}

static int taken[MOST_TAKEN];
static unsigned taken_count;

static void
give_back_all(void)
{
    while (taken_count > 0) {
        close(taken[--taken_count]);
    }
}

/* Leaves so many free, whatever is open. */
static void
leave_free(unsigned free)
{
    int fd;

    while (taken_count < MOST_TAKEN && (fd = dup(0)) >= 0) {
        taken[taken_count++] = fd;
    }
    for (unsigned i = 0; i < free && taken_count > 0; i++) {
        close(taken[--taken_count]);
    }
}

static NTSTATUS
open_session(uint32_t flags, ntprof_session **opened)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = backend, .flags = flags};

    return ntprof_session_open(&options, opened);
}

/* Everything, with a session that is opened with so few. */
static void
try_session(struct trial *trial, const struct usual *usual, uint32_t flags)
{
    trial->session = NULL;
    if (works(trial, "ntprof_session_open", open_session(flags, &trial->session),
              STATUS_SUCCESS)) {
        ntprof_session_use(trial->session);
        try_calls(trial, usual);
        ntprof_session_close(trial->session);
    }
}

/* What calls give where there are descriptors. */
static bool
ask_usual(struct usual *usual)
{
    ntprof_session *opened;

    if (!NT_SUCCESS(open_session(NTPROF_SESSION_POLLED, &opened))) {
        return false;
    }
    ntprof_session_use(opened);
    name_source_at(usual->source, sizeof(usual->source), slot_address(SLOT));
    usual->create_global = create_and_close(usual, NULL, slot_address(0));
    usual->create_kernel = create_and_close(usual, NtCurrentProcess(), kernel_space());
    usual->set_interval = NtSetIntervalProfile(10000, ProfileTime);
    usual->open_process = open_parent(usual);
    usual->watch = watch_self(opened);
    ntprof_session_close(opened);
    return true;
}

struct task {
    ULONG *counters;
    unsigned limit;
};

/* 0: as it should be; no cmocka. */
static int
live_with_limit(const struct peer *test, void *argument)
{
    const struct task *const task = argument;
    struct usual usual = {.parent = getppid(), .counters = task->counters};
    struct trial trial = {.phase = "with a limit", .limit = task->limit};

    (void)test;
    leave_three();
    if (!ask_usual(&usual)) {
        return 1;
    }
    set_limit(task->limit);
    try_session(&trial, &usual, 0);
    try_session(&trial, &usual, NTPROF_SESSION_POLLED);
    if (trial.wrong != 0) {
        return 2;
    }
    return task->limit == FEWEST && trial.refused != 2 ? 3 : 0;
}

static void
run(peer_body *body, unsigned limit)
{
    struct task task = {guarded_counters(SLOT_COUNT), limit};
    struct peer peer;

    (void)slot_source(SLOT); /* or there are no breakpoints, and nothing to count */
    peer_start(&peer, body, &task);
    peer_finish(&peer);
}

static void
session__low_limit__works_or_names_it(void **state)
{
    need_exact_source();

    (void)state;
    for (unsigned limit = FEWEST; limit <= MOST; limit++) {
        run(live_with_limit, limit);
    }
}

/* Each number of free ones, for a session that is there already. */
static int
lack_for_a_while(const struct peer *test, void *argument)
{
    const struct task *const task = argument;
    struct usual usual = {.parent = getppid(), .counters = task->counters};
    struct trial trial = {.phase = "with free ones"};
    ntprof_session *opened;

    (void)test;
    leave_three();
    set_limit(MOST_TAKEN);
    if (!ask_usual(&usual) || !NT_SUCCESS(open_session(0, &opened))) {
        return 1;
    }
    for (trial.limit = 0; trial.limit <= MOST; trial.limit++) {
        const unsigned refused = trial.refused;

        trial.session = opened;
        ntprof_session_use(opened);
        leave_free(trial.limit);
        try_calls(&trial, &usual);
        if (trial.limit == 0 && trial.refused == refused) {
            return 2;
        }
        try_session(&trial, &usual, NTPROF_SESSION_POLLED);
        give_back_all();
    }
    /* What there were none for works in the same session: nothing was remembered. */
    trial.session = opened;
    trial.phase = "afterwards";
    trial.refused = 0;
    ntprof_session_use(opened);
    try_calls(&trial, &usual);
    ntprof_session_close(opened);
    return trial.wrong != 0 ? 3 : trial.refused != 0 ? 4 : 0;
}

static void
session__descriptors_lack_for_a_while__works_afterwards(void **state)
{
    need_exact_source();

    (void)state;
    run(lack_for_a_while, MOST_TAKEN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(session__low_limit__works_or_names_it),
        fixture_test(session__descriptors_lack_for_a_while__works_afterwards),
    };

    return fixture_run("descriptors", tests, sizeof(tests) / sizeof(tests[0]));
}
