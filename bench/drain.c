/* SPDX-License-Identifier: MIT */
/*
 * drain.c - what it costs to deliver one hit: from a record in a ring to a counter and
 * the statistics.
 *
 *   drain ROUNDS STORM_MS
 *
 * Each round, a thread on each processor makes a storm of hits; then the events are
 * stopped, the records age until they are due, and the processor time of one
 * ntprof_session_poll is taken. Two storms: the clock, whose hits spread over code
 * while the data of the threads push the profiler's own out of the caches, and then a
 * breakpoint, whose hits all fall into one counter. The profiles are those that `ntprof
 * run` would start for this process: one for each mapping with code.
 *
 * Prints a line for each round: kind, hits, ns. The library's internals are linked in
 * for the number of hits: asking a session for its statistics would deliver more of
 * them.
 */
#include "api/api.h"
#include "ke/ke.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    DATA_BYTES = 8 << 20,
    DUE_MS = 20, /* longer than records wait for older ones of other processors */
    BREAKPOINT_CALLS = 4000, /* fewer than a ring has room for */
    THREADS_MAX = 256,
    PROFILES_MAX = 256
};

struct storm {
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t begin, end;
    unsigned count;
    unsigned storm_ms;
    bool breakpoint; /* this round's kind */
    bool quit;
};

struct counters {
    ULONG *buffer;
    size_t bytes;
};

struct drain {
    ntprof_session *session;
    KPROFILE_SOURCE source;
    HANDLE profiles[PROFILES_MAX];
    struct counters counters[PROFILES_MAX];
    unsigned profile_count;
};

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
sleep_ms(unsigned ms)
{
    const struct timespec time = {.tv_nsec = (long)ms * 1000000};

    nanosleep(&time, NULL);
}

static int
fail(const char *what, NTSTATUS status, ntprof_session *session)
{
    const char *const reason = ntprof_session_error(session);

    fprintf(stderr, "drain: %s: %s%s%s\n", what, ntprof_status_text(status),
            reason[0] != '\0' ? ": " : "", reason);
    return 1;
}

/* ---- the storm ---- */

/* What the breakpoint stops at. */
static __attribute__((noinline)) uint64_t
target(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static uint64_t
walk(uint8_t *data, uint64_t state)
{
    for (int i = 0; i < 1000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[(state >> 33) % DATA_BYTES] += (uint8_t)state;
    }
    return state;
}

static uint64_t
storm_once(const struct storm *storm, uint8_t *data, uint64_t state)
{
    const uint64_t end_ns =
        clock_ns(CLOCK_MONOTONIC) + (uint64_t)storm->storm_ms * 1000000;

    if (storm->breakpoint) {
        for (int i = 0; i < BREAKPOINT_CALLS; i++) {
            state = target(state);
        }
        return state;
    }
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
        state = walk(data, state);
    }
    return state;
}

static void *
storm_thread(void *argument)
{
    struct storm *const storm = argument;
    uint8_t *const data = malloc(DATA_BYTES);
    uint64_t state = (uint64_t)(uintptr_t)data;

    if (data == NULL) {
        abort();
    }
    memset(data, 1, DATA_BYTES);
    for (;;) {
        pthread_barrier_wait(&storm->begin);
        if (storm->quit) {
            break;
        }
        state = storm_once(storm, data, state);
        pthread_barrier_wait(&storm->end);
    }
    free(data);
    return (void *)(uintptr_t)state;
}

/* A thread for each processor that this process may use. Returns 0 or an errno. */
static int
storm_start(struct storm *storm)
{
    cpu_set_t allowed;
    int failure = 0;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    storm->count = (unsigned)CPU_COUNT(&allowed);
    storm->count = storm->count > THREADS_MAX ? THREADS_MAX : storm->count;
    pthread_barrier_init(&storm->begin, NULL, storm->count + 1);
    pthread_barrier_init(&storm->end, NULL, storm->count + 1);
    for (unsigned i = 0, cpu = 0; failure == 0 && i < storm->count; i++, cpu++) {
        pthread_attr_t attributes;
        cpu_set_t one;

        while (!CPU_ISSET(cpu, &allowed)) {
            cpu++;
        }
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_attr_init(&attributes);
        pthread_attr_setaffinity_np(&attributes, sizeof(one), &one);
        failure = pthread_create(&storm->threads[i], &attributes, storm_thread, storm);
        pthread_attr_destroy(&attributes);
    }
    return failure;
}

static void
storm_stop(struct storm *storm)
{
    storm->quit = true;
    pthread_barrier_wait(&storm->begin);
    for (unsigned i = 0; i < storm->count; i++) {
        pthread_join(storm->threads[i], NULL);
    }
}

/* ---- profiles ---- */

