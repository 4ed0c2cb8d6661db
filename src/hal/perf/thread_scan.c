/* SPDX-License-Identifier: MIT */
/* hal/perf/thread_scan.c - finds all threads of running processes while events are
 * opened on them. */
#include "hal/perf/thread_scan.h"

#include "hal/linux/array.h"
#include "hal/linux/descriptor.h"
#include "hal/linux/stream.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ENOUGH_NS = 500000,   /* far more than clone() runs */
    PAUSE_MIN_NS = 50000, /* pauses double up to the maximum */
    PAUSE_MAX_NS = 5000000
};

/* May a thread be inside clone()? One that sleeps interruptibly is not. */
static bool
may_be_in_clone(uint32_t pid, uint32_t tid)
{
    const char state = perf_procfs_state(pid, tid);

    return state == 'R' || state == 'D';
}

/* Have running_wait wait for this thread, unless it is the calling one. Returns 0 or
 * -ENOMEM. */
static int
running_add(struct perf_thread_scan *scan, const struct perf_features *features,
            uint32_t pid, uint32_t tid)
{
    const struct perf_event_request nothing = {0};
    struct perf_running_thread *running;

    if (tid == (uint32_t)syscall(SYS_gettid) || !may_be_in_clone(pid, tid)) {
        return 0;
    }
    running = perf_array_grow(scan->running, scan->running_count, sizeof(*running));
    if (running == NULL) {
        return -ENOMEM;
    }
    scan->running = running;
    scan->running[scan->running_count++] = (struct perf_running_thread){
        .pid = pid,
        .tid = tid,
        .fd = perf_event_open_fd(&nothing, features, (int)tid, -1),
    };
    return 0;
}

/* Has a thread left the clone() that it may have been in when its events were opened? A
 * thread that sleeps has, and one that has run for longer than any clone() takes. */
static bool
has_left_clone(const struct perf_running_thread *thread,
               const struct perf_features *features)
{
    const struct perf_event event = {.fd = thread->fd};
    struct perf_counts counts;

    perf_event_read_counts(&event, features, &counts);
    return counts.running_ns >= ENOUGH_NS || !may_be_in_clone(thread->pid, thread->tid);
}

/* Remove from running the threads that have left clone(); if features is NULL, all. */
static void
running_drop(struct perf_thread_scan *scan, const struct perf_features *features)
{
    size_t kept = 0;

    for (size_t i = 0; i < scan->running_count; i++) {
        const struct perf_running_thread *const thread = &scan->running[i];

        if (features != NULL && !has_left_clone(thread, features)) {
            scan->running[kept++] = *thread;
        } else {
            perf_descriptor_close(thread->fd);
        }
    }
    scan->running_count = kept;
}

/* Wait until no thread of this round can still be in a clone() that it entered before
 * its events were opened, or until the deadline. */
static void
running_wait(struct perf_thread_scan *scan, const struct perf_features *features)
{
    uint64_t pause_ns = PAUSE_MIN_NS;

    while (scan->running_count > 0 && perf_elapsed_ns() < scan->deadline_ns) {
        scan->pause(scan->pause_context, pause_ns);
        if (pause_ns < PAUSE_MAX_NS / 2) {
            pause_ns *= 2;
        }
        running_drop(scan, features);
    }
    scan->incomplete = scan->incomplete || scan->running_count > 0;
    running_drop(scan, /* features */ NULL);
}

/* Note in scan->incomplete whether a listing, which returned result, was incomplete.
 * Returns 0, also for an exited process, or negative errno. */
static int
note_listing(struct perf_thread_scan *scan, int result)
{
    scan->incomplete = scan->incomplete || result > 0;
    return result > 0 || result == -ESRCH ? 0 : result;
}

/* Add the children of a process to the processes of the scan. */
static int
add_children(struct perf_thread_scan *scan, uint32_t pid)
{
    struct perf_tids children = {0};
    int result = note_listing(scan, perf_procfs_children(pid, &children));

    for (size_t i = 0; result == 0 && i < children.count; i++) {
        if (!perf_tids_contain(&scan->pids, children.items[i])) {
            result = perf_tids_add(&scan->pids, children.items[i]);
        }
    }
    perf_tids_finish(&children);
    return result;
}

/* Pass a thread to the caller. Returns 0 or negative errno. One that has exited is no
 * error: what it created before is listed by the next round. */
static int
pass_thread(struct perf_thread_scan *scan, const struct perf_features *features,
            uint32_t pid, uint32_t tid, bool late, perf_thread_found *found,
            void *context)
{
    int result = found(context, tid, late);

    if (result == -ESRCH) {
        /* An exited main thread is listed until the others have exited: it must not be
         * new in each round. */
        return perf_procfs_state(pid, tid) == 'Z'
                   ? perf_idmap_put(&scan->done, tid, scan)
                   : 0;
    }
    if (result == 0) {
        result = perf_idmap_put(&scan->done, tid, scan);
    }
    if (result == 0) {
        result = running_add(scan, features, pid, tid);
    }
    return result;
}

/* Call found for the new threads of a process. Returns their number, or negative
 * errno. */
static int
scan_process(struct perf_thread_scan *scan, const struct perf_features *features,
             uint32_t pid, bool late, perf_thread_found *found, void *context)
{
    struct perf_tids tids = {0};
    int result = note_listing(scan, perf_procfs_threads(pid, &tids));
    int new_threads = 0;

    for (size_t i = 0; result == 0 && i < tids.count; i++) {
        if (perf_idmap_find(&scan->done, tids.items[i]) == NULL) {
            result =
                pass_thread(scan, features, pid, tids.items[i], late, found, context);
            new_threads++; /* also if it exited: it may have created others */
        }
    }
    perf_tids_finish(&tids);
    return result < 0 ? result : new_threads;
}

int
perf_thread_scan_round(struct perf_thread_scan *scan,
                       const struct perf_features *features, bool first,
                       perf_thread_found *found, void *context)
{
    const size_t first_pids = scan->pids.count;
    int new_threads = 0;

    scan->incomplete = false;
    for (size_t i = 0; i < scan->pids.count; i++) {
        const uint32_t pid = scan->pids.items[i];
        /* Processes that this round adds are children of others, whose events they may
         * have inherited. */
        const bool late = !first || i >= first_pids;
        int result = scan_process(scan, features, pid, late, found, context);

        if (result >= 0) {
            new_threads += result;
            result = scan->follow ? add_children(scan, pid) : 0;
        }
        if (result < 0) {
            running_drop(scan, /* features */ NULL);
            return result;
        }
    }
    running_wait(scan, features);
    return new_threads;
}

void
perf_thread_scan_reset(struct perf_thread_scan *scan)
{
    running_drop(scan, /* features */ NULL);
    perf_idmap_finish(&scan->done);
}

void
perf_thread_scan_finish(struct perf_thread_scan *scan)
{
    perf_thread_scan_reset(scan);
    free(scan->running);
    perf_tids_finish(&scan->pids);
    *scan = (struct perf_thread_scan){0};
}
