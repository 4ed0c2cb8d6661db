/* SPDX-License-Identifier: MIT */
/* hal/perf/perf.c - the session's state: its rings and sources. */
#include "hal/linux/descriptor.h"

#include "hal/linux/procfs.h"
#include "hal/perf/target.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Data pages of a ring; it has one more for the head. With pages of 4 kB the maximum is
 * what the default of kernel.perf_event_mlock_kb, 516, allows for each processor. */
enum { RING_PAGES_MAX = 128, RING_PAGES_MIN = 2 };

/* With the right to lock memory, and for watches of all processes: data pages of one
 * ring, and of all rings unless that is less than RING_PAGES_MAX each. */
enum { WIDE_RING_PAGES_MAX = 512, WIDE_PAGES_TOTAL = 8192 };

int
perf_fail(struct perf *perf, int error, enum perf_scope scope, const char *format, ...)
{
    char what[192];
    struct perf_refusal refusal;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    perf_refusal_explain(error, scope, &refusal);
    return perf_context_fail(&perf->context, what, &refusal);
}

/* ---- events ---- */

/* Hits that are counted before the last event is disabled are untimely. */
void
perf_freeze(struct perf *perf)
{
    const uint64_t now_ns = perf_now_ns();

    perf->frozen_ns = now_ns < perf->frozen_ns ? now_ns : perf->frozen_ns;
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            if (target->events.items[i]->source != NULL) {
                (void)ioctl(target->events.items[i]->fd, PERF_EVENT_IOC_DISABLE, 0);
            }
        }
    }
}

void
perf_read_counts(const struct perf *perf, const struct perf_source *source,
                 uint32_t processor, bool restart, struct perf_counts *counts)
{
    *counts = (struct perf_counts){0};
    for (const struct perf_target *target = perf->targets; target != NULL;
         target = target->next) {
        for (size_t i = 0; i < target->events.count; i++) {
            struct perf_event *event = target->events.items[i];
            struct perf_counts one;

            if ((source == NULL || event->source == source) &&
                (processor == UINT32_MAX || event->processor == processor)) {
                perf_event_read_counts(event, &perf->features, &one);
                counts->events += one.events;
                counts->running_ns += one.running_ns;
                counts->silent_ns += one.silent_ns;
                counts->lost += one.lost;
                event->base.events += restart ? one.events : 0;
                event->base.running_ns += restart ? one.running_ns : 0;
            }
        }
    }
}

/* ---- rings ---- */

/* Make the ring of a processor and poll it. Returns 0 or negative errno: -ENOBUFS if
 * its size is not allowed. */
static int
make_ring(struct perf *perf, uint32_t processor, size_t pages)
{
    /* A large ring wakes the reader as early as one of RING_PAGES_MAX. */
    const struct perf_event_request request = {
        .wakeup_bytes = pages > RING_PAGES_MAX
                            ? RING_PAGES_MAX / 2 * (uint32_t)sysconf(_SC_PAGESIZE)
                            : 0};
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = processor};
    struct perf_ring *ring = calloc(1, sizeof(*ring));
    int result;
    int fd;

    if (ring == NULL) {
        return -ENOMEM;
    }
    /* For the main thread (its tid is the pid): the calling thread may exit before the
     * session is closed. */
    fd = perf_event_open_fd(&request, &perf->features, getpid(), (int)processor);
    if (fd < 0) {
        result = fd;
        goto free_ring;
    }
    result = perf_ring_map(ring, fd, processor, pages);
    if (result < 0) {
        result = result == -EPERM ? -ENOBUFS : result;
        goto close_fd;
    }
    if (epoll_ctl(perf->epoll_fd, EPOLL_CTL_ADD, fd, &interest) < 0) {
        result = -errno;
        goto unmap_ring;
    }
    perf->rings[processor] = ring;
    return 0;

unmap_ring: /* closes fd too */
    perf_ring_unmap(ring);
    goto free_ring;
close_fd:
    perf_descriptor_close(fd);
free_ring:
    free(ring);
    return result;
}

static void
drop_rings(struct perf *perf)
{
    for (uint32_t i = 0; i < perf->processor_limit; i++) {
        if (perf->rings[i] != NULL) {
            perf_ring_unmap(perf->rings[i]);
            free(perf->rings[i]);
            perf->rings[i] = NULL;
        }
    }
}

bool
perf_next_online(const struct perf *perf, uint32_t *next)
{
    const HAL_PROCESSORS *const processors = &perf->processors;
    const uint32_t groups = processors->GroupCount(processors->Context);

    for (uint32_t i = *next; i < perf->processor_limit && i / 64 < groups; i++) {
        const uint64_t active =
            processors->ActiveProcessors(processors->Context, (USHORT)(i / 64));

        if ((active >> i % 64 & 1) != 0) {
            *next = i;
            return true;
        }
    }
    return false;
}

