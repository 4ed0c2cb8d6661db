/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what the host tests share: a host, counts of what a process holds,
 * sandboxes.
 */
#ifndef TESTS_UNIT_HOST_FIXTURE_H
#define TESTS_UNIT_HOST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guarded.h"
#include "host/linux/linuxp.h"
#include <ntprof/session.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static HOST host;

static inline size_t
page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* All mappings, or the shared ones only. */
static inline size_t
count_mappings(bool shared_only)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[5000];
    size_t count = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        char access[5] = "";

        count += sscanf(line, "%*x-%*x %4s", access) == 1 &&
                 (!shared_only || access[3] == 's');
    }
    fclose(maps);
    return count;
}

/* What the process has locked in memory (VmLck), in kB. Also for children: no cmocka.
 */
static inline size_t
locked_kb(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    size_t kb = SIZE_MAX;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "VmLck: %zu", &kb);
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

static size_t descriptors_before;
static size_t shared_before;
static size_t locked_kb_before;

static inline int
host_setup(void **state)
{
    (void)state;
    if (host_linux_create(&host) != STATUS_SUCCESS) {
        return -1;
    }
    descriptors_before = count_descriptors();
    shared_before = count_mappings(true);
    locked_kb_before = locked_kb();
    return 0;
}

/* Every test leaves as many descriptors, shared mappings and locked pages as it found.
 */
static inline int
host_teardown(void **state)
{
    (void)state;
    host_linux_delete(&host);
    guarded_finish();
    if (count_descriptors() != descriptors_before) {
        fprintf(stderr, "descriptors were leaked\n");
        return -1;
    }
    if (count_mappings(true) != shared_before) {
        fprintf(stderr, "shared mappings were leaked\n");
        return -1;
    }
    if (locked_kb() != locked_kb_before) {
        fprintf(stderr, "pages stay locked\n");
        return -1;
    }
    return 0;
}

#define host_test(name) cmocka_unit_test_setup_teardown(name, host_setup, host_teardown)

/*
 * Runs body in a forked child. The child must not use cmocka; it returns 0 for success,
 * and its answer is asserted.
 */
static inline void
assert_child_returns_0(int (*body)(void *), void *argument)
{
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        _exit(body(argument));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("the child died of signal %d", WTERMSIG(status));
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* From now on the system call fails with error. */
static inline int
refuse_call(unsigned int number, unsigned int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* Become an ordinary user, if we are not one already. */
static inline int
drop_rights(void)
{
    if (geteuid() != 0) {
        return 0;
    }
    return syscall(SYS_setresgid, 65534, 65534, 65534) != 0 ||
           syscall(SYS_setresuid, 65534, 65534, 65534) != 0 ||
           prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0;
}

#endif
