/* SPDX-License-Identifier: MIT */
/*
 * jit.c - remembers where the perf maps of processes are, and keeps them open.
 *
 * A JIT usually creates its perf map shortly before or after it maps its first code, so
 * searches for the file come soon at first and then every second. A map that is found
 * stays open as long as the image of its process exists: by O_PATH, since closing any
 * other descriptor may wait for its file system.
 */
#include "record/collect/jit.h"

#include "base/time_limit.h"
#include "record/collect/jit_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Time from the first to the second search for a perf map: JITs create it within
 * milliseconds. It doubles with each further search, up to its limit. */
static const uint64_t wait_first_ns = 5000000;
static const uint64_t wait_most_ns = 1000000000;

void
jits_finish(struct jits *jits)
{
    roots_finish(&jits->folders);
}

void
jit_init(struct jit *jit)
{
    *jit = (struct jit){.target = {.folder = -ESRCH}, .map = -1};
}

void
jit_finish(struct jit *jit)
{
    if (jit->map >= 0) {
        close(jit->map);
        __atomic_fetch_sub(&jit->jits->maps_open, 1, __ATOMIC_RELAXED);
        jit->map = -1;
    }
}

void
jit_remember(struct jits *jits, struct jit *jit, uint32_t pid,
             const uint32_t *ancestors, size_t count, uint64_t now_ns)
{
    uint32_t pids[JIT_FILE_PIDS_MAX] = {pid};
    struct sym_perf_target target;
    struct root folder;
    size_t pid_count = 1;
    uint64_t key;
    int error;

    for (size_t i = 0; i < count && pid_count < JIT_FILE_PIDS_MAX; i++) {
        pids[pid_count++] = ancestors[i];
    }
    key = jit_file_key(pids, pid_count);
    error = jit_file_read_target(key, pids, pid_count, &target, &folder);
    jit->late = error == -ETIMEDOUT;
    if (error != 0) {
        return;
    }
    if (folder.fd >= 0) {
        const int kept = roots_keep(&jits->folders, &folder);

        target.folder = kept < 0 ? -EMFILE : kept;
    }
    jit_finish(jit);
    *jit = (struct jit){.jits = jits,
                        .key = key,
                        .target = target,
                        .known = true,
                        .map = -1,
                        .next_ns = now_ns,
                        .wait_ns = wait_first_ns};
    jit_find_map(jit, pid, now_ns);
}

/* Take over found->path_fd, the O_PATH descriptor of a perf map, if there is one, and
 * keep it instead of the previous one, unless too many are open. */
static void
keep_map(struct jit *jit, const struct jit_file *found)
{
    struct jits *const jits = jit->jits;

    if (found->path_fd < 0) {
        return;
    }
    if (jit->map >= 0 && jit->map_device == found->file.device &&
        jit->map_inode == found->file.inode) {
        close(found->path_fd);
        return;
    }
    jit_finish(jit);
    if (__atomic_fetch_add(&jits->maps_open, 1, __ATOMIC_RELAXED) < jits->maps_max) {
        jit->map = found->path_fd;
        jit->map_device = found->file.device;
        jit->map_inode = found->file.inode;
    } else {
        __atomic_fetch_sub(&jits->maps_open, 1, __ATOMIC_RELAXED);
        close(found->path_fd);
    }
}

/* Open the perf map of a process whose sym_perf_target was read, and keep it open.
 * Returns 0 or a negative errno. */
static int
open_known(struct jit *jit, uint32_t pid, struct sym_perf_file *file)
{
    struct jit_file found = {.pid = pid, .target = jit->target, .kept = jit->map};
    const int error = jit_file_open(jit->key, &found);

    jit->target.uid = found.target.uid;
    jit->target.root_uid = found.target.root_uid;
    if (error == 0) {
        keep_map(jit, &found);
        *file = found.file;
    }
    return error;
}

static bool
has_exited(uint32_t pid)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
    return access(path, F_OK) != 0;
}

void
jit_find_map(struct jit *jit, uint32_t pid, uint64_t now_ns)
{
    struct jits *const jits = jit->jits;
    struct sym_perf_file file;

    if (!jit->known || jit->settled) {
        return;
    }
    if (now_ns >= jit->next_ns) {
        if (open_known(jit, pid, &file) == 0) {
            jit_close(jit, &file);
            jit->settled = true;
        } else {
            jit->settled = has_exited(pid);
        }
        jit->next_ns = now_ns + jit->wait_ns;
        jit->wait_ns *= 2;
        jit->wait_ns = jit->wait_ns < wait_most_ns ? jit->wait_ns : wait_most_ns;
    }
    if (!jit->settled && jit->next_ns < jits->next_ns) {
        jits->next_ns = jit->next_ns;
    }
}

void
jit_take(struct jit *jit, struct jit *taken)
{
    if (jit->map >= 0) {
        jit_finish(taken);
        taken->map = jit->map;
        taken->map_device = jit->map_device;
        taken->map_inode = jit->map_inode;
        jit->map = -1;
    }
    taken->jits = jit->jits;
    taken->key = jit->key;
    taken->late = jit->late;
    taken->target = jit->target;
    taken->known = jit->known;
}

/* Return the key under which calls may wait for our own /tmp (base/time_limit.h). */
static uint64_t
own_key(void)
{
    const uint32_t pid = (uint32_t)getpid();

    return jit_file_key(&pid, 1);
}

/* Open the perf map of a process that exited before its sym_perf_target was read, as a
 * file of our own /tmp. Returns 0 or a negative errno. */
static int
open_guessed(uint32_t pid, struct sym_perf_file *file)
{
    struct jit_file found = {
        .pid = pid, .guessed = true, .target = {.folder = -ESRCH}, .kept = -1};
    const int error = jit_file_open(own_key(), &found);

    if (error == 0) {
        *file = found.file;
        if (found.path_fd >= 0) {
            close(found.path_fd);
        }
    }
    /* That this /tmp has no map now says nothing about the process's. */
    return error == -ENOENT ? -ESRCH : error;
}

int
jit_open(struct jit *jit, uint32_t pid, struct sym_perf_file *file)
{
    if (jit->known) {
        return open_known(jit, pid, file);
    }
    return jit->late ? -ETIMEDOUT : open_guessed(pid, file);
}

void
jit_close(const struct jit *jit, const struct sym_perf_file *file)
{
    time_limit_close(jit->known ? jit->key : own_key(), file->fd);
}
