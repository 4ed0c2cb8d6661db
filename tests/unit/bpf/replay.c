/* SPDX-License-Identifier: MIT */
/*
 * replay.c - the BPF program beside the host's counting routine: two cores with the
 * same profiles, one hit after the other told to both, and every counter and every book
 * must be the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guarded.h"
#include "hal/bpf/index.h"
#include "ke/profint.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PROCESSORS = 256, /* more than one word of a set has */
    SOURCES = 3,
    PROCESSES = 5,
    FIRST_PID = 4000,
    MOST_PROFILES = 300,
    MOST_COUNTERS = 64,
    AFFINITY_WORDS = PROCESSORS / 64
};

/* ---- two cores ---- */

struct both {
    struct bpf_kernel kernel;
    struct bpf_index index;
    KE_SYSTEM host;
    KE_SYSTEM bpf;
    KPROCESS host_processes[PROCESSES];
    KPROCESS bpf_processes[PROCESSES];
};

static void *
allocate(void *Context, SIZE_T Bytes)
{
    (void)Context;
    return calloc(1, Bytes);
}

static void
release(void *Context, void *Memory, SIZE_T Bytes)
{
    (void)Context;
    (void)Bytes;
    free(Memory);
}

static USHORT
group_count(void *Context)
{
    (void)Context;
    return AFFINITY_WORDS;
}

static const HOST_TABLE host_table = {
    .Size = sizeof(HOST_TABLE),
    .PageSize = 4096,
    .Allocate = allocate,
    .Free = release,
    .GroupCount = group_count,
};

static NTSTATUS
start_interrupt(void *Context, KPROFILE_SOURCE Source, ULONG Processor, ULONG64 Pid)
{
    (void)Context;
    (void)Source;
    (void)Processor;
    (void)Pid;
    return STATUS_SUCCESS;
}

static void
stop_interrupt(void *Context, KPROFILE_SOURCE Source, ULONG Processor, ULONG64 Pid)
{
    (void)start_interrupt(Context, Source, Processor, Pid);
}

static void
nothing(void *Context)
{
    (void)Context;
}

static void
wait_for_programs(void *Context)
{
    const struct both *const both = Context;

    bpf_kernel_wait(&both->kernel);
}

static const HAL_TABLE delivering_table = {
    .Size = sizeof(HAL_TABLE),
    .StartProfileInterrupt = start_interrupt,
    .StopProfileInterrupt = stop_interrupt,
    .Flush = nothing,
    .Synchronize = nothing,
};

static void *
allocate_nodes(void *Context, ULONG Chunk, SIZE_T Bytes)
{
    struct both *const both = Context;

    return bpf_index_nodes(&both->index, Chunk, Bytes);
}

static void
free_nodes(void *Context, ULONG Chunk, void *Nodes, SIZE_T Bytes)
{
    (void)Context;
    (void)Chunk;
    (void)Nodes;
    (void)Bytes;
}

