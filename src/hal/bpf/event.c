/* SPDX-License-Identifier: MIT */
/* hal/bpf/event.c - events of all processes: opening, closing, intervals, and what they
 * counted. */
#include "hal/bpf/bpf.h"

#include "hal/linux/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <ntprof/session.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* Nothing optional: the events have no rings, so nothing can be lost in one. */
static const struct perf_features no_features;

/* ---- one event ---- */

/* Open an event, not enabled yet, of all processes, or with cgroup_fd of those in the
 * cgroup. Returns the descriptor or negative errno. */
static int
open_disabled(const struct perf_source *source, bool with_kernel, int processor,
              int cgroup_fd)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .exclude_hv = 1,
        .exclude_kernel = !with_kernel,
    };

    perf_source_attr(source, &attr);
    return perf_call_event_open(&attr, cgroup_fd, processor, cgroup_fd >= 0);
}

/* Make the cookie by which the program knows of which source a hit is. For a breakpoint
 * BPF_COOKIE_LINEAR in it says that the hit is at the address of the event. */
static uint64_t
make_cookie(const struct perf_source *source, uint32_t slot)
{
    const uint64_t linear =
        source->type == PERF_TYPE_BREAKPOINT ? BPF_COOKIE_LINEAR : 0;

    return bpf_cookie(source->number, slot) | linear;
}

/* While the session has one source, store the cookie of all its events for the
 * programs, which read it faster there than from the kernel. With several sources the
 * cookies differ. */
static void
publish_cookie(struct bpf *bpf, uint64_t cookie)
{
    const uint64_t one = bpf->slot_count == 1 ? cookie | BPF_COOKIE_ONE : 0;

    __atomic_store_n(&bpf_control_of(&bpf->kernel)->one_cookie, one, __ATOMIC_RELEASE);
}

/* Have a heartbeat (struct bpf) on the processor. Returns 0 or negative errno. */
static int
heartbeat_open(struct bpf *bpf, uint32_t processor)
{
    const struct perf_event_request only_time = {0};
    struct perf_event *const heartbeat = &bpf->heartbeats[processor];

    if (heartbeat->fd < 0) {
        const int fd = perf_event_open_fd(&only_time, &no_features, -1, (int)processor);

        if (fd < 0) {
            return fd;
        }
        *heartbeat = (struct perf_event){.fd = fd};
    }
    return 0;
}

/* Open an event whose hits run the program, not yet enabled. *event is unchanged on
 * failure; the heartbeat stays open until the session ends. */
static int
event_open(struct bpf *bpf, uint32_t slot, uint32_t processor, struct bpf_event *event)
{
    struct perf_source *const source = bpf->slots[slot].source;
    const uint64_t cookie = make_cookie(source, slot);
    enum bpf_stage stage = BPF_STAGE_EVENT;
    int result;
    int fd;

    assert(event->event.fd < 0 && slot < bpf->slot_count);
    fd = open_disabled(source, source->kernel_included, (int)processor,
                       bpf->context.cgroup_fd);
    if (fd < 0) {
        return bpf_fail(bpf, fd, stage, source->name);
    }
    result = heartbeat_open(bpf, processor);
    if (result == 0) {
        publish_cookie(bpf, cookie);
        stage = BPF_STAGE_ATTACH;
        result = bpf_kernel_attach_event(&bpf->kernel, fd, cookie);
    }
    if (result < 0) {
        perf_descriptor_close(fd);
        return bpf_fail(bpf, result, stage, source->name);
    }
    event->link = perf_descriptor_own(result);
    event->event = (struct perf_event){
        .fd = fd, .reports_silence = source->unit == NTPROF_UNIT_100NS};
    return 0;
}

