/* SPDX-License-Identifier: MIT */
/* run.c - the model of start and stop, of interrupts, and of what they come to. */
#include "model.h"

#include <string.h>

/* ---- Start ---- */

static NTSTATUS
find_profile(struct model *model, uint64_t value, struct model_profile **profile)
{
    const struct model_handle *const handle = model_find_handle(model, value);

    if (value == UINT64_MAX) { /* NtCurrentProcess() */
        model_reach(model, MODEL_RUN_PSEUDO);
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    if (handle == NULL) {
        model_reach(model, MODEL_RUN_HANDLE);
        return STATUS_INVALID_HANDLE;
    }
    if (handle->profile == NULL) {
        model_reach(model, MODEL_RUN_TYPE);
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    if ((handle->access & PROFILE_CONTROL) == 0) {
        model_reach(model, MODEL_RUN_ACCESS);
        return STATUS_ACCESS_DENIED;
    }
    *profile = handle->profile;
    return STATUS_SUCCESS;
}

static uint64_t
count_processors(const struct model *model)
{
    uint64_t count = 0;

    for (uint32_t bit = 0; bit < 64 * MODEL_MOST_GROUPS; bit++) {
        count += model->active[bit / 64] >> bit % 64 & 1;
    }
    return count;
}

static NTSTATUS
check_limit(struct model *model)
{
    const uint64_t started = model_count_started(model);

    if (started >= 8) {
        model_reach(model, MODEL_START_MANY);
    }
    if (model->version >= NTPROF_NT_6_1 && started >= 8192 * count_processors(model)) {
        model_reach(model, MODEL_START_LIMIT);
        return STATUS_PROFILING_AT_LIMIT;
    }
    return STATUS_SUCCESS;
}

static uint64_t
count_bytes_to_lock(struct model *model, const struct model_profile *p)
{
    const uint64_t bucket = 1ull << p->log2;

    if (model->version < MODEL_NEWEST) {
        return p->buffer_bytes;
    }
    return 4 * (p->size / bucket + (p->size % bucket != 0));
}

static uint64_t
most_bytes_to_lock(const struct model *model)
{
    if (model->version >= NTPROF_NT_6_1) {
        return 0x100000000 - 4096;
    }
    if (model->version == NTPROF_NT_6_0) {
        return 0x80000000 - 4096;
    }
    return model->options.x86 ? 4096 * (65535 - 0x1C) / 4 : 4096 * (65535 - 0x30) / 8;
}

static NTSTATUS
lock_buffer(struct model *model, struct model_profile *p)
{
    const uint64_t bytes = count_bytes_to_lock(model, p);

    if (bytes > most_bytes_to_lock(model)) {
        model_reach(model, MODEL_START_MDL_LIMIT);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (bytes == most_bytes_to_lock(model)) {
        model_reach(model, MODEL_START_AT_MDL_LIMIT);
    }
    if (model->faults.lock != STATUS_SUCCESS) {
        model_reach(model, MODEL_START_LOCK_FAILS);
        return model->faults.lock;
    }
    if (!model_can_write(model, p->buffer, bytes)) {
        model_reach(model, MODEL_START_LOCK_FAULT);
        return STATUS_ACCESS_VIOLATION;
    }
    if (model->faults.map != STATUS_SUCCESS) {
        model_reach(model, MODEL_START_MAP_FAILS);
        return model->faults.map;
    }
    if (bytes == 0) {
        model_reach(model, model->version < MODEL_NEWEST ? MODEL_START_LOCKS_NOTHING
                                                         : MODEL_START_NEEDS_NOTHING);
        return STATUS_SUCCESS;
    }
    if (!model_can_write(model, p->buffer, p->buffer_bytes)) {
        model_reach(model, MODEL_START_LOCKS_NEEDED);
    }
    p->region = model_find_region(model, p->buffer, bytes);
    p->locked_bytes = bytes;
    return STATUS_SUCCESS;
}

/* The processors that it counts on. */
static void
choose_processors(struct model *model, const struct model_profile *p,
                  uint64_t running[MODEL_MOST_GROUPS])
{
    const uint64_t mask = p->affinity[0];

    if (model->version >= NTPROF_NT_6_1) {
        memcpy(running, p->affinity, sizeof(p->affinity));
        return;
    }
    memset(running, 0, sizeof(p->affinity));
    running[0] = mask & model->active[0];
    if (mask == 0) {
        model_reach(model, MODEL_START_AFFINITY_ZERO);
        memcpy(running, model->active, sizeof(p->affinity));
    } else if (running[0] != 0) {
        model_reach(model, MODEL_START_AFFINITY_MASK);
    } else if (model->version >= NTPROF_NT_4_0_SP4) {
        model_reach(model, MODEL_START_AFFINITY_INACTIVE_ALL);
        memcpy(running, model->active, sizeof(p->affinity));
    } else {
        model_reach(model, MODEL_START_AFFINITY_INACTIVE);
    }
}

static bool
runs_on(const uint64_t running[MODEL_MOST_GROUPS], uint32_t processor)
{
    return processor < 64 * MODEL_MOST_GROUPS &&
           (running[processor / 64] >> processor % 64 & 1) != 0;
}

/* The processors that are interrupted already for profiles like this one. */
static void
find_interrupted(const struct model *model, const struct model_profile *like,
                 uint64_t processors[MODEL_MOST_GROUPS])
{
    memset(processors, 0, sizeof(like->running));
    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        if (p->started && !p->told && p->source == like->source &&
            p->process == like->process) {
            for (uint32_t group = 0; group < MODEL_MOST_GROUPS; group++) {
                processors[group] |= p->running[group];
            }
        }
    }
}

static NTSTATUS
start_interrupts(struct model *model, const struct model_profile *p,
                 const uint64_t running[MODEL_MOST_GROUPS])
{
    uint64_t interrupted[MODEL_MOST_GROUPS];
    uint32_t missing = 0;

    find_interrupted(model, p, interrupted);
    for (uint32_t group = 0; group < MODEL_MOST_GROUPS; group++) {
        missing += (uint32_t)__builtin_popcountll(running[group] & ~interrupted[group]);
    }
    if (model->faults.interrupt_nth != 0 && model->faults.interrupt_nth <= missing) {
        model_reach(model, MODEL_START_HAL_FAILS);
        return model->faults.interrupt_failure;
    }
    if (missing == 0) {
        model_reach(model, MODEL_START_SHARES);
    }
    return STATUS_SUCCESS;
}

static bool
is_gone(const struct model_profile *p)
{
    return p->process != NULL && p->process->gone;
}

/* It would count nothing. */
static bool
is_deaf(struct model *model, const struct model_profile *p)
{
    const struct model_source *const source = model_find_source(model, p->source);

    if (is_gone(p)) {
        model_reach(model, MODEL_START_PROCESS_GONE);
        return true;
    }
    if (source == NULL || !source->supported) {
        model_reach(model, model->version < NTPROF_NT_6_2
                               ? MODEL_START_SOURCE_UNSUPPORTED
                               : MODEL_START_HAL_UNSUPPORTED);
        return true;
    }
    return false;
}

static NTSTATUS
start(struct model *model, struct model_profile *p)
{
    uint64_t running[MODEL_MOST_GROUPS];
    NTSTATUS status = lock_buffer(model, p);

    if (status != STATUS_SUCCESS) {
        return status;
    }
    choose_processors(model, p, running);
    p->deaf = is_deaf(model, p);
    if (!p->deaf) {
        status = start_interrupts(model, p, running);
    } else if (model->version >= NTPROF_NT_6_2 && !is_gone(p)) {
        status = model->faults.interrupt_nth == 1 ? model->faults.interrupt_failure
                                                  : STATUS_NOT_SUPPORTED;
    }
    if (status != STATUS_SUCCESS) {
        p->region = NULL;
        p->locked_bytes = 0;
        return status;
    }
    p->told = p->deaf;
    memcpy(p->running, running, sizeof(running));
    p->started = true;
    p->nth_start = ++model->starts;
    return STATUS_SUCCESS;
}

NTSTATUS
model_start(struct model *model, uint64_t handle)
{
    struct model_profile *profile;
    NTSTATUS status;

    if (model->halted) {
        model_reach(model, MODEL_START_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    status = find_profile(model, handle, &profile);
    if (status != STATUS_SUCCESS) {
        return status;
    }
    if (profile->started) {
        model_reach(model, MODEL_START_TWICE);
        return STATUS_PROFILING_NOT_STOPPED;
    }
    status = check_limit(model);
    if (status != STATUS_SUCCESS) {
        return status;
    }
    if (model->faults.memory) {
        model_reach(model, MODEL_START_NO_MEMORY);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    return start(model, profile);
}

/* ---- Stop ---- */

void
model_stop_profile(struct model_profile *profile)
{
    profile->started = false;
    profile->region = NULL;
    profile->locked_bytes = 0;
}

NTSTATUS
model_stop(struct model *model, uint64_t handle)
{
    struct model_profile *profile;
    NTSTATUS status;

    if (model->halted) {
        model_reach(model, MODEL_STOP_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    status = find_profile(model, handle, &profile);
    if (status != STATUS_SUCCESS) {
        return status;
    }
    if (!profile->started) {
        model_reach(model, MODEL_STOP_NOT_STARTED);
        return STATUS_PROFILING_NOT_STARTED;
    }
    model_stop_profile(profile);
    return STATUS_SUCCESS;
}

void
model_stop_all(struct model *model)
{
    for (struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        model_stop_profile(p);
    }
}

void
model_halt(struct model *model, const struct model_halt *halt)
{
    model->halted = true;
    model->halt = *halt;
}

/* ---- Hits ---- */

static bool
is_for(const struct model_profile *p, const struct model_hit *hit)
{
    return p->started && !p->deaf && p->source == hit->source &&
           (p->process == NULL || (p->process->pid == hit->pid && !p->process->gone)) &&
           runs_on(p->running, hit->processor);
}

/* The machine interrupts only for what is started. */
static bool
is_made(const struct model *model, const struct model_hit *hit)
{
    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        if (is_for(p, hit)) {
            return true;
        }
    }
    return false;
}

/* The offset in the region, whatever its size; or none. */
static bool
place(struct model *model, const struct model_profile *p, const struct model_hit *hit,
      uint64_t *offset)
{
    if (p->segment == 0) {
        *offset = hit->address - p->base;
        return hit->address >= p->base;
    }
    if (hit->selector != p->segment) {
        model_reach(model, MODEL_HIT_OTHER_SEGMENT);
        return false;
    }
    *offset = hit->offset;
    return true;
}

static bool
is_inside(struct model *model, const struct model_profile *p, uint64_t offset)
{
    const bool end_counts =
        model->version >= NTPROF_NT_6_2 && model->version <= NTPROF_NT_1803;

    if (offset == p->size) {
        model_reach(model, end_counts ? MODEL_HIT_END_INSIDE
                           : model->version < NTPROF_NT_6_2
                               ? MODEL_HIT_END_OUTSIDE
                               : MODEL_HIT_END_OUTSIDE_AGAIN);
        return end_counts;
    }
    return offset < p->size;
}

/* NT would have written behind the counters. */
static void
halt(struct model *model, const struct model_profile *p, uint64_t offset)
{
    const uint64_t counter = p->buffer + 4 * (offset >> p->log2);
    const uint64_t first_page = p->buffer / MODEL_PAGE_BYTES;
    const uint64_t page = counter / MODEL_PAGE_BYTES;
    struct model_halt halt = {.counter = counter, .bug_check = true};

    if (p->buffer_bytes > 0) {
        const uint64_t last_page = (p->buffer + p->buffer_bytes - 1) / MODEL_PAGE_BYTES;

        halt.bug_check = page < first_page || page > last_page;
    }
    halt.code = halt.bug_check ? 0x0A : 0;
    halt.irql = !model->options.x86 ? 15 : model->version >= NTPROF_NT_6_0 ? 31 : 27;
    model_reach(model, halt.bug_check ? MODEL_HIT_BUG_CHECK : MODEL_HIT_CORRUPTION);
    if (p->segment != 0) {
        model_reach(model, MODEL_HIT_HALT_IN_SEGMENT);
    }
    model_halt(model, &halt);
}

static bool
is_among_counters(const struct model_profile *p, uint64_t offset)
{
    return offset >> p->log2 < p->buffer_bytes / 4;
}

static void
count(struct model *model, struct model_profile *p, uint64_t offset)
{
    uint8_t *const bytes =
        p->region->memory + (p->buffer - p->region->base) + 4 * (offset >> p->log2);
    uint32_t counter;

    memcpy(&counter, bytes, sizeof(counter));
    counter++;
    if (counter == 0) {
        model_reach(model, MODEL_HIT_COUNTER_WRAPS);
    }
    memcpy(bytes, &counter, sizeof(counter));
}

static void
note_hit(struct model *model, uint32_t counted)
{
    if (model->halted) {
        model_reach(model,
                    counted > 0 ? MODEL_HIT_HALT_COUNTS_OTHERS : MODEL_HIT_HALT_ALONE);
    }
    if (counted > 1) {
        model_reach(model, MODEL_HIT_SEVERAL);
    }
    if (counted == 0) {
        model_reach(model, MODEL_HIT_OUTSIDE);
    }
}

static void
note_count(struct model *model, const struct model_profile *p,
           const struct model_hit *hit)
{
    if (p->segment != 0) {
        model_reach(model, MODEL_HIT_SEGMENT);
    } else if (hit->selector != 0) {
        model_reach(model, MODEL_HIT_SEGMENT_LINEAR);
    }
    if (p->process == NULL) {
        model_reach(model, MODEL_HIT_GLOBAL);
    }
    if (hit->address >= model->options.system_range_start) {
        model_reach(model, MODEL_HIT_KERNEL);
    }
    if (!p->region->mapped) {
        model_reach(model, MODEL_HIT_UNMAPPED);
    }
}

/* One of the two lists: of the process's profiles, or of those for all. */
static uint32_t
count_in_list(struct model *model, const struct model_hit *hit, bool global)
{
    const struct model_profile *first = NULL; /* of those without a counter for it */
    uint64_t first_offset = 0;
    uint32_t counted = 0;
    uint64_t offset;

    for (struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        if ((p->process == NULL) != global || !is_for(p, hit) ||
            !place(model, p, hit, &offset) || !is_inside(model, p, offset)) {
            continue;
        }
        if (is_among_counters(p, offset)) {
            count(model, p, offset);
            note_count(model, p, hit);
            counted++;
        } else if (first == NULL || p->nth_start < first->nth_start) {
            first = p;
            first_offset = offset;
        }
    }
    /* The process's list is walked first, and what stopped there is what is told. */
    if (first != NULL && !model->halted) {
        halt(model, first, first_offset);
    }
    return counted;
}

uint32_t
model_take_hit(struct model *model, const struct model_hit *hit)
{
    struct model_source *const source = model_find_source(model, hit->source);
    uint32_t counted = 0;

    if (source == NULL || !is_made(model, hit)) {
        return 0;
    }
    source->taken++;
    if (model->halted) {
        model_reach(model, MODEL_HIT_HALTED);
    } else {
        counted = count_in_list(model, hit, false);
        counted += count_in_list(model, hit, true);
        note_hit(model, counted);
    }
    source->counted += counted > 0;
    source->outside += counted == 0;
    return counted;
}

/* ---- What to compare ---- */

uint64_t
model_count_profiles(const struct model *model)
{
    uint64_t number = 0;

    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        number++;
    }
    return number;
}

uint64_t
model_count_started(const struct model *model)
{
    uint64_t number = 0;

    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        number += p->started;
    }
    return number;
}

uint64_t
model_locked_bytes(const struct model *model)
{
    uint64_t bytes = 0;

    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        bytes += p->locked_bytes;
    }
    return bytes;
}

/* Is it the first of those that share their interrupts? */
static bool
is_first_of_its_like(const struct model *model, const struct model_profile *like)
{
    const struct model_profile *p = model->profiles;

    while (!p->started || p->told || p->source != like->source ||
           p->process != like->process) {
        p = p->next;
    }
    return p == like;
}

uint64_t
model_count_interrupts(const struct model *model, bool gone)
{
    uint64_t interrupted[MODEL_MOST_GROUPS];
    uint64_t number = 0;

    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        if (p->started && !p->told && is_gone(p) == gone &&
            is_first_of_its_like(model, p)) {
            find_interrupted(model, p, interrupted);
            for (uint32_t group = 0; group < MODEL_MOST_GROUPS; group++) {
                number += (uint64_t)__builtin_popcountll(interrupted[group]);
            }
        }
    }
    return number;
}
