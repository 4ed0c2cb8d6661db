/* SPDX-License-Identifier: MIT */
/* hal/sim/process.c - the processes of the simulated machine and their images. */
#include "hal/sim/simp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* ---- the list ---- */

struct sim_process *
sim_find_process(const struct sim *sim, uint64_t pid)
{
    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->alive && process->pid == pid) {
            return process;
        }
    }
    return NULL;
}

bool
sim_is_known(const struct sim *sim, uint64_t pid)
{
    for (const struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->pid == pid && !process->end_notified) {
            return true;
        }
    }
    return false;
}

bool
sim_is_ended(const struct sim *sim, uint64_t pid)
{
    for (const struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->pid == pid) {
            return !sim_is_known(sim, pid);
        }
    }
    return false;
}

void
sim_set_end_notified(struct sim *sim, uint64_t pid)
{
    for (struct sim_process *process = sim->processes; process != NULL;
         process = process->next) {
        if (process->pid == pid && !process->alive) {
            process->end_notified = true;
        }
    }
}

bool
sim_has_image_room(const struct sim_process *process)
{
    return process->image_count < SIM_MOST_IMAGES;
}

/* Replace the images by those of another program, at random addresses. */
static void
load_program(struct sim *sim, struct sim_process *process)
{
    static const uint64_t bases[] = {0x555500000000, 0x7F0000000000};

    for (size_t i = 0; i < 2; i++) {
        struct sim_image *const image = &process->images[i];

        *image = (struct sim_image){
            .base = bases[i] + sim_random_below(sim, 0x100000) * PAGE_BYTES,
            .length_bytes = (16 + sim_random_below(sim, 240)) * PAGE_BYTES,
            .file_offset_bytes = PAGE_BYTES,
        };
        snprintf(image->name, sizeof(image->name),
                 i == 0 ? "/sim/bin/program-%u" : "/sim/lib/library-%u",
                 (unsigned)sim_random_below(sim, 4));
    }
    process->image_count = 2;
    snprintf(process->name, sizeof(process->name), "%s",
             strrchr(process->images[0].name, '/') + 1);
}

/* Add a process without images. Returns NULL if memory runs out. */
static struct sim_process *
make_process(struct sim *sim, uint64_t pid)
{
    struct sim_process *const process = calloc(1, sizeof(*process));

    if (process != NULL) {
        process->pid = pid;
        process->alive = true;
        process->next = sim->processes;
        sim->processes = process;
    }
    return process;
}

struct sim_process *
sim_adopt_process(struct sim *sim, uint64_t pid)
{
    struct sim_process *process = sim_find_process(sim, pid);

    if (process == NULL) {
        process = make_process(sim, pid);
        if (process != NULL) {
            load_program(sim, process);
            process->start_pending = sim->all != NULL; /* the watch of all covers it */
        }
    }
    return process;
}

void
sim_add_process(struct sim *sim, uint64_t pid)
{
    (void)sim_adopt_process(sim, pid);
    sim_notify_pending_starts(sim);
}

bool
sim_is_watched(const struct sim *sim, const struct sim_process *process)
{
    return process->watch != NULL || (sim->all != NULL && !process->start_pending);
}

/* ---- notifications ---- */

/* Notify that a watched process mapped or unmapped an image. */
static void
notify_image(struct sim *sim, const struct sim_process *process, uint32_t kind,
             const struct sim_image *image)
{
    ntprof_notification notification = {
        .kind = kind,
        .pid = (uint32_t)process->pid,
        .tid = (uint32_t)process->pid,
        .base = image->base,
        .length = image->length_bytes,
        .file_offset = image->file_offset_bytes,
        .device_major = 1,
        /* By folder and last character, of names that begin with "/sim/":
         * /sim/lib/library-N and /sim/lib/plugin-N share a number. */
        .inode = sim_hash_add(0, (uint64_t)image->name[5] << 8 |
                                     (uint64_t)image->name[strlen(image->name) - 1]),
    };

    if (sim_is_watched(sim, process)) {
        sim_push_notification(sim, &notification, image->name);
    }
}

/* If a process is watched, notify of its start, exec or exit. parent: of a start. */
static void
notify_process(struct sim *sim, const struct sim_process *process, uint32_t kind,
               uint64_t parent)
{
    ntprof_notification notification = {
        .kind = kind,
        .pid = (uint32_t)process->pid,
        .parent_pid = (uint32_t)parent,
        .tid = (uint32_t)process->pid,
    };

    if (sim_is_watched(sim, process)) {
        sim_push_notification(sim, &notification, process->name);
    }
}

