/* SPDX-License-Identifier: MIT */
/* hal/bpf/event.c - events of all processes: opening, closing, intervals, and what they
 * counted. */
#include "hal/bpf/bpf.h"

#include "hal/linux/descriptor.h"
#include "hal/linux/event.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <ntprof/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What read() gives. */
struct reading {
    uint64_t value;
    uint64_t enabled_ns;
    uint64_t running_ns;
};

/* ---- one event ---- */

/* Disabled; of all processes, or with cgroup_fd of those in the cgroup. Returns the
 * descriptor or negative errno. */
static int
open_disabled(const struct perf_source *source, bool with_kernel, uint32_t processor,
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
    return perf_call_event_open(&attr, cgroup_fd, (int)processor, cgroup_fd >= 0);
}

static bool
read_event(const struct bpf_event *event, struct reading *reading)
{
    return event->fd >= 0 &&
           read(event->fd, reading, sizeof(*reading)) == (ssize_t)sizeof(*reading);
}

static void
read_counts(const struct bpf_event *event, struct perf_counts *counts)
{
    struct reading reading = {0};

    *counts = (struct perf_counts){0};
    if (!read_event(event, &reading)) {
        return;
    }
    counts->events = reading.value - event->base.events;
    counts->running_ns = reading.running_ns - event->base.running_ns;
}

/* An execution breakpoint's hits are at its address. */
static uint64_t
cookie_of(const struct perf_source *source, uint32_t slot)
{
    const uint64_t linear =
        source->type == PERF_TYPE_BREAKPOINT ? BPF_COOKIE_LINEAR : 0;

    return bpf_cookie(source->number, slot) | linear;
}

/* Before an event with a cookie can hit. Slots stay, so there is no way back to one. */
static void
tell_one_cookie(struct bpf *bpf, uint64_t cookie)
{
    const uint64_t one = bpf->slot_count == 1 ? cookie | BPF_COOKIE_ONE : 0;

    __atomic_store_n(&bpf_control_of(&bpf->kernel)->one_cookie, one, __ATOMIC_RELEASE);
}

/* Time alone is counted, and nothing sampled. */
static void
witness_open(struct bpf *bpf, uint32_t processor)
{
    struct bpf_event *const witness = &bpf->witnesses[processor];
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    if (bpf->cgroup_fd >= 0 && witness->fd < 0) {
        witness->fd = perf_call_event_open(&attr, -1, (int)processor, false);
        witness->enabled_ns = 0;
    }
}

/* Opens an event whose hits run the program, not yet enabled. */
static int
event_open(struct bpf *bpf, uint32_t slot, uint32_t processor, struct bpf_event *event)
{
    const struct perf_source *const source = bpf->slots[slot].source;
    const uint64_t cookie = cookie_of(source, slot);
    int link;
    int fd;

    fd = open_disabled(source, source->kernel_included, processor, bpf->cgroup_fd);
    if (fd < 0) {
        return bpf_fail(bpf, fd, BPF_STAGE_EVENT, source->name);
    }
    witness_open(bpf, processor);
    tell_one_cookie(bpf, cookie);
    link = bpf_kernel_attach_event(&bpf->kernel, fd, cookie);
    if (link < 0) {
        perf_descriptor_close(fd);
        return bpf_fail(bpf, link, BPF_STAGE_ATTACH, source->name);
    }
    event->fd = fd;
    event->link = perf_descriptor_own(link);
    event->base = (struct perf_counts){0};
    event->enabled_ns = 0;
    return 0;
}

static void
event_run(const struct bpf *bpf, const struct bpf_event *event)
{
    if (!bpf->frozen) {
        (void)ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
    }
}

static void
event_enable(struct bpf *bpf, uint32_t slot, const struct bpf_event *event)
{
    bpf->slots[slot].source->tally.instances++;
    bpf->open_events++;
    event_run(bpf, event);
}

