/* SPDX-License-Identifier: MIT */
/*
 * hits.c - what one hit costs among so many started profiles: in the interrupt, or when
 * it is delivered.
 *
 *   hits BACKEND SHAPE PROFILES...
 *
 *   BACKEND   "bpf": time of the session's program, as the kernel keeps it, and before
 *             that the time of an empty program, which is that of the kernel's own
 *             clock, and that of one that does the least that can be done; "perf":
 *             processor time of ntprof_session_poll
 *   SHAPE     "spread": each profile has a region of its own; "same": all have the same
 *   PROFILES  how many are started, in ascending order
 *
 * A worker jumps at random among as many pieces of code as there are regions, and the
 * clock hits it, fast. So each hit is in another profile than the one before, whose
 * part of the index and whose counters, a cache line for each profile, nothing has
 * touched for long. The counters are live: no deliveries bring other memory up to date.
 * All is on one processor.
 *
 * Prints a line for each of PROFILES, or several: kind, profiles, hits, ns, and by how
 * much the counters grew. The first of several touches memory that nothing has touched.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/perf_event.h>
#include <ntprof/ntprof.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 256,
    PIECE_LOG2 = 8,
    LINE_LOG2 = 6,
#if defined(__x86_64__)
    PC_AT = 16 * 8, /* among the registers that a program is given */
#else
    PC_AT = 32 * 8,
#endif
    BUCKET_LOG2 = 4,
    PIECE_COUNTERS = PIECE_BYTES >> BUCKET_LOG2,
    PROFILES_MAX = 1 << 20,
    INTERVAL_100NS = 500,
    STORM_MS = 80, /* fewer hits than a ring has room for */
    STORMS = 5,
    DUE_MS = 20 /* longer than records wait for older ones of other processors */
};

struct hits {
    ntprof_session *session;
    size_t profile_count; /* started */
    HANDLE *profiles;
    ULONG (*counters)[PIECE_COUNTERS]; /* by profile */
    char *code;
    bool same;
    int processor;

    pthread_t worker;
    size_t regions; /* that it jumps among; 0: it waits */
    bool quit;
};

static int
fail(const char *what, NTSTATUS status, ntprof_session *session)
{
    fprintf(stderr, "hits: %s: %s: %s\n", what, ntprof_status_text(status),
            session != NULL ? ntprof_session_error(session) : "");
    return 1;
}

static int
fail_errno(const char *what)
{
    fprintf(stderr, "hits: %s: %m\n", what);
    return 1;
}

static uint64_t
thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
sleep_ms(unsigned ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&time, NULL);
}

/* ---- the worker ---- */

/* A loop of some hundred rounds. */
static const uint32_t piece[] = {
#if defined(__x86_64__)
    0x00012CB9, /* mov ecx, 300 */
    0x75C9FF00, /* dec ecx; jnz back to it */
    0x9090C3FC, /* ret */
#elif defined(__aarch64__)
    0x52802589, /* mov w9, #300 */
    0x71000529, /* subs w9, w9, #1 */
    0x54FFFFE1, /* b.ne back to it */
    0xD65F03C0, /* ret */
#else
#error "which machine?"
#endif
};

static char *
make_code(size_t pieces)
{
    const size_t bytes = pieces * PIECE_BYTES;
    char *const code =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code == MAP_FAILED) {
        return NULL;
    }
    for (size_t i = 0; i < pieces; i++) {
        memcpy(code + i * PIECE_BYTES, piece, sizeof(piece));
    }
    __builtin___clear_cache(code, code + bytes);
    return mprotect(code, bytes, PROT_READ | PROT_EXEC) == 0 ? code : NULL;
}

