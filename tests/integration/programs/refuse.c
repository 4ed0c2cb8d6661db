/* SPDX-License-Identifier: MIT */
/*
 * refuse.c - runs a command for which system calls fail, as in a container.
 *
 * usage: refuse CALL ERRNO COMMAND [ARGUMENT...]
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long
call_number(const char *name)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {
        {"perf_event_open", SYS_perf_event_open},
        {"bpf", SYS_bpf},
        {"memfd_create", SYS_memfd_create},
        {"pidfd_open", SYS_pidfd_open},
        {"timer_create", SYS_timer_create},
        {"bind", SYS_bind},
        {"connect", SYS_connect},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].number;
        }
    }
    return -1;
}

int
main(int argc, char **argv)
{
    const long number = argc > 3 ? call_number(argv[1]) : -1;
    const unsigned error = number >= 0 ? (unsigned)atoi(argv[2]) : 0;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};

    if (number < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fprintf(stderr, "refuse: cannot set the filter\n");
        return 99;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 99;
}
