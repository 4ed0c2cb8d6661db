/* SPDX-License-Identifier: MIT */
/* hal/bpf/bell.c - events that wake with each record. */
#include "hal/bpf/bell.h"

#include "hal/perf/descriptor.h"
#include "hal/perf/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { READY_AT_ONCE = 64 };

/* What is readable: a processor's bell, or this. */
#define BY_HAND UINT32_MAX

/* What read() gives. */
struct reading {
    uint64_t value;
    uint64_t enabled_ns;
};

static size_t
page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* A page for the head, and one of data. */
static size_t
ring_bytes(void)
{
    return 2 * page_bytes();
}

/* ---- one bell ---- */

static void
bell_silence(struct bpf_bell *bell)
{
    (void)ioctl(bell->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
    bell->silent = true;
}

/* Of all processes, on one processor. Returns the descriptor or negative errno. */
static int
open_event(uint32_t processor)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
        .watermark = 1,
        .wakeup_watermark = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .comm = 1,
        .task = 1,
    };

    return perf_call_event_open(&attr, -1, (int)processor, false);
}

static int
bell_open(const struct bpf_bells *bells, uint32_t processor, struct bpf_bell *bell)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = processor};
    void *memory;
    int result;
    int fd;

    fd = open_event(processor);
    if (fd < 0) {
        return fd;
    }
    memory = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        result = -errno;
        goto close_fd;
    }
    if (epoll_ctl(bells->epoll_fd, EPOLL_CTL_ADD, fd, &interest) < 0) {
        result = -errno;
        goto unmap;
    }
    *bell = (struct bpf_bell){.fd = fd, .page = memory};
    bell_silence(bell);
    return 0;

unmap:
    munmap(memory, ring_bytes());
close_fd:
    perf_descriptor_close(fd);
    return result;
}

static void
bell_close(struct bpf_bell *bell)
{
    munmap(bell->page, ring_bytes());
    perf_descriptor_close(bell->fd);
    *bell = (struct bpf_bell){.fd = -1};
}

/* Does it run, or has it ended with its processor? */
static bool
bell_is_alive(struct bpf_bell *bell)
{
    const uint64_t before_ns = bell->enabled_ns;
    struct reading reading;

    if (read(bell->fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading)) {
        return false;
    }
    bell->enabled_ns = reading.enabled_ns;
    return reading.enabled_ns > before_ns;
}

static bool
bell_has_rung(const struct bpf_bell *bell)
{
    return __atomic_load_n(&bell->page->data_head, __ATOMIC_ACQUIRE) !=
           bell->page->data_tail;
}

static void
bell_set(struct bpf_bell *bell)
{
    if (!bell->silent) {
        return;
    }
    __atomic_store_n(&bell->page->data_tail,
                     __atomic_load_n(&bell->page->data_head, __ATOMIC_ACQUIRE),
                     __ATOMIC_RELEASE);
    (void)ioctl(bell->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
    bell->silent = false;
}

/* ---- all of them ---- */

static void
close_if_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

void
bpf_bells_init(struct bpf_bells *bells, uint32_t processors)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.u32 = BY_HAND};
    struct bpf_bell *const items = calloc(processors, sizeof(*items));
    const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    const int hand_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    *bells = (struct bpf_bells){.items = NULL};
    if (items == NULL || epoll_fd < 0 || hand_fd < 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, hand_fd, &interest) < 0) {
        close_if_open(hand_fd);
        close_if_open(epoll_fd);
        free(items);
        return;
    }
    for (uint32_t i = 0; i < processors; i++) {
        items[i].fd = -1;
    }
    *bells = (struct bpf_bells){
        .items = items, .count = processors, .epoll_fd = epoll_fd, .hand_fd = hand_fd};
}

void
bpf_bells_finish(struct bpf_bells *bells)
{
    if (bells->items == NULL) {
        return;
    }
    for (uint32_t i = 0; i < bells->count; i++) {
        if (bells->items[i].fd >= 0) {
            bell_close(&bells->items[i]);
        }
    }
    free(bells->items);
    close(bells->hand_fd);
    close(bells->epoll_fd);
    *bells = (struct bpf_bells){.items = NULL};
}

void
bpf_bells_renew(struct bpf_bells *bells)
{
    bells->whole = bells->items != NULL;
    for (uint32_t i = 0; i < bells->count; i++) {
        struct bpf_bell *const bell = &bells->items[i];
        int result = 0;

        if (bell->fd >= 0 && !bell_is_alive(bell)) {
            bell_close(bell);
        }
        if (bell->fd < 0) {
            result = bell_open(bells, i, bell);
        }
        if (result < 0 && result != -ENODEV) { /* else it is offline */
            bells->whole = false;
        }
    }
}

/* A bell that rang more than once would wake again; one that has ended, for ever. */
static void
take_ready(struct bpf_bells *bells, const struct epoll_event *ready)
{
    uint64_t times;

    if (ready->data.u32 == BY_HAND) {
        (void)!read(bells->hand_fd, &times, sizeof(times));
    } else if ((ready->events & (EPOLLHUP | EPOLLERR)) != 0) {
        bell_close(&bells->items[ready->data.u32]);
    }
}

void
bpf_bells_silence(struct bpf_bells *bells)
{
    struct epoll_event ready[READY_AT_ONCE];
    int count;

    if (bells->items == NULL) {
        return;
    }
    for (uint32_t i = 0; i < bells->count; i++) {
        struct bpf_bell *const bell = &bells->items[i];

        if (bell->fd >= 0 && !bell->silent && bell_has_rung(bell)) {
            bell_silence(bell);
        }
    }
    count = epoll_wait(bells->epoll_fd, ready, READY_AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        take_ready(bells, &ready[i]);
    }
}

bool
bpf_bells_set(struct bpf_bells *bells)
{
    for (uint32_t i = 0; bells->whole && i < bells->count; i++) {
        if (bells->items[i].fd >= 0) {
            bell_set(&bells->items[i]);
        }
    }
    return bells->whole;
}

void
bpf_bells_ring(const struct bpf_bells *bells)
{
    const uint64_t once = 1;

    if (bells->items != NULL) {
        (void)!write(bells->hand_fd, &once, sizeof(once));
    }
}

uint64_t
bpf_bells_bytes(const struct bpf_bells *bells)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < bells->count; i++) {
        bytes += bells->items[i].fd >= 0 ? page_bytes() : 0;
    }
    return bytes;
}
