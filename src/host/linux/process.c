/* SPDX-License-Identifier: MIT */
/*
 * host/linux/process.c - does a process exist, is it still the same one, and may the
 * caller inspect it?
 *
 * A process is known by its pid and, as the Reference, the time at which it started, in
 * ticks since boot: a later user of the pid has a later time. The kernel adds the boot
 * time offset of the reader's time namespace, the same each time: a process older than
 * such a namespace may have started at tick 0, or before it, which wraps. A pidfd would
 * identify it too, but a session may know thousands of processes and a program has 1024
 * descriptors. Without /proc the time is not known, and a pid that is used again goes
 * unnoticed.
 *
 * The calling process is not looked up: it exists and may inspect itself.
 */
#include "host/linux/linuxp.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES = 64,
    FILE_BYTES = 4096,
    STAT_THREADS = 20, /* fields of /proc/PID/stat, counted from 1 */
    STAT_START_TIME = 22
};

ULONG64
host_current_process_id(void *Context)
{
    (void)Context;
    return (ULONG64)getpid();
}

bool
host_stat_parse(const char *text, char *state, uint64_t *threads, uint64_t *start_time)
{
    /* The name may contain any character; the last parenthesis ends it. */
    const char *field = strrchr(text, ')');
    uint64_t values[STAT_START_TIME + 1] = {0};

    if (field == NULL || field[1] != ' ' || !isalpha((unsigned char)field[2])) {
        return false;
    }
    *state = field[2];
    field += 3;
    for (int i = 4; i <= STAT_START_TIME; i++) {
        char *end;

        values[i] = strtoull(field, &end, 10); /* negative fields wrap; none is used */
        if (end == field) {
            return false;
        }
        field = end;
    }
    *threads = values[STAT_THREADS];
    *start_time = values[STAT_START_TIME];
    return true;
}

/* Read /proc/PID/stat. Returns 0; -ESRCH if there is no such process; another negative
 * errno if it cannot be read, such as without /proc. */
static int
process_stat(pid_t pid, char *state, uint64_t *threads, uint64_t *start_time)
{
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    length = host_file_read(path, text, sizeof(text));
    if (length == -ESRCH || (length < 0 && kill(pid, 0) < 0 && errno == ESRCH)) {
        return -ESRCH;
    }
    if (length < 0) {
        return (int)length;
    }
    return host_stat_parse(text, state, threads, start_time) ? 0 : -EIO;
}

/* Has a process ended? If its main thread is a zombie, it has, unless other threads
 * still run. */
static bool
process_has_ended(char state, uint64_t threads)
{
    return (state == 'Z' || state == 'X') && threads <= 1;
}

/* Return the Reference of a process that started at that tick; 0 stands for a time that
 * is not known. */
static LONG_PTR
reference_of(uint64_t start_time)
{
    const LONG_PTR reference = (LONG_PTR)(start_time + 1);

    return reference != 0 ? reference : 1;
}

/* Is pid the id of a thread other than a main thread? /proc and kill accept it, but it
 * names no process. */
static bool
process_is_thread_of_other(pid_t pid)
{
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    const char *line;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    length = host_file_read(path, text, sizeof(text));
    /* -EFBIG: the process has many groups, which come after Tgid. */
    if (length < 0 && length != -EFBIG) {
        return false;
    }
    line = strstr(text, "\nTgid:");
    return line != NULL && strtol(line + strlen("\nTgid:"), NULL, 10) != pid;
}

NTSTATUS
host_open_process(void *Context, ULONG64 ProcessId, HOST_PROCESS *Process)
{
    const pid_t pid = (pid_t)ProcessId;
    uint64_t start_time = 0;
    uint64_t threads = 0;
    LONG_PTR reference = 0;
    char state = 'R';
    int error;

    if (ProcessId == 0 || ProcessId > INT_MAX) {
        return STATUS_INVALID_CID;
    }
    if (pid != getpid()) {
        error = process_stat(pid, &state, &threads, &start_time);
        if (host_is_shortage(error)) {
            return host_refuse(Context, HOST_REFUSED_PROCESS, ProcessId, error,
                               STATUS_INSUFFICIENT_RESOURCES);
        }
        if (error == -ESRCH || process_has_ended(state, threads) ||
            process_is_thread_of_other(pid)) {
            return STATUS_INVALID_CID;
        }
        reference = error == 0 ? reference_of(start_time) : 0;
    }
    Process->ProcessId = ProcessId;
    Process->Reference = reference;
    return STATUS_SUCCESS;
}

void
host_close_process(void *Context, HOST_PROCESS *Process)
{
    (void)Context;
    *Process = (HOST_PROCESS){0};
}

/* Returns FALSE also if that cannot be found out: the profiles of a process that is
 * gone get no hits, and do no harm. */
BOOLEAN
host_is_process_gone(void *Context, const HOST_PROCESS *Process)
{
    const pid_t pid = (pid_t)Process->ProcessId;
    uint64_t start_time;
    uint64_t threads;
    char state;
    int error;

    (void)Context;
    if (pid == getpid()) {
        return FALSE;
    }
    error = process_stat(pid, &state, &threads, &start_time);
    if (error != 0) {
        return error == -ESRCH;
    }
    return process_has_ended(state, threads) ||
           (Process->Reference != 0 && reference_of(start_time) != Process->Reference);
}

/* May the caller read the process, by the kernel's rules for ptrace? Returns 0 or
 * -errno; -ENODATA if /proc/PID/maps is empty, as for kernel threads and zombies. */
static int
process_try_maps(pid_t pid)
{
    char path[PATH_BYTES];
    char byte;
    ssize_t got;
    int descriptor;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return -errno;
    }
    got = read(descriptor, &byte, 1);
    close(descriptor);
    return got == 1 ? 0 : -ENODATA;
}

NTSTATUS
host_check_process_access(void *Context, const HOST_PROCESS *Process)
{
    const pid_t pid = (pid_t)Process->ProcessId;
    int error;

    if (pid == getpid()) {
        return STATUS_SUCCESS;
    }
    error = process_try_maps(pid);
    /* Where /proc hides other users' processes (ENOENT) or shows no mappings, opening
     * an event makes the same check. If there is no such call (ENOSYS), nothing shows
     * that the caller may read the process: access is denied, as by EACCES. */
    if (error == -ENOENT || error == -ESRCH || error == -ENODATA) {
        error = host_event_open(pid, -1, /* kernel */ false);
        error = error == -ENOSYS ? -EACCES : error;
    }
    /* The pid may have been reused during the check. */
    if (error == 0 && host_is_process_gone(Context, Process)) {
        return STATUS_INVALID_CID;
    }
    return host_refuse(Context, HOST_REFUSED_PROCESS, Process->ProcessId, error,
                       host_status(error)); /* STATUS_SUCCESS if error is 0 */
}
