/* SPDX-License-Identifier: MIT */
/* hal/bpf/watch.c - watches, and the hits that come in the stream. */
#include "hal/bpf/watch.h"

#include "hal/perf/descriptor.h"
#include "hal/perf/record.h"
#include "hal/perf/ring.h"
#include "hal/perf/target.h"
#include "hal/perf/wide.h"
#include "ke/profint.h"

#include <errno.h>
#include <ntprof/session.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So long a process that has changed is out of step, more or less; and the first one after a while in which nothing
 * was told. To wake up costs the session more than what it then does, so with bells it sleeps. */
enum { STREAM_MS = 20, QUIET_MS = 50, SLEEP_MS = 250 };

#define UNITS_A_SECOND UINT64_C(10000000)
#define NS_PER_MS INT64_C(1000000)

_Static_assert(offsetof(struct perf_event_mmap_page, data_head) ==
                       offsetof(struct bpf_ring, head) &&
                   offsetof(struct perf_event_mmap_page, data_tail) ==
                       offsetof(struct bpf_ring, tail),
               "heads and tails are where the kernel has them");
_Static_assert(
    sizeof(struct perf_sample) + sizeof(struct perf_sample_registers) ==
            sizeof(struct bpf_noted) &&
        offsetof(struct perf_sample, id) == offsetof(struct bpf_noted, id) &&
        offsetof(struct perf_sample, ip) == offsetof(struct bpf_noted, address) &&
        offsetof(struct perf_sample, pid) == offsetof(struct bpf_noted, pid) &&
        offsetof(struct perf_sample, time_ns) == offsetof(struct bpf_noted, time_ns) &&
        sizeof(struct perf_sample) == offsetof(struct bpf_noted, registers),
    "what is noted is a sample");

static struct bpf_control *
control_of(const struct bpf *bpf)
{
    return bpf_control_of(&bpf->kernel);
}

bool
bpf_is_watched(const struct bpf *bpf, uint32_t pid)
{
    return bpf->stream != NULL && perf_space_find(&bpf->stream->space, pid) != NULL;
}

/* ---- who is known ---- */

static bool
has_ended(uint32_t pid)
{
    struct pollfd descriptor = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                                .events = POLLIN};
    bool ended = false;

    if (descriptor.fd < 0) {
        return true; /* or cannot be told: its hits are noted */
    }
    ended = poll(&descriptor, 1, 0) > 0;
    close(descriptor.fd);
    return ended;
}

/* A hit of a process has come: the next ones need not, once it is in step. Who has ended may have its last
 * hits come yet, and would never be forgotten. */
static void
learn(struct bpf *bpf, uint32_t pid)
{
    struct bpf_table *const table = &bpf->index.table;
    const struct bpf_process *const process = bpf_table_find(table, pid);

    if (pid != 0 && (process == NULL || process->state == 0) && !has_ended(pid)) {
        (void)bpf_table_know(table, pid, bpf_is_watched(bpf, pid),
                             perf_now_ns(bpf->stream));
    }
}

static void
forget(struct bpf *bpf, uint32_t pid)
{
    if (bpf_table_forget(&bpf->index.table, pid)) {
        bpf_kernel_wait(&bpf->kernel); /* before another process has the place */
    }
}

/* ---- what the stream brings ---- */

/* Is it a hit of a process that nobody asked for? See is_elsewhere in profile.bpf.c. */
static bool
is_elsewhere(const struct bpf *bpf, const KE_HIT *hit)
{
    return (control_of(bpf)->watch & BPF_WATCH_EVERYBODY) == 0 &&
           !bpf_is_watched(bpf, (uint32_t)hit->ProcessId) &&
           KiFindProcess(bpf->ke, hit->ProcessId) == NULL &&
           IsListEmpty(&bpf->ke->Global.ProfileListHead);
}

static void
note_elsewhere(struct bpf *bpf, const KE_HIT *hit)
{
    for (uint32_t i = 0; i < bpf->slot_count; i++) {
        if (bpf->slots[i].source->number == hit->Source) {
            bpf->slots[i].elsewhere++;
        }
    }
}

