/* SPDX-License-Identifier: MIT */
/* hal/perf/rings.c - makes the rings, and has epoll_fd report when they fill. */
#include "hal/perf/rings.h"

#include "hal/linux/descriptor.h"
#include "hal/linux/procfs.h"
#include "hal/perf/stacks.h"
#include "log/log.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Bytes of a ring's data; it has one more page for the head. The maximum is what the
 * default of kernel.perf_event_mlock_kb, 512 and a page, allows for each processor. A
 * ring has at least a page of data. */
enum { RING_BYTES_MAX = 512 * 1024, RING_BYTES_MIN = 8192 };

/* Most bytes of a large ring, and of all large rings together. If a share of the total
 * would be less than RING_BYTES_MAX, a ring has RING_BYTES_MAX. */
enum { LARGE_RING_BYTES_MAX = 2 * 1024 * 1024, LARGE_BYTES_TOTAL = 32 * 1024 * 1024 };

/* All rings together have at most this part of the memory that is available, as long as
 * a ring has the least that it can have. */
enum { AVAILABLE_PART = 8 };

/* Make the ring of a processor and poll it. Returns 0 or negative errno: -ENOBUFS if
 * its size is not allowed. */
static int
make_ring(struct perf *perf, uint32_t processor, size_t bytes)
{
    /* A large ring wakes the reader as early as one of RING_BYTES_MAX. */
    const struct perf_event_request request = {
        .wakeup_bytes = bytes > RING_BYTES_MAX ? RING_BYTES_MAX / 2 : 0};
    /* Edge-triggered: when the thread that a ring's event belongs to has exited, the
     * ring is readable for ever. */
    struct epoll_event interest = {.events = EPOLLIN | EPOLLET, .data.u32 = processor};
    struct perf_ring *ring = calloc(1, sizeof(*ring));
    int result;
    int fd;

    if (ring == NULL) {
        return -ENOMEM;
    }
    /* The ring's event belongs to the main thread, whose tid is the pid: the calling
     * thread may exit before the session is closed. */
    fd = perf_event_open_fd(&request, &perf->features, getpid(), (int)processor);
    if (fd < 0) {
        result = fd;
        goto free_ring;
    }
    result = perf_ring_map(ring, fd, processor, bytes);
    if (result < 0) {
        /* EPERM of mmap means that a smaller ring may be allowed, EPERM of
         * perf_event_open above that none is: ENOBUFS keeps the two apart. */
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

void
perf_drop_rings(struct perf *perf)
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

/* Make a ring of this size for each online processor, or none at all. */
static int
make_rings_of(struct perf *perf, size_t bytes)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && perf_next_online(perf, &i); i++) {
        result = make_ring(perf, i, bytes);
        if (result == -ENODEV) {
            result = 0; /* it went offline meanwhile */
        }
    }
    if (result < 0) {
        perf_drop_rings(perf);
    }
    return result;
}

static uint32_t
count_online(const struct perf *perf)
{
    uint32_t count = 0;

    for (uint32_t i = 0; perf_next_online(perf, &i); i++) {
        count++;
    }
    return count;
}

/* May the rings be larger than perf_event_mlock_kb? Without this right the kernel
 * charges the excess to RLIMIT_MEMLOCK, which counters need. */
static bool
may_lock_memory(void)
{
    return perf_refusal_holds(CAP_IPC_LOCK) && perf_refusal_is_first_namespace();
}

/* Return the least bytes of a ring's data, which are whole pages. */
static size_t
least_bytes(size_t page_bytes)
{
    return page_bytes > RING_BYTES_MIN ? page_bytes : RING_BYTES_MIN;
}

size_t
perf_ring_bytes(uint32_t processors, size_t page_bytes, bool large,
                uint64_t available_bytes)
{
    const uint64_t most = available_bytes / AVAILABLE_PART;
    size_t bytes = RING_BYTES_MAX;

    while (large && bytes < LARGE_RING_BYTES_MAX &&
           (uint64_t)bytes * 2 * processors <= LARGE_BYTES_TOTAL) {
        bytes *= 2;
    }
    while (bytes > least_bytes(page_bytes) &&
           (uint64_t)(bytes + page_bytes) * processors > most) {
        bytes /= 2;
    }
    return bytes;
}

/* Keep rings that were made, unless they have no room for the stacks that are asked
 * for. */
static int
use_rings(struct perf *perf, size_t bytes)
{
    const int result = perf_stacks_settle(perf, bytes);

    if (result < 0) {
        perf_drop_rings(perf);
    } else {
        perf->ring_bytes = bytes;
    }
    return result;
}

int
perf_make_rings(struct perf *perf, bool large)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = perf->ring_bytes_wanted;
    int result = -ENOBUFS;

    if (perf->ring_bytes != 0) {
        return 0;
    }
    if (bytes == 0) {
        bytes =
            perf_ring_bytes(count_online(perf), page_bytes, large || may_lock_memory(),
                            perf_procfs_available_bytes());
    }
    for (; bytes >= least_bytes(page_bytes); bytes /= 2) {
        result = make_rings_of(perf, bytes);
        LOG_DEBUG("rings of %zu bytes, one a processor: %s", bytes,
                  result == 0 ? "made" : strerror(-result));
        if (result == 0) {
            return use_rings(perf, bytes);
        }
        if (result != -ENOBUFS && result != -ENOMEM) {
            break;
        }
    }
    /* ENOBUFS was EPERM (make_ring), by which perf_refusal_explain knows the limit. */
    perf_context_refuse(&perf->context, result == -ENOBUFS ? -EPERM : result,
                        result == -ENOBUFS ? PERF_SCOPE_RING : PERF_SCOPE_SELF,
                        "make rings");
    return result;
}

int
perf_require_ring(struct perf *perf, uint32_t processor)
{
    int result;

    if (perf->rings[processor] != NULL) {
        return 0;
    }
    result = make_ring(perf, processor, perf->ring_bytes);
    return result < 0 ? perf_context_fail(&perf->context, result,
                                          "cannot use processor %u: %s", processor,
                                          strerror(-result))
                      : 0;
}