static NTSTATUS
locate_counters(void *Context, const ULONG *Buffer, ULONG AffinityWords,
                const ULONG64 *Affinity, ULONG64 *Location)
{
    struct both *const both = Context;

    return bpf_index_locate(&both->index, Buffer, AffinityWords, Affinity, Location) ==
                   0
               ? STATUS_SUCCESS
               : STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS
prepare_process(void *Context, ULONG64 ProcessId)
{
    struct both *const both = Context;

    return bpf_table_take(&both->index.table, (uint32_t)ProcessId) != NULL
               ? STATUS_SUCCESS
               : STATUS_INSUFFICIENT_RESOURCES;
}

static void
publish_roots(void *Context, ULONG64 ProcessId, const ULONG *Roots)
{
    struct both *const both = Context;

    if (ProcessId == 0) {
        bpf_index_publish_global(&both->index, Roots);
    } else {
        bpf_table_publish(&both->index.table,
                          bpf_table_find(&both->index.table, (uint32_t)ProcessId),
                          Roots);
    }
}

static void
query_hits(void *Context, KPROFILE_SOURCE Source, ULONG64 *Counted, ULONG64 *Outside)
{
    const struct both *const both = Context;

    struct bpf_statistics statistics;

    bpf_index_query(&both->index, Source, &statistics);
    *Counted = statistics.counted;
    *Outside = statistics.outside;
}

static const HAL_COUNTING counting = {
    .Size = sizeof(HAL_COUNTING),
    .AllocateNodes = allocate_nodes,
    .FreeNodes = free_nodes,
    .LocateCounters = locate_counters,
    .PrepareProcess = prepare_process,
    .PublishRoots = publish_roots,
    .QueryHits = query_hits,
};

static const HAL_TABLE counting_table = {
    .Size = sizeof(HAL_TABLE),
    .Capabilities = HAL_COUNTS_ITSELF,
    .StartProfileInterrupt = start_interrupt,
    .StopProfileInterrupt = stop_interrupt,
    .Flush = nothing,
    .Synchronize = wait_for_programs,
    .Counting = &counting,
};

static void
skip_unless_allowed(int result, const struct perf_refusal *refusal)
{
    if (result == -EPERM || result == -ENOSYS || result == -EOPNOTSUPP) {
        print_message("no BPF programs here: %s\n", refusal->reason);
        skip();
    }
    if (result < 0) {
        fail_msg("%s; %s", refusal->reason, refusal->log);
    }
}

static void
both_open(struct both *both)
{
    const HOST host = {.Table = &host_table};
    const HAL delivering = {.Table = &delivering_table};
    const HAL counts_itself = {.Table = &counting_table, .Context = both};
    struct perf_refusal refusal;

    skip_unless_allowed(bpf_kernel_make(&both->kernel, bpf_call_kernel, PROCESSORS,
                                        BPF_FOR_REPLAY, &refusal),
                        &refusal);
    assert_int_equal(bpf_index_init(&both->index, &both->kernel), 0);
    assert_int_equal(KeInitializeSystem(&both->host, &host, &delivering, 15), 0);
    assert_int_equal(KeInitializeSystem(&both->bpf, &host, &counts_itself, 15), 0);
    /* The host keeps no statistics of sources that nobody asked for. */
    for (KPROFILE_SOURCE source = 0; source < SOURCES; source++) {
        assert_int_equal(KeRegisterSource(&both->host, source), STATUS_SUCCESS);
    }
    for (ULONG i = 0; i < PROCESSES; i++) {
        KeInitializeProcess(&both->host_processes[i], FIRST_PID + i);
        KeInitializeProcess(&both->bpf_processes[i], FIRST_PID + i);
    }
}

static void
both_close(struct both *both)
{
    for (ULONG i = 0; i < PROCESSES; i++) {
        KeFinishProcess(&both->host, &both->host_processes[i]);
        KeFinishProcess(&both->bpf, &both->bpf_processes[i]);
    }
    KeFinishSystem(&both->host);
    KeFinishSystem(&both->bpf);
    assert_int_equal(both->index.table.count, 0);
    bpf_index_finish(&both->index);
    bpf_kernel_finish(&both->kernel);
}

/* ---- a profile in both ---- */

struct kernel_profile {
    KPROFILE profile;
    MDL mdl; /* right behind it */
};

struct twin {
    bool started;
    ULONG count;
    ULONG64 affinity[AFFINITY_WORDS];
    struct kernel_profile host;
    struct kernel_profile bpf;
    struct guarded host_memory;
    ULONG *host_counters;
    ULONG *bpf_counters;
};

/* What both have in common is in host.profile: but for Process. */
static void
twin_start_in(struct both *both, struct twin *twin, KPROCESS *host, KPROCESS *bpf)
{
    const size_t bytes = twin->count * sizeof(ULONG);
    void *memory = NULL;

    twin->host_memory =
        guarded_make(bytes / (size_t)sysconf(_SC_PAGESIZE) + 1, MAP_PRIVATE);
    twin->host_counters = guarded_end(&twin->host_memory, twin->count);
    if (bytes > 0) {
        assert_int_equal(bpf_pools_take(&both->index.pools, bytes, &memory), 0);
    }
    twin->bpf_counters = memory;
    twin->host.profile.Counters = twin->count;
    twin->host.profile.Affinity = twin->affinity;
    twin->host.profile.AffinityWords = AFFINITY_WORDS;
    twin->host.mdl =
        (MDL){.StartVa = 0x5000, .ByteCount = (ULONG)bytes, .MappedSystemVa = memory};
    twin->bpf = twin->host;
    twin->host.profile.Buffer = twin->host_counters;
    twin->bpf.profile.Buffer = twin->bpf_counters;
    twin->host.profile.Process = host;
    twin->bpf.profile.Process = bpf;
    assert_int_equal(KeStartProfile(&both->host, &twin->host.profile), STATUS_SUCCESS);
    assert_int_equal(KeStartProfile(&both->bpf, &twin->bpf.profile), STATUS_SUCCESS);
    twin->started = true;
}

/* In a process by number; below 0: in all. */
static void
twin_start(struct both *both, struct twin *twin, int process)
{
    if (process < 0) {
        twin_start_in(both, twin, &both->host.Global, &both->bpf.Global);
    } else {
        twin_start_in(both, twin, &both->host_processes[process],
                      &both->bpf_processes[process]);
    }
}

static void
twin_check(const struct twin *twin)
{
    if (twin->count > 0) {
        assert_memory_equal(twin->bpf_counters, twin->host_counters,
                            twin->count * sizeof(ULONG));
    }
}

static void
twin_stop(struct both *both, struct twin *twin)
{
    KeStopProfile(&both->host, &twin->host.profile);
    KeStopProfile(&both->bpf, &twin->bpf.profile);
    twin_check(twin);
    if (twin->count > 0) {
        bpf_pools_return(&both->index.pools, twin->bpf_counters,
                         twin->count * sizeof(ULONG));
    }
    guarded_free(&twin->host_memory);
    twin->started = false;
}

/* Have the program for tests handle one hit. */
static int
run_replay(const struct bpf_kernel *kernel,
           const uint64_t arguments[BPF_REPLAY_ARGUMENTS])
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.test.prog_fd = (uint32_t)kernel->programs[BPF_PROGRAM_REPLAY];
    attr.test.ctx_in = (uintptr_t)arguments;
    attr.test.ctx_size_in = BPF_REPLAY_ARGUMENTS * sizeof(uint64_t);
    return (int)kernel->call(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

/* One hit, told to both. */
static void
hit(struct both *both, const KE_HIT *told)
{
    const uint64_t arguments[BPF_REPLAY_ARGUMENTS] = {
        [BPF_REPLAY_COOKIE] = bpf_cookie(told->Source, told->Source),
        [BPF_REPLAY_PROCESSOR] = told->Processor,
        [BPF_REPLAY_PROCESS] = told->ProcessId,
        [BPF_REPLAY_ADDRESS] = told->Address,
        [BPF_REPLAY_SELECTOR] = told->Selector,
        [BPF_REPLAY_OFFSET] = told->Offset,
    };

    (void)KeProfileInterruptWithSource(&both->host, told);
    assert_int_equal(run_replay(&both->kernel, arguments), 0);
}

static void
check_statistics(struct both *both, KPROFILE_SOURCE source)
{
    KE_STATISTICS host;
    KE_STATISTICS bpf;

    KeQueryStatistics(&both->host, source, &host);
    KeQueryStatistics(&both->bpf, source, &bpf);
    assert_int_equal(bpf.Taken, host.Taken);
    assert_int_equal(bpf.Counted, host.Counted);
    assert_int_equal(bpf.Outside, host.Outside);
}

/* ---- random runs ---- */

/* How the regions of a run lie. */
enum shape { ANYWHERE, NESTED, IDENTICAL, DISJOINT, HUGE, SHAPES };

struct run {
    struct both both;
    uint64_t random;
    enum shape shape;
    bool overrun; /* regions are larger than their counters */
    bool usual;   /* nothing but addresses of processes, on the first processors */
    struct twin twins[MOST_PROFILES];
};

static uint64_t
draw(struct run *run, uint64_t bound)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (run->random >> 33) % bound;
}

static void
draw_region(struct run *run, size_t number, KPROFILE *profile)
{
    const ULONG64 size = 1 + draw(run, 200);

    profile->BucketLog2 = 2 + (ULONG)draw(run, 4);
    profile->RangeSize = size;
    switch (run->shape) {
    case NESTED:
        profile->RangeBase = 0x10000 - size / 2;
        break;
    case IDENTICAL:
        profile->RangeBase = 0x10000;
        profile->RangeSize = 100;
        break;
    case DISJOINT:
        profile->RangeBase = 0x10000 + number * 200;
        break;
    case HUGE:
        profile->RangeBase = draw(run, 3) << 62;
        profile->RangeSize = (ULONG64)1 << (10 + draw(run, 26));
        profile->BucketLog2 = 31;
        break;
    default:
        profile->RangeBase = 0x10000 + draw(run, 3000);
        break;
    }
}

static void
draw_affinity(struct run *run, struct twin *twin)
{
    const bool all = draw(run, 3) != 0;

    for (int i = 0; i < AFFINITY_WORDS; i++) {
        twin->affinity[i] = all ? ~(ULONG64)0 : draw(run, 3) - 1;
    }
}

static void
start_one(struct run *run, size_t number)
{
    static const ULONG segments[] = {0x23, 0x33};
    struct twin *const twin = &run->twins[number];
    KPROFILE *const profile = &twin->host.profile;

    memset(twin, 0, sizeof(*twin));
    draw_region(run, number, profile);
    draw_affinity(run, twin);
    profile->Source = (KPROFILE_SOURCE)draw(run, SOURCES);
    if (draw(run, 5) == 0 && run->shape != HUGE && !run->usual) {
        profile->Segment = segments[draw(run, 2)];
    }
    twin->count = (ULONG)KiBucketCount(profile->RangeSize, profile->BucketLog2);
    assert_true(twin->count <= MOST_COUNTERS);
    if (run->overrun && draw(run, 4) == 0) {
        twin->count -= (ULONG)draw(run, twin->count + 1);
    }
    if (run->usual) {
        twin_start(&run->both, twin, (int)draw(run, PROCESSES));
    } else {
        twin_start(&run->both, twin, (int)draw(run, PROCESSES + 1) - 1);
    }
}

static ULONG64
draw_address(struct run *run)
{
    const KPROFILE *const near = &run->twins[draw(run, MOST_PROFILES)].host.profile;

    switch (draw(run, 6)) {
    case 0:
        return near->RangeBase;
    case 1:
        return near->RangeBase - 1;
    case 2:
        return near->RangeBase + near->RangeSize;
    case 3:
        return near->RangeBase + near->RangeSize - 1;
    case 4:
        return draw(run, 2) == 0 ? 0 : ~(ULONG64)0;
    default:
        return near->RangeBase + draw(run, near->RangeSize + 20);
    }
}

static void
draw_hit(struct run *run)
{
    static const ULONG selectors[] = {0, 0x23, 0x33, 0x1B};
    const ULONG64 address = draw_address(run);
    const KE_HIT told = {
        .Source = (KPROFILE_SOURCE)draw(run, SOURCES),
        .Processor = (ULONG)draw(run, run->usual ? 64 : PROCESSORS),
        /* One of them has no profiles, and one is nobody's. */
        .ProcessId = draw(run, 20) == 0 ? 0 : FIRST_PID + draw(run, PROCESSES + 1),
        .Address = address,
        .Offset = address,
        .Selector = selectors[draw(run, 4)],
        .Scope = KE_SCOPE_BOTH,
    };

    hit(&run->both, &told);
}

static void
change_and_hit(struct run *run, int steps)
{
    for (int step = 0; step < steps; step++) {
        const size_t number = draw(run, MOST_PROFILES);

        if (draw(run, 3) != 0) {
            draw_hit(run);
        } else if (run->twins[number].started) {
            twin_stop(&run->both, &run->twins[number]);
        } else {
            start_one(run, number);
        }
    }
}

static void
run_once(enum shape shape, uint64_t seed, bool usual)
{
    struct run *const run = calloc(1, sizeof(*run));

    assert_non_null(run);
    run->random = seed;
    run->shape = shape;
    run->usual = usual;
    both_open(&run->both);
    change_and_hit(run, 4000);
    for (size_t i = 0; i < MOST_PROFILES; i++) {
        if (run->twins[i].started) {
            twin_stop(&run->both, &run->twins[i]);
        }
    }
    for (KPROFILE_SOURCE source = 0; source < SOURCES; source++) {
        check_statistics(&run->both, source);
    }
    both_close(&run->both);
    free(run);
}

static void
hits__random_in_all_shapes__counted_as_by_the_host(void **state)
{
    (void)state;
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        run_once(shape, 1000 + shape, false);
    }
}