/* Stop an event; what it has counted can still be read. */
static void
event_disable(const struct bpf_event *event)
{
    (void)ioctl(event->event.fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Lets an open event count from now on. */
static void
event_begin(struct bpf *bpf, uint32_t slot, const struct bpf_event *event)
{
    bpf->slots[slot].source->tally.instances++;
    if (!bpf->frozen) {
        (void)ioctl(event->event.fd, PERF_EVENT_IOC_ENABLE, 0);
    }
}

/* Closes an event and keeps what it has counted. */
static void
event_close(struct bpf *bpf, uint32_t slot, struct bpf_event *event)
{
    struct perf_counts counts;

    event_disable(event);
    perf_event_read_counts(&event->event, &no_features, &counts);
    perf_tally_add(&bpf->slots[slot].source->tally, &counts);
    perf_descriptor_close(event->link);
    perf_descriptor_close(event->event.fd);
    event->event.fd = -1;
    event->link = -1;
}

int
bpf_try_attach(const struct bpf *bpf, struct perf_refusal *refusal)
{
    const int fd = open_disabled(perf_sources_find(&bpf->context.sources, ProfileTime),
                                 bpf->context.kernel, PERF_ANY_ONLINE, -1);
    int link;

    if (fd < 0) {
        bpf_refusal_explain(fd, BPF_STAGE_EVENT, refusal);
        return fd;
    }
    link = bpf_kernel_attach_event(&bpf->kernel, fd, 0);
    perf_descriptor_close(fd);
    if (link < 0) {
        bpf_refusal_explain(link, BPF_STAGE_ATTACH, refusal);
        return link;
    }
    perf_descriptor_close(perf_descriptor_own(link));
    return 0;
}

/* ---- starts and stops ---- */

/* Return the source's slot; bpf->slot_count if it has none. */
static uint32_t
find_slot(const struct bpf *bpf, const struct perf_source *source)
{
    uint32_t slot = 0;

    while (slot < bpf->slot_count && bpf->slots[slot].source != source) {
        slot++;
    }
    return slot;
}

/* Find the source's slot, or give it the next one. Returns 0, -ENOSPC if all slots are
 * in use, or -ENOMEM. */
static int
take_slot(struct bpf *bpf, struct perf_source *source, uint32_t *slot)
{
    struct bpf_event *events;

    *slot = find_slot(bpf, source);
    if (*slot < bpf->slot_count) {
        return 0;
    }
    if (*slot == BPF_SLOTS) {
        return -ENOSPC;
    }
    events = calloc(bpf->kernel.processors, sizeof(*events));
    if (events == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        events[i] = (struct bpf_event){.event.fd = -1, .link = -1};
    }
    bpf->slots[*slot] = (struct bpf_slot){.source = source, .events = events};
    bpf->slot_count++;
    return 0;
}

int
bpf_start(struct bpf *bpf, struct perf_source *source, uint32_t processor)
{
    struct bpf_event *event;
    uint32_t slot = 0;
    int result;

    result = perf_context_require(&bpf->context, source); /* may it be counted? */
    if (result < 0) {
        return result;
    }
    result =
        processor < bpf->kernel.processors ? take_slot(bpf, source, &slot) : -ENODEV;
    if (result < 0) {
        return bpf_fail(bpf, result, BPF_STAGE_EVENT, source->name);
    }
    event = &bpf->slots[slot].events[processor];
    if (event->event.fd < 0) {
        result = event_open(bpf, slot, processor, event);
        if (result < 0) {
            return result;
        }
        event_begin(bpf, slot, event);
    }
    bpf->started_events += event->users == 0;
    event->users++;
    return 0;
}

void
bpf_stop(struct bpf *bpf, const struct perf_source *source, uint32_t processor)
{
    const uint32_t slot = find_slot(bpf, source);
    struct bpf_event *event;

    assert(slot < bpf->slot_count && processor < bpf->kernel.processors);
    event = &bpf->slots[slot].events[processor];
    assert(event->users > 0 && bpf->started_events > 0);
    event->users--;
    if (event->users > 0) {
        return;
    }
    bpf->started_events--;
    if (event->event.fd >= 0) {
        event_close(bpf, slot, event);
        bpf_kernel_wait(&bpf->kernel);
    }
}

/* Disables the events of a slot that are open. */
static void
disable_all(const struct bpf *bpf, uint32_t slot)
{
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        if (bpf->slots[slot].events[i].event.fd >= 0) {
            event_disable(&bpf->slots[slot].events[i]);
        }
    }
}

void
bpf_freeze(void *context)
{
    struct bpf *const bpf = context;

    bpf->frozen = true;
    for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
        disable_all(bpf, slot);
    }
    bpf_kernel_wait(&bpf->kernel);
}

