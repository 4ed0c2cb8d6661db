/* SPDX-License-Identifier: MIT */
/* changes.c - changes of the world around: rights, memory, processors, processes,
 * sources. */
#include "driverp.h"

#include <inttypes.h>
#include <string.h>

static void
change_rights(struct driver *d)
{
    const bool privilege = draw_one_in(d->draw, 2);
    const uint32_t restricted = draw_below(d->draw, 8) / 2;

    driver_trace(d, "privilege %d, restricted by %u", privilege, restricted);
    d->model->privilege = privilege;
    d->model->restricted = restricted;
    host_sim_set_privilege(d->machine.host, privilege);
    host_sim_set_restricted(d->machine.host, restricted);
}

void
driver_protect(struct driver *d, uint64_t page, enum model_right right)
{
    static const enum host_sim_page host_rights[] = {
        HOST_SIM_ABSENT, HOST_SIM_READ_ONLY, HOST_SIM_WRITABLE};

    driver_trace(d, "page 0x%" PRIx64 " becomes %u", page, (unsigned)right);
    model_protect(d->model, page, MODEL_PAGE_BYTES, right);
    host_sim_protect(d->machine.host, page, MODEL_PAGE_BYTES, host_rights[right]);
}

static void
change_page(struct driver *d)
{
    static const enum model_right rights[] = {
        MODEL_ABSENT, MODEL_READ_ONLY, MODEL_WRITABLE, MODEL_WRITABLE, MODEL_WRITABLE};
    const uint64_t scratch =
        MACHINE_SCRATCH + (uint64_t)draw_below(d->draw, 16) * MODEL_PAGE_BYTES;
    const uint64_t buffer =
        MACHINE_BUFFER + (uint64_t)draw_below(d->draw, 5) * MODEL_PAGE_BYTES;

    driver_protect(d, draw_one_in(d->draw, 2) ? buffer : scratch,
                   DRAW_FROM(d->draw, rights));
}

static void
make_pages_good(struct driver *d)
{
    driver_trace(d, "all pages are writable");
    model_protect(d->model, MACHINE_SCRATCH, MACHINE_SCRATCH_BYTES, MODEL_WRITABLE);
    model_protect(d->model, MACHINE_BUFFER, MACHINE_BUFFER_BYTES, MODEL_WRITABLE);
    host_sim_protect(d->machine.host, MACHINE_SCRATCH, MACHINE_SCRATCH_BYTES,
                     HOST_SIM_WRITABLE);
    host_sim_protect(d->machine.host, MACHINE_BUFFER, MACHINE_BUFFER_BYTES,
                     HOST_SIM_WRITABLE);
}

static bool
has_locked_passing(struct driver *d)
{
    const struct model_region *const passing =
        model_find_region(d->model, DRIVER_PASSING, 1);

    for (const struct model_profile *p = d->model->profiles; p != NULL; p = p->next) {
        if (p->region == passing) {
            return true;
        }
    }
    return false;
}

void
driver_change_mapping(struct driver *d)
{
    if (model_find_region(d->model, DRIVER_PASSING, 1) != NULL) {
        driver_trace(d, "unmap");
        model_unmap(d->model, DRIVER_PASSING);
        host_sim_unmap(d->machine.host, DRIVER_PASSING);
        return;
    }
    driver_trace(d, "map");
    assert_true(model_map(d->model, DRIVER_PASSING, DRIVER_PASSING_BYTES));
    assert_non_null(
        host_sim_map(d->machine.host, DRIVER_PASSING, DRIVER_PASSING_BYTES));
}

/* It goes mostly when something there is locked. */
static void
change_mapping(struct driver *d)
{
    if (model_find_region(d->model, DRIVER_PASSING, 1) == NULL ||
        has_locked_passing(d) || draw_one_in(d->draw, 4)) {
        driver_change_mapping(d);
    }
}