/* The program has a short way for those. */
static void
hits__of_processes_alone__counted_as_by_the_host(void **state)
{
    (void)state;
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        run_once(shape, 2000 + shape, true);
    }
}

/* ---- halts ---- */

static void
overrun__random__the_halt_that_the_host_has(void **state)
{
    struct run *const run = calloc(1, sizeof(*run));
    struct bpf_control *control;
    uint64_t halts = 0;

    (void)state;
    assert_non_null(run);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        memset(run, 0, sizeof(*run));
        run->random = seed;
        run->overrun = true;
        run->usual = seed % 2 == 0;
        both_open(&run->both);
        control = bpf_control_of(&run->both.kernel);
        for (int step = 0; step < 3000 && !KeQueryHalt(&run->both.host, NULL); step++) {
            change_and_hit(run, 1);
        }
        assert_int_equal(control->halted != 0, KeQueryHalt(&run->both.host, NULL));
        if (control->halted != 0) {
            KE_HALT expected;
            KE_HALT got;
            const KI_OVERRUN overrun = {(KPROFILE *)(uintptr_t)control->halt_profile,
                                        control->halt_number};

            halts++;
            assert_int_equal(control->halt_known, 1);
            KiReportOverrun(&run->both.bpf, &overrun);
            assert_true(KeQueryHalt(&run->both.host, &expected));
            assert_true(KeQueryHalt(&run->both.bpf, &got));
            assert_memory_equal(&got, &expected, sizeof(got));
        }
        /* Halted, both count nothing and keep their statistics. */
        for (int i = 0; i < 50; i++) {
            draw_hit(run);
        }
        for (size_t i = 0; i < MOST_PROFILES; i++) {
            if (run->twins[i].started) {
                twin_stop(&run->both, &run->twins[i]);
            }
        }
        for (KPROFILE_SOURCE source = 0; source < SOURCES; source++) {
            check_statistics(&run->both, source);
        }
        both_close(&run->both);
    }
    assert_true(halts > 0);
    free(run);
}

