/* SPDX-License-Identifier: MIT */
/*
 * default_abi.c - what a session has that asks for no abi: x64 in a 64-bit build of the
 * core, x86 in a 32-bit one. The core alone on a simulated host, without a test
 * library, which 32 bits may not have: scripts/check_freestanding.sh builds it for
 * both. rules: create-region-wraps, create-region-width, create-region-ends-below-top,
 * create-segment, create-segment-none, start-mdl-limit
 */
#include "ex/ex.h"
#include "host/sim/host_sim.h"

#include <stdio.h>

#define IS_X86 (sizeof(void *) == 4)
#define BUFFER 0x30000000ull
#define HANDLES 0x20000000ull

/* 64 counters: a segment of 0x100 bytes has buckets of 4. */
enum { BUFFER_BYTES = 0x100, SELECTOR = 0x0F };

/* ---- a HAL that interrupts when it is told to ---- */

static NTSTATUS
start_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 pid)
{
    (void)context;
    (void)source;
    (void)processor;
    (void)pid;
    return STATUS_SUCCESS;
}

static void
stop_interrupt(void *context, KPROFILE_SOURCE source, ULONG processor, ULONG64 pid)
{
    (void)context;
    (void)source;
    (void)processor;
    (void)pid;
}

static void
query_source(void *context, KPROFILE_SOURCE source, HAL_SOURCE *information)
{
    (void)context;
    *information = (HAL_SOURCE){.Supported = source == ProfileTime, .Interval = 10000};
}

static void
set_interval(void *context, KPROFILE_SOURCE source, ULONG64 interval)
{
    (void)context;
    (void)source;
    (void)interval;
}

static void
do_nothing(void *context)
{
    (void)context;
}

static const HAL_TABLE hal_table = {
    .Size = sizeof(HAL_TABLE),
    .Capabilities = HAL_GLOBAL | HAL_KERNEL,
    .StartProfileInterrupt = start_interrupt,
    .StopProfileInterrupt = stop_interrupt,
    .QuerySource = query_source,
    .SetInterval = set_interval,
    .Flush = do_nothing,
    .Synchronize = do_nothing,
};

/* ---- the checks ---- */

static struct host_sim *sim;
static KSYSTEM System;
static unsigned faults;

static void
expect(const char *what, ULONG64 found, ULONG64 expected)
{
    if (found != expected) {
        printf("%s: 0x%llx instead of 0x%llx\n", what, (unsigned long long)found,
               (unsigned long long)expected);
        faults++;
    }
}

static NTSTATUS
initialize(const EX_OPTIONS *options)
{
    const HOST host = host_sim_host(sim);
    const HAL hal = {.Table = &hal_table};

    return ExInitializeSystem(&System, &host, &hal, options);
}

static EX_CREATE_PROFILE
request(ULONG64 base, ULONG64 size, ULONG log2)
{
    return (EX_CREATE_PROFILE){
        .ProfileHandle = HANDLES,
        .Process = NtCurrentProcess(),
        .ProfileBase = base,
        .ProfileSize = size,
        .BucketSize = log2,
        .Buffer = BUFFER,
        .BufferSize = BUFFER_BYTES,
        .ProfileSource = ProfileTime,
    };
}

static NTSTATUS
create(ULONG64 base, ULONG64 size, ULONG log2, HANDLE *handle)
{
    const EX_CREATE_PROFILE wanted = request(base, size, log2);
    const NTSTATUS status = ExCreateProfileEx(&System, UserMode, &wanted);

    if (NT_SUCCESS(status)) {
        *handle = *(HANDLE *)host_sim_at(sim, HANDLES, sizeof(HANDLE));
    }
    return status;
}

static NTSTATUS
create_and_close(ULONG64 base, ULONG64 size, ULONG log2)
{
    HANDLE handle;
    const NTSTATUS status = create(base, size, log2, &handle);

    return NT_SUCCESS(status) ? ExClose(&System, handle) : status;
}

static void
check_regions(void)
{
    const NTSTATUS at_4_gb = IS_X86 ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;

    expect("ends at 2^32 - 1", (ULONG)create_and_close(0xFFFFFF00, 0xFF, 4), 0);
    expect("ends at 2^32", (ULONG)create_and_close(0xFFFFFF00, 0x100, 4),
           (ULONG)at_4_gb);
    expect("wraps at 2^32", (ULONG)create_and_close(0xFFFFFF00, 0x200, 4),
           (ULONG)at_4_gb);
    expect("segment", (ULONG)create_and_close(SELECTOR, 0x100, 0),
           (ULONG)(IS_X86 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER));
    expect("no segment", (ULONG)create_and_close(0x10000, 0x100, 0),
           (ULONG)STATUS_INVALID_PARAMETER);
    if (!IS_X86) {
        expect("ends at 2^64 - 1", (ULONG)create_and_close(0xFFFFFFFFFFFFFF00, 0xFF, 4),
               0);
        expect("ends at 2^64", (ULONG)create_and_close(0xFFFFFFFFFFFFFF00, 0x100, 4),
               (ULONG)STATUS_BUFFER_OVERFLOW);
    }
}

