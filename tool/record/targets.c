/* SPDX-License-Identifier: MIT */
/* targets.c - finds the processes of attach and top. */
#include "record/targets.h"
#include "cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Read a number from /proc/PID/status; format is a scanf format of its line. */
static bool
read_status(uint32_t pid, const char *format, uint32_t *number)
{
    char line[256];
    bool found = false;
    FILE *status;

    snprintf(line, sizeof(line), "/proc/%" PRIu32 "/status", pid);
    status = fopen(line, "re");
    while (status != NULL && !found && fgets(line, sizeof(line), status) != NULL) {
        found = sscanf(line, format, number) == 1;
    }
    if (status != NULL) {
        fclose(status);
    }
    return found;
}

/* Print why a process cannot be found. Returns false, so that callers can return its
 * value. */
static bool
fail_to_find(const char *command, uint32_t pid, int failure)
{
    uint32_t process;

    if (read_status(pid, "Tgid: %" SCNu32, &process) && process != pid) {
        cmd_fail(command,
                 "-p %" PRIu32 ": is a thread of process %" PRIu32
                 "; threads are not profiled alone, try: -p %" PRIu32,
                 pid, process, process);
    } else if (failure == ESRCH) {
        cmd_fail(command, "-p %" PRIu32 ": no such process", pid);
    } else {
        cmd_fail(command, "-p %" PRIu32 ": pidfd_open: %s", pid, strerror(failure));
    }
    return false;
}

static bool
find(struct targets *targets, uint32_t pid)
{
    int fd;

    if (pid == (uint32_t)getpid()) {
        cmd_fail(targets->command, "-p %" PRIu32 ": is ntprof itself", pid);
        return false;
    }
    fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0) {
        return fail_to_find(targets->command, pid, errno);
    }
    targets->fds[targets->count++] = fd;
    if (targets_ended(targets, targets->count - 1)) {
        cmd_fail(targets->command,
                 "-p %" PRIu32 ": has ended already, and waits for its parent", pid);
        return false;
    }
    return true;
}

bool
targets_open(struct targets *targets, const char *command, const uint32_t *pids,
             size_t count)
{
    *targets = (struct targets){.command = command,
                                .fds = calloc(count + 1, sizeof(*targets->fds))};
    if (targets->fds == NULL) {
        cmd_fail(targets->command, "out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!find(targets, pids[i])) {
            return false;
        }
    }
    return true;
}

bool
targets_ended(const struct targets *targets, size_t at)
{
    struct pollfd ended = {.fd = targets->fds[at], .events = POLLIN};

    return poll(&ended, 1, 0) > 0;
}

void
targets_close(struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        close(targets->fds[i]);
    }
    free(targets->fds);
}
