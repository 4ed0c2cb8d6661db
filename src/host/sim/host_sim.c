/* SPDX-License-Identifier: MIT */
/* host/sim/host_sim.c - the simulated host: rights, processors and failures. */
#include "host/sim/host_simp.h"

#include <stdlib.h>

/* What failing calls return unless host_sim_set_failure was called. */
static const NTSTATUS default_failures[HOST_SIM_CALLS] = {
    [HOST_SIM_ALLOCATE] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_PROBE_FOR_WRITE] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_COPY_FROM_CALLER] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_COPY_TO_CALLER] = STATUS_ACCESS_VIOLATION,
    [HOST_SIM_LOCK_PAGES] = STATUS_WORKING_SET_QUOTA,
    [HOST_SIM_MAP_PAGES] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_OPEN_PROCESS] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_CHECK_PROCESS_ACCESS] = STATUS_ACCESS_DENIED,
    [HOST_SIM_CHECK_PRIVILEGE] = STATUS_INSUFFICIENT_RESOURCES,
    [HOST_SIM_CHECK_RESTRICTED] = STATUS_INSUFFICIENT_RESOURCES,
};

/* ---- HOST_TABLE ---- */

static NTSTATUS
check_system_profile_privilege(void *context)
{
    struct host_sim *const sim = context;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_CHECK_PRIVILEGE, &status)) {
        return status;
    }
    return sim->privilege ? STATUS_SUCCESS : STATUS_PRIVILEGE_NOT_HELD;
}

static NTSTATUS
check_restricted_caller(void *context, ULONG rule)
{
    struct host_sim *const sim = context;
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_CHECK_RESTRICTED, &status)) {
        return status;
    }
    return (sim->restricted_rules & rule) != 0 ? STATUS_ACCESS_DENIED : STATUS_SUCCESS;
}

static USHORT
group_count(void *context)
{
    const struct host_sim *const sim = context;

    return sim->group_count;
}

static KAFFINITY
active_processors(void *context, USHORT group)
{
    struct host_sim *const sim = context;

    if (group >= sim->group_count) {
        host_sim_complain(sim, "ActiveProcessors of a group that does not exist");
        return 0;
    }
    return sim->active[group];
}

static USHORT
current_group(void *context)
{
    const struct host_sim *const sim = context;

    return sim->current_group;
}

/* ---- making the host, and what tests call ---- */

/* Make the host table; the address space is that of NT on this word size. */
static void
fill_table(HOST_TABLE *table, const struct host_sim_options *options)
{
    const bool wide = UINTPTR_MAX > 0xFFFFFFFFu;

    *table = (HOST_TABLE){
        .Size = sizeof(HOST_TABLE),
        .PageSize = options->page_size_bytes != 0 ? options->page_size_bytes : 4096,
        .HighestUserAddress = wide ? 0x7FFFFFFEFFFFull : 0x7FFEFFFFull,
        .SystemRangeStart = wide ? 0xFFFF800000000000ull : 0x80000000ull,
        .CheckSystemProfilePrivilege = check_system_profile_privilege,
        .CheckRestrictedCaller = check_restricted_caller,
        .GroupCount = group_count,
        .ActiveProcessors = active_processors,
        .CurrentGroup = current_group,
    };
    if (options->highest_user_address != 0) {
        table->HighestUserAddress = options->highest_user_address;
    }
    if (options->system_range_start != 0) {
        table->SystemRangeStart = options->system_range_start;
    }
    host_sim_fill_heap(table);
    host_sim_fill_memory(table);
    host_sim_fill_locks(table);
    host_sim_fill_processes(table);
}

struct host_sim *
host_sim_create(const struct host_sim_options *given)
{
    const struct host_sim_options options =
        given != NULL ? *given : (struct host_sim_options){0};
    struct host_sim *const sim = calloc(1, sizeof(*sim));

    if (sim == NULL) {
        return NULL;
    }
    fill_table(&sim->table, &options);
    sim->privilege = true;
    sim->group_count = options.group_count != 0 ? options.group_count : 1;
    if (sim->group_count > HOST_SIM_MOST_GROUPS) {
        sim->group_count = HOST_SIM_MOST_GROUPS;
    }
    for (uint16_t group = 0; group < sim->group_count; group++) {
        sim->active[group] = 0xF; /* processors 0 to 3 */
    }
    sim->own_pid = options.own_pid != 0 ? options.own_pid : HOST_SIM_OWN_PID;
    host_sim_clear_failures(sim);
    host_sim_add_process(sim, sim->own_pid);
    return sim;
}

void
host_sim_delete(struct host_sim *sim)
{
    if (sim == NULL) {
        return;
    }
    host_sim_delete_locks(sim);
    host_sim_delete_processes(sim);
    host_sim_delete_memory(sim);
    host_sim_delete_heap(sim);
    free(sim);
}

HOST
host_sim_host(struct host_sim *sim)
{
    return (HOST){.Table = &sim->table, .Context = sim};
}

void
host_sim_set_privilege(struct host_sim *sim, bool held)
{
    sim->privilege = held;
}

void
host_sim_set_restricted(struct host_sim *sim, uint32_t rules)
{
    sim->restricted_rules = rules;
}

void
host_sim_set_active(struct host_sim *sim, uint16_t group, KAFFINITY mask)
{
    if (group < sim->group_count) {
        sim->active[group] = mask;
    }
}

void
host_sim_set_current_group(struct host_sim *sim, uint16_t group)
{
    sim->current_group = group;
}

/* Count a call. Returns true if it has to fail. */
static bool
count_call(struct host_sim_fault *fault)
{
    fault->calls++;
    return fault->fail_at != 0 && (fault->calls == fault->fail_at ||
                                   (fault->forever && fault->calls > fault->fail_at));
}

bool
host_sim_must_fail(struct host_sim *sim, enum host_sim_call call, NTSTATUS *status)
{
    const bool this_one = count_call(&sim->faults[call]);
    const bool any = count_call(&sim->faults[HOST_SIM_ANY_CALL]);

    *status = sim->faults[call].status;
    return this_one || any;
}

void
host_sim_fail(struct host_sim *sim, enum host_sim_call call, uint64_t nth, bool forever)
{
    struct host_sim_fault *const fault = &sim->faults[call];

    fault->fail_at = fault->calls + nth;
    fault->forever = forever;
}

void
host_sim_set_failure(struct host_sim *sim, enum host_sim_call call, NTSTATUS status)
{
    sim->faults[call].status = status;
}

void
host_sim_clear_failures(struct host_sim *sim)
{
    for (size_t i = 0; i < HOST_SIM_CALLS; i++) {
        sim->faults[i].fail_at = 0;
        sim->faults[i].forever = false;
        sim->faults[i].status = default_failures[i];
    }
}

uint64_t
host_sim_calls(const struct host_sim *sim, enum host_sim_call call)
{
    return sim->faults[call].calls;
}

uint64_t
host_sim_flushes(const struct host_sim *sim)
{
    return sim->flushes;
}

struct host_sim_balance
host_sim_balance(const struct host_sim *sim)
{
    return sim->balance;
}

void
host_sim_complain(struct host_sim *sim, const char *text)
{
    if (sim->complaint == NULL) {
        sim->complaint = text;
    }
}

const char *
host_sim_complaint(const struct host_sim *sim)
{
    return sim->complaint;
}