/* The caller writes counters, so that they are near their end. */
static void
change_counters(struct driver *d)
{
    const struct model_profile *const p = driver_draw_started(d);
    uint32_t values[32];

    driver_deliver(d); /* or the hits that wait would come on top */
    if (p == NULL || p->region == NULL) {
        return;
    }
    memset(values, draw_one_in(d->draw, 4) ? 0 : 0xFF, sizeof(values));
    driver_trace(d, "write 0x%x to 0x%" PRIx64, values[0], p->buffer);
    driver_write(d, p->buffer, values,
                 p->buffer_bytes < sizeof(values) ? p->buffer_bytes / 4 * 4
                                                  : sizeof(values));
}

static void
change_processors(struct driver *d)
{
    static const uint64_t masks[] = {0xF,        1,      0xA,        0xFFFFFFFF,
                                     UINT64_MAX, 0xFF00, 1ull << 63, 0x80000001};
    const uint16_t group = (uint16_t)draw_below(d->draw, d->model->options.group_count);
    const uint64_t active = DRAW_FROM(d->draw, masks);

    driver_trace(d, "processors of group %u: 0x%" PRIx64, group, active);
    d->model->active[group] = active;
    host_sim_set_active(d->machine.host, group, active);
}

static void
change_group(struct driver *d)
{
    const uint16_t group = (uint16_t)draw_below(d->draw, d->model->options.group_count);

    driver_trace(d, "current group %u", group);
    d->model->current_group = group;
    host_sim_set_current_group(d->machine.host, group);
}

/* ---- Processes ---- */

void
driver_begin_process(struct driver *d, uint64_t pid)
{
    driver_trace(d, "begin %" PRIu64, pid);
    assert_true(model_add_process(d->model, pid));
    host_sim_add_process(d->machine.host, pid);
    sim_add_process(d->machine.sim, pid);
}

void
driver_end_process(struct driver *d, uint64_t pid)
{
    driver_trace(d, "end %" PRIu64, pid);
    model_end_process(d->model, pid);
    host_sim_end_process(d->machine.host, pid);
    sim_exit(d->machine.sim, pid);
}

static void
exec_process(struct driver *d, uint64_t pid)
{
    driver_trace(d, "exec %" PRIu64, pid);
    model_exec(d->model, pid);
    sim_exec(d->machine.sim, pid);
    driver_deliver(d); /* or interrupts would go on for it, and come to nothing */
}

static void
change_process(struct driver *d)
{
    const uint64_t pid = driver_pids[1 + draw_below(d->draw, DRIVER_PIDS - 1)];
    struct model_process *const process = model_find_process(d->model, pid);
    const uint32_t what = draw_below(d->draw, 3);

    if (process == NULL) {
        driver_begin_process(d, pid);
    } else if (what == 0) {
        exec_process(d, pid);
    } else if (what == 1) {
        driver_end_process(d, pid);
    } else {
        process->accessible = !process->accessible || draw_one_in(d->draw, 2);
        driver_trace(d, "pid %" PRIu64 " accessible %d", pid, process->accessible);
        host_sim_set_accessible(d->machine.host, pid, process->accessible);
    }
}

/* Not while it is started: what is interrupted for then goes on. */
static void
change_source(struct driver *d)
{
    const KPROFILE_SOURCE number = driver_draw_source(d);
    struct model_source *const source = model_find_source(d->model, number);

    for (const struct model_profile *p = d->model->profiles; p != NULL; p = p->next) {
        if (p->started && p->source == number) {
            return;
        }
    }
    if (source == NULL || d->model->version <= NTPROF_NT_3_50) {
        return; /* these two know ProfileTime alone, which every machine has */
    }
    source->supported = !source->supported;
    driver_trace(d, "source 0x%x supported %d", number, source->supported);
    sim_set_supported(d->machine.sim, number, source->supported);
}

void
driver_change(struct driver *d)
{
    static void (*const changes[])(struct driver *) = {
        change_rights,     change_rights,   change_rights,   change_page,
        change_page,       make_pages_good, change_mapping,  change_mapping,
        change_counters,   change_counters, change_counters, change_processors,
        change_processors, change_group,    change_process,  change_process,
        change_process,    change_process,  change_source,   change_source,
    };

    DRAW_FROM(d->draw, changes)(d);
    d->run->tally->changes++;
}
