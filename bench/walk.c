/* SPDX-License-Identifier: MIT */
/*
 * walk.c - the core's counting routine beside the obvious one: a walk along the list of
 * all started profiles, comparing each, as the counting routines of NT and of ReactOS
 * do.
 *
 *   walk PROFILES HITS WALKED_HITS
 *
 * Both count the same hits, at random, each in one of the profiles, whose regions lie
 * one behind the other; the walk, which takes long, only the first WALKED_HITS of them.
 * Afterwards the counters of these are compared. Prints lines: kind, profiles, hits,
 * ns.
 *
 * The core is linked in and called as a HAL calls it: nothing but the routine is timed.
 */
#include "ke/profint.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REGION_BYTES = 256, BUCKET_LOG2 = 4, COUNTERS = REGION_BYTES >> BUCKET_LOG2 };
static const ULONG64 first_region = 0x400000;
static const ULONG64 pid = 4000;
static const ULONG64 all_processors = ~(ULONG64)0;

struct walk {
    KE_SYSTEM ke;
    KPROCESS process;
    size_t count;
    struct started {
        KPROFILE profile;
        MDL mdl; /* right behind it */
    } * profiles;
    ULONG *counters; /* of the core, then of the walk */
};

/* ---- a host and a HAL that have nothing to do ---- */

static void *
allocate(void *context, SIZE_T bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void
release(void *context, void *memory, SIZE_T bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static USHORT
group_count(void *context)
{
    (void)context;
    return 1;
}

static NTSTATUS
start_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 process)
{
    (void)context;
    (void)source;
    (void)processor;
    (void)process;
    return STATUS_SUCCESS;
}

static void
stop_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 process)
{
    (void)start_interrupt(context, source, processor, process);
}

static void
nothing(void *context)
{
    (void)context;
}

static const HOST_TABLE host_table = {
    .Size = sizeof(HOST_TABLE),
    .PageSize = 4096,
    .Allocate = allocate,
    .Free = release,
    .GroupCount = group_count,
};

static const HAL_TABLE hal_table = {
    .Size = sizeof(HAL_TABLE),
    .StartProfileInterrupt = start_interrupt,
    .StopProfileInterrupt = stop_interrupt,
    .Flush = nothing,
    .Synchronize = nothing,
};

/* ---- profiles ---- */

static NTSTATUS
start_profile(struct walk *walk, size_t index)
{
    KPROFILE *const profile = &walk->profiles[index].profile;

    *profile = (KPROFILE){
        .Process = &walk->process,
        .RangeBase = first_region + index * REGION_BYTES,
        .RangeSize = REGION_BYTES,
        .BucketLog2 = BUCKET_LOG2,
        .Buffer = walk->counters + index * COUNTERS,
        .Counters = COUNTERS,
        .Source = ProfileTime,
        .AffinityWords = 1,
        .Affinity = &all_processors,
    };
    return KeStartProfile(&walk->ke, profile);
}

static NTSTATUS
prepare(struct walk *walk)
{
    const HOST host = {.Table = &host_table};
    const HAL hal = {.Table = &hal_table};
    NTSTATUS status;

    walk->profiles = calloc(walk->count, sizeof(*walk->profiles));
    walk->counters = calloc(2 * walk->count, COUNTERS * sizeof(ULONG));
    if (walk->profiles == NULL || walk->counters == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = KeInitializeSystem(&walk->ke, &host, &hal, 15);
    KeInitializeProcess(&walk->process, pid);
    for (size_t i = 0; NT_SUCCESS(status) && i < walk->count; i++) {
        status = start_profile(walk, i);
    }
    return status;
}

/* ---- hits ---- */

static KE_HIT
hit_at(const struct walk *walk, uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (KE_HIT){
        .Address = first_region + *state % (walk->count * REGION_BYTES),
        .ProcessId = pid,
        .Source = ProfileTime,
        .Scope = KE_SCOPE_PROCESS,
    };
}

/* What a hit has to be compared with in each profile, and no more. */
static __attribute__((noinline)) void
count_by_walk(struct walk *walk, const KE_HIT *hit)
{
    ULONG *const counters = walk->counters + walk->count * COUNTERS;
    const LIST_ENTRY *const head = &walk->process.ProfileListHead;

    for (const LIST_ENTRY *at = head->Flink; at != head; at = at->Flink) {
        const KPROFILE *const profile =
            CONTAINING_RECORD(at, const KPROFILE, ProfileListEntry);
        const ULONG64 number = KiBucketIndex(hit->Address, profile->RangeBase,
                                             profile->RangeSize, profile->BucketLog2);

        if (number != KI_BUCKET_NONE && profile->Source == hit->Source &&
            KiProcessorInSet(hit->Processor, profile->Affinity,
                             profile->AffinityWords)) {
            const size_t first = (size_t)(profile->Buffer - walk->counters);

            RtlIncrementCounter(&counters[first + number]);
        }
    }
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns what it took, in ns. */
static uint64_t
time_hits(struct walk *walk, bool by_walk, unsigned long hits)
{
    uint64_t state = 88172645463325252u;
    const uint64_t begun_ns = now_ns();

    for (unsigned long i = 0; i < hits; i++) {
        const KE_HIT hit = hit_at(walk, &state);

        if (by_walk) {
            count_by_walk(walk, &hit);
        } else {
            (void)KeProfileInterruptWithSource(&walk->ke, &hit);
        }
    }
    return now_ns() - begun_ns;
}

static void
print_time(const struct walk *walk, const char *kind, unsigned long hits, uint64_t ns)
{
    printf("%s profiles=%zu hits=%lu ns=%" PRIu64 "\n", kind, walk->count, hits, ns);
}

int
main(int argc, char **argv)
{
    static struct walk walk;
    const unsigned long hits = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const unsigned long walked = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    size_t bytes;

    walk.count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (walk.count == 0 || walk.count > 1 << 20 || walked == 0 || hits < walked) {
        fprintf(stderr, "usage: walk PROFILES HITS WALKED_HITS\n");
        return 2;
    }
    if (!NT_SUCCESS(prepare(&walk))) {
        fprintf(stderr, "walk: no memory\n");
        return 1;
    }
    bytes = walk.count * COUNTERS * sizeof(ULONG);
    /* The first time for each touches memory that nothing has touched. */
    (void)time_hits(&walk, true, walked);
    (void)time_hits(&walk, false, walked);
    if (memcmp(walk.counters, walk.counters + walk.count * COUNTERS, bytes) != 0) {
        fprintf(stderr, "walk: the two counted differently\n");
        return 1;
    }
    print_time(&walk, "walk", walked, time_hits(&walk, true, walked));
    print_time(&walk, "core", hits, time_hits(&walk, false, hits));
    return 0;
}
