/* SPDX-License-Identifier: MIT */
/* hal/linux/firing.c - tries whether breakpoints, the clock and page faults fire. */
#include "hal/linux/firing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CALLS = 4,
    CLOCK_PERIOD_NS = 250000,
    CLOCK_WORK_NS = 20000000,
    CLOCK_LOOKS = 10000
};

/* Executed for its breakpoint only. */
__attribute__((noinline)) static void
breakpoint_here(void)
{
    __asm__ volatile("" ::: "memory");
}

/* On the calling thread, in user mode. Returns a descriptor or negative errno. */
static int
open_event(struct perf_event_attr *attr)
{
    long fd;

    attr->size = sizeof(*attr);
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* Has the event counted something? True if it cannot be read. */
static bool
counted(int fd)
{
    uint64_t value = 1;

    return read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value) || value != 0;
}

static bool
breakpoint_fires(void)
{
    struct perf_event_attr attr = {0};
    struct perf_source source = {
        .type = PERF_TYPE_BREAKPOINT,
        .interval = 1,
        .breakpoint_address = (uint64_t)(uintptr_t)breakpoint_here,
    };
    bool fires;
    int fd;

    perf_source_attr(&source, &attr);
    fd = open_event(&attr);
    if (fd < 0) {
        return true;
    }
    for (int i = 0; i < CALLS; i++) {
        breakpoint_here();
    }
    fires = counted(fd);
    close(fd);
    return fires;
}

static bool
page_fault_fires(const struct perf_source *source)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = {0};
    volatile char *page;
    bool fires = true;
    int fd;

    perf_source_attr(source, &attr);
    page =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return true;
    }
    fd = open_event(&attr);
    if (fd >= 0) {
        *page = 1;
        fires = counted(fd);
        close(fd);
    }
    munmap((void *)page, bytes);
    return fires;
}

static uint64_t
thread_time_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The count of a clock grows without interrupts, so only a sample proves one. The bound
 * is processor time, so that a busy machine does not fail the probe. The period is
 * longer than an interrupt takes on any machine: else only interrupts would run. */
static bool
clock_fires(const struct perf_source *source)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP};
    const struct perf_event_mmap_page *ring;
    bool fires = true;
    uint64_t end_ns;
    int fd;

    perf_source_attr(source, &attr);
    attr.sample_period = CLOCK_PERIOD_NS;
    fd = open_event(&attr);
    if (fd < 0) {
        return true;
    }
    ring = mmap(NULL, 2 * page_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (ring != MAP_FAILED) {
        end_ns = thread_time_ns() + CLOCK_WORK_NS;
        do {
            fires = false;
            /* Stay in user mode, where samples are made. */
            for (int i = 0; !fires && i < CLOCK_LOOKS; i++) {
                fires = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) != 0;
            }
        } while (!fires && thread_time_ns() < end_ns);
        munmap((void *)(uintptr_t)ring, 2 * page_bytes);
    }
    close(fd);
    return fires;
}

static bool
try_breakpoints(struct perf_firing *firing)
{
    const char *const wanted = secure_getenv("NTPROF_TEST_BREAKPOINTS");

    if (!firing->breakpoint_tried) {
        firing->breakpoint_tried = true;
        firing->breakpoint_never =
            (wanted != NULL && strcmp(wanted, "never") == 0) || !breakpoint_fires();
    }
    return !firing->breakpoint_never;
}

bool
perf_firing_probe(struct perf_firing *firing, const struct perf_source *source,
                  char *reason, size_t reason_bytes)
{
    const char *why = "this machine makes no interrupts for it";
    bool fires = true;

    if (source->type == PERF_TYPE_BREAKPOINT) {
        fires = try_breakpoints(firing);
        why = "this machine does not pass debug registers through";
    } else if (source->number == ProfileTime) {
        fires = clock_fires(source);
    } else if (source->number == ProfilePageFaults) {
        fires = page_fault_fires(source);
    }
    if (!fires) {
        snprintf(reason, reason_bytes, "opens, but never fires: %s", why);
    }
    return fires;
}