static uint64_t
next_random(uint64_t state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

static void
call_piece(const char *code)
{
    void (*call)(void);

    memcpy(&call, &code, sizeof(call));
    call();
}

static void *
worker_run(void *argument)
{
    struct hits *const hits = argument;
    uint64_t state = 88172645463325252u;

    while (!__atomic_load_n(&hits->quit, __ATOMIC_RELAXED)) {
        const size_t regions = __atomic_load_n(&hits->regions, __ATOMIC_RELAXED);

        if (regions == 0) {
            sleep_ms(1);
            continue;
        }
        state = next_random(state);
        call_piece(hits->code + state % regions * PIECE_BYTES);
    }
    return NULL;
}

static void
worker_set(struct hits *hits, size_t regions)
{
    __atomic_store_n(&hits->regions, regions, __ATOMIC_RELAXED);
    sleep_ms(5); /* until it has noticed and is at its work */
}

static size_t
regions_of(const struct hits *hits, size_t profiles)
{
    return hits->same ? 1 : profiles;
}

/* ---- the kernel's statistics of programs ---- */

struct run_time {
    uint64_t ns;
    uint64_t count;
};

static long
call_bpf(int command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* As long as the descriptor is open. */
static int
keep_run_times(void)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.enable_stats.type = BPF_STATS_RUN_TIME;
    return (int)call_bpf(BPF_ENABLE_STATS, &attr);
}

/* False if the descriptor is not that of a program for events. */
static bool
read_run_time(int fd, struct run_time *time)
{
    char path[64];
    char line[256];
    unsigned type = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "prog_type: %u", &type);
        (void)sscanf(line, "run_time_ns: %" SCNu64, &time->ns);
        (void)sscanf(line, "run_cnt: %" SCNu64, &time->count);
    }
    if (file != NULL) {
        fclose(file);
    }
    return type == BPF_PROG_TYPE_PERF_EVENT;
}

/* The session's program for events: the only one that this process has. -1: there is
 * none. */
static int
find_program(void)
{
    struct run_time time = {0};

    for (int fd = 0; fd < 1024; fd++) {
        if (read_run_time(fd, &time)) {
            return fd;
        }
    }
    return -1;
}

static int
load(const struct bpf_insn *instructions, size_t count)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
    attr.insns = (uintptr_t)instructions;
    attr.insn_cnt = (uint32_t)count;
    attr.license = (uintptr_t) "Dual MIT/GPL";
    return (int)call_bpf(BPF_PROG_LOAD, &attr);
}

static int
load_empty(void)
{
    static const struct bpf_insn instructions[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };

    return load(instructions, sizeof(instructions) / sizeof(instructions[0]));
}

/* One value: a cache line for each piece of code. */
static int
make_lines(size_t pieces)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = (uint32_t)(pieces << LINE_LOG2);
    attr.max_entries = 1;
    attr.map_flags = BPF_F_MMAPABLE;
    return (int)call_bpf(BPF_MAP_CREATE, &attr);
}

/*
 * The least that can be done: ask whose hit it is, and increment a counter whose place
 * follows from the address, with neither a search nor statistics.
 */
static int
load_direct(const struct hits *hits, size_t pieces, int lines)
{
    const uint64_t base = (uintptr_t)hits->code;
    const int16_t address_at = offsetof(struct bpf_perf_event_data, regs) + PC_AT;
    const struct bpf_insn instructions[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_X,
         .dst_reg = BPF_REG_6,
         .src_reg = BPF_REG_1},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
        {.code = BPF_LDX | BPF_MEM | BPF_DW,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_REG_6,
         .off = address_at},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_2, .imm = (int32_t)base},
        {.imm = (int32_t)(base >> 32)},
        {.code = BPF_ALU64 | BPF_SUB | BPF_X,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_REG_2},
        {.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_1, .imm = PIECE_LOG2},
        {.code = BPF_JMP | BPF_JGE | BPF_K,
         .dst_reg = BPF_REG_1,
         .off = 6,
         .imm = (int32_t)pieces},
        {.code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = BPF_REG_1, .imm = LINE_LOG2},
        {.code = BPF_LD | BPF_IMM | BPF_DW,
         .dst_reg = BPF_REG_2,
         .src_reg = BPF_PSEUDO_MAP_VALUE,
         .imm = lines},
        {0},
        {.code = BPF_ALU64 | BPF_ADD | BPF_X,
         .dst_reg = BPF_REG_2,
         .src_reg = BPF_REG_1},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 1},
        {.code = BPF_STX | BPF_ATOMIC | BPF_W,
         .dst_reg = BPF_REG_2,
         .src_reg = BPF_REG_3,
         .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };

    return load(instructions, sizeof(instructions) / sizeof(instructions[0]));
}

/* The clock on the processor, as the session has it. */
static int
open_clock(const struct hits *hits)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = INTERVAL_100NS * 100,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attr, -1, hits->processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static void
print_cost(const char *kind, size_t profiles, uint64_t count, uint64_t ns,
           uint64_t matches)
{
    printf("%s profiles=%zu hits=%" PRIu64 " ns=%" PRIu64 " matches=%" PRIu64 "\n",
           kind, profiles, count, ns, matches);
}