/* Closes an event when it counts no more, and keeps what it has counted. */
static void
event_close(struct bpf *bpf, uint32_t slot, struct bpf_event *event)
{
    struct perf_tally *const tally = &bpf->slots[slot].source->tally;
    struct perf_counts counts;

    (void)ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
    read_counts(event, &counts);
    tally->events += counts.events;
    tally->running_ns += counts.running_ns;
    perf_descriptor_close(event->link);
    perf_descriptor_close(event->fd);
    event->fd = -1;
    event->link = -1;
    bpf->open_events--;
}

/* ---- sources ---- */

/* On any processor that is online: 0 may not be. */
static int
open_anywhere(const struct perf_source *source, bool with_kernel)
{
    const int fd = open_disabled(source, with_kernel, 0, -1);

    return fd == -ENODEV ? open_disabled(source, with_kernel, 1, -1) : fd;
}

static int
try_source(const struct perf_source *source, bool with_kernel)
{
    const int fd = open_anywhere(source, with_kernel);

    if (fd < 0) {
        return fd;
    }
    perf_descriptor_close(fd);
    return 0;
}

void
bpf_probe_source(struct bpf *bpf, struct perf_source *source)
{
    char remedy[128];
    int result = -EACCES;

    if (source->probed) {
        return;
    }
    source->probed = true;
    if (source->uprobe != NULL) {
        snprintf(source->reason, sizeof(source->reason),
                 "back end bpf counts no uprobes: back end perf does");
        return;
    }
    if (bpf->kernel_included) {
        result = try_source(source, true);
        source->kernel_included = result != -EACCES && result != -EPERM;
    }
    if (result == -EACCES || result == -EPERM) {
        if (source->kernel_only) {
            snprintf(source->reason, sizeof(source->reason),
                     "happens in kernel mode, which is not counted here: %s",
                     bpf->kernel_reason);
            return;
        }
        result = try_source(source, false);
    }
    if (!perf_source_answer(source, result)) {
        source->kernel_included = false;
        perf_refusal_explain(result, PERF_SCOPE_ALL, source->reason,
                             sizeof(source->reason), remedy, sizeof(remedy));
    } else if (result == 0) {
        source->supported = perf_firing_probe(&bpf->firing, source, source->reason,
                                              sizeof(source->reason));
    }
}

int
bpf_try_attach(const struct bpf *bpf, const struct perf_source *source,
               struct bpf_refusal *refusal)
{
    const int fd = open_anywhere(source, source->kernel_included);
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
    close(link);
    return 0;
}

uint32_t
bpf_find_slot(const struct bpf *bpf, const struct perf_source *source)
{
    uint32_t slot = 0;

    while (slot < bpf->slot_count && bpf->slots[slot].source != source) {
        slot++;
    }
    return slot;
}

static int
take_slot(struct bpf *bpf, struct perf_source *source, uint32_t *slot)
{
    const uint32_t processors = bpf->kernel.processors;
    struct bpf_event *events;

    *slot = bpf_find_slot(bpf, source);
    if (*slot < bpf->slot_count) {
        return 0;
    }
    if (*slot == BPF_SLOTS) {
        return -ENOSPC;
    }
    events = calloc(processors, sizeof(*events));
    if (events == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < processors; i++) {
        events[i] = (struct bpf_event){.fd = -1, .link = -1};
    }
    bpf->slots[*slot] = (struct bpf_slot){.source = source, .events = events};
    bpf->slot_count++;
    return 0;
}

/* Where the source's event on a processor is. */
static int
find_event(struct bpf *bpf, struct perf_source *source, uint32_t processor,
           uint32_t *slot)
{
    int result;

    bpf_probe_source(bpf, source);
    if (!source->supported) {
        snprintf(bpf->error, sizeof(bpf->error), "cannot count %s: %s", source->name,
                 source->reason);
        return -EOPNOTSUPP;
    }
    if (processor >= bpf->kernel.processors) {
        return bpf_fail(bpf, -ENODEV, BPF_STAGE_EVENT, source->name);
    }
    result = take_slot(bpf, source, slot);
    return result < 0 ? bpf_fail(bpf, result, BPF_STAGE_EVENT, source->name) : 0;
}

