/* SPDX-License-Identifier: MIT */
/*
 * hostile_reader.c - what a reader that was taken over might do, for a build of the
 * command that is only in tests.
 *
 * NTPROF_TEST_HOSTILE is STAGE:ACTION:FILE; a process that reads a file whose path ends
 * with FILE does it at that stage. At the stage "start" no file is known: all do it.
 */
#include "sandbox/stage.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t command;   /* whose template this is a fork of */
static char given[200]; /* the environment is wiped before there is a reader */

__attribute__((constructor)) static void
remember_command(void)
{
    const char *const variable = getenv("NTPROF_TEST_HOSTILE");

    command = getpid();
    snprintf(given, sizeof(given), "%s", variable != NULL ? variable : "");
}

static void
hang(void)
{
    static int word;

    for (;;) {
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
}

static void
spin(void)
{
    for (volatile unsigned int turns = 0;; turns++) {
    }
}

static void
crash(void)
{
    raise(SIGSEGV); /* no right to that either */
}

static void
fault(void)
{
    static volatile uintptr_t nowhere = 8;

    *(volatile int *)nowhere = 1;
}

#ifdef __SANITIZE_ADDRESS__
enum { EATEN_MAX = 1 << 10 }; /* there is no limit */
#else
enum { EATEN_MAX = INT32_MAX };
#endif

/* Until there is none, and then some more. */
static void
eat(void)
{
    for (int eaten = 0; eaten < EATEN_MAX; eaten++) {
        volatile char *const bytes = malloc(1 << 20);

        bytes[0] = 1; /* of all that it may have, which the limit counts, one page */
    }
    fault();
}

/* Numbers that are none, for as long as somebody listens. */
static void
lie(struct wire *wire)
{
    for (uint64_t i = 0; !wire->failed; i++) {
        wire_put(wire, i * UINT64_C(0x9e3779b97f4a7c15));
    }
    hang();
}

/* system_call - what is refused; if it is not, the names are right, which the test
 * notices. */
static void
call(const char *action)
{
    static char *const words[] = {(char *)(uintptr_t) "/bin/true", NULL};
    static const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

    if (strcmp(action, "open") == 0) {
        syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    } else if (strcmp(action, "exec") == 0) {
        syscall(SYS_execve, words[0], words, NULL);
    } else if (strcmp(action, "socket") == 0) {
        syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    } else if (strcmp(action, "ptrace") == 0) {
        syscall(SYS_ptrace, PTRACE_ATTACH, command, NULL, NULL);
    } else if (strcmp(action, "kill") == 0) {
        syscall(SYS_kill, command, SIGKILL);
    } else if (strcmp(action, "write") == 0) {
        for (int fd = 0; fd < 8; fd++) {
            syscall(SYS_pwrite64, fd, "x", 1, 0);
        }
    } else if (strcmp(action, "fork") == 0) {
        syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    } else if (strcmp(action, "code") == 0) {
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } else if (strcmp(action, "limit") == 0) {
        syscall(SYS_prlimit64, 0, RLIMIT_DATA, &unlimited, NULL);
    } else if (strcmp(action, "send") == 0) {
        struct msghdr message = {.msg_iovlen = 0};

        syscall(SYS_sendmsg, 4, &message, 0);
    }
}

static void
act(const char *action, struct wire *wire)
{
    if (strcmp(action, "hang") == 0) {
        hang();
    } else if (strcmp(action, "spin") == 0) {
        spin();
    } else if (strcmp(action, "crash") == 0) {
        crash();
    } else if (strcmp(action, "fault") == 0) {
        fault();
    } else if (strcmp(action, "eat") == 0) {
        eat();
    } else if (strcmp(action, "lie") == 0) {
        lie(wire);
    } else if (strcmp(action, "end") == 0) {
        _exit(0);
    } else {
        call(action);
    }
}

/* Does the path that the reader was sent end so? */
static bool
is_meant(const struct wire *wire, const char *file)
{
    const size_t size = wire->text.size;
    const size_t length = strlen(file);

    return wire->text.data != NULL && size >= length &&
           memcmp(wire->text.data + size - length, file, length) == 0;
}

void
sandbox_stage(const char *stage, struct wire *wire)
{
    char words[3][64] = {""};

    if (sscanf(given, "%63[^:]:%63[^:]:%63s", words[0], words[1], words[2]) < 2 ||
        strcmp(stage, words[0]) != 0) {
        return;
    }
    if (words[2][0] == '\0' || is_meant(wire, words[2])) {
        act(words[1], wire);
    }
}
