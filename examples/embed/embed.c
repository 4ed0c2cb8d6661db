/* SPDX-License-Identifier: MIT */
/*
 * embed.c - the core of ntprof in a tiny kernel of its own: two processors with a
 * timer, two processes, and the two tables that the core asks for. README.md beside
 * this file says more.
 *
 * The core calls these tables and nothing else; libc is here for memory and for
 * printing.
 */
#include <ntprof/core.h>

#include <stdio.h>
#include <stdlib.h>

/* Such a kernel has no use for much that the tables' functions are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { PROCESSORS = 2, PROCESSES = 2, TICKS = 120, COUNTERS = 4, BUCKET_LOG2 = 6 };
enum { CODE_BASE = 0x401000, CODE_BYTES = 256, IDLE_BYTES = 128 };
#define IDLE_BASE 0x80001000u /* in kernel space */

static KSYSTEM *System;
static ULONG64 Running[PROCESSORS] = {1, 2};       /* pid on each processor */
static BOOLEAN Started[PROCESSORS][PROCESSES + 1]; /* by pid; 0: all processes */

/* ---- host: a kernel without paging, whose only caller is itself ---- */

/* All memory is there and has one address: nothing to lock, and nothing to keep in
 * step. */
static NTSTATUS
HostpLockOrMap(void *Context, MDL *Mdl)
{
    Mdl->MappedSystemVa = (void *)(ULONG_PTR)Mdl->StartVa;
    return STATUS_SUCCESS;
}

/* Plain answers, one a line. What the table leaves out is for user-mode callers, and
 * for processes that end without notice. */
/* clang-format off */
static void *HostpAllocate(void *Context, SIZE_T Bytes) { return calloc(1, Bytes); }
static void HostpFree(void *Context, void *Memory, SIZE_T Bytes) { free(Memory); }
static void HostpLeavePages(void *Context, MDL *Mdl) {}
static ULONG64 HostpCurrentProcess(void *Context) { return Running[0]; }
static USHORT HostpGroupCount(void *Context) { return 1; }
static USHORT HostpCurrentGroup(void *Context) { return 0; }
static KAFFINITY HostpActive(void *Context, USHORT Group) { return (1u << PROCESSORS) - 1; }

static const HOST_TABLE HostTable = {
    .Size = sizeof(HOST_TABLE), .PageSize = 4096,
    .HighestUserAddress = 0x7FFEFFFF, .SystemRangeStart = 0x80000000,
    .Allocate = HostpAllocate, .Free = HostpFree,
    .LockPages = HostpLockOrMap, .MapPages = HostpLockOrMap, .FlushPages = HostpLeavePages,
    .UnmapPages = HostpLeavePages, .UnlockPages = HostpLeavePages,
    .CurrentProcessId = HostpCurrentProcess, .GroupCount = HostpGroupCount,
    .ActiveProcessors = HostpActive, .CurrentGroup = HostpCurrentGroup,
};
/* clang-format on */

/* ---- HAL: a timer on each processor ---- */

static NTSTATUS
HalpStart(void *Context, KPROFILE_SOURCE Source, ULONG Processor, ULONG64 ProcessId)
{
    Started[Processor][ProcessId] = TRUE;
    return STATUS_SUCCESS;
}

static void
HalpStop(void *Context, KPROFILE_SOURCE Source, ULONG Processor, ULONG64 ProcessId)
{
    Started[Processor][ProcessId] = FALSE;
}

static void
HalpQuerySource(void *Context, KPROFILE_SOURCE Source, HAL_SOURCE *Information)
{
    const BOOLEAN IsTime = Source == ProfileTime;

    *Information = (HAL_SOURCE){IsTime, 10000, 10000, 10000, 10000}; /* 100 ns: 1 ms */
}

/* The timer has one rate. Hits are delivered as they happen, and never during a call
 * below. */
/* clang-format off */
static void HalpKeepRate(void *Context, KPROFILE_SOURCE Source, ULONG64 Interval) {}
static void HalpNothingIsDue(void *Context) {}