int
bpf_start(struct bpf *bpf, struct perf_source *source, uint32_t processor)
{
    struct bpf_event *event;
    uint32_t slot = 0;
    int result = find_event(bpf, source, processor, &slot);

    if (result < 0) {
        return result;
    }
    event = &bpf->slots[slot].events[processor];
    if (event->fd < 0) {
        result = event_open(bpf, slot, processor, event);
        if (result < 0) {
            return result;
        }
        event_enable(bpf, slot, event);
    }
    event->users++;
    return 0;
}

void
bpf_stop(struct bpf *bpf, const struct perf_source *source, uint32_t processor)
{
    const uint32_t slot = bpf_find_slot(bpf, source);
    struct bpf_event *event;

    if (slot == bpf->slot_count || processor >= bpf->kernel.processors) {
        return;
    }
    event = &bpf->slots[slot].events[processor];
    if (event->users > 0) {
        event->users--;
    }
    if (event->users == 0 && event->fd >= 0) {
        event_close(bpf, slot, event);
        bpf_kernel_wait(&bpf->kernel);
    }
}

void
bpf_freeze(struct bpf *bpf)
{
    bpf->frozen = true;
    for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
        for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
            if (bpf->slots[slot].events[i].fd >= 0) {
                (void)ioctl(bpf->slots[slot].events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
            }
        }
    }
    bpf_kernel_wait(&bpf->kernel);
}

/* ---- what was counted ---- */

static void
sum_counts(const struct bpf *bpf, uint32_t slot, struct perf_counts *sum)
{
    *sum = (struct perf_counts){0};
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        struct perf_counts one;

        read_counts(&bpf->slots[slot].events[i], &one);
        sum->events += one.events;
        sum->running_ns += one.running_ns;
    }
}

static bool
is_time(const struct perf_source *source)
{
    return source->unit == NTPROF_UNIT_100NS;
}

/* The clock stands still while the kernel lets no hit be made: how long that was in the
 * period. Of other sources nothing tells; what they miss is in what they counted. */
static uint64_t
throttled_ns(const struct perf_source *source, const struct perf_counts *open)
{
    const uint64_t running_ns = source->tally.running_ns + open->running_ns;
    const uint64_t counted_ns = source->tally.events + open->events;

    return is_time(source) && running_ns > counted_ns ? running_ns - counted_ns : 0;
}

void
bpf_query_hits(struct bpf *bpf, const struct perf_source *source, uint64_t *counted,
               uint64_t *outside)
{
    const uint32_t at = bpf_find_slot(bpf, source);
    struct bpf_statistics statistics;
    struct bpf_slot *slot;

    *counted = 0;
    *outside = 0;
    if (at == bpf->slot_count) {
        return;
    }
    slot = &bpf->slots[at];
    sum_counts(bpf, at, &slot->last_read);
    bpf_index_query(&bpf->index, at, &statistics);
    *counted = statistics.counted;
    *outside = statistics.outside;
}

void
bpf_settle(const struct bpf *bpf, const struct perf_source *source, uint64_t taken,
           struct perf_statistics *statistics)
{
    const uint32_t slot = bpf_find_slot(bpf, source);
    const uint64_t period = perf_source_period(source);
    struct perf_tally tally = source->tally;
    struct perf_counts open = {0};

    if (slot < bpf->slot_count) {
        open = bpf->slots[slot].last_read;
    }
    tally.throttled_ns = throttled_ns(source, &open);
    perf_statistics_add_up(&tally, &open, period, is_time(source), taken,
                           source->kernel_included, statistics);
}

/* ---- intervals ---- */

/* Begin another period: reckon what was counted, and count from here. */
static void
close_period(struct bpf *bpf, uint32_t slot)
{
    struct perf_source *const source = bpf->slots[slot].source;
    struct perf_counts sum;

    sum_counts(bpf, slot, &sum);
    source->tally.throttled_ns = throttled_ns(source, &sum);
    perf_tally_close_period(&source->tally, &sum, perf_source_period(source),
                            is_time(source));
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        struct bpf_event *const event = &bpf->slots[slot].events[i];
        struct perf_counts one;

        read_counts(event, &one);
        event->base.events += one.events;
        event->base.running_ns += one.running_ns;
    }
}