/* ---- what only the program does ---- */

static void
fill_twin(struct twin *twin, ULONG64 base, ULONG64 size, ULONG segment)
{
    *twin = (struct twin){.count = (ULONG)KiBucketCount(size, 2)};
    twin->host.profile.RangeBase = base;
    twin->host.profile.RangeSize = size;
    twin->host.profile.BucketLog2 = 2;
    twin->host.profile.Segment = segment;
    memset(twin->affinity, 0xFF, sizeof(twin->affinity));
}

static void
selector__of_the_local_table__address_of_the_event_alone(void **state)
{
    enum { LOCAL = 0x0F };
    struct both *const both = calloc(1, sizeof(*both));
    struct twin by_address;
    struct twin by_segment;
    uint64_t told[BPF_REPLAY_ARGUMENTS] = {
        [BPF_REPLAY_COOKIE] = bpf_cookie(0, 0), [BPF_REPLAY_PROCESS] = FIRST_PID,
        [BPF_REPLAY_ADDRESS] = 0x108,           [BPF_REPLAY_OFFSET] = 0x108,
        [BPF_REPLAY_SELECTOR] = LOCAL,
    };

    (void)state;
    assert_non_null(both);
    both_open(both);
    fill_twin(&by_address, 0x100, 64, 0);
    fill_twin(&by_segment, 0x100, 64, LOCAL);
    twin_start(both, &by_address, 0);
    assert_int_equal(run_replay(&both->kernel, told), 0);
    twin_start(both, &by_segment, -1);
    assert_int_equal(run_replay(&both->kernel, told), 0);
    assert_int_equal(by_address.bpf_counters[2], 0);
    assert_int_equal(by_segment.bpf_counters[2], 1);
    told[BPF_REPLAY_COOKIE] |= BPF_COOKIE_LINEAR; /* now it is one */
    assert_int_equal(run_replay(&both->kernel, told), 0);
    assert_int_equal(by_address.bpf_counters[2], 1);
    assert_int_equal(by_segment.bpf_counters[2], 2);
    by_address.host_counters[2] = 1;
    by_segment.host_counters[2] = 2;
    twin_stop(both, &by_segment);
    twin_stop(both, &by_address);
    both_close(both);
    free(both);
}

