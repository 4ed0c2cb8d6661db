/* SPDX-License-Identifier: MIT */
/*
 * calls.c - what the calls cost while many profiles are started.
 *
 *   calls BACKEND TURNS MEMORY PROCESSES LIVE...
 *
 *   BACKEND    "sim": a simulated machine, polled and so at rest, without a thread or
 *              an interrupt that disturbs; else a real one, whose clock hits meanwhile
 *   MEMORY     "shared": buffers of ntprof_buffer_alloc, a page each; "slices": pages
 *              of one such buffer; "pages": whole pages of the program's own; "plain":
 *              small ones in one array
 *   PROCESSES  1: all profiles are of this process; else of so many that do nothing
 *   LIVE       how many profiles are started while calls are timed, in ascending order
 *
 * Regions lie one behind the other. Some of the started profiles, spread over all, are
 * the ones that are stopped and started again; another is created and closed. Each turn
 * goes through all of LIVE.
 *
 * Prints lines for each LIVE and turn: name, LIVE, ns. Of a pair of calls it is the
 * median of batches, of start and of stop alone the median of calls; of all-start and
 * all-stop it is all of the last LIVE's calls together.
 */
#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REGION_LOG2 = 4,
    BUFFER_BYTES = 16, /* of small buffers */
    PROBES = 64,       /* profiles that are stopped and started */
    BATCHES = 21,
    BATCH_PAIRS = 64,
    SINGLES = 513,
    PROCESSES_MAX = 4096
};
static const uintptr_t first_region = 0x10000000;

/* What a profile's buffer is. */
struct memory_kind {
    const char *name;
    bool shared; /* made by ntprof_buffer_alloc */
    bool one;    /* all buffers are parts of one piece of memory */
    bool pages;  /* whole pages */
};

static const struct memory_kind memory_kinds[] = {
    {"shared", true, false, false},
    {"slices", true, true, true},
    {"pages", false, true, true},
    {"plain", false, true, false},
};

struct calls {
    const char *backend;
    const struct memory_kind *kind;
    size_t most; /* profiles */
    size_t buffer_bytes;
    ntprof_session *session;
    size_t process_count;
    pid_t pids[PROCESSES_MAX];
    HANDLE processes[PROCESSES_MAX];
    ULONG *memory;   /* of all buffers that are parts of one */
    ULONG **buffers; /* or each its own */
    HANDLE *profiles;
    size_t started;
    uint64_t starts_ns; /* of all profiles */
};

typedef NTSTATUS pair_of_calls(struct calls *calls, size_t index);

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- profiles ---- */

static NTSTATUS
create(struct calls *calls, size_t index, HANDLE *profile)
{
    const size_t region_bytes = calls->buffer_bytes / sizeof(ULONG) << REGION_LOG2;
    const uintptr_t base = first_region + index * region_bytes;

    return NtCreateProfileEx(profile, calls->processes[index % calls->process_count],
                             (PVOID)base, region_bytes, REGION_LOG2,
                             calls->buffers[index], (ULONG)calls->buffer_bytes,
                             ProfileTime, 0, NULL);
}

static NTSTATUS
grow_to(struct calls *calls, size_t live)
{
    const uint64_t begun_ns = now_ns();
    NTSTATUS status = STATUS_SUCCESS;

    while (NT_SUCCESS(status) && calls->started < live) {
        status = NtStartProfile(calls->profiles[calls->started]);
        calls->started += NT_SUCCESS(status);
    }
    calls->starts_ns += now_ns() - begun_ns;
    return status;
}

static void
print_time(const char *name, size_t live, uint64_t ns)
{
    printf("%s live=%zu ns=%" PRIu64 "\n", name, live, ns);
}

static NTSTATUS
shrink_to_none(struct calls *calls)
{
    const uint64_t begun_ns = now_ns();
    const size_t live = calls->started;
    NTSTATUS status = STATUS_SUCCESS;

    while (NT_SUCCESS(status) && calls->started > 0) {
        calls->started--;
        status = NtStopProfile(calls->profiles[calls->started]);
    }
    print_time("all-start", live, calls->starts_ns);
    print_time("all-stop", live, now_ns() - begun_ns);
    calls->starts_ns = 0;
    return status;
}

static NTSTATUS
create_close(struct calls *calls, size_t index)
{
    HANDLE profile;
    const NTSTATUS status = create(calls, index, &profile);

    return NT_SUCCESS(status) ? NtClose(profile) : status;
}

static NTSTATUS
stop_start(struct calls *calls, size_t index)
{
    const NTSTATUS status = NtStopProfile(calls->profiles[index]);

    return NT_SUCCESS(status) ? NtStartProfile(calls->profiles[index]) : status;
}

