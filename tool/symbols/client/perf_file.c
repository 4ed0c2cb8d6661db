/* SPDX-License-Identifier: MIT */
/*
 * perf_file.c - finds and opens the perf map of a process, /tmp/perf-PID.map.
 *
 * The PID is the process's own in its pid namespace, and /tmp that of its root and
 * mount namespace. A file of another user's could put any name on any address, so it
 * must belong to the process's user or to root. Nor may it be older than the process,
 * since pids are used again and hardly anybody removes maps.
 */
#include "base/clock.h"
#include "base/open_regular.h"
#include "base/process_stat.h"
#include "symbols/client/perf_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read the effective user, and the pid in the innermost pid namespace, from
 * /proc/PID/status. Returns false if one of them is not there. */
static bool
parse_status(FILE *status, struct sym_perf_target *target)
{
    char line[512];
    bool uid_found = false;
    bool pid_found = false;

    while (fgets(line, sizeof(line), status) != NULL) {
        uint32_t uid;

        if (sscanf(line, "Uid: %*u %" SCNu32, &uid) == 1) {
            target->uid = uid;
            uid_found = true;
        }
        if (strncmp(line, "NSpid:", strlen("NSpid:")) == 0) {
            /* One pid for each pid namespace, from ours inwards. */
            const char *const last = strrchr(line, '\t');

            target->inside = strchr(line, '\t') != last;
            pid_found = last != NULL && sscanf(last, "%" SCNu32, &target->pid) == 1;
        }
    }
    return uid_found && pid_found;
}

static bool
read_status(uint32_t pid, struct sym_perf_target *target)
{
    char path[64];
    FILE *status;
    bool found;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
    status = fopen(path, "re");
    if (status == NULL) {
        return false;
    }
    found = parse_status(status, target);
    fclose(status);
    return found;
}

/* user_range - users of a namespace, and what they are outside of it. */
struct user_range {
    uint32_t inside;
    uint32_t outside;
    uint32_t count;
};

/* Find the range with a user of the namespace. Returns false if there is none. */
static bool
find_user(const char *uid_map, uint32_t inside, struct user_range *range)
{
    FILE *const map = fopen(uid_map, "re");
    bool found = false;

    while (map != NULL && !found &&
           fscanf(map, "%" SCNu32 "%" SCNu32 "%" SCNu32, &range->inside,
                  &range->outside, &range->count) == 3) {
        found = inside - range->inside < range->count;
    }
    if (map != NULL) {
        fclose(map);
    }
    return found;
}

/* Whether a process has the user namespace of the command. If that cannot be read, it
 * counts as the same. */
static bool
shares_users(uint32_t pid)
{
    struct stat theirs;
    struct stat ours;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/user", pid);
    return stat(path, &theirs) != 0 || stat("/proc/self/ns/user", &ours) != 0 ||
           (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

/* Return the number that root of the process's user namespace has in ours; 0 if it is
 * the same namespace, or maps no root. */
static uint32_t
find_root_user(uint32_t pid)
{
    struct user_range range;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/uid_map", pid);
    return !shares_users(pid) && find_user(path, 0, &range)
               ? range.outside + (0 - range.inside)
               : 0;
}

/* Read when a process started, in clock ticks since the boot, from /proc/PID/stat.
 * Returns false if it is not there. */
static bool
read_start(uint32_t pid, uint64_t *ticks)
{
    char line[1024] = "";
    char path[64];
    const char *field;
    FILE *stat;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    stat = fopen(path, "re");
    if (stat == NULL) {
        return false;
    }
    line[fread(line, 1, sizeof(line) - 1, stat)] = '\0';
    fclose(stat);
    field = process_stat_field(line, PROCESS_STAT_START);
    return field != NULL && sscanf(field, "%" SCNu64, ticks) == 1;
}

/* Return the second of CLOCK_REALTIME in which a process started, or 0 if it is not
 * known. /proc and CLOCK_BOOTTIME both have the offset of our time namespace. If the
 * clock has been set forward meanwhile, the result is as much too late. */
static uint64_t
find_start(uint32_t pid)
{
    const uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t real_ns = clock_ns(CLOCK_REALTIME);
    const uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
    uint64_t ticks;

    if (!read_start(pid, &ticks) || ticks > boot_ns / tick_ns ||
        boot_ns - ticks * tick_ns > real_ns) {
        return 0;
    }
    return (real_ns - (boot_ns - ticks * tick_ns)) / CLOCK_SECOND_NS;
}

int
sym_perf_target_read(uint32_t pid, struct sym_perf_target *target)
{
    char root[64];

    *target = (struct sym_perf_target){.folder = -ESRCH};
    if (!read_status(pid, target)) {
        return -ESRCH;
    }
    target->root_uid = find_root_user(pid);
    target->started_s = find_start(pid);
    snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", pid);
    target->folder = sym_open_folder(root, "/tmp");
    return 0;
}

void
sym_perf_target_guess(uint32_t pid, struct sym_perf_target *target)
{
    *target = (struct sym_perf_target){
        .folder = sym_open_folder("", "/tmp"), .pid = pid, .uid = geteuid()};
}

/* Whether a user has a number in our user namespace. All users that have none appear to
 * us with the same number, so they cannot be compared. */
static bool
is_known_user(uint32_t uid)
{
    struct user_range range;

    return access("/proc/self/uid_map", R_OK) != 0 ||
           find_user("/proc/self/uid_map", uid, &range);
}

/* Whether a file was last changed more than a second before a process started. Its
 * ctime is compared: unlike mtime, it also changes with a link, such as a process makes
 * that shares the older map of its parent. */
static bool
is_left_over(const struct stat *status, const struct sym_perf_target *target)
{
    /* In whole seconds: if they differ by two, the times differ by more than one. */
    return target->started_s != 0 &&
           (status->st_ctim.tv_sec < 0 ||
            (uint64_t)status->st_ctim.tv_sec + 1 < target->started_s);
}

int
sym_perf_file_check(int fd, const struct sym_perf_target *target,
                    struct sym_perf_file *file)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    *file = (struct sym_perf_file){fd, status.st_dev, status.st_ino,
                                   (uint64_t)status.st_size};
    if (is_left_over(&status, target)) {
        return -EOWNERDEAD;
    }
    if (status.st_uid == 0) {
        return 0;
    }
    return (status.st_uid == target->uid || status.st_uid == target->root_uid) &&
                   is_known_user(status.st_uid)
               ? 0
               : -EPERM;
}

int
sym_perf_file_open(const struct sym_perf_target *target, struct sym_perf_file *file)
{
    char name[32];
    int error;
    int fd;

    if (target->folder < 0) {
        return target->folder;
    }
    snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", target->pid);
    fd = sym_open_regular_in(target->folder, name);
    if (fd < 0) {
        return fd;
    }
    error = sym_perf_file_check(fd, target, file);
    if (error != 0) {
        close(fd);
    }
    return error;
}
