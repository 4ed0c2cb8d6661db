/* SPDX-License-Identifier: MIT */
/* machine.c - see machine.h. */
#include "machine.h"

#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Which process each processor is in; the third runs the kernel. */
static const uint64_t running[PROCESSORS] = {1, 2, 1};

/* ---- guest memory ---- */

/* Copies from the guest, or to it, all or nothing. */
static NTSTATUS
copy_from_guest(void *context, void *to, ULONG64 from, SIZE_T bytes)
{
    const struct machine *const machine = context;
    const uc_err error = uc_mem_read(machine->cpu[0], from, to, bytes);

    return error == UC_ERR_OK ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION;
}

static NTSTATUS
copy_to_guest(void *context, ULONG64 to, const void *from, SIZE_T bytes)
{
    const struct machine *const machine = context;
    const uc_err error = uc_mem_write(machine->cpu[0], to, from, bytes);

    return error == UC_ERR_OK ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION;
}

static NTSTATUS
probe(void *context, ULONG64 address, SIZE_T bytes)
{
    NTSTATUS status = STATUS_SUCCESS;
    unsigned char byte;

    for (ULONG64 at = address; NT_SUCCESS(status) && at - address < bytes;
         at = (at | (PAGE - 1)) + 1) {
        status = copy_from_guest(context, &byte, at, 1);
    }
    return status;
}

/* Adds one page, wherever the host has some memory, which all processors see; content
 * may be NULL. */
static bool
add_page(struct machine *machine, uint64_t address, const unsigned char *content)
{
    unsigned char *const memory = aligned_alloc(PAGE, PAGE);
    bool mapped = memory != NULL;

    if (machine->page_count == MOST_PAGES || !mapped) {
        free(memory);
        return false;
    }
    memset(memory, 0, PAGE);
    if (content != NULL) {
        memcpy(memory, content, PAGE);
    }
    machine->pages[machine->page_count++] = memory;
    for (unsigned i = 0; i < PROCESSORS; i++) {
        mapped = mapped && uc_mem_map_ptr(machine->cpu[i], address, PAGE, UC_PROT_ALL,
                                          memory) == UC_ERR_OK;
    }
    return mapped;
}

/* Adds code, data, the kernel, a stack and buffers; there is none behind
 * CRASH_COUNTERS. */
static bool
load(struct machine *machine, const char *image)
{
    static unsigned char content[3 * PAGE];
    FILE *const file = fopen(image, "rb");
    bool loaded = file != NULL && fread(content, PAGE, 3, file) == 3;

    if (file != NULL) {
        fclose(file);
    }
    loaded = loaded && add_page(machine, CODE, content) &&
             add_page(machine, DATA, content + PAGE) &&
             add_page(machine, machine->kernel, content + 2 * PAGE);
    for (uint64_t page = CRASH_COUNTERS / PAGE; page >= STACK_TOP / PAGE - 1; page--) {
        loaded = loaded && add_page(machine, page * PAGE, NULL);
    }
    return loaded;
}

/* ---- host table ---- */

/* Counters have to be adjacent, and guest pages are not: the interrupt counts into a
 * shadow, and a flush adds what is new to the guest's pages. */
static void
flush_pages(void *context, MDL *mdl)
{
    const uint32_t count = mdl->ByteCount / 4;
    const uint32_t *const now = mdl->HostContext;
    uint32_t *const flushed = (uint32_t *)mdl->HostContext + count;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t address = mdl->StartVa + 4ull * i;
        uint32_t counter;

        if (now[i] != flushed[i] &&
            NT_SUCCESS(copy_from_guest(context, &counter, address, sizeof(counter)))) {
            counter += now[i] - flushed[i];
            (void)copy_to_guest(context, address, &counter, sizeof(counter));
            flushed[i] = now[i];
        }
    }
}

