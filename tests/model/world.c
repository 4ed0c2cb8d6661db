/* SPDX-License-Identifier: MIT */
/* world.c - the model's memory, processes, sources and faults, and its beginning and
 * end. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

void
model_reach(struct model *model, enum model_branch branch)
{
    if (model->options.reached != NULL) {
        model->options.reached[branch]++;
    }
}

struct model *
model_create(const struct model_options *options)
{
    struct model *model = calloc(1, sizeof(*model));

    if (model == NULL) {
        return NULL;
    }
    model->options = *options;
    model->version =
        options->version == NTPROF_NT_NEWEST ? MODEL_NEWEST : options->version;
    model->privilege = true;
    for (uint16_t group = 0; group < options->group_count; group++) {
        model->active[group] = 0xF;
    }
    if (!model_add_process(model, options->own_pid)) {
        free(model);
        return NULL;
    }
    return model;
}

static void
free_region(struct model_region *region)
{
    free(region->memory);
    free(region->rights);
    free(region);
}

#define FREE_ALL(type, list, release) \
    while ((list) != NULL) {          \
        type *const first_ = (list);  \
        (list) = first_->next;        \
        release(first_);              \
    }

void
model_delete(struct model *model)
{
    if (model == NULL) {
        return;
    }
    FREE_ALL(struct model_region, model->regions, free_region)
    FREE_ALL(struct model_process, model->processes, free)
    FREE_ALL(struct model_source, model->sources, free)
    FREE_ALL(struct model_profile, model->profiles, free)
    FREE_ALL(struct model_handle, model->handles, free)
    free(model);
}

/* ---- Memory ---- */

bool
model_map(struct model *model, uint64_t base, uint64_t bytes)
{
    struct model_region *const region = calloc(1, sizeof(*region));

    if (region == NULL) {
        return false;
    }
    region->base = base;
    region->bytes = bytes;
    region->mapped = true;
    region->memory = calloc(1, bytes);
    region->rights = calloc(1, bytes / MODEL_PAGE_BYTES);
    if (region->memory == NULL || region->rights == NULL) {
        free_region(region);
        return false;
    }
    memset(region->rights, MODEL_WRITABLE, bytes / MODEL_PAGE_BYTES);
    region->next = model->regions;
    model->regions = region;
    return true;
}

void
model_unmap(struct model *model, uint64_t base)
{
    for (struct model_region *r = model->regions; r != NULL; r = r->next) {
        if (r->base == base) {
            r->mapped = false;
        }
    }
}

struct model_region *
model_find_region(struct model *model, uint64_t address, uint64_t bytes)
{
    for (struct model_region *r = model->regions; r != NULL; r = r->next) {
        if (r->mapped && address >= r->base && address - r->base <= r->bytes &&
            bytes <= r->bytes - (address - r->base)) {
            return r;
        }
    }
    return NULL;
}

uint8_t *
model_at(struct model *model, uint64_t address, uint64_t bytes)
{
    struct model_region *const region = model_find_region(model, address, bytes);

    return region != NULL ? region->memory + (address - region->base) : NULL;
}

void
model_protect(struct model *model, uint64_t address, uint64_t bytes,
              enum model_right right)
{
    struct model_region *const region = model_find_region(model, address, bytes);

    if (region != NULL) {
        const uint64_t first = (address - region->base) / MODEL_PAGE_BYTES;
        const uint64_t last = (address - region->base + bytes - 1) / MODEL_PAGE_BYTES;

        memset(region->rights + first, (int)right, last - first + 1);
    }
}

bool
model_is_user(const struct model *model, uint64_t address, uint64_t bytes)
{
    const uint64_t highest = model->options.highest_user_address;

    return bytes == 0 || (address <= highest && bytes - 1 <= highest - address);
}

/* All pages of [address, address + bytes) are there with at least that right. */
static bool
has_right(struct model *model, uint64_t address, uint64_t bytes, enum model_right right)
{
    const struct model_region *region;

    if (bytes == 0) {
        return true;
    }
    region = model_find_region(model, address, bytes);
    if (region == NULL) {
        return false;
    }
    for (uint64_t page = (address - region->base) / MODEL_PAGE_BYTES;
         page <= (address - region->base + bytes - 1) / MODEL_PAGE_BYTES; page++) {
        if (region->rights[page] < right) {
            return false;
        }
    }
    return true;
}

bool
model_can_read(struct model *model, uint64_t address, uint64_t bytes)
{
    return has_right(model, address, bytes, MODEL_READ_ONLY);
}

bool
model_can_write(struct model *model, uint64_t address, uint64_t bytes)
{
    return has_right(model, address, bytes, MODEL_WRITABLE);
}

/* ---- Processes ---- */

bool
model_add_process(struct model *model, uint64_t pid)
{
    struct model_process *const process = calloc(1, sizeof(*process));

    if (process == NULL) {
        return false;
    }
    process->pid = pid;
    process->accessible = true;
    process->next = model->processes;
    model->processes = process;
    return true;
}

struct model_process *
model_find_process(struct model *model, uint64_t pid)
{
    for (struct model_process *p = model->processes; p != NULL; p = p->next) {
        if (p->pid == pid && !p->gone) {
            return p;
        }
    }
    return NULL;
}

/* What was started for it stays so, and never counts again. */
static void
deafen(struct model *model, const struct model_process *process, bool told)
{
    for (struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        if (p->started && p->process == process) {
            p->deaf = true;
            p->told = p->told || told;
            model_reach(model, MODEL_PROCESS_GONE_WHILE_STARTED);
        }
    }
}

void
model_end_process(struct model *model, uint64_t pid)
{
    struct model_process *const process = model_find_process(model, pid);

    if (process != NULL) {
        process->gone = true;
        deafen(model, process, false);
    }
}

void
model_exec(struct model *model, uint64_t pid)
{
    struct model_process *const process = model_find_process(model, pid);

    if (process != NULL) {
        deafen(model, process, true);
    }
}

/* ---- Sources ---- */

bool
model_add_source(struct model *model, const struct model_source *given)
{
    struct model_source *const source = calloc(1, sizeof(*source));

    if (source == NULL) {
        return false;
    }
    *source = *given;
    source->next = model->sources;
    model->sources = source;
    return true;
}

struct model_source *
model_find_source(struct model *model, KPROFILE_SOURCE number)
{
    for (struct model_source *s = model->sources; s != NULL; s = s->next) {
        if (s->number == number) {
            return s;
        }
    }
    return NULL;
}