static void
process__ended__counts_no_more(void **state)
{
    struct both *const both = calloc(1, sizeof(*both));
    struct bpf_process *process;
    struct twin own;
    struct twin all;
    const uint64_t told[BPF_REPLAY_ARGUMENTS] = {
        [BPF_REPLAY_COOKIE] = bpf_cookie(0, 0),
        [BPF_REPLAY_PROCESS] = FIRST_PID,
        [BPF_REPLAY_ADDRESS] = 0x100,
    };

    (void)state;
    assert_non_null(both);
    both_open(both);
    fill_twin(&own, 0x100, 4, 0);
    fill_twin(&all, 0x100, 4, 0);
    twin_start(both, &own, 0);
    twin_start(both, &all, -1);
    assert_int_equal(run_replay(&both->kernel, told), 0);
    process = bpf_table_find(&both->index.table, FIRST_PID);
    assert_non_null(process);
    process->ended = BPF_ENDED;
    assert_int_equal(run_replay(&both->kernel, told), 0);
    assert_int_equal(own.bpf_counters[0], 1);
    assert_int_equal(all.bpf_counters[0], 2);
    own.host_counters[0] = 1;
    all.host_counters[0] = 2;
    twin_stop(both, &all);
    twin_stop(both, &own);
    both_close(both);
    free(both);
}