static void
take_hit(void *context, const KE_HIT *hit)
{
    struct bpf *const bpf = context;

    learn(bpf, (uint32_t)hit->ProcessId);
    if (is_elsewhere(bpf, hit)) {
        note_elsewhere(bpf, hit);
        return;
    }
    if (bpf->stream->tells_hits) {
        (void)KiProfileInterruptOrAsk(bpf->ke, hit, perf_tell_hit, bpf->stream);
    } else {
        (void)KeProfileInterruptWithSource(bpf->ke, hit);
    }
    if (KeQueryHalt(bpf->ke, NULL)) {
        /* Of a hit of ours: nothing to be told. */
        (void)__atomic_fetch_add(&control_of(bpf)->halted, 1, __ATOMIC_RELAXED);
    }
}

/* Who is watched is forgotten when its end is told. */
static void
note_exit(void *context, uint32_t pid)
{
    struct bpf *const bpf = context;

    if (!bpf_is_watched(bpf, pid)) {
        forget(bpf, pid);
    }
}

static void
tell(void *context, const ntprof_notification *notification)
{
    struct bpf *const bpf = context;
    struct bpf_table *const table = &bpf->index.table;
    const uint32_t pid = notification->pid;

    if (notification->kind == NTPROF_PROCESS_START) {
        const struct bpf_process *const process = bpf_table_find(table, pid);

        if (process != NULL && process->state != 0) {
            (void)bpf_table_know(table, pid, true, perf_now_ns(bpf->stream));
        }
        bpf->below += pid != 0 && bpf_is_below(bpf, pid);
    }
    bpf->notify(bpf->notify_context, notification);
    if (notification->kind == NTPROF_PROCESS_EXIT) {
        forget(bpf, pid);
    }
}

/* ---- the stream ---- */

static int
map_rings(struct bpf *bpf)
{
    const uint32_t processors = bpf->kernel.processors;
    int fd;

    if (bpf->rings != NULL) {
        return 0;
    }
    fd = bpf_kernel_add_map(&bpf->kernel, BPF_MAP_RINGS, 0, processors, &bpf->rings);
    if (fd < 0) {
        return fd;
    }
    close(fd); /* the mapping and the array of maps hold it */
    return 0;
}

static int
bring_all(struct bpf *bpf)
{
    int result = perf_bring_rings(bpf->stream, bpf->rings, sizeof(struct bpf_ring),
                                  bpf->kernel.processors);

    for (uint32_t i = 0; result == 0 && i < bpf->slot_count; i++) {
        struct perf_source *const source = bpf->slots[i].source;

        result = perf_bring_event(bpf->stream,
                                  bpf_noted_id(bpf_cookie(source->number, i)), source);
    }
    return result;
}

static void
close_stream(struct bpf *bpf)
{
    bpf_bells_finish(&bpf->bells);
    perf_delete(bpf->stream);
    bpf->stream = NULL;
}

/* What all watches have in common, made for the first. */
static int
open_stream(struct bpf *bpf)
{
    struct epoll_event interest = {.events = EPOLLIN};
    int result;

    if (bpf->stream != NULL) {
        return 0;
    }
    result = map_rings(bpf);
    if (result < 0) {
        return bpf_fail(bpf, result, BPF_STAGE_MAP, "while watching");
    }
    result = perf_create(bpf->ke, tell, bpf, true, false, &bpf->stream);
    if (result < 0) {
        return result;
    }
    bpf_bells_init(&bpf->bells, bpf->kernel.processors);
    bpf->guest =
        (struct perf_guest){.context = bpf, .hit = take_hit, .exited = note_exit};
    perf_invite(bpf->stream, &bpf->guest);
    result = bring_all(bpf);
    if (result == 0 &&
        epoll_ctl(bpf->epoll_fd, EPOLL_CTL_ADD, bpf->stream->epoll_fd, &interest) < 0) {
        result = -errno;
    }
    if (result < 0) {
        close_stream(bpf);
        return result;
    }
    if (bpf->bells.items != NULL) {
        (void)epoll_ctl(bpf->epoll_fd, EPOLL_CTL_ADD, bpf->bells.epoll_fd, &interest);
    }
    bpf->mapped_link = perf_descriptor_own(bpf_kernel_attach_mapped(&bpf->kernel));
    return 0;
}

