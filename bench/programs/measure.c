/* SPDX-License-Identifier: MIT */
/*
 * measure.c - runs a command and writes what it took, with all that it waited for, to a
 * file.
 *
 *   measure RESULT UID COMMAND [ARGUMENT...]
 *
 * RESULT gets one line: wall and processor time, the largest resident memory and the
 * bytes written (all that went through write calls, temporary files and pipes
 * included). UID 0 changes nothing; any other makes the command an ordinary user's. A
 * program of its own because it is small: a command's peak memory counts from before
 * its exec, so it is never below its parent's.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int
fail(const char *what)
{
    fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
    return 125;
}

static uint64_t
wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t
timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* Bytes that a process which ended, and all that it waited for, wrote. 0 if Linux does
 * not tell. */
static uint64_t
bytes_written(pid_t pid)
{
    char path[64];
    char line[128];
    uint64_t bytes = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "wchar: %" SCNu64, &bytes) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* An ordinary user without any right. Returns 0 or -1. */
static int
become(uid_t uid)
{
    if (uid == 0) {
        return 0;
    }
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0) {
        return -1;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int
report(const char *path, uint64_t begun_ns, pid_t pid)
{
    siginfo_t ended;
    struct rusage usage;
    uint64_t taken_ns;
    uint64_t written;
    int status;
    FILE *file;

    /* It stays a zombie until its statistics are read. */
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0) {
        if (errno != EINTR) {
            return fail("waitid");
        }
    }
    taken_ns = wall_ns() - begun_ns;
    written = bytes_written(pid);
    if (wait4(pid, &status, 0, &usage) < 0) {
        return fail("wait4");
    }
    file = fopen(path, "we");
    if (file == NULL) {
        return fail(path);
    }
    fprintf(file,
            "wall_ns=%" PRIu64 " cpu_ns=%" PRIu64 " resident_bytes=%" PRIu64
            " written_bytes=%" PRIu64 "\n",
            taken_ns, timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime),
            (uint64_t)usage.ru_maxrss * 1024u, written);
    if (fclose(file) != 0) {
        return fail(path);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
main(int argc, char **argv)
{
    uint64_t begun_ns;
    pid_t pid;

    if (argc < 4) {
        fprintf(stderr, "usage: measure RESULT UID COMMAND [ARGUMENT...]\n");
        return 125;
    }
    begun_ns = wall_ns();
    pid = fork();
    if (pid < 0) {
        return fail("fork");
    }
    if (pid == 0) {
        if (become((uid_t)strtoul(argv[2], NULL, 10)) < 0) {
            _exit(fail("become an ordinary user"));
        }
        execvp(argv[3], &argv[3]);
        _exit(fail(argv[3]));
    }
    return report(argv[1], begun_ns, pid);
}
