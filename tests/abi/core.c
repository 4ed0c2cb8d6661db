/* SPDX-License-Identifier: MIT */
/*
 * A kernel that has functions and types of the core's names itself, and embeds the core
 * by its prefix: linked with libntprof-core.a. Valid C and C++; where Wine's headers
 * are, also beside them.
 */
#ifdef BESIDE_WINE
#include <windows.h>

#include <winternl.h>

#include <ddk/ntddk.h>
#else
typedef long NTSTATUS;
typedef void *HANDLE;
typedef enum _MODE { KernelMode, UserMode, MaximumMode } MODE;
typedef struct _MDL {
    int theirs;
} MDL;
#endif

#define NTPROF_PREFIXED
#include <ntprof/core.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The core has functions of these names inside, which must not be these. */
void *ObOpenHandle(void *object);
int KeFlushHits(int number);
int ExInitializeSystem(void);
int ExClose(HANDLE handle);

static int calls;

void *
ObOpenHandle(void *object)
{
    calls++;
    return object;
}

int
KeFlushHits(int number)
{
    calls++;
    return number;
}

int
ExInitializeSystem(void)
{
    return ++calls;
}

int
ExClose(HANDLE handle)
{
    calls++;
    return handle == NULL;
}

/* ---- the tables: a machine of one processor without paging ---- */

static void *
allocate(void *context, ntprof_SIZE_T bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void
release(void *context, void *memory, ntprof_SIZE_T bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static ntprof_NTSTATUS
map_pages(void *context, ntprof_MDL *mdl)
{
    (void)context;
    mdl->MappedSystemVa = (void *)(ntprof_ULONG_PTR)mdl->StartVa;
    return ntprof_STATUS_SUCCESS;
}

static void
leave_pages(void *context, ntprof_MDL *mdl)
{
    (void)context;
    (void)mdl;
}

static ntprof_ULONG64
current_process(void *context)
{
    (void)context;
    return 1;
}

static ntprof_USHORT
group_count(void *context)
{
    (void)context;
    return 1;
}

static ntprof_USHORT
current_group(void *context)
{
    (void)context;
    return 0;
}

static ntprof_KAFFINITY
active_processors(void *context, ntprof_USHORT group)
{
    (void)context;
    return group == 0;
}

static ntprof_NTSTATUS
start_interrupt(void *context, ntprof_KPROFILE_SOURCE source, ntprof_ULONG processor,
                ntprof_ULONG64 process)
{
    (void)context;
    (void)source;
    (void)processor;
    (void)process;
    return ntprof_STATUS_SUCCESS;
}

static void
stop_interrupt(void *context, ntprof_KPROFILE_SOURCE source, ntprof_ULONG processor,
               ntprof_ULONG64 process)
{
    (void)start_interrupt(context, source, processor, process);
}

static void
query_source(void *context, ntprof_KPROFILE_SOURCE source, ntprof_HAL_SOURCE *answer)
{
    (void)context;
    memset(answer, 0, sizeof(*answer));
    answer->Supported = source == ntprof_ProfileTime;
}

static void
set_interval(void *context, ntprof_KPROFILE_SOURCE source, ntprof_ULONG64 interval)
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
#ifdef __cplusplus
}
#endif

static void
fill_tables(ntprof_HOST_TABLE *host, ntprof_HAL_TABLE *hal)
{
    memset(host, 0, sizeof(*host));
    host->Size = sizeof(*host);
    host->PageSize = 4096;
    host->HighestUserAddress = 0x7FFEFFFF;
    host->SystemRangeStart = 0x80000000u;
    host->Allocate = allocate;
    host->Free = release;
    host->LockPages = map_pages;
    host->MapPages = map_pages;
    host->FlushPages = leave_pages;
    host->UnmapPages = leave_pages;
    host->UnlockPages = leave_pages;
    host->CurrentProcessId = current_process;
    host->GroupCount = group_count;
    host->ActiveProcessors = active_processors;
    host->CurrentGroup = current_group;
    memset(hal, 0, sizeof(*hal));
    hal->Size = sizeof(*hal);
    hal->StartProfileInterrupt = start_interrupt;
    hal->StopProfileInterrupt = stop_interrupt;
    hal->QuerySource = query_source;
    hal->SetInterval = set_interval;
    hal->Flush = do_nothing;
    hal->Synchronize = do_nothing;
}

static ntprof_EPROFILE *
create(ntprof_KSYSTEM *system, ntprof_ULONG *counters)
{
    ntprof_EX_CREATE_PROFILE request;
    ntprof_EPROFILE *profile = NULL;

    memset(&request, 0, sizeof(request));
    request.ProfileBase = 0x401000;
    request.ProfileSize = 64;
    request.BucketSize = 4;
    request.Buffer = (ntprof_ULONG_PTR)counters;
    request.BufferSize = 16;
    (void)ntprof_ExCreateProfileObject(system, ntprof_KernelMode,
                                       ntprof_EX_CREATE_PROFILE_EX, &request, NULL,
                                       &profile);
    return profile;
}

static int
count_a_hit(ntprof_KSYSTEM *system)
{
    ntprof_ULONG counters[4] = {0, 0, 0, 0};
    ntprof_EPROFILE *const profile = create(system, counters);
    ntprof_KE_HIT hit;

    if (profile == NULL ||
        ntprof_ExStartProfileObject(system, profile) != ntprof_STATUS_SUCCESS) {
        return 0;
    }
    memset(&hit, 0, sizeof(hit));
    hit.ProcessId = 1;
    hit.Address = 0x401025;
    hit.Scope = ntprof_KE_SCOPE_BOTH;
    (void)ntprof_ExProfileInterrupt(system, &hit);
    ntprof_ExDereferenceObject(system, profile);
    return counters[2] == 1;
}

int
main(void)
{
    ntprof_HOST_TABLE host_table;
    ntprof_HAL_TABLE hal_table;
    const ntprof_HOST host = {&host_table, NULL};
    const ntprof_HAL hal = {&hal_table, NULL};
    ntprof_KSYSTEM *system = NULL;
    int counted;

    fill_tables(&host_table, &hal_table);
    if (ntprof_ExFindTableFault(&host, &hal) != NULL ||
        ntprof_ExCreateSystem(&host, &hal, NULL, &system) != ntprof_STATUS_SUCCESS) {
        puts("no system");
        return 1;
    }
    counted = count_a_hit(system);
    ntprof_ExDeleteSystem(system);
    (void)ObOpenHandle(NULL);
    (void)KeFlushHits(0);
    (void)ExInitializeSystem();
    (void)ExClose(NULL);
    if (!counted || calls != 4) {
        printf("counted: %d; calls of the kernel's own: %d\n", counted, calls);
        return 1;
    }
    puts("counted beside the kernel's own names");
    return 0;
}