/* ---- counts ---- */

/* Add up what the source's open events counted in this period. */
static void
sum_counts(struct bpf *bpf, uint32_t slot, enum perf_period period,
           struct perf_counts *sum)
{
    *sum = (struct perf_counts){0};
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        perf_event_add_counts(&bpf->slots[slot].events[i].event, &no_features, period,
                              sum);
    }
}

void
bpf_query_hits(struct bpf *bpf, const struct perf_source *source, uint64_t *counted,
               uint64_t *outside)
{
    const uint32_t slot = find_slot(bpf, source);
    struct bpf_statistics statistics = {0};

    if (slot < bpf->slot_count) {
        sum_counts(bpf, slot, PERF_PERIOD_CONTINUES, &bpf->slots[slot].last_read);
        bpf_index_query(&bpf->index, slot, &statistics);
        bpf->slots[slot].outside_kernel = statistics.outside_kernel;
    }
    *counted = statistics.counted;
    *outside = statistics.outside;
}

struct perf_counts
bpf_open_counts(const struct bpf *bpf, const struct perf_source *source)
{
    const uint32_t slot = find_slot(bpf, source);

    return slot < bpf->slot_count ? bpf->slots[slot].last_read
                                  : (struct perf_counts){0};
}

uint64_t
bpf_outside_kernel(const struct bpf *bpf, const struct perf_source *source)
{
    const uint32_t slot = find_slot(bpf, source);

    return slot < bpf->slot_count ? bpf->slots[slot].outside_kernel : 0;
}

/* ---- intervals ---- */

/* Closes an event that is open, and opens it again with the source's interval. If that
 * is refused, nothing counts on the processor until bpf_renew can open it: unless the
 * processor is offline, this is reported once. */
static void
event_renew(struct bpf *bpf, uint32_t slot, uint32_t processor)
{
    struct bpf_event *const event = &bpf->slots[slot].events[processor];
    bool unopened;
    int result;

    if (event->event.fd >= 0) {
        event_close(bpf, slot, event);
    }
    result = event_open(bpf, slot, processor, event);
    if (result == 0) {
        event_begin(bpf, slot, event);
    }
    unopened = result < 0 && result != -ENODEV;
    bpf->unread += unopened && !event->unopened;
    event->unopened = unopened;
    bpf->context.error[0] = 0; /* the caller did not ask for it */
}

void
bpf_set_interval(struct bpf *bpf, struct perf_source *source, uint64_t interval)
{
    const uint32_t slot = find_slot(bpf, source);
    const uint64_t allowed = perf_source_ask_interval(source, interval);
    struct perf_counts counts;

    if (allowed == source->interval || slot == bpf->slot_count) {
        source->interval = allowed;
        return;
    }
    disable_all(bpf, slot);
    sum_counts(bpf, slot, PERF_PERIOD_ENDS, &counts);
    perf_tally_close_period(&source->tally, &counts, perf_source_period(source),
                            source->unit == NTPROF_UNIT_100NS);
    source->interval = allowed;
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        if (bpf->slots[slot].events[i].event.fd >= 0) {
            event_renew(bpf, slot, i);
        }
    }
}

/* ---- processors that go offline and online ---- */

/* Was the processor online all the time since the last call? If not, its heartbeat is
 * closed. */
static bool
heartbeat_grows(struct bpf *bpf, uint32_t processor)
{
    struct perf_event *const heartbeat = &bpf->heartbeats[processor];

    if (heartbeat->fd < 0) {
        return false;
    }
    if (perf_event_grows(heartbeat, &no_features)) {
        return true;
    }
    perf_descriptor_close(heartbeat->fd);
    heartbeat->fd = -1;
    return false;
}

void
bpf_renew(struct bpf *bpf)
{
    for (uint32_t i = 0; !bpf->frozen && i < bpf->kernel.processors; i++) {
        const bool was_online = heartbeat_grows(bpf, i);

        for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
            const struct bpf_event *const event = &bpf->slots[slot].events[i];

            if (event->users != 0 && (!was_online || event->event.fd < 0)) {
                event_renew(bpf, slot, i);
            }
        }
    }
}