/* clang-format off */
static void *allocate(void *context, SIZE_T bytes) { return calloc(1, bytes); }
static void release(void *context, void *memory, SIZE_T bytes) { free(memory); }
static NTSTATUS lock_pages(void *context, MDL *mdl) { return probe(context, mdl->StartVa, mdl->ByteCount); }
static NTSTATUS map_pages(void *context, MDL *mdl) { mdl->HostContext = mdl->MappedSystemVa = calloc(2, mdl->ByteCount + 4); return mdl->HostContext != NULL ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES; }
static void unmap_pages(void *context, MDL *mdl) { flush_pages(context, mdl); free(mdl->HostContext); }
static void unlock_pages(void *context, MDL *mdl) {}
static NTSTATUS has_privilege(void *context) { return STATUS_SUCCESS; }
static NTSTATUS is_free(void *context, ULONG rule) { return STATUS_SUCCESS; }
static ULONG64 current_process(void *context) { return running[0]; }
static USHORT group_count(void *context) { return 1; }
static USHORT current_group(void *context) { return 0; }
static KAFFINITY active(void *context, USHORT group) { return (1u << PROCESSORS) - 1; }

static HOST_TABLE host_table = {
    .Size = sizeof(HOST_TABLE), .PageSize = PAGE, .Allocate = allocate, .Free = release,
    .ProbeForWrite = probe, .CopyFromCaller = copy_from_guest, .CopyToCaller = copy_to_guest,
    .LockPages = lock_pages, .MapPages = map_pages, .FlushPages = flush_pages,
    .UnmapPages = unmap_pages, .UnlockPages = unlock_pages,
    .CheckSystemProfilePrivilege = has_privilege, .CheckRestrictedCaller = is_free,
    .CurrentProcessId = current_process, .GroupCount = group_count,
    .ActiveProcessors = active, .CurrentGroup = current_group,
};

/* ---- HAL table, and the tick ---- */

static NTSTATUS start(void *context, KPROFILE_SOURCE source, ULONG cpu, ULONG64 process) { ((struct machine *)context)->on[cpu][process] = true; return STATUS_SUCCESS; }
static void stop(void *context, KPROFILE_SOURCE source, ULONG cpu, ULONG64 process) { ((struct machine *)context)->on[cpu][process] = false; }
static void query(void *context, KPROFILE_SOURCE source, HAL_SOURCE *answer) { *answer = (HAL_SOURCE){source == ProfileTime, 10000, 10000, 10000, 10000}; }
static void set_interval(void *context, KPROFILE_SOURCE source, ULONG64 interval) {}
static void nothing_is_due(void *context) {}

static const HAL_TABLE hal_table = {
    .Size = sizeof(HAL_TABLE), .Capabilities = HAL_GLOBAL | HAL_KERNEL,
    .StartProfileInterrupt = start, .StopProfileInterrupt = stop, .QuerySource = query,
    .SetInterval = set_interval, .Flush = nothing_is_due, .Synchronize = nothing_is_due,
};
/* clang-format on */

static void
on_block(uc_engine *cpu, uint64_t address, uint32_t size, void *context)
{
    struct machine *const machine = context;
    KE_HIT hit = {.Source = ProfileTime, .Address = address, .Offset = address};
    uint16_t selector = 0;

    while (hit.Processor < PROCESSORS - 1 && machine->cpu[hit.Processor] != cpu) {
        hit.Processor++;
    }
    hit.ProcessId = running[hit.Processor];
    hit.Scope = (machine->on[hit.Processor][hit.ProcessId] ? KE_SCOPE_PROCESS : 0u) |
                (machine->on[hit.Processor][0] ? KE_SCOPE_GLOBAL : 0u);
    if (address < machine->kernel) { /* segments are flat: so is the offset */
        uc_reg_read(cpu, UC_X86_REG_CS, &selector);
        hit.Selector = selector;
    }
    if (hit.Scope != 0) {
        ExProfileInterrupt(machine->system, &hit);
    }
    if (ExQueryHalt(machine->system, NULL)) {
        uc_emu_stop(cpu);
    }
}

/* ---- handles of our own ---- */

static NTSTATUS
reference_process(void *context, KPROCESSOR_MODE mode, HANDLE handle,
                  EPROCESS **process)
{
    struct machine *const machine = context;

    return (uintptr_t)handle == (machine->wide ? UINT64_MAX : UINT32_MAX)
               ? ExReferenceProcessById(machine->system, running[0], process)
               : STATUS_INVALID_HANDLE; /* only NtCurrentProcess() is one */
}