/* ---- time ---- */

static int
compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* A batch goes through all probes once or more. */
static NTSTATUS
time_batch(struct calls *calls, pair_of_calls *pair, uint64_t *batch_ns)
{
    const size_t probes = calls->started < PROBES ? calls->started : PROBES;
    const uint64_t begun_ns = now_ns();

    for (size_t i = 0; i < BATCH_PAIRS; i++) {
        const NTSTATUS status = pair(calls, i % probes * calls->started / probes);

        if (!NT_SUCCESS(status)) {
            return status;
        }
    }
    *batch_ns = now_ns() - begun_ns;
    return STATUS_SUCCESS;
}

static NTSTATUS
time_pairs(struct calls *calls, pair_of_calls *pair, const char *name)
{
    uint64_t batches_ns[BATCHES];
    NTSTATUS status = time_batch(calls, pair, &batches_ns[0]); /* warms up */

    for (size_t i = 0; NT_SUCCESS(status) && i < BATCHES; i++) {
        status = time_batch(calls, pair, &batches_ns[i]);
    }
    if (NT_SUCCESS(status)) {
        qsort(batches_ns, BATCHES, sizeof(batches_ns[0]), compare_numbers);
        print_time(name, calls->started, batches_ns[BATCHES / 2] / BATCH_PAIRS);
    }
    return status;
}

/* Each call by itself. */
static NTSTATUS
time_singles(struct calls *calls)
{
    const size_t probes = calls->started < PROBES ? calls->started : PROBES;
    uint64_t stops_ns[SINGLES];
    uint64_t starts_ns[SINGLES];
    NTSTATUS status = STATUS_SUCCESS;

    for (size_t i = 0; NT_SUCCESS(status) && i < SINGLES; i++) {
        const HANDLE profile = calls->profiles[i % probes * calls->started / probes];
        const uint64_t begun_ns = now_ns();

        status = NtStopProfile(profile);
        stops_ns[i] = now_ns() - begun_ns;
        if (NT_SUCCESS(status)) {
            status = NtStartProfile(profile);
            starts_ns[i] = now_ns() - begun_ns - stops_ns[i];
        }
    }
    if (NT_SUCCESS(status)) {
        qsort(stops_ns, SINGLES, sizeof(stops_ns[0]), compare_numbers);
        qsort(starts_ns, SINGLES, sizeof(starts_ns[0]), compare_numbers);
        print_time("start", calls->started, starts_ns[SINGLES / 2]);
        print_time("stop", calls->started, stops_ns[SINGLES / 2]);
    }
    return status;
}

static NTSTATUS
time_turn(struct calls *calls, const size_t *lives, size_t count)
{
    NTSTATUS status = STATUS_SUCCESS;

    for (size_t i = 0; NT_SUCCESS(status) && i < count; i++) {
        status = grow_to(calls, lives[i]);
        if (NT_SUCCESS(status)) {
            status = time_pairs(calls, create_close, "create-close");
        }
        if (NT_SUCCESS(status)) {
            status = time_pairs(calls, stop_start, "start-stop");
        }
        if (NT_SUCCESS(status)) {
            status = time_singles(calls);
        }
    }
    return NT_SUCCESS(status) ? shrink_to_none(calls) : status;
}

/* ---- what must be there before ---- */

static NTSTATUS
open_session(struct calls *calls)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = calls->backend,
                                            .flags = NTPROF_SESSION_POLLED};
    const NTSTATUS status = ntprof_session_open(&options, &calls->session);

    if (NT_SUCCESS(status)) {
        ntprof_session_use(calls->session);
    }
    return status;
}

/* A process that only waits for its parent's end. */
static pid_t
fork_idle(void)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
            pause();
        }
        _exit(0);
    }
    return pid;
}

static NTSTATUS
open_processes(struct calls *calls)
{
    if (calls->process_count == 1) {
        calls->processes[0] = NtCurrentProcess();
        return STATUS_SUCCESS;
    }
    for (size_t i = 0; i < calls->process_count; i++) {
        CLIENT_ID id = {0};
        NTSTATUS status;

        calls->pids[i] = fork_idle();
        if (calls->pids[i] < 0) {
            return STATUS_INSUFFICIENT_RESOURCES;
        }
        id.UniqueProcess = (HANDLE)(uintptr_t)calls->pids[i];
        status =
            NtOpenProcess(&calls->processes[i], PROCESS_QUERY_INFORMATION, NULL, &id);
        if (!NT_SUCCESS(status)) {
            return status;
        }
    }
    return STATUS_SUCCESS;
}