/*
 * Open the event again, and close what there was. With another period alone, where
 * events are counted one by one, the next would be a hit at once; that is the second
 * best, which cannot be refused.
 */
static void
event_reopen(struct bpf *bpf, uint32_t slot, uint32_t processor)
{
    struct bpf_event *const event = &bpf->slots[slot].events[processor];
    struct bpf_event opened = {.fd = -1, .link = -1, .users = event->users};
    uint64_t period = perf_source_period(bpf->slots[slot].source);

    if (event_open(bpf, slot, processor, &opened) < 0) {
        bpf->error[0] = 0;
        (void)ioctl(event->fd, PERF_EVENT_IOC_PERIOD, &period);
        event_run(bpf, event);
        return;
    }
    event_close(bpf, slot, event);
    *event = opened;
    event_enable(bpf, slot, event);
}

void
bpf_set_interval(struct bpf *bpf, struct perf_source *source, uint64_t interval)
{
    const uint32_t slot = bpf_find_slot(bpf, source);
    struct perf_source changed = *source;

    perf_source_set_interval(&changed, interval);
    source->interval_asked = changed.interval_asked;
    if (changed.interval == source->interval) {
        return;
    }
    if (slot == bpf->slot_count) {
        source->interval = changed.interval;
        return;
    }
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        if (bpf->slots[slot].events[i].fd >= 0) {
            (void)ioctl(bpf->slots[slot].events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
        }
    }
    close_period(bpf, slot);
    source->interval = changed.interval;
    for (uint32_t i = 0; i < bpf->kernel.processors; i++) {
        if (bpf->slots[slot].events[i].fd >= 0) {
            event_reopen(bpf, slot, i);
        }
    }
}

/* ---- processors that come and go ---- */

/* An event whose processor went away: closed, and opened again if the processor is
 * back. */
static void
event_renew(struct bpf *bpf, uint32_t slot, uint32_t processor)
{
    struct bpf_event *const event = &bpf->slots[slot].events[processor];

    if (event->fd >= 0) {
        event_close(bpf, slot, event);
    }
    if (event_open(bpf, slot, processor, event) == 0) {
        event_enable(bpf, slot, event);
    }
    bpf->error[0] = 0; /* nobody asked */
}

/* Has it run since the last look? */
static bool
event_grows(struct bpf_event *event)
{
    const uint64_t before_ns = event->enabled_ns;
    struct reading reading = {0};

    if (!read_event(event, &reading)) {
        return false;
    }
    event->enabled_ns = reading.enabled_ns;
    return reading.enabled_ns != before_ns;
}

/* Is the processor where it was the last time? If not, its witness is another one from
 * now on. */
static bool
witness_grows(struct bpf *bpf, uint32_t processor)
{
    struct bpf_event *const witness = &bpf->witnesses[processor];

    if (bpf->cgroup_fd < 0 || event_grows(witness)) {
        return true;
    }
    if (witness->fd >= 0) {
        perf_descriptor_close(witness->fd);
        witness->fd = -1;
    }
    witness_open(bpf, processor);
    return false;
}

static void
renew_on(struct bpf *bpf, uint32_t processor)
{
    const bool is_there = witness_grows(bpf, processor);

    for (uint32_t slot = 0; slot < bpf->slot_count; slot++) {
        struct bpf_event *const event = &bpf->slots[slot].events[processor];
        const bool runs =
            bpf->cgroup_fd >= 0 ? is_there && event->fd >= 0 : event_grows(event);

        if (event->users != 0 && !runs) {
            event_renew(bpf, slot, processor);
        }
    }
}

void
bpf_renew(struct bpf *bpf)
{
    for (uint32_t i = 0; !bpf->frozen && i < bpf->kernel.processors; i++) {
        renew_on(bpf, i);
    }
}