static ULONG
hit(ULONG64 address, ULONG selector, ULONG64 offset)
{
    const KE_HIT at = {ProfileTime,   0,     HOST_SIM_OWN_PID, address, selector,
                       KE_SCOPE_BOTH, offset};

    return KeProfileInterruptWithSource(&System.Ke, &at);
}

/* The last bucket below 4 GB. */
static void
check_top(void)
{
    const ULONG *const counters = host_sim_at(sim, BUFFER, BUFFER_BYTES);
    HANDLE profile;

    expect("top", (ULONG)create(0xFFFFFF00, 0xFF, 4, &profile), 0);
    expect("start", (ULONG)ExStartProfile(&System, UserMode, profile), 0);
    expect("last byte", hit(0xFFFFFFFE, 0, 0), 1);
    expect("behind it", hit(0xFFFFFFFF, 0, 0), 0);
    expect("first byte", hit(0xFFFFFF00, 0, 0), 1);
    expect("stop", (ULONG)ExStopProfile(&System, UserMode, profile), 0);
    expect("last counter", counters[15], 1);
    expect("first counter", counters[0], 1);
    expect("close", (ULONG)ExClose(&System, profile), 0);
}

static void
check_segment(void)
{
    HANDLE profile;

    if (IS_X86) {
        expect("segment", (ULONG)create(SELECTOR, 0x100, 0, &profile), 0);
        expect("start", (ULONG)ExStartProfile(&System, UserMode, profile), 0);
        expect("offset inside", hit(0x7000000, SELECTOR, 0x10), 1);
        expect("other segment", hit(0x7000000, SELECTOR + 8, 0x10), 0);
        expect("address of that value", hit(0x10, 0, 0), 0);
        expect("close", (ULONG)ExClose(&System, profile), 0);
    }
}

/* Which other abi may be asked for. */
static void
check_choice(void)
{
    const EX_OPTIONS x64 = {.Abi = EX_ABI_X64};
    const EX_OPTIONS x86 = {.Abi = EX_ABI_X86};
    const EX_OPTIONS wow64 = {.Wow64 = TRUE};
    const NTSTATUS wide = IS_X86 ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
    NTSTATUS status = initialize(&x64);

    expect("x64", (ULONG)status, (ULONG)wide);
    if (NT_SUCCESS(status)) {
        ExFinishSystem(&System);
    }
    status = initialize(&wow64);
    expect("Wow64", (ULONG)status, (ULONG)wide);
    if (NT_SUCCESS(status)) {
        ExFinishSystem(&System);
    }
    status = initialize(&x86);
    expect("x86", (ULONG)status, STATUS_SUCCESS);
    if (NT_SUCCESS(status)) {
        expect("x86 by name", System.Abi.Number, EX_ABI_X86);
        ExFinishSystem(&System);
    }
}

/* 4096 * (65535 - sizeof(MDL)) / pointer size, with NT's MDL of that word size. */
static void
check_old_version(void)
{
    const EX_OPTIONS options = {.Version = 502 /* 5.2 */};
    const ULONG64 most =
        IS_X86 ? 4096ull * (65535 - 0x1C) / 4 : 4096ull * (65535 - 0x30) / 8;

    if (!NT_SUCCESS(initialize(&options))) {
        expect("5.2", 0, 1);
        return;
    }
    expect("MDL limit of 5.2", System.Abi.MostMdlBytes, most);
    expect("IRQL of 5.2", System.Abi.ProfileIrql, IS_X86 ? 27 : 15);
    ExFinishSystem(&System);
}

int
main(void)
{
    sim = host_sim_create(NULL);
    if (sim == NULL || host_sim_map(sim, BUFFER, BUFFER_BYTES) == NULL ||
        host_sim_map(sim, HANDLES, 4096) == NULL || !NT_SUCCESS(initialize(NULL))) {
        printf("out of memory\n");
        return 1;
    }
    expect("abi", System.Abi.Number, IS_X86 ? EX_ABI_X86 : EX_ABI_X64);
    expect("mask", System.Abi.AddressMask, IS_X86 ? 0xFFFFFFFF : ~0ull);
    check_regions();
    check_top();
    check_segment();
    ExFinishSystem(&System);
    check_choice();
    check_old_version();
    expect("guards", host_sim_guards_intact(sim), 1);
    expect("complaints", host_sim_complaint(sim) != NULL, 0);
    expect("memory", host_sim_balance(sim).bytes, 0);
    host_sim_delete(sim);
    printf("default abi %s: %u faults\n", IS_X86 ? "x86" : "x64", faults);
    return faults == 0 ? 0 : 1;
}