static uint64_t
sum_counters(const struct hits *hits)
{
    uint64_t sum = 0;

    ntprof_session_flush(hits->session);
    for (size_t i = 0; i < hits->profile_count; i++) {
        for (size_t j = 0; j < PIECE_COUNTERS; j++) {
            sum += hits->counters[i][j];
        }
    }
    return sum;
}

static void
storm_on_program(struct hits *hits, const char *kind, int program, size_t profiles)
{
    struct run_time before = {0};
    struct run_time after = {0};
    uint64_t matches;

    worker_set(hits, regions_of(hits, profiles));
    matches = sum_counters(hits);
    (void)read_run_time(program, &before);
    sleep_ms(STORMS * STORM_MS);
    (void)read_run_time(program, &after);
    matches = sum_counters(hits) - matches;
    worker_set(hits, 0);
    print_cost(kind, profiles, after.count - before.count, after.ns - before.ns,
               matches);
}

/* What the kernel reports of a program of ours, under the same work. */
static int
measure_own(struct hits *hits, const char *kind, int program, const size_t *profiles,
            size_t count)
{
    const int event = open_clock(hits);
    int failure = 0;

    if (program < 0 || event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0) {
        failure = fail_errno("cannot run a program");
    }
    for (size_t i = 0; failure == 0 && i < count; i++) {
        storm_on_program(hits, kind, program, profiles[i]);
    }
    close(event);
    close(program);
    return failure;
}

static int
measure_bounds(struct hits *hits, const size_t *profiles, size_t count)
{
    int failure = measure_own(hits, "empty", load_empty(), profiles, count);

    for (size_t i = 0; failure == 0 && !hits->same && i < count; i++) {
        const int lines = make_lines(profiles[i]);
        const int program = lines >= 0 ? load_direct(hits, profiles[i], lines) : -1;

        failure = measure_own(hits, "direct", program, &profiles[i], 1);
        close(lines);
    }
    return failure;
}

/* ---- profiles ---- */

static NTSTATUS
start_profile(struct hits *hits, size_t index)
{
    GROUP_AFFINITY affinity = {.Mask = (KAFFINITY)1 << hits->processor % 64,
                               .Group = (USHORT)(hits->processor / 64)};
    char *const base = hits->code + (hits->same ? 0 : index * PIECE_BYTES);
    NTSTATUS status;

    status =
        NtCreateProfileEx(&hits->profiles[index], NtCurrentProcess(), base, PIECE_BYTES,
                          BUCKET_LOG2, hits->counters[index],
                          sizeof(hits->counters[index]), ProfileTime, 1, &affinity);
    return NT_SUCCESS(status) ? NtStartProfile(hits->profiles[index]) : status;
}

static NTSTATUS
grow_to(struct hits *hits, size_t profiles)
{
    NTSTATUS status = STATUS_SUCCESS;

    while (NT_SUCCESS(status) && hits->profile_count < profiles) {
        status = start_profile(hits, hits->profile_count);
        hits->profile_count += NT_SUCCESS(status);
    }
    return status;
}

static uint64_t
taken(const struct hits *hits)
{
    ntprof_source_info info = {.size = sizeof(info)};

    ntprof_source_get(hits->session, ProfileTime, &info);
    return info.taken;
}

static void
storm_and_poll(struct hits *hits)
{
    const uint64_t before = taken(hits);
    const uint64_t counted = sum_counters(hits);
    uint64_t begun_ns;
    uint64_t ns;

    worker_set(hits, regions_of(hits, hits->profile_count));
    prctl(PR_TASK_PERF_EVENTS_ENABLE);
    sleep_ms(STORM_MS);
    prctl(PR_TASK_PERF_EVENTS_DISABLE);
    sleep_ms(DUE_MS);
    worker_set(hits, 0);

    begun_ns = thread_ns();
    ntprof_session_poll(hits->session, NULL);
    ns = thread_ns() - begun_ns;
    print_cost("perf", hits->profile_count, taken(hits) - before, ns,
               sum_counters(hits) - counted);
}

