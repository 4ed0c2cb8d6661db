/* SPDX-License-Identifier: MIT */
/* hal/perf/settle.c - waits until threads are done with creating others. */
#include "hal/perf/settle.h"
#include "hal/linux/descriptor.h"
#include "hal/linux/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    ENOUGH_NS = 500000, /* far more than the creation of a thread takes */
    PAUSE_MIN_NS = 50000,
    PAUSE_MAX_NS = 5000000,
    WAIT_MIN_NS = 200000000
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool
may_create(uint32_t pid, uint32_t tid)
{
    const char state = perf_procfs_state(pid, tid);

    return state == 'R' || state == 'D';
}

int
perf_settle_add(struct perf_settling *settling, const struct perf_features *features,
                uint32_t pid, uint32_t tid)
{
    const struct perf_event_request nothing = {0};

    if (tid == (uint32_t)syscall(SYS_gettid) || !may_create(pid, tid)) {
        return 0;
    }
    if (settling->count == settling->capacity) {
        const size_t capacity = settling->capacity == 0 ? 16 : settling->capacity * 2;
        struct perf_settler *items =
            realloc(settling->items, capacity * sizeof(*settling->items));

        if (items == NULL) {
            return -ENOMEM;
        }
        settling->items = items;
        settling->capacity = capacity;
    }
    settling->items[settling->count++] = (struct perf_settler){
        .pid = pid,
        .tid = tid,
        .fd = perf_event_open_fd(&nothing, features, (int)tid, -1),
    };
    return 0;
}

static bool
is_settled(const struct perf_settler *thread, const struct perf_features *features)
{
    const struct perf_event event = {.fd = thread->fd};
    struct perf_counts counts;

    perf_event_read_counts(&event, features, &counts);
    return counts.running_ns >= ENOUGH_NS || !may_create(thread->pid, thread->tid);
}

static void
settler_finish(struct perf_settler *thread)
{
    if (thread->fd >= 0) {
        perf_descriptor_close(thread->fd);
    }
}

void
perf_settle_finish(struct perf_settling *settling)
{
    for (size_t i = 0; i < settling->count; i++) {
        settler_finish(&settling->items[i]);
    }
    free(settling->items);
    *settling = (struct perf_settling){0};
}

bool
perf_settle_wait(struct perf_settling *settling, const struct perf_features *features,
                 uint64_t *patience_ns, perf_settle_meanwhile *meanwhile, void *context)
{
    const uint64_t limit_ns = *patience_ns > WAIT_MIN_NS ? *patience_ns : WAIT_MIN_NS;
    const uint64_t begun_ns = now_ns();
    struct timespec pause = {.tv_nsec = PAUSE_MIN_NS};
    uint64_t spent_ns = 0;
    bool all;

    while (settling->count > 0 && spent_ns < limit_ns) {
        size_t kept = 0;

        nanosleep(&pause, NULL);
        if (pause.tv_nsec < PAUSE_MAX_NS / 2) {
            pause.tv_nsec *= 2;
        }
        meanwhile(context);
        for (size_t k = 0; k < settling->count; k++) {
            struct perf_settler *const thread = &settling->items[k];

            if (is_settled(thread, features)) {
                settler_finish(thread);
            } else {
                settling->items[kept++] = *thread;
            }
        }
        settling->count = kept;
        spent_ns = now_ns() - begun_ns;
    }
    *patience_ns -= spent_ns < *patience_ns ? spent_ns : *patience_ns;
    all = settling->count == 0;
    perf_settle_finish(settling);
    return all;
}
