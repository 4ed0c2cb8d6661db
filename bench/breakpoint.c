/* SPDX-License-Identifier: MIT */
/*
 * breakpoint.c - a function whose each call is one hit: what all of a hit's handling
 * takes of the caller's time, and when the caller's counter shows it.
 *
 *   breakpoint cost HOW CALLS
 *   breakpoint delay BACKEND MEMORY CALLS
 *
 *   HOW      "none"; "event": a bare event of the kernel's, which nobody reads;
 *            else the back end that counts each call
 *   MEMORY   "shared": counters of ntprof_buffer_alloc; "own": four in a page of ours
 *   CALLS    cost: rounded up to whole batches
 *
 * The function is at 0x10000000, so that others can set a breakpoint on it: `perf
 * record -c 1 -e mem:0x10000000:x -- breakpoint cost none 1000`. Calls come in batches
 * with a pause, or the kernel would take them for a storm and stop the event.
 *
 * Cost prints one line as bench/programs/work.c does, with the hits that were counted,
 * the median of the batches' processor time (who takes the processor away is not in
 * it), and the session's own time. Delay prints a line for each call; 0 ns: when the
 * call returned, the counter had been incremented already.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <ntprof/ntprof.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TARGET = 0x10000000,
    BATCH = 200,           /* below what the kernel allows in a tick */
    PAUSE_NS = 5000000,    /* longer than a tick of most machines */
    LOOK_NS = 50000,       /* while a counter does not show a hit */
    GIVE_UP_LOOKS = 100000 /* seconds */
};

struct breakpoint {
    int event; /* a bare one, or -1 */
    ntprof_session *session;
    ULONG *counters;
    bool shared; /* counters of ntprof_buffer_alloc */
    void (*target)(void);
};

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
sleep_ns(long ns)
{
    const struct timespec time = {.tv_nsec = ns};

    nanosleep(&time, NULL);
}

static int
fail(const char *what, const char *why)
{
    fprintf(stderr, "breakpoint: %s: %s\n", what, why);
    return 1;
}

static int
fail_status(const char *what, NTSTATUS status, const struct breakpoint *breakpoint)
{
    const char *const reason =
        breakpoint->session != NULL ? ntprof_session_error(breakpoint->session) : "";

    return fail(what, reason[0] != 0 ? reason : ntprof_status_text(status));
}

/* ---- the function ---- */

static int
make_target(struct breakpoint *breakpoint)
{
#if defined(__x86_64__)
    static const uint32_t code[] = {0x909090C3}; /* ret */
#elif defined(__aarch64__)
    static const uint32_t code[] = {0xD65F03C0};
#else
#error "which machine?"
#endif
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *const place = mmap((void *)(uintptr_t)TARGET, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (place == MAP_FAILED) {
        return fail("no memory at the function's place", "it is taken");
    }
    memcpy(place, code, sizeof(code));
    __builtin___clear_cache(place, (char *)place + sizeof(code));
    if (mprotect(place, bytes, PROT_READ | PROT_EXEC) < 0) {
        return fail("the function's memory cannot be executed", "mprotect");
    }
    memcpy(&breakpoint->target, &place, sizeof(place));
    return 0;
}

/* One processor, so that no call of a batch is made on another. */
static void
stay_on_one_processor(void)
{
    cpu_set_t allowed;
    size_t processor = CPU_SETSIZE - 1;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    while (processor > 0 && !CPU_ISSET(processor, &allowed)) {
        processor--;
    }
    CPU_ZERO(&allowed);
    CPU_SET(processor, &allowed);
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* ---- who counts ---- */

static int
open_event(struct breakpoint *breakpoint)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_X,
        .bp_addr = TARGET,
        .bp_len = sizeof(long),
        .sample_period = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    breakpoint->event =
        (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return breakpoint->event < 0 ? fail("cannot open the event", strerror(errno)) : 0;
}

static NTSTATUS
start_profile(struct breakpoint *breakpoint)
{
    /* So many bytes of code, of four for each counter, need as many bytes of counters.
     */
    const ULONG bytes = breakpoint->shared ? (ULONG)sysconf(_SC_PAGESIZE) : 16;
    KPROFILE_SOURCE source;
    HANDLE profile;
    NTSTATUS status;
    char name[32];

    snprintf(name, sizeof(name), "breakpoint:0x%x", (unsigned)TARGET);
    status = ntprof_source_lookup(breakpoint->session, name, &source);
    if (NT_SUCCESS(status)) {
        status =
            NtCreateProfileEx(&profile, NtCurrentProcess(), (PVOID)(uintptr_t)TARGET,
                              bytes, 2, breakpoint->counters, bytes, source, 0, NULL);
    }
    return NT_SUCCESS(status) ? NtStartProfile(profile) : status;
}

static int
open_session(struct breakpoint *breakpoint, const char *backend)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = backend, .flags = NTPROF_SESSION_USER_ONLY};
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    NTSTATUS status = ntprof_session_open(&options, &breakpoint->session);

    if (!NT_SUCCESS(status)) {
        return fail_status("cannot open a session", status, breakpoint);
    }
    ntprof_session_use(breakpoint->session);
    breakpoint->counters =
        breakpoint->shared ? ntprof_buffer_alloc(bytes) : calloc(1, bytes);
    if (breakpoint->counters == NULL) {
        return fail("no memory", "for counters");
    }
    status = start_profile(breakpoint);
    return NT_SUCCESS(status)
               ? 0
               : fail_status("cannot start a profile", status, breakpoint);
}