/* A ring of this size for each processor, or none at all. */
static int
make_rings_of(struct perf *perf, size_t pages)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && perf_next_online(perf, &i); i++) {
        result = make_ring(perf, i, pages);
        if (result == -ENODEV) {
            result = 0; /* it went offline meanwhile */
        }
    }
    if (result < 0) {
        drop_rings(perf);
    }
    return result;
}

/* May the rings be larger than perf_event_mlock_kb? Without this right the kernel
 * charges the excess to RLIMIT_MEMLOCK, which counters need. */
static bool
may_lock_memory(void)
{
    return perf_refusal_holds(CAP_IPC_LOCK) && perf_refusal_is_first_namespace();
}

int
perf_make_rings(struct perf *perf)
{
    int result = -ENOBUFS;

    if (perf->ring_pages != 0) {
        return 0;
    }
    if (may_lock_memory()) {
        perf_widen_rings(perf);
    }
    for (size_t pages = perf->ring_pages_wanted; pages >= RING_PAGES_MIN; pages /= 2) {
        result = make_rings_of(perf, pages);
        if (result == 0) {
            perf->ring_pages = pages;
            return 0;
        }
        if (result != -ENOBUFS && result != -ENOMEM) {
            break;
        }
    }
    perf_fail(perf, result == -ENOBUFS ? -EPERM : result,
              result == -ENOBUFS ? PERF_SCOPE_RING : PERF_SCOPE_SELF, "make rings");
    return result;
}

void
perf_widen_rings(struct perf *perf)
{
    const size_t processors = perf->processor_limit;

    /* Tests set smaller sizes, which stay. */
    if (perf->ring_pages != 0 || perf->ring_pages_wanted != RING_PAGES_MAX) {
        return;
    }
    while (perf->ring_pages_wanted < WIDE_RING_PAGES_MAX &&
           perf->ring_pages_wanted * 2 * processors <= WIDE_PAGES_TOTAL) {
        perf->ring_pages_wanted *= 2;
    }
}

struct perf_ring *
perf_processor_ring(struct perf *perf, uint32_t processor, int *result)
{
    *result = -ENODEV;
    if (processor < perf->processor_limit) {
        if (perf->rings[processor] == NULL) {
            *result = make_ring(perf, processor, perf->ring_pages);
        }
        if (perf->rings[processor] != NULL) {
            return perf->rings[processor];
        }
    }
    snprintf(perf->context.error, sizeof(perf->context.error),
             "cannot use processor %u: %s", processor,
             *result == -ENODEV ? "it is not online" : strerror(-*result));
    return NULL;
}

/* ---- open and close ---- */

int
perf_create(const HAL_OPEN *open, struct perf **created)
{
    struct perf *perf = calloc(1, sizeof(*perf));
    int result;

    if (perf == NULL) {
        return -ENOMEM;
    }
    /* Features and rights are probed once, so a shortage fails the session. */
    perf_features_probe(&perf->features, open->Selectors);
    result = perf_context_init(&perf->context, PERF_SCOPE_SELF, open->UserOnly);
    if (result < 0) {
        goto free_perf;
    }
    perf->ke = open->Ke;
    perf->processors = open->Processors;
    perf->pause = open->Pause;
    if (open->CgroupFd != NULL) {
        perf->context.cgroup_fd = *open->CgroupFd;
    }
    perf->frozen_ns = UINT64_MAX;
    perf->ring_pages_wanted = RING_PAGES_MAX;
    perf->processor_limit = perf_processor_limit();
    perf->rings = calloc(perf->processor_limit, sizeof(struct perf_ring *));
    perf->starting = calloc(perf_set_words(perf), sizeof(*perf->starting));
    if (perf->rings == NULL || perf->starting == NULL ||
        perf_stream_reserve(&perf->stream, perf->processor_limit) < 0) {
        result = -ENOMEM;
        goto free_memory;
    }
    perf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (perf->epoll_fd < 0) {
        result = -errno;
        goto free_memory;
    }
    perf->stream.calls = &perf_deliver_calls;
    perf->stream.context = perf;
    process_table_init(&perf->stream.processes, open->Notify, open->NotifyContext);
    *created = perf;
    return 0;

free_memory:
    free(perf->starting);
    free(perf->stream.heads);
    free(perf->rings);
    perf_context_finish(&perf->context);
free_perf:
    free(perf);
    return result;
}

void
perf_delete(struct perf *perf)
{
    if (perf == NULL) {
        return;
    }
    while (perf->targets != NULL) {
        struct perf_target *target = perf->targets;

        perf->targets = target->next;
        perf_target_delete(perf, target);
    }
    perf_reap_closed(perf, UINT64_MAX);
    perf_stream_finish(&perf->stream);
    drop_rings(perf);
    close(perf->epoll_fd);
    perf_idmap_finish(&perf->events);
    perf_idmap_finish(&perf->counted_by);
    perf_throttles_finish(&perf->throttles);
    perf_context_finish(&perf->context);
    free(perf->starting);
    free(perf->rings);
    free(perf);
}