static NTSTATUS
insert_handle(void *context, EPROFILE *profile, ACCESS_MASK access, HANDLE *handle)
{
    struct machine *const machine = context;

    for (uintptr_t i = 0; i < MOST_HANDLES; i++) {
        if (machine->handles[i] == NULL) {
            machine->handles[i] = profile;
            *handle = (HANDLE)(4 * (i + 1));
            return STATUS_SUCCESS;
        }
    }
    return STATUS_INSUFFICIENT_RESOURCES;
}

static void
close_handle(void *context, HANDLE handle)
{
    struct machine *const machine = context;
    EPROFILE **const profile = &machine->handles[(uintptr_t)handle / 4 - 1];

    ExDereferenceObject(machine->system, *profile);
    *profile = NULL;
}

/* ---- services ---- */

static NTSTATUS
create_profile(struct machine *machine, uint32_t service, const uint64_t a[10])
{
    const bool groups = service == CREATE_PROFILE_EX;
    const EX_HANDLE_TABLE handles = {
        sizeof(handles), 0, machine, reference_process, insert_handle, close_handle};
    const EX_CREATE_PROFILE request = {a[0],
                                       (HANDLE)(uintptr_t)a[1],
                                       a[2],
                                       a[3],
                                       (ULONG)a[4],
                                       a[5],
                                       (ULONG)a[6],
                                       (ULONG)a[7],
                                       groups ? (USHORT)a[8] : 0,
                                       a[9],
                                       (KAFFINITY)a[8]};

    return ExCreateProfileObject(machine->system, UserMode,
                                 groups ? EX_CREATE_PROFILE_EX
                                        : EX_CREATE_PROFILE_AFFINITY,
                                 &request, &handles, NULL);
}

static NTSTATUS
on_handle(struct machine *machine, uint32_t service, uint64_t handle)
{
    const uint64_t index = handle / 4 - 1;
    EPROFILE *const profile = index < MOST_HANDLES ? machine->handles[index] : NULL;

    if (profile == NULL) {
        return STATUS_INVALID_HANDLE;
    }
    if (service == CLOSE) {
        close_handle(machine, (HANDLE)(uintptr_t)handle);
        return STATUS_SUCCESS;
    }
    return service == START_PROFILE ? ExStartProfileObject(machine->system, profile)
                                    : ExStopProfileObject(machine->system, profile);
}

uint32_t
machine_call(struct machine *machine, uint32_t service, const uint64_t arguments[10])
{
    switch (service) {
    case CREATE_PROFILE:
    case CREATE_PROFILE_EX:
        return (uint32_t)create_profile(machine, service, arguments);
    case START_PROFILE:
    case STOP_PROFILE:
    case CLOSE:
        return (uint32_t)on_handle(machine, service, arguments[0]);
    case YIELD:
        machine->yields = true;
        return 0;
    default:
        machine->status = service == EXIT ? (uint32_t)arguments[0] : ~0u;
        machine->ended = true;
        return 0;
    }
}

/* ---- the machine ---- */

static bool
boot(struct machine *machine, uint32_t version, const char *image)
{
    const EX_OPTIONS options = {
        .Size = sizeof(options),
        .Version = version,
        .Abi = machine->wide ? EX_ABI_X64 : EX_ABI_X86,
        .CallerLayout = machine->wide ? EX_LAYOUT_64 : EX_LAYOUT_32,
    };
    uc_hook hook;

    host_table.HighestUserAddress = machine->wide ? 0x7FFFFFEFFFF : 0x7FFEFFFF;
    host_table.SystemRangeStart = machine->wide ? 0xFFFF800000000000 : 0x80000000;
    for (unsigned i = 0; i < PROCESSORS; i++) {
        if (uc_open(UC_ARCH_X86, machine->wide ? UC_MODE_64 : UC_MODE_32,
                    &machine->cpu[i]) != UC_ERR_OK ||
            uc_hook_add(machine->cpu[i], &hook, UC_HOOK_BLOCK,
                        (void *)(uintptr_t)on_block, machine, (uint64_t)1,
                        (uint64_t)0) != UC_ERR_OK ||
            !machine->prepare(machine, machine->cpu[i])) {
            return false;
        }
    }
    return load(machine, image) &&
           NT_SUCCESS(ExCreateSystem(&(HOST){&host_table, machine},
                                     &(HAL){&hal_table, machine}, &options,
                                     &machine->system));
}

