/* SPDX-License-Identifier: MIT */
/*
 * refuse_map_query.c - runs a program as on a kernel that does not answer for single
 * mappings.
 *
 *   refuse_map_query PROGRAM [ARGUMENT...]
 *
 * PROCMAP_QUERY fails with ENOTTY, as before Linux 6.11; every other call is as it was.
 * The program and its children cannot undo it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAP_QUERY_NUMBER = 17, MAP_QUERY_LETTER = 'f' };

static int
refuse_map_query(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
        /* Letter and number of the request, in the low half of the second argument. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xFFFF),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_QUERY_LETTER << 8 | MAP_QUERY_NUMBER, 0,
                 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]),
                                 .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: refuse_map_query PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (refuse_map_query() != 0) {
        perror("refuse_map_query: seccomp");
        return 2;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 2;
}