void
bpf_stream_close(struct bpf *bpf)
{
    close_stream(bpf);
    if (bpf->rings != NULL) {
        munmap(bpf->rings, bpf->kernel.processors * sizeof(struct bpf_ring));
        bpf->rings = NULL;
    }
}

/* All up to here has been told: who has not changed since is in step. */
static void
note_told(struct bpf *bpf)
{
    struct bpf_control *const control = control_of(bpf);
    const uint64_t told_ns = bpf->stream->delivered_ns;

    if (told_ns > control->told_ns) {
        __atomic_store_n(&control->told_ns, told_ns, __ATOMIC_RELEASE);
    }
    if (told_ns > bpf->settled_ns) {
        (void)__atomic_fetch_and(&control->watch, ~(ULONG)BPF_WATCH_ALL_HITS,
                                 __ATOMIC_RELAXED);
    }
}

void
bpf_stream_flush(struct bpf *bpf)
{
    if (bpf->stream == NULL || bpf->stream->delivering) {
        return;
    }
    /* A hit from before the call is in its ring when its program has ended. */
    bpf_kernel_wait(&bpf->kernel);
    perf_flush(bpf->stream);
    note_told(bpf);
}

/* ---- sleep ---- */

static bool
has_more(const struct perf *stream)
{
    for (uint32_t i = 0; i < stream->processor_limit; i++) {
        if (stream->rings[i] != NULL && perf_ring_update(stream->rings[i]) != 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < stream->guest_ring_count; i++) {
        if (perf_ring_update(&stream->guest_rings[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Hits that are noted ring no bell, and must not fill a quarter of their ring: how soon they could is known of those
 * that time makes. */
static int
sleep_most_ms(const struct bpf *bpf)
{
    uint64_t hits_a_second = 1;
    uint64_t room_ms;

    for (uint32_t i = 0; i < bpf->slot_count; i++) {
        const struct perf_source *const source = bpf->slots[i].source;

        if (source->unit != NTPROF_UNIT_100NS || source->interval == 0) {
            return QUIET_MS;
        }
        hits_a_second += UNITS_A_SECOND / source->interval;
    }
    room_ms = (uint64_t)BPF_RING_HITS / 4 * 1000 / hits_a_second;
    return room_ms < SLEEP_MS ? (int)room_ms : SLEEP_MS;
}

/*
 * All is delivered, and nothing came lately: as long as that lasts already, the session sleeps, or until a bell rings.
 * So a process that maps data all the time, which only its hits tell, is out of step for a part of that time
 * alone.
 */
static int
fall_asleep(struct bpf *bpf)
{
    const int64_t quiet_ms =
        (int64_t)(bpf->stream->delivered_ns - bpf->stream->last_ns) / NS_PER_MS;
    const int most_ms = sleep_most_ms(bpf);

    if (!bpf_bells_set(&bpf->bells)) {
        return QUIET_MS;
    }
    if (has_more(bpf->stream)) {
        return STREAM_MS; /* it may have come before they were set */
    }
    if (most_ms <= QUIET_MS || quiet_ms <= QUIET_MS) {
        return QUIET_MS;
    }
    return quiet_ms < most_ms ? (int)quiet_ms : most_ms;
}

int
bpf_stream_deliver(struct bpf *bpf)
{
    uint64_t before_ns;

    if (bpf->stream == NULL || bpf->stream->delivering) {
        return -1;
    }
    bpf_bells_silence(&bpf->bells);
    before_ns = bpf->stream->last_ns;
    (void)perf_deliver(bpf->stream);
    note_told(bpf);
    if (bpf->stream->last_ns != before_ns || has_more(bpf->stream)) {
        return STREAM_MS;
    }
    return fall_asleep(bpf);
}

/* ---- watches ---- */

static void
stop_sources(struct bpf *bpf, struct perf_source *const *sources, size_t count,
             const uint64_t *processors, size_t words, uint32_t end)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t n = 0; n < bpf->kernel.processors; n++) {
            const bool is_last = i + 1 == count;

            if (perf_set_holds(processors, words, n) && (!is_last || n < end)) {
                bpf_stop(bpf, sources[i], n);
            }
        }
    }
}

static int
start_sources(struct bpf *bpf, struct perf_source *const *sources, size_t count,
              const uint64_t *processors, size_t words)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t n = 0; n < bpf->kernel.processors; n++) {
            int result;

            if (!perf_set_holds(processors, words, n)) {
                continue;
            }
            result = bpf_want(bpf, sources[i], n);
            if (result < 0) {
                stop_sources(bpf, sources, i + 1, processors, words, n);
                return result;
            }
        }
    }
    return 0;
}