static const HAL_TABLE HalTable = {
    .Size = sizeof(HAL_TABLE), .Capabilities = HAL_GLOBAL | HAL_KERNEL,
    .StartProfileInterrupt = HalpStart, .StopProfileInterrupt = HalpStop,
    .QuerySource = HalpQuerySource, .SetInterval = HalpKeepRate,
    .Flush = HalpNothingIsDue, .Synchronize = HalpNothingIsDue,
};
/* clang-format on */

/* The timer's interrupt handler. */
static void
HalpTimerInterrupt(ULONG Processor, ULONG64 ProgramCounter)
{
    const ULONG64 Pid = Running[Processor];
    const ULONG Scope = (Started[Processor][Pid] ? KE_SCOPE_PROCESS : 0u) |
                        (Started[Processor][0] ? KE_SCOPE_GLOBAL : 0u);
    const KE_HIT Hit = {.Source = ProfileTime,
                        .Processor = Processor,
                        .ProcessId = Pid,
                        .Address = ProgramCounter,
                        .Scope = Scope};

    if (Scope != 0) {
        ExProfileInterrupt(System, &Hit);
    }
}

/* ---- the kernel at work: three of four ticks in a process, the fourth in its idle
 * loop ---- */

static void
Tick(ULONG Number)
{
    for (ULONG Processor = 0; Processor < PROCESSORS; Processor++) {
        const ULONG64 Place = (ULONG64)Number * 37 % CODE_BYTES;

        Running[Processor] = 1 + (Number / 10 + Processor) % PROCESSES;
        HalpTimerInterrupt(Processor, Number % 4 == 3 ? IDLE_BASE + Place % IDLE_BYTES
                                      : Running[Processor] == 1 ? CODE_BASE + Place
                                                                : CODE_BASE + 128);
    }
}

static void
Must(NTSTATUS Status)
{
    if (!NT_SUCCESS(Status)) {
        printf("embed: status 0x%08X\n", (unsigned)Status);
        exit(1);
    }
}

static void
Start(HANDLE Process, ULONG64 Base, ULONG64 Size, ULONG *Counters, KAFFINITY Processors)
{
    HANDLE Profile;
    const EX_CREATE_PROFILE Parameters = {.ProfileHandle = (ULONG_PTR)&Profile,
                                          .Process = Process,
                                          .ProfileBase = Base,
                                          .ProfileSize = Size,
                                          .BucketSize = BUCKET_LOG2,
                                          .Buffer = (ULONG_PTR)Counters,
                                          .BufferSize = COUNTERS * sizeof(ULONG),
                                          .ProfileSource = ProfileTime};

    Must(ExCreateProfile(System, KernelMode, &Parameters, Processors));
    Must(ExStartProfile(System, KernelMode, Profile));
}

static void
Show(const char *What, const ULONG *Counters)
{
    printf("%-20s %4u %4u %4u %4u\n", What, Counters[0], Counters[1], Counters[2],
           Counters[3]);
}

int
main(void)
{
    static ULONG First[COUNTERS], All[COUNTERS], Idle[COUNTERS];
    const HOST Host = {&HostTable, NULL};
    const HAL Hal = {&HalTable, NULL};
    HANDLE Process;

    Must(ExCreateSystem(&Host, &Hal, NULL, &System));
    Must(ExOpenProcess(System, KernelMode, (ULONG_PTR)&Process,
                       PROCESS_QUERY_INFORMATION, 1));
    Start(Process, CODE_BASE, CODE_BYTES, First, ~(KAFFINITY)0);
    Start(NULL, CODE_BASE, CODE_BYTES, All, ~(KAFFINITY)0);
    Start(NULL, IDLE_BASE, IDLE_BYTES, Idle, 1u << 1);
    for (ULONG Number = 0; Number < TICKS; Number++) {
        Tick(Number);
    }
    ExDeleteSystem(System); /* stops and closes all that is left */

    Show("process 1", First);
    Show("all processes", All);
    Show("idle, processor 1", Idle);
    return 0;
}