static void
profiles__thousands_on_one_place__all_count(void **state)
{
    enum { MANY = 16384 };
    struct both *const both = calloc(1, sizeof(*both));
    struct twin *const twins = calloc(MANY, sizeof(*twins));
    const KE_HIT told = {
        .ProcessId = FIRST_PID, .Address = 0x104, .Scope = KE_SCOPE_BOTH};

    (void)state;
    assert_non_null(both);
    assert_non_null(twins);
    both_open(both);
    for (int i = 0; i < MANY; i++) {
        fill_twin(&twins[i], 0x100, 64, 0);
        twin_start(both, &twins[i], 0);
    }
    hit(both, &told);
    hit(both, &told);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(twins[i].bpf_counters[1], 2);
        twin_stop(both, &twins[i]);
    }
    for (uint32_t i = 0; i < PROCESSORS; i++) {
        assert_int_equal(bpf_processors_of(&both->kernel)[i].cut, 0);
    }
    both_close(both);
    free(twins);
    free(both);
}

/* ---- many processes ---- */

enum { CROWD = 1000, CROWDS_PROFILES = 16384 };

struct crowd {
    struct both both;
    KPROCESS host[CROWD];
    KPROCESS bpf[CROWD];
    struct twin twins[CROWDS_PROFILES];
};

/* Each two of them have the same place in the table of processes. */
static ULONG64
crowd_pid(size_t process)
{
    return FIRST_PID + process / 2 + process % 2 * (BPF_PROCESSES_MASK + 1);
}

/* All processes have profiles of the same addresses, beside each other. */
static ULONG64
crowd_base(size_t profile)
{
    return 0x10000 + profile / CROWD * 64;
}

static void
crowd_start(struct crowd *crowd)
{
    both_open(&crowd->both);
    for (size_t i = 0; i < CROWD; i++) {
        KeInitializeProcess(&crowd->host[i], crowd_pid(i));
        KeInitializeProcess(&crowd->bpf[i], crowd_pid(i));
    }
    for (size_t i = 0; i < CROWDS_PROFILES; i++) {
        fill_twin(&crowd->twins[i], crowd_base(i), 64, 0);
        twin_start_in(&crowd->both, &crowd->twins[i], &crowd->host[i % CROWD],
                      &crowd->bpf[i % CROWD]);
    }
}

static void
crowd_stop(struct crowd *crowd)
{
    for (size_t i = 0; i < CROWDS_PROFILES; i++) {
        twin_stop(&crowd->both, &crowd->twins[i]);
    }
    for (size_t i = 0; i < CROWD; i++) {
        KeFinishProcess(&crowd->both.host, &crowd->host[i]);
        KeFinishProcess(&crowd->both.bpf, &crowd->bpf[i]);
    }
    check_statistics(&crowd->both, 0);
    both_close(&crowd->both);
}