static int
measure_profiles(struct hits *hits, const size_t *profiles, size_t count, bool counts)
{
    for (size_t i = 0; i < count; i++) {
        const NTSTATUS status = grow_to(hits, profiles[i]);
        int program;

        if (!NT_SUCCESS(status)) {
            return fail("cannot start a profile", status, hits->session);
        }
        if (!counts) {
            prctl(PR_TASK_PERF_EVENTS_DISABLE);
            for (int storm = 0; storm < STORMS; storm++) {
                storm_and_poll(hits);
            }
            prctl(PR_TASK_PERF_EVENTS_ENABLE);
            continue;
        }
        program = find_program();
        if (program < 0) {
            return fail_errno("the session has no program");
        }
        storm_on_program(hits, "bpf", program, profiles[i]);
    }
    return 0;
}

/* ---- all of it ---- */

/* Whoever else wants the processor would be hit in our worker's place. Without the
 * right to it, as it is. */
static void
prefer(pthread_t thread, int priority)
{
    const struct sched_param parameters = {.sched_priority = priority};

    (void)pthread_setschedparam(thread, SCHED_FIFO, &parameters);
}

/* Everything on the last processor that there is. */
static int
choose_processor(void)
{
    cpu_set_t allowed;
    int processor = CPU_SETSIZE - 1;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    while (processor > 0 && !CPU_ISSET((size_t)processor, &allowed)) {
        processor--;
    }
    CPU_ZERO(&allowed);
    CPU_SET((size_t)processor, &allowed);
    sched_setaffinity(0, sizeof(allowed), &allowed);
    return processor;
}

static NTSTATUS
open_session(struct hits *hits, const char *backend)
{
    const ntprof_source_interval interval = {"time", INTERVAL_100NS};
    const ntprof_session_options options = {
        .size = sizeof(options),
        .backend = backend,
        .flags = NTPROF_SESSION_POLLED | NTPROF_SESSION_USER_ONLY,
        .intervals = &interval,
        .interval_count = 1,
    };
    const NTSTATUS status = ntprof_session_open(&options, &hits->session);

    if (NT_SUCCESS(status)) {
        ntprof_session_use(hits->session);
    }
    return status;
}

static int
prepare(struct hits *hits, size_t most)
{
    hits->processor = choose_processor();
    hits->profiles = calloc(most, sizeof(*hits->profiles));
    hits->code = make_code(most);
    if (hits->profiles == NULL || hits->code == NULL) {
        return fail_errno("no memory");
    }
    if (pthread_create(&hits->worker, NULL, worker_run, hits) != 0) {
        return fail_errno("cannot start a thread");
    }
    prefer(pthread_self(), 2);
    prefer(hits->worker, 1);
    return 0;
}

static int
measure(struct hits *hits, const char *backend, const size_t *profiles, size_t count,
        size_t most)
{
    const bool counts = strcmp(backend, "bpf") == 0;
    const int statistics = counts ? keep_run_times() : -1;
    NTSTATUS status;
    int failure = 0;

    if (counts && statistics < 0) {
        return fail_errno("the kernel does not keep times of programs");
    }
    if (counts) {
        failure = measure_bounds(hits, profiles, count);
    }
    if (failure != 0) {
        return failure;
    }
    status = open_session(hits, backend);
    if (!NT_SUCCESS(status)) {
        return fail("cannot open a session", status, NULL);
    }
    hits->counters = (void *)ntprof_buffer_alloc(most * sizeof(*hits->counters));
    if (hits->counters == NULL) {
        failure = fail_errno("no memory for counters");
    } else {
        failure = measure_profiles(hits, profiles, count, counts);
    }
    ntprof_session_close(hits->session);
    ntprof_buffer_free((void *)hits->counters, most * sizeof(*hits->counters));
    return failure;
}

int
main(int argc, char **argv)
{
    static struct hits hits;
    static size_t profiles[64];
    const size_t count = argc > 3 ? (size_t)argc - 3 : 0;
    size_t most = 0;
    int failure;

    for (size_t i = 0; i < count && i < 64; i++) {
        profiles[i] = strtoul(argv[3 + i], NULL, 10);
        most = profiles[i] > most ? profiles[i] : most;
    }
    if (most == 0 || most > PROFILES_MAX || count > 64) {
        fprintf(stderr, "usage: hits bpf|perf spread|same PROFILES...\n");
        return 2;
    }
    hits.same = strcmp(argv[2], "same") == 0;
    failure = prepare(&hits, most);
    if (failure == 0) {
        failure = measure(&hits, argv[1], profiles, count, most);
    }
    if (hits.worker != 0) {
        __atomic_store_n(&hits.quit, true, __ATOMIC_RELAXED);
        pthread_join(hits.worker, NULL);
    }
    return failure;
}