static void
run_others(struct machine *machine)
{
    const uint64_t worker = TIMES_WORKER, idle = TIMES_IDLE;

    uc_reg_write(machine->cpu[1], machine->cx, &worker);
    uc_emu_start(machine->cpu[1], WORKER, WORKER_END, 0, 0);
    uc_reg_write(machine->cpu[2], machine->cx, &idle);
    uc_emu_start(machine->cpu[2], machine->kernel + IDLE, machine->kernel + IDLE_END, 0,
                 0);
    machine->yields = false;
}

bool
machine_run(struct machine *machine, uint32_t version, const char *image,
            uint64_t start)
{
    const uint64_t stack = STACK_TOP - 256;
    uint64_t pc = start;

    if (!boot(machine, version, image)) {
        printf("%s: no machine runs it\n", image);
        return false;
    }
    uc_reg_write(machine->cpu[0], machine->sp, &stack);
    while (!machine->ended && !ExNoticeHalt(machine->system)) {
        if (uc_emu_start(machine->cpu[0], pc, 0, 0, 0) != UC_ERR_OK) {
            return false;
        }
        if (machine->yields) {
            run_others(machine);
        }
        pc = 0;
        uc_reg_read(machine->cpu[0], machine->pc, &pc);
    }
    return true;
}

void
machine_finish(struct machine *machine)
{
    for (unsigned i = 0; i < MOST_HANDLES; i++) {
        (void)on_handle(machine, CLOSE, 4 * (i + 1));
    }
    ExDeleteSystem(machine->system);
    for (unsigned i = 0; i < PROCESSORS && machine->cpu[i] != NULL; i++) {
        uc_close(machine->cpu[i]);
    }
    for (unsigned i = 0; i < machine->page_count; i++) {
        free(machine->pages[i]);
    }
}

/* ---- the report ---- */

bool
machine_check(const char *what, uint64_t construction, uint64_t counted)
{
    printf("%-40s %12llu %10llu%s\n", what, (unsigned long long)construction,
           (unsigned long long)counted, construction == counted ? "" : "  differs");
    return construction == counted;
}

bool
machine_counts(struct machine *machine)
{
    const struct {
        const char *what;
        uint64_t construction;
        uint64_t counter;
    } rows[] = {
        {"process 1, loop a, twice", 2 * (TIMES_A + 1), PROCESS_COUNTERS},
        {"process 1, loop b, twice", 2 * (TIMES_B + 1), PROCESS_COUNTERS + 4},
        {"process 1, worker of process 2", 0, PROCESS_COUNTERS + 8},
        {"all processes, processor 1, loop a", 0, GLOBAL_COUNTERS},
        {"all processes, processor 1, worker", TIMES_WORKER + 1, GLOBAL_COUNTERS + 8},
        {"kernel, idle loop of processor 2", TIMES_IDLE + 1, KERNEL_COUNTERS + 8},
    };
    bool good = machine_check("status of the guest", 0, machine->status);

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t counted = 0;

        (void)copy_from_guest(machine, &counted, rows[i].counter, sizeof(counted));
        good &= machine_check(rows[i].what, rows[i].construction, counted);
    }
    return good;
}

bool
machine_crash(struct machine *machine, const char *what)
{
    KE_HALT halt = {0};

    (void)ExQueryHalt(machine->system, &halt);
    printf("%-40s bug check 0x%02X at 0x%llX\n", what, (unsigned)halt.Code,
           (unsigned long long)halt.Parameters[0]);
    return halt.Code == KE_IRQL_NOT_LESS_OR_EQUAL &&
           halt.Parameters[0] == CRASH_COUNTERS + 4;
}
