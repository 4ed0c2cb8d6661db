/* SPDX-License-Identifier: MIT */
/* rights.c - capabilities, resource limits and the filter of system calls. */
#include "sandbox/rights.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define THIS_ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define THIS_ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define THIS_ARCHITECTURE AUDIT_ARCH_S390X
#else
#error "the name of this architecture in linux/audit.h is missing"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
const int sandbox_errors_fd = STDERR_FILENO;
#else
const int sandbox_errors_fd = -1;
#endif

/* None opens, executes, connects, traces or sends a signal. */
static const int allowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_futex,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigreturn,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_restart_syscall,
#ifdef SANITIZED
    /* Its allocator, and a report before the end. */
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_sched_yield,
    SYS_getpid,
    SYS_gettid,
    SYS_getrusage,
    SYS_sched_getaffinity,
#endif
};

/* Fails, and does nothing: libdw asks where a file is that it was given in memory. */
#ifdef SYS_readlink
enum { REFUSED = SYS_readlink };
#else
enum { REFUSED = SYS_readlinkat };
#endif

/* Of these an argument decides: the socket of the first two; no code is made by the
 * others. */
static const int on_socket[] = {SYS_sendmsg, SYS_recvmsg};
static const int no_code[] = {SYS_mmap, SYS_mprotect};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARGUMENT_LOW(number)                                  \
    ((uint32_t)(offsetof(struct seccomp_data, args[number]) + \
                (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4)))

enum { INSTRUCTIONS_MAX = 160 };

struct program {
    struct sock_filter code[INSTRUCTIONS_MAX];
    unsigned short count;
};

static void
add(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}

static void
add_load(struct program *program, size_t offset)
{
    add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void
add_end(struct program *program, uint32_t action)
{
    add(program, BPF_RET | BPF_K, action, 0, 0);
}

/* The call is allowed if the low half of an argument passes a test. */
static void
add_tested(struct program *program, int call, unsigned int argument,
           const struct sock_filter *test)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    add_load(program, ARGUMENT_LOW(argument));
    program->code[program->count++] = *test;
    add_end(program, SECCOMP_RET_ALLOW);
    add_end(program, SECCOMP_RET_KILL_PROCESS);
}

static void
add_allowed(struct program *program, int call)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    add_end(program, SECCOMP_RET_ALLOW);
}

static void
add_refused(struct program *program, int call)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    add_end(program, SECCOMP_RET_ERRNO | EACCES);
}

static void
make_program(struct program *program)
{
    const struct sock_filter is_socket = {BPF_JMP | BPF_JEQ | BPF_K, 0, 1,
                                          SANDBOX_SOCKET};
    const struct sock_filter no_exec = {BPF_JMP | BPF_JSET | BPF_K, 1, 0, PROT_EXEC};

    program->count = 0;
    add_load(program, offsetof(struct seccomp_data, arch));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 1, 0);
    add_end(program, SECCOMP_RET_KILL_PROCESS);
    add_load(program, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT(on_socket); i++) {
        add_tested(program, on_socket[i], 0, &is_socket);
    }
    for (size_t i = 0; i < COUNT(no_code); i++) {
        add_tested(program, no_code[i], 2, &no_exec);
    }
#ifdef SANITIZED
    const struct sock_filter is_error = {BPF_JMP | BPF_JEQ | BPF_K, 0, 1,
                                         STDERR_FILENO};
    add_tested(program, SYS_write, 0, &is_error);
#endif
    for (size_t i = 0; i < COUNT(allowed); i++) {
        add_allowed(program, allowed[i]);
    }
    add_refused(program, REFUSED);
    add_end(program, SECCOMP_RET_KILL_PROCESS);
}

int
sandbox_drop_capabilities(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    sigset_t empty;

    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    for (size_t i = 0; i < COUNT(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    if (syscall(SYS_capset, &header, none) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -errno;
    }
    return 0;
}

#ifndef SANITIZED
/* Private memory that the process has, as RLIMIT_DATA counts it. */
static uint64_t
data_bytes(void)
{
    FILE *const file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (file != NULL) {
        (void)!fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages);
        fclose(file);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
#endif

static int
set_limit(__rlimit_resource_t resource, uint64_t value)
{
    const struct rlimit limit = {value, value};

    return setrlimit(resource, &limit) == 0 ? 0 : -errno;
}

static int
set_limits(uint64_t memory_bytes, uint64_t cpu_seconds)
{
    int error = set_limit(RLIMIT_CORE, 0);

    error = error != 0 ? error : set_limit(RLIMIT_CPU, cpu_seconds);
#ifndef SANITIZED /* shadow memory is counted as if it was used */
    error = error != 0 ? error : set_limit(RLIMIT_FSIZE, 0);
    error = error != 0 ? error : set_limit(RLIMIT_DATA, data_bytes() + memory_bytes);
#else
    (void)memory_bytes;
#endif
    return error;
}

int
sandbox_drop_rights(uint64_t memory_bytes, uint64_t cpu_seconds)
{
    struct program program;
    struct sock_fprog filter = {.filter = program.code};
    const int error = set_limits(memory_bytes, cpu_seconds);

    if (error != 0) {
        return error;
    }
    make_program(&program);
    filter.len = program.count;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0 ? 0 : -errno;
}
