/* SPDX-License-Identifier: MIT */
/* host/sim/process.c - processes. A pid may be used again, so each process has a number
 * of its own, by which references to it are checked. */
#include "host/sim/host_simp.h"

#include <stdlib.h>

/* Return the running process with this pid, or NULL. */
static struct host_sim_process *
find_alive(const struct host_sim *sim, uint64_t pid)
{
    for (struct host_sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->alive && process->pid == pid) {
            return process;
        }
    }
    return NULL;
}

/* Return the process of a reference; complain and return NULL if it is not open. */
static struct host_sim_process *
find_open(struct host_sim *sim, const HOST_PROCESS *reference)
{
    for (struct host_sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->number == reference->Reference &&
            process->pid == reference->ProcessId && process->open_count != 0) {
            return process;
        }
    }
    host_sim_complain(sim, "a process that is not open");
    return NULL;
}

/* ---- HOST_TABLE ---- */

static ULONG64
current_process_id(void *context)
{
    const struct host_sim *const sim = context;

    return sim->own_pid;
}

static NTSTATUS
open_process(void *context, ULONG64 pid, HOST_PROCESS *reference)
{
    struct host_sim *const sim = context;
    struct host_sim_process *const process = find_alive(sim, pid);
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_OPEN_PROCESS, &status)) {
        return status;
    }
    if (process == NULL) {
        return STATUS_INVALID_CID;
    }
    process->open_count++;
    sim->balance.open_processes++;
    *reference = (HOST_PROCESS){.ProcessId = pid, .Reference = process->number};
    return STATUS_SUCCESS;
}

static void
close_process(void *context, HOST_PROCESS *reference)
{
    struct host_sim *const sim = context;
    struct host_sim_process *const process = find_open(sim, reference);

    if (process != NULL) {
        process->open_count--;
        sim->balance.open_processes--;
    }
}

static NTSTATUS
check_process_access(void *context, const HOST_PROCESS *reference)
{
    struct host_sim *const sim = context;
    const struct host_sim_process *const process = find_open(sim, reference);
    NTSTATUS status;

    if (host_sim_must_fail(sim, HOST_SIM_CHECK_PROCESS_ACCESS, &status)) {
        return status;
    }
    return process != NULL && process->accessible ? STATUS_SUCCESS
                                                  : STATUS_ACCESS_DENIED;
}

static BOOLEAN
is_process_gone(void *context, const HOST_PROCESS *reference)
{
    const struct host_sim_process *const process = find_open(context, reference);

    return process == NULL || !process->alive;
}

void
host_sim_fill_processes(HOST_TABLE *table)
{
    table->CurrentProcessId = current_process_id;
    table->OpenProcess = open_process;
    table->CloseProcess = close_process;
    table->CheckProcessAccess = check_process_access;
    table->IsProcessGone = is_process_gone;
}

/* ---- what tests call ---- */

void
host_sim_add_process(struct host_sim *sim, uint64_t pid)
{
    struct host_sim_process *process;

    if (find_alive(sim, pid) != NULL) {
        return;
    }
    process = calloc(1, sizeof(*process));
    if (process == NULL) {
        host_sim_complain(sim, "no memory for a process");
        return;
    }
    process->pid = pid;
    process->number = ++sim->last_process_number;
    process->alive = true;
    process->accessible = true;
    process->next = sim->processes;
    sim->processes = process;
}

void
host_sim_end_process(struct host_sim *sim, uint64_t pid)
{
    struct host_sim_process *const process = find_alive(sim, pid);

    if (process != NULL) {
        process->alive = false;
    }
}

void
host_sim_set_accessible(struct host_sim *sim, uint64_t pid, bool accessible)
{
    struct host_sim_process *const process = find_alive(sim, pid);

    if (process != NULL) {
        process->accessible = accessible;
    }
}

void
host_sim_delete_processes(struct host_sim *sim)
{
    while (sim->processes != NULL) {
        struct host_sim_process *const next = sim->processes->next;

        free(sim->processes);
        sim->processes = next;
    }
}