static uint64_t
count_hits(const struct breakpoint *breakpoint)
{
    uint64_t hits = 0;

    if (breakpoint->session != NULL) {
        ntprof_session_flush(breakpoint->session);
        hits = breakpoint->counters[0];
    } else if (breakpoint->event >= 0 &&
               read(breakpoint->event, &hits, sizeof(hits)) != (ssize_t)sizeof(hits)) {
        hits = 0;
    }
    return hits;
}

/* ---- cost ---- */

static uint64_t
processor_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static uint64_t
time_batch(const struct breakpoint *breakpoint)
{
    const uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < BATCH; i++) {
        breakpoint->target();
    }
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
}

static int
compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int
measure_cost(struct breakpoint *breakpoint, const char *how, unsigned long calls)
{
    ntprof_session_info info = {.size = sizeof(info)};
    const unsigned long batches = (calls + BATCH - 1) / BATCH;
    uint64_t *const batches_ns = calloc(batches, sizeof(*batches_ns));
    const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    int failure = batches_ns == NULL ? fail("no memory", "for times") : 0;

    if (failure == 0 && strcmp(how, "event") == 0) {
        failure = open_event(breakpoint);
    } else if (failure == 0 && strcmp(how, "none") != 0) {
        failure = open_session(breakpoint, how);
    }
    if (failure != 0) {
        free(batches_ns);
        return failure;
    }
    for (unsigned long i = 0; i < batches; i++) {
        sleep_ns(PAUSE_NS);
        batches_ns[i] = time_batch(breakpoint);
    }
    qsort(batches_ns, batches, sizeof(*batches_ns), compare_numbers);
    printf("work calls=%lu hits=%" PRIu64 " wall_ns=%" PRIu64 " cpu_ns=%" PRIu64
           " batch_ns=%" PRIu64 " batch=%d",
           batches * BATCH, count_hits(breakpoint),
           clock_ns(CLOCK_MONOTONIC) - begun_ns, processor_ns(),
           batches_ns[batches / 2], BATCH);
    free(batches_ns);
    if (breakpoint->session != NULL) {
        ntprof_session_get_info(breakpoint->session, &info);
        printf(" delivery_ns=%" PRIu64, info.delivery_ns);
    }
    printf("\n");
    return 0;
}

/* ---- delay ---- */

static ULONG
look(const struct breakpoint *breakpoint)
{
    return __atomic_load_n(&breakpoint->counters[0], __ATOMIC_ACQUIRE);
}

static int
measure_one_delay(const struct breakpoint *breakpoint)
{
    const ULONG before = look(breakpoint);
    uint64_t called_ns;
    ULONG now;

    breakpoint->target();
    now = look(breakpoint);
    called_ns = clock_ns(CLOCK_MONOTONIC);
    if (now == before) {
        for (int looks = 0; now == before && looks < GIVE_UP_LOOKS; looks++) {
            sleep_ns(LOOK_NS);
            now = look(breakpoint);
        }
        printf("delay ns=%" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC) - called_ns);
    } else {
        printf("delay ns=0\n");
    }
    return now == before + 1 ? 0 : fail("the counter is wrong", "after one hit");
}

static int
measure_delay(struct breakpoint *breakpoint, const char *backend, unsigned long calls)
{
    uint64_t state = 88172645463325252u;
    int failure = open_session(breakpoint, backend);

    for (unsigned long i = 0; failure == 0 && i < calls; i++) {
        /* At no particular time. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        sleep_ns((long)(state >> 33) % (5 * PAUSE_NS));
        failure = measure_one_delay(breakpoint);
    }
    return failure;
}

int
main(int argc, char **argv)
{
    struct breakpoint breakpoint = {.event = -1};
    const bool cost = argc == 4 && strcmp(argv[1], "cost") == 0;
    const bool delay = argc == 5 && strcmp(argv[1], "delay") == 0;
    const unsigned long calls = argc > 3 ? strtoul(argv[argc - 1], NULL, 10) : 0;
    int failure;

    if ((!cost && !delay) || calls == 0) {
        fprintf(stderr, "usage: breakpoint cost none|event|BACKEND CALLS\n"
                        "       breakpoint delay BACKEND shared|own CALLS\n");
        return 2;
    }
    stay_on_one_processor();
    failure = make_target(&breakpoint);
    breakpoint.shared = cost || strcmp(argv[3], "shared") == 0;
    if (failure == 0) {
        failure = cost ? measure_cost(&breakpoint, argv[2], calls)
                       : measure_delay(&breakpoint, argv[2], calls);
    }
    ntprof_session_close(breakpoint.session);
    if (breakpoint.shared) {
        ntprof_buffer_free(breakpoint.counters, (size_t)sysconf(_SC_PAGESIZE));
    } else {
        free(breakpoint.counters);
    }
    return failure;
}