/* All of it is used before, as memory of a program is: a page without contents is never
 * copied. */
static ULONG *
make_memory(const struct memory_kind *kind, size_t bytes)
{
    ULONG *memory;

    if (kind->shared) {
        memory = ntprof_buffer_alloc(bytes);
    } else {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
        memory = memory == MAP_FAILED ? NULL : memory;
    }
    for (size_t i = 0; memory != NULL && i < bytes / sizeof(ULONG); i++) {
        memory[i] = 1;
    }
    return memory;
}

static NTSTATUS
make_buffers(struct calls *calls)
{
    const struct memory_kind *const kind = calls->kind;
    const size_t bytes = calls->buffer_bytes;

    calls->buffers = calloc(calls->most, sizeof(*calls->buffers));
    calls->profiles = calloc(calls->most, sizeof(*calls->profiles));
    calls->memory = kind->one ? make_memory(kind, calls->most * bytes) : NULL;
    if (calls->buffers == NULL || calls->profiles == NULL ||
        (kind->one && calls->memory == NULL)) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (size_t i = 0; i < calls->most; i++) {
        calls->buffers[i] = kind->one ? calls->memory + i * (bytes / sizeof(ULONG))
                                      : make_memory(kind, bytes);
        if (calls->buffers[i] == NULL) {
            return STATUS_INSUFFICIENT_RESOURCES;
        }
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
create_all(struct calls *calls)
{
    NTSTATUS status = STATUS_SUCCESS;

    for (size_t i = 0; NT_SUCCESS(status) && i < calls->most; i++) {
        status = create(calls, i, &calls->profiles[i]);
    }
    return status;
}

static NTSTATUS
prepare(struct calls *calls)
{
    NTSTATUS status = open_session(calls);

    if (NT_SUCCESS(status)) {
        status = open_processes(calls);
    }
    if (NT_SUCCESS(status)) {
        status = make_buffers(calls);
    }
    return NT_SUCCESS(status) ? create_all(calls) : status;
}

static void
free_buffers(struct calls *calls)
{
    const struct memory_kind *const kind = calls->kind;

    for (size_t i = 0; !kind->one && calls->buffers != NULL && i < calls->most; i++) {
        ntprof_buffer_free(calls->buffers[i], calls->buffer_bytes);
    }
    if (kind->shared) {
        ntprof_buffer_free(calls->memory, calls->most * calls->buffer_bytes);
    } else if (calls->memory != NULL) {
        munmap(calls->memory, calls->most * calls->buffer_bytes);
    }
    free(calls->buffers);
    free(calls->profiles);
}

static const struct memory_kind *
find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(memory_kinds) / sizeof(memory_kinds[0]); i++) {
        if (strcmp(memory_kinds[i].name, name) == 0) {
            return &memory_kinds[i];
        }
    }
    return NULL;
}

static void
finish(struct calls *calls)
{
    ntprof_session_close(calls->session);
    for (size_t i = 0; i < calls->process_count && calls->pids[i] > 0; i++) {
        kill(calls->pids[i], SIGKILL);
        waitpid(calls->pids[i], NULL, 0);
    }
    free_buffers(calls);
}

int
main(int argc, char **argv)
{
    static struct calls calls;
    static size_t lives[64];
    const size_t live_count = argc > 5 ? (size_t)argc - 5 : 0;
    const unsigned long turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    NTSTATUS status;

    calls.process_count = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    for (size_t i = 0; i < live_count && i < 64; i++) {
        lives[i] = strtoul(argv[5 + i], NULL, 10);
        calls.most = lives[i];
    }
    calls.kind = argc > 3 ? find_kind(argv[3]) : NULL;
    calls.backend = argv[1];
    if (turns == 0 || calls.kind == NULL || calls.process_count == 0 ||
        calls.most == 0 || live_count > 64 || calls.process_count > PROCESSES_MAX) {
        fprintf(
            stderr,
            "usage: calls BACKEND TURNS shared|slices|pages|plain PROCESSES LIVE...\n");
        return 2;
    }
    calls.buffer_bytes =
        calls.kind->pages ? (size_t)sysconf(_SC_PAGESIZE) : BUFFER_BYTES;

    status = prepare(&calls);
    for (unsigned long turn = 0; NT_SUCCESS(status) && turn < turns; turn++) {
        status = time_turn(&calls, lives, live_count);
    }
    if (!NT_SUCCESS(status)) {
        fprintf(stderr, "calls: %s at %zu started: %s\n", ntprof_status_text(status),
                calls.started,
                calls.session != NULL ? ntprof_session_error(calls.session) : "");
    }
    finish(&calls);
    return NT_SUCCESS(status) ? 0 : 1;
}