static int
tell_of(struct bpf *bpf, uint32_t pid, uint32_t flags)
{
    static const uint64_t no_processors[1];

    if (pid != 0) {
        return perf_follow(bpf->stream, pid, (flags & NTPROF_WATCH_DESCENDANTS) != 0,
                           (flags & NTPROF_WATCH_ON_EXEC) != 0);
    }
    return perf_watch_all(bpf->stream, NULL, 0, no_processors, 0);
}

/* What the stream said, or what there was too little of before it could. */
static void
explain_stream(struct bpf *bpf, int error)
{
    char reason[256];
    char remedy[256];

    if (bpf->stream != NULL && bpf->stream->error[0] != '\0') {
        snprintf(bpf->error, sizeof(bpf->error), "%s", bpf->stream->error);
        return;
    }
    perf_refusal_explain(error, PERF_SCOPE_PROCESS, reason, sizeof(reason), remedy,
                         sizeof(remedy));
    snprintf(bpf->error, sizeof(bpf->error), "cannot tell of processes: %s%s%s", reason,
             remedy[0] != '\0' ? "; to allow: " : "", remedy);
}

int
bpf_watch(struct bpf *bpf, uint32_t pid, uint32_t flags,
          struct perf_source *const *sources, size_t source_count,
          const uint64_t *processors, size_t processor_words)
{
    struct bpf_control *const control = control_of(bpf);
    bool told_hits;
    ULONG before;
    int result = open_stream(bpf);

    if (result < 0) {
        explain_stream(bpf, result);
        return result;
    }
    told_hits = bpf->stream->tells_hits;
    bpf->stream->tells_hits |= (flags & NTPROF_WATCH_HITS) != 0;
    before = control->watch;
    bpf->settled_ns = UINT64_MAX;
    (void)__atomic_fetch_or(&control->watch,
                            BPF_WATCH_ON | BPF_WATCH_ALL_HITS |
                                (pid == 0 ? BPF_WATCH_EVERYBODY : 0u),
                            __ATOMIC_SEQ_CST);
    /* Hits come when all is told: those of a process that is not yet would be outside. */
    bpf_hold(bpf);
    result = start_sources(bpf, sources, source_count, processors, processor_words);
    if (result < 0) {
        goto restore;
    }
    bpf_stream_flush(bpf);
    result = tell_of(bpf, pid, flags);
    if (result < 0) {
        explain_stream(bpf, result);
        goto stop;
    }
    bpf_release(bpf);
    bpf->settled_ns = perf_now_ns(bpf->stream);
    bpf_bells_ring(&bpf->bells);
    return 0;

stop:
    stop_sources(bpf, sources, source_count, processors, processor_words,
                 bpf->kernel.processors);
restore:
    bpf_release(bpf);
    bpf->stream->tells_hits = told_hits;
    bpf->settled_ns = 0;
    if ((before & BPF_WATCH_EVERYBODY) == 0) {
        (void)__atomic_fetch_and(&control->watch, ~(ULONG)BPF_WATCH_EVERYBODY,
                                 __ATOMIC_RELAXED);
    }
    if ((before & BPF_WATCH_ON) == 0) {
        bpf_stream_flush(bpf);
        __atomic_store_n(&control->watch, 0, __ATOMIC_RELAXED);
    }
    return result;
}