static NTSTATUS
drain_start_profile(struct drain *drain, uint64_t base, uint64_t size)
{
    struct counters *const counters = &drain->counters[drain->profile_count];
    HANDLE *const profile = &drain->profiles[drain->profile_count];
    NTSTATUS status;

    if (drain->profile_count == PROFILES_MAX) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    counters->bytes = (size_t)((size + 3) / 4 * sizeof(ULONG));
    counters->buffer = ntprof_buffer_alloc(counters->bytes);
    if (counters->buffer == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    drain->profile_count++;
    status = NtCreateProfileEx(profile, NtCurrentProcess(), (PVOID)(uintptr_t)base,
                               (SIZE_T)size, 2, counters->buffer,
                               (ULONG)counters->bytes, drain->source, 0, NULL);
    return NT_SUCCESS(status) ? NtStartProfile(*profile) : status;
}

/* A profile for each mapping of this process that holds code. */
static NTSTATUS
drain_start_profiles(struct drain *drain)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[4096 + 128];
    NTSTATUS status = STATUS_SUCCESS;

    if (maps == NULL) {
        return STATUS_NOT_SUPPORTED;
    }
    while (NT_SUCCESS(status) && fgets(line, sizeof(line), maps) != NULL) {
        uint64_t base, end;
        char rights[5];

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &base, &end, rights) == 3 &&
            rights[2] == 'x' && base < UINT64_C(1) << 47) {
            status = drain_start_profile(drain, base, end - base);
        }
    }
    fclose(maps);
    return status;
}

static int
drain_open(struct drain *drain, const char *source)
{
    const ntprof_source_interval interval = {source, 1};
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_POLLED | NTPROF_SESSION_USER_ONLY,
        .intervals = &interval,
        .interval_count = 1,
    };
    NTSTATUS status = ntprof_session_open(&options, &drain->session);

    if (!NT_SUCCESS(status)) {
        return fail("cannot open a session", status, NULL);
    }
    ntprof_session_use(drain->session);
    status = ntprof_source_lookup(drain->session, source, &drain->source);
    if (!NT_SUCCESS(status)) {
        return fail("cannot find the source", status, drain->session);
    }
    status = drain_start_profiles(drain);
    return NT_SUCCESS(status) ? 0
                              : fail("cannot start profiles", status, drain->session);
}

/* ---- rounds ---- */

static uint64_t
drain_taken(const struct drain *drain)
{
    KE_STATISTICS statistics;

    KeQueryStatistics(&drain->session->system.Ke, drain->source, &statistics);
    return statistics.Taken;
}

/* One storm, and the timed delivery of what it left in the rings. */
static void
drain_round(struct drain *drain, struct storm *storm)
{
    uint64_t before;
    uint64_t begun_ns;
    uint64_t ns;

    prctl(PR_TASK_PERF_EVENTS_ENABLE);
    pthread_barrier_wait(&storm->begin);
    pthread_barrier_wait(&storm->end);
    prctl(PR_TASK_PERF_EVENTS_DISABLE);
    sleep_ms(DUE_MS);

    before = drain_taken(drain);
    begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ntprof_session_poll(drain->session, NULL);
    ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    printf("%s hits=%" PRIu64 " ns=%" PRIu64 "\n",
           storm->breakpoint ? "breakpoint" : "time", drain_taken(drain) - before, ns);
}

static int
drain_run(struct storm *storm, unsigned long rounds)
{
    struct drain *const drain = calloc(1, sizeof(*drain));
    char source[32] = "time";
    int failure;

    if (drain == NULL) {
        return 1;
    }
    if (storm->breakpoint) {
        snprintf(source, sizeof(source), "breakpoint:0x%" PRIxPTR, (uintptr_t)target);
    }
    failure = drain_open(drain, source);
    for (unsigned long i = 0; failure == 0 && i < rounds; i++) {
        drain_round(drain, storm);
    }
    ntprof_session_close(drain->session);
    for (unsigned i = 0; i < drain->profile_count; i++) {
        ntprof_buffer_free(drain->counters[i].buffer, drain->counters[i].bytes);
    }
    free(drain);
    return failure;
}

int
main(int argc, char **argv)
{
    static struct storm storm;
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long storm_ms = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    int failure;

    if (rounds == 0 || storm_ms == 0 || storm_ms > 1000) {
        fprintf(stderr, "usage: drain ROUNDS STORM_MS\n");
        return 2;
    }
    storm.storm_ms = (unsigned)storm_ms;
    if (storm_start(&storm) != 0) {
        fprintf(stderr, "drain: cannot start threads\n");
        return 1;
    }
    failure = drain_run(&storm, rounds);
    storm.breakpoint = true;
    if (failure == 0) {
        failure = drain_run(&storm, rounds);
    }
    storm_stop(&storm);
    return failure;
}
