/* SPDX-License-Identifier: MIT */
/* hal/linux/clock.c - reads the kernel's clock through the caller's time namespace. */
#include "hal/linux/clock.h"

#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ntprof/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

/* Inode number of the first time namespace in every kernel that has them
 * (PROC_TIME_INIT_INO). */
static const ino_t first_time_namespace = 0xEFFFFFFA;

/* PIDFD_GET_TIME_NAMESPACE of Linux 6.11, which older headers lack. */
static const unsigned long get_time_namespace = _IO(0xFF, 7);

uint64_t
perf_elapsed_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
perf_clock_now_ns(const struct perf_clock *clock)
{
    return perf_elapsed_ns() - (uint64_t)clock->offset_ns;
}

uint64_t
perf_clock_shown_ns(const struct perf_clock *clock, uint64_t record_ns)
{
    return record_ns == 0 ? 0 : record_ns + (uint64_t)clock->offset_ns;
}

/* Linux 5.6 shows the clock's number instead of its name. CLOCK_MONOTONIC_RAW has the
 * same offset as CLOCK_MONOTONIC. */
bool
perf_clock_parse(const char *text, int64_t *offset_ns)
{
    static const int64_t seconds_max = INT64_MAX / NS_PER_S - 1;
    char name[16];
    int64_t seconds;
    int64_t ns;

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "%15s %" SCNd64 " %" SCNd64, name, &seconds, &ns) == 3 &&
            (strcmp(name, "monotonic") == 0 || strcmp(name, "1") == 0)) {
            if (seconds < -seconds_max || seconds > seconds_max || ns < 0 ||
                ns >= NS_PER_S) {
                return false;
            }
            *offset_ns = seconds * NS_PER_S + ns;
            return true;
        }
    }
    return false;
}

/* Return the inode of the caller's time namespace without /proc, or 0: unknown, since
 * the kernel is older than Linux 6.11. */
static ino_t
namespace_by_pidfd(void)
{
    struct stat file = {0};
    const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int fd;

    if (pidfd < 0) {
        return 0;
    }
    fd = ioctl(pidfd, get_time_namespace, 0);
    close(pidfd);
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &file) != 0) {
        file.st_ino = 0;
    }
    close(fd);
    return file.st_ino;
}

/* Set the text of a refusal. error: the negative errno of a call that failed; -ENODATA:
 * none failed, and reason says all. Returns error. */
static int
refuse_clock(struct perf_refusal *refusal, int error, const char *reason)
{
    char text[sizeof(refusal->reason)];

    snprintf(text, sizeof(text),
             "the caller is in a time namespace whose offset from the kernel's clock "
             "cannot be read: %s%s%s",
             reason, error == -ENODATA ? "" : ": ",
             error == -ENODATA ? "" : strerror(-error));
    refusal->error = error;
    perf_refusal_set(refusal, NTPROF_CAUSE_OTHER, text,
                     "run in the first time namespace, or where /proc/self belongs to "
                     "the caller");
    return error;
}

/* Read the offset of the caller's time namespace. The file shows the namespace that
 * children will be in, which may be another one (own is the caller's). */
static int
read_offset(struct perf_clock *clock, ino_t own, struct perf_refusal *refusal)
{
    struct stat children;
    char *text;
    bool found;
    int result;

    if (stat("/proc/self/ns/time_for_children", &children) != 0) {
        return refuse_clock(refusal, -errno, "/proc/self/ns/time_for_children");
    }
    if (children.st_ino != own) {
        return refuse_clock(
            refusal, -ENODATA,
            "/proc shows that of its children only, which are in another");
    }
    result = perf_read_text(AT_FDCWD, "/proc/self/timens_offsets", &text);
    if (result < 0) {
        return refuse_clock(refusal, result, "/proc/self/timens_offsets");
    }
    found = perf_clock_parse(text, &clock->offset_ns);
    free(text);
    return found ? 0
                 : refuse_clock(
                       refusal, -ENODATA,
                       "/proc/self/timens_offsets has no valid line 'monotonic'");
}

int
perf_clock_find(struct perf_clock *clock, struct perf_refusal *refusal)
{
    struct stat own;
    struct stat directory;

    *clock = (struct perf_clock){0};
    if (stat("/proc/self/ns/time", &own) == 0) {
        return own.st_ino == first_time_namespace
                   ? 0
                   : read_offset(clock, own.st_ino, refusal);
    }
    if (errno != ENOENT) {
        return refuse_clock(refusal, -errno, "/proc/self/ns/time");
    }
    if (stat("/proc/self/ns", &directory) == 0) {
        return 0; /* a kernel without time namespaces */
    }
    own.st_ino = namespace_by_pidfd();
    return own.st_ino == 0 || own.st_ino == first_time_namespace
               ? 0
               : refuse_clock(refusal, -ENODATA, "/proc does not show the caller");
}