static void
profiles__thousands_in_a_thousand_processes__each_its_own(void **state)
{
    struct crowd *const crowd = calloc(1, sizeof(*crowd));
    KE_HIT told = {.Scope = KE_SCOPE_BOTH};

    (void)state;
    assert_non_null(crowd);
    crowd_start(crowd);
    for (size_t i = 0; i < CROWDS_PROFILES; i++) {
        told.ProcessId = crowd_pid(i % CROWD);
        told.Address = crowd_base(i) + i % 64;
        hit(&crowd->both, &told);
    }
    told.ProcessId = crowd_pid(CROWD); /* who has none */
    hit(&crowd->both, &told);
    for (size_t i = 0; i < CROWDS_PROFILES; i++) {
        const ULONG *const counters = crowd->twins[i].bpf_counters;

        for (ULONG at = 0; at < crowd->twins[i].count; at++) {
            assert_int_equal(counters[at], at == i % 64 / 4);
        }
    }
    crowd_stop(crowd);
    free(crowd);
}

static void
profiles__of_more_processors_than_a_word__only_their_own(void **state)
{
    struct both *const both = calloc(1, sizeof(*both));
    struct twin twin;

    (void)state;
    assert_non_null(both);
    both_open(both);
    fill_twin(&twin, 0x100, 4, 0);
    memset(twin.affinity, 0, sizeof(twin.affinity));
    twin.affinity[1] = 1ull << 6;
    twin_start(both, &twin, 0);
    for (ULONG processor = 0; processor < PROCESSORS; processor++) {
        const KE_HIT told = {.ProcessId = FIRST_PID,
                             .Processor = processor,
                             .Address = 0x100,
                             .Scope = KE_SCOPE_BOTH};

        hit(both, &told);
        assert_int_equal(twin.bpf_counters[0], processor >= 70);
    }
    twin_stop(both, &twin);
    check_statistics(both, 0);
    both_close(both);
    free(both);
}

/* ---- recorded hits ---- */

/* The hits of a real machine: tests/unit/bpf/hits.txt. Profiles lie over pages that
 * were hit. */
static void
hits__recorded__counted_as_by_the_host(void **state)
{
    const char *const path = getenv("NTPROF_RECORDED_HITS");
    struct both *const both = calloc(1, sizeof(*both));
    struct twin *const twins = calloc(MOST_PROFILES, sizeof(*twins));
    FILE *const file = fopen(path != NULL ? path : "hits.txt", "re");
    KE_HIT told = {.Scope = KE_SCOPE_BOTH};
    unsigned pid;
    unsigned long long address;
    size_t count = 0;
    size_t hits = 0;

    (void)state;
    assert_non_null(both);
    assert_non_null(twins);
    assert_non_null(file);
    both_open(both);
    while (fscanf(file, "%u %u %llx", &told.Processor, &pid, &address) == 3) {
        told.ProcessId = FIRST_PID + pid;
        told.Address = address;
        told.Offset = address;
        if (hits % 20 == 0 && count < MOST_PROFILES) {
            fill_twin(&twins[count], address & ~0xFFull, 4096 >> (count % 3), 0);
            twin_start(both, &twins[count], pid < PROCESSES ? (int)pid : -1);
            count++;
        }
        hit(both, &told);
        hits++;
    }
    fclose(file);
    assert_true(hits > 1000);
    for (size_t i = 0; i < count; i++) {
        twin_stop(both, &twins[i]);
    }
    check_statistics(both, 0);
    both_close(both);
    free(twins);
    free(both);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits__of_processes_alone__counted_as_by_the_host),
        cmocka_unit_test(hits__random_in_all_shapes__counted_as_by_the_host),
        cmocka_unit_test(hits__recorded__counted_as_by_the_host),
        cmocka_unit_test(overrun__random__the_halt_that_the_host_has),
        cmocka_unit_test(selector__of_the_local_table__address_of_the_event_alone),
        cmocka_unit_test(process__ended__counts_no_more),
        cmocka_unit_test(profiles__thousands_on_one_place__all_count),
        cmocka_unit_test(profiles__thousands_in_a_thousand_processes__each_its_own),
        cmocka_unit_test(profiles__of_more_processors_than_a_word__only_their_own),
    };

    return cmocka_run_group_tests_name("bpf replay", tests, NULL, NULL);
}
