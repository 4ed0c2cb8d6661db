/* SPDX-License-Identifier: MIT */
/* hal/linux/event.c - perf_event_open, with the attributes that all events share. */
#include "hal/linux/event.h"

#include "hal/linux/array.h"
#include "hal/linux/descriptor.h"
#include "hal/linux/stack.h"
#include "log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The user registers with the code segment and the offset in it. */
#if defined(__x86_64__) || defined(__i386__)
#include <asm/perf_regs.h>
enum { SELECTOR_REGISTERS = 1u << PERF_REG_X86_IP | 1u << PERF_REG_X86_CS };
#else
enum { SELECTOR_REGISTERS = 0 };
#endif

/* PERF_FORMAT_LOST, which headers before Linux 6.0 lack. */
enum { READ_LOST = 1u << 4 };

/* At most so many processors are used. */
enum { PROCESSORS_MAX = 65536 };

/* What read() of an event returns. */
struct reading {
    uint64_t value;
    uint64_t enabled_ns;
    uint64_t running_ns;
    uint64_t lost; /* with read_lost only */
};

uint32_t
perf_processor_limit(void)
{
    unsigned char mask[PROCESSORS_MAX / 8];
    long limit = 8 * syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    FILE *const file = fopen("/sys/devices/system/cpu/possible", "re");
    long number;

    /* The mask has a bit for each, rounded up; the file, as "0-3,8-11", is exact. */
    while (file != NULL && fscanf(file, "%ld%*1[-,]", &number) == 1) {
        limit = number + 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return limit < 1 || limit > PROCESSORS_MAX ? PROCESSORS_MAX : (uint32_t)limit;
}

/* Open an event on this processor, or with PERF_ANY_ONLINE on the first that is online.
 * Returns a descriptor or negative errno: -ENODEV if it is offline. */
static int
try_event_open(struct perf_event_attr *attr, int pid, int processor, bool cgroup)
{
    const unsigned long flags =
        PERF_FLAG_FD_CLOEXEC | (cgroup ? PERF_FLAG_PID_CGROUP : 0u);
    const bool any = processor == PERF_ANY_ONLINE;
    const int end = any ? PROCESSORS_MAX : processor + 1;
    long fd = -1;

    errno = ENODEV;
    for (int i = any ? 0 : processor; fd < 0 && errno == ENODEV && i < end; i++) {
        fd = syscall(SYS_perf_event_open, attr, pid, i, -1, flags);
    }
    return fd < 0 ? -errno : (int)fd;
}

/* Raise the soft limit to the hard one. Returns false if that is impossible. */
static bool
raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Logs an event that was opened (fd) or refused (negative errno). */
static void
log_opened(const struct perf_event_attr *attr, int pid, int processor, bool cgroup,
           int fd)
{
    char what[96];

    if (!log_wants(NTPROF_LOG_DEBUG)) {
        return;
    }
    snprintf(what, sizeof(what), "type %u, config 0x%llx%s, %s %d, processor %d",
             attr->type, (unsigned long long)attr->config,
             attr->exclude_kernel ? ", user mode" : "",
             cgroup ? "cgroup of descriptor" : "process or thread", pid, processor);
    if (fd >= 0) {
        LOG_DEBUG("event opened: %s: descriptor %d", what, fd);
    } else {
        LOG_DEBUG("event refused: %s: %s", what, strerror(-fd));
    }
}

int
perf_call_event_open(struct perf_event_attr *attr, int pid, int processor, bool cgroup)
{
    int fd = try_event_open(attr, pid, processor, cgroup);

    if (fd == -EMFILE && raise_descriptor_limit()) {
        fd = try_event_open(attr, pid, processor, cgroup);
    }
    log_opened(attr, pid, processor, cgroup, fd);
    /* The source was tried before without the cgroup, so ENOENT is about the cgroup. Of
     * a source it means that the machine lacks it: EBADF keeps the two apart. */
    return cgroup && fd == -ENOENT ? -EBADF : perf_descriptor_own(fd);
}

struct perf_sample_layout
perf_event_layout(const struct perf_event_request *request,
                  const struct perf_features *features)
{
    if (request->stack_bytes != 0) {
        return (struct perf_sample_layout){
            .chain = request->kernel, .registers = PERF_STACK_REGISTERS, .stack = true};
    }
    return (struct perf_sample_layout){
        .registers = features->user_registers ? PERF_SELECTOR_REGISTERS : 0};
}

/* Ask for what perf_event_layout says of the samples of an event with stacks. */
static void
ask_for_stacks(struct perf_event_attr *attr, const struct perf_event_request *request)
{
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user = perf_stack_register_mask();
    attr->sample_stack_user = request->stack_bytes;
    if (request->kernel) {
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
        attr->exclude_callchain_user = 1;
        attr->sample_max_stack = request->chain_depth;
    }
}

/* Fill in what all events have in common, and what the request and the features add. */
static void
fill_attr(struct perf_event_attr *attr, const struct perf_event_request *request,
          const struct perf_features *features)
{
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof(*attr),
        .sample_type = PERF_SAMPLE_LAYOUT,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .watermark = 1,
        .wakeup_watermark = request->wakeup_bytes,
        .exclude_hv = 1,
        .exclude_kernel = !request->kernel,
        .disabled = request->on_exec,
        .enable_on_exec = request->on_exec,
        .inherit = request->inherit,
        .inherit_thread =
            request->inherit && request->threads_only && features->inherit_thread,
        .mmap = request->side_band,
        .mmap2 = request->side_band,
        .comm = request->side_band,
        .comm_exec = request->side_band,
        .task = request->side_band,
    };
    if (features->read_lost) {
        attr->read_format |= READ_LOST;
    }
    if (request->stack_bytes != 0) {
        ask_for_stacks(attr, request);
    } else if (features->user_registers) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER;
        attr->sample_regs_user = SELECTOR_REGISTERS;
    }
    if (request->source != NULL) {
        perf_source_attr(request->source, attr);
    }
}