/* If a process is watched, notify that each of its images was mapped or unmapped. */
static void
notify_images(struct sim *sim, const struct sim_process *process, uint32_t kind)
{
    for (uint32_t i = 0; i < process->image_count; i++) {
        notify_image(sim, process, kind, &process->images[i]);
    }
}

void
sim_notify_start(struct sim *sim, struct sim_process *process, uint64_t parent)
{
    notify_process(sim, process, NTPROF_PROCESS_START, parent);
    notify_images(sim, process, NTPROF_IMAGE_MAP);
}

/* ---- what processes do ---- */

/* Remove the images that a new one overlaps. */
static void
unmap_overlapped(struct sim *sim, struct sim_process *process,
                 const struct sim_image *image)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < process->image_count; i++) {
        const struct sim_image old = process->images[i];

        if (old.base - image->base < image->length_bytes ||
            image->base - old.base < old.length_bytes) {
            notify_image(sim, process, NTPROF_IMAGE_UNMAP, &old);
        } else {
            process->images[kept++] = old;
        }
    }
    process->image_count = kept;
}

void
sim_map(struct sim *sim, uint64_t pid, const struct sim_image *image)
{
    struct sim_process *const process = sim_find_process(sim, pid);

    if (process == NULL) {
        return;
    }
    unmap_overlapped(sim, process, image);
    if (sim_has_image_room(process)) {
        process->images[process->image_count++] = *image;
        notify_image(sim, process, NTPROF_IMAGE_MAP, image);
    }
}

void
sim_fork(struct sim *sim, uint64_t parent_pid, uint64_t child_pid)
{
    struct sim_process *const parent = sim_find_process(sim, parent_pid);
    struct sim_process *child;

    if (parent == NULL || sim_find_process(sim, child_pid) != NULL) {
        return;
    }
    child = make_process(sim, child_pid);
    if (child == NULL) {
        return;
    }
    child->image_count = parent->image_count;
    memcpy(child->images, parent->images, sizeof(child->images));
    memcpy(child->name, parent->name, sizeof(child->name));
    child->generation = parent->generation + 1;
    parent->children++;
    if (parent->watch != NULL && parent->watch->descendants) {
        child->watch = parent->watch;
        child->watch->processes++;
    }
    sim_notify_start(sim, child, parent_pid);
}

/* Notify of the exec of a process that is not watched, but that profiles were started
 * for: their addresses mean nothing in the new program. */
static void
notify_unwatched_exec(struct sim *sim, uint64_t pid)
{
    ntprof_notification notification = {
        .kind = HAL_UNWATCHED_EXEC,
        .pid = (uint32_t)pid,
    };

    sim_push_notification(sim, &notification, "");
}

/* For a process that is watched from its exec on, notify of its start; of others that
 * the old images are unmapped. */
void
sim_exec(struct sim *sim, uint64_t pid)
{
    struct sim_process *const process = sim_find_process(sim, pid);
    bool begins;

    if (process == NULL) {
        return;
    }
    begins = process->waits_for_exec;
    process->waits_for_exec = false;
    if (begins) {
        notify_process(sim, process, NTPROF_PROCESS_START, 0);
    } else {
        notify_images(sim, process, NTPROF_IMAGE_UNMAP);
    }
    if (!sim_is_watched(sim, process) && sim_has_starts(sim, pid)) {
        notify_unwatched_exec(sim, pid);
    }
    load_program(sim, process);
    notify_process(sim, process, NTPROF_PROCESS_EXEC, 0);
    notify_images(sim, process, NTPROF_IMAGE_MAP);
}

void
sim_exit(struct sim *sim, uint64_t pid)
{
    struct sim_process *const process = sim_find_process(sim, pid);

    if (process == NULL) {
        return;
    }
    process->alive = false;
    process->end_notified = !sim_is_watched(sim, process) || process->waits_for_exec;
    sim_make_starts_stale(sim, pid);
    if (!process->end_notified) {
        notify_images(sim, process, NTPROF_IMAGE_UNMAP);
        notify_process(sim, process, NTPROF_PROCESS_EXIT, 0);
    }
    sim_release_watch(sim, process);
}

const struct sim_image *
sim_image_of(struct sim *sim, uint64_t pid, size_t index)
{
    const struct sim_process *const process = sim_find_process(sim, pid);

    return process != NULL && index < process->image_count ? &process->images[index]
                                                           : NULL;
}