/* Does the kernel know the features that are set? Opens an event of the calling thread,
 * which every user may measure. */
static bool
knows_features(const struct perf_features *features)
{
    const struct perf_event_request request = {
        .inherit = features->inherit_thread, .threads_only = features->inherit_thread};
    struct perf_event_attr attr;
    int fd;

    fill_attr(&attr, &request, features);
    fd = perf_call_event_open(&attr, 0, -1, /* cgroup */ false);
    perf_descriptor_close(fd);
    return fd >= 0;
}

void
perf_features_probe(struct perf_features *features, bool selectors)
{
    const bool registers = selectors && SELECTOR_REGISTERS != 0;
    const struct perf_features inherit_thread = {.inherit_thread = true};
    const struct perf_features read_lost = {.read_lost = true};
    const struct perf_features user_registers = {.user_registers = true};

    *features = (struct perf_features){
        .inherit_thread = knows_features(&inherit_thread),
        .read_lost = knows_features(&read_lost),
        .user_registers = registers && knows_features(&user_registers)};
}

int
perf_event_open_fd(const struct perf_event_request *request,
                   const struct perf_features *features, int pid, int processor)
{
    struct perf_event_attr attr;

    fill_attr(&attr, request, features);
    return perf_call_event_open(&attr, pid, processor, request->cgroup);
}

int
perf_event_try(const struct perf_source *source, bool kernel, bool all)
{
    const struct perf_event_request request = {.source = source, .kernel = kernel};
    const struct perf_features features = {0};
    const int fd = perf_event_open_fd(&request, &features, all ? -1 : 0,
                                      all ? PERF_ANY_ONLINE : -1);

    perf_descriptor_close(fd); /* does nothing if fd is an error */
    return fd < 0 ? fd : 0;
}

/* Read the counters of an event. Returns false if it is closed or cannot be read. */
static bool
read_event(const struct perf_event *event, const struct perf_features *features,
           struct reading *reading)
{
    const size_t bytes =
        features->read_lost ? sizeof(*reading) : offsetof(struct reading, lost);

    *reading = (struct reading){0};
    return event->fd >= 0 && read(event->fd, reading, bytes) == (ssize_t)bytes;
}

bool
perf_event_grows(struct perf_event *event, const struct perf_features *features)
{
    const uint64_t before_ns = event->enabled_ns;
    struct reading reading;

    if (!read_event(event, features, &reading)) {
        return false;
    }
    event->enabled_ns = reading.enabled_ns;
    return reading.enabled_ns > before_ns;
}

void
perf_event_read_counts(const struct perf_event *event,
                       const struct perf_features *features, struct perf_counts *counts)
{
    struct reading reading;

    *counts = (struct perf_counts){0};
    if (!read_event(event, features, &reading)) {
        return;
    }
    counts->events = reading.value - event->base.events;
    counts->running_ns = reading.running_ns - event->base.running_ns;
    /* This event counts nanoseconds: running_ns goes on while it is throttled, its
     * count does not. */
    if (event->reports_silence && counts->running_ns > counts->events) {
        counts->silent_ns = counts->running_ns - counts->events;
    }
    counts->lost = reading.lost;
}

void
perf_event_add_counts(struct perf_event *event, const struct perf_features *features,
                      enum perf_period period, struct perf_counts *sum)
{
    struct perf_counts counts;

    perf_event_read_counts(event, features, &counts);
    sum->events += counts.events;
    sum->running_ns += counts.running_ns;
    sum->silent_ns += counts.silent_ns;
    sum->lost += counts.lost;
    /* silent_ns follows from these two, and lost is of no period. */
    if (period == PERF_PERIOD_ENDS) {
        event->base.events += counts.events;
        event->base.running_ns += counts.running_ns;
    }
}

int
perf_events_add(struct perf_events *events, struct perf_event *event)
{
    struct perf_event **const items =
        perf_array_grow(events->items, events->count, sizeof(struct perf_event *));

    if (items == NULL) {
        return -ENOMEM;
    }
    events->items = items;
    events->items[events->count++] = event;
    return 0;
}

void
perf_events_finish(struct perf_events *events)
{
    free(events->items);
    *events = (struct perf_events){0};
}
