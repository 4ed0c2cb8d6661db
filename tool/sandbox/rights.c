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
#include <sys/auxv.h>
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

/* The allowed system calls: none of them opens, executes, connects, traces or sends a
 * signal. */
static const int allowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_brk,
    SYS_munmap,
    SYS_madvise,
    SYS_futex,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigreturn,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_restart_syscall,
#ifdef SANITIZED
    /* A sanitizer's allocator, and its report before it ends the process. */
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

/* The call that fails instead of killing the process: libdw asks by it for the path of
 * a file, even of one in memory. */
#ifdef SYS_readlink
enum { REFUSED = SYS_readlink };
#else
enum { REFUSED = SYS_readlinkat };
#endif

/* Allowed on SANDBOX_SOCKET only. mmap, mprotect and mremap are allowed by arguments,
 * too, below. */
static const int on_socket[] = {SYS_sendmsg, SYS_recvmsg};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARGUMENT_LOW(number)                                  \
    ((uint32_t)(offsetof(struct seccomp_data, args[number]) + \
                (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4)))
#define ARGUMENT_HIGH(number)                                 \
    ((uint32_t)(offsetof(struct seccomp_data, args[number]) + \
                (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 4 : 0)))

enum { INSTRUCTIONS_MAX = 160 };

/* Limit of the stack: Linux' default. */
static const uint64_t stack_bytes = UINT64_C(8) << 20;

/* Address space for mapped files. They are no memory of the process, but the kernel's
 * tables of their pages are: a 512th. */
static const uint64_t files_bytes_max = UINT64_C(64) << 30;

struct program {
    struct sock_filter code[INSTRUCTIONS_MAX];
    unsigned short count;
};

/* --- the filter --- */

/* Append an instruction. yes and no are how many instructions a jump skips if its test
 * succeeds, and if it fails. */
static void
add(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    program->code[program->count++] =
        (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}

/* Load a word of struct seccomp_data. The functions below expect the number of the call
 * to be loaded, and leave it so for other calls than theirs. */
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

/* Allow a call if the low half of an argument passes a test, and else kill the process.
 * The test is a jump that skips one instruction if the argument does not pass. */
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

/* Allow to map memory that is private, no stack and no code; other mmap calls kill the
 * process. The kernel counts neither shared memory nor what grows downwards for
 * RLIMIT_DATA. MAP_SHARED is also a bit of MAP_SHARED_VALIDATE. */
static void
add_map(struct program *program)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 6);
    add_load(program, ARGUMENT_LOW(2));
    add(program, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0);
    add_load(program, ARGUMENT_LOW(3));
    add(program, BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED | MAP_GROWSDOWN, 1, 0);
    add_end(program, SECCOMP_RET_ALLOW);
    add_end(program, SECCOMP_RET_KILL_PROCESS);
}

/* Allow to move memory and make it larger, except the stack, by which mremap would pass
 * RLIMIT_DATA: that fails. The stack is from address lowest on, and all other memory is
 * below: no mapping is made above the stack. */
static void
add_remap(struct program *program, uint64_t lowest)
{
    const uint32_t high = (uint32_t)(lowest >> 32);

    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 7);
    add_load(program, ARGUMENT_HIGH(0));
    add(program, BPF_JMP | BPF_JGT | BPF_K, high, 3, 0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, high, 0, 3);
    add_load(program, ARGUMENT_LOW(0));
    add(program, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)lowest, 0, 1);
    add_end(program, SECCOMP_RET_ERRNO | ENOMEM);
    add_end(program, SECCOMP_RET_ALLOW);
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

/* Make the filter of system calls. stack is the lowest address that the stack may get
 * to. */
static void
make_program(struct program *program, uint64_t stack)
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
    add_tested(program, SYS_mprotect, 2, &no_exec);
    add_map(program);
    add_remap(program, stack);
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

/* --- capabilities and limits --- */

int
sandbox_keep_to_itself(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP};
    sigset_t empty;

    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    for (size_t i = 0; i < COUNT(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -errno;
    }
    return 0;
}

#ifndef SANITIZED
/* Find the address space that the process has, and the private memory in it, as
 * RLIMIT_AS and RLIMIT_DATA count them. */
static void
get_memory(uint64_t *space_bytes, uint64_t *data_bytes)
{
    FILE *const file = fopen("/proc/self/statm", "re");
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long space = 0;
    unsigned long data = 0;

    if (file != NULL) {
        (void)!fscanf(file, "%lu %*u %*u %*u %*u %lu", &space, &data);
        fclose(file);
    }
    *space_bytes = space * page_bytes;
    *data_bytes = data * page_bytes;
}
#endif

/* Lower a resource limit for good. A lower one that the process has already stays. */
static int
lower_limit(__rlimit_resource_t resource, uint64_t value)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0) {
        return -errno;
    }
    if (limit.rlim_cur > value) {
        limit.rlim_cur = value;
    }
    limit.rlim_max = limit.rlim_cur;
    return setrlimit(resource, &limit) == 0 ? 0 : -errno;
}

/* Set the limits of resources as sandbox_drop_rights does. Returns 0 or a negative
 * errno. */
static int
set_limits(uint64_t memory_bytes, uint64_t cpu_seconds)
{
    int error = lower_limit(RLIMIT_CORE, 0);

    error = error != 0 ? error : lower_limit(RLIMIT_CPU, cpu_seconds);
    /* RLIMIT_DATA does not count the stack. */
    error = error != 0 ? error : lower_limit(RLIMIT_STACK, stack_bytes);
#ifndef SANITIZED /* shadow memory is counted as if it was used */
    uint64_t space_bytes;
    uint64_t data_bytes;

    get_memory(&space_bytes, &data_bytes);
    error = error != 0 ? error : lower_limit(RLIMIT_FSIZE, 0);
    error = error != 0 ? error : lower_limit(RLIMIT_DATA, data_bytes + memory_bytes);
    error = error != 0
                ? error
                : lower_limit(RLIMIT_AS, space_bytes + memory_bytes + files_bytes_max);
#else
    (void)memory_bytes;
#endif
    return error;
}

int
sandbox_drop_rights(uint64_t memory_bytes, uint64_t cpu_seconds)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    struct program program;
    struct sock_fprog filter = {.filter = program.code};
    const int error = set_limits(memory_bytes, cpu_seconds);

    if (error != 0) {
        return error;
    }
    if (syscall(SYS_capset, &header, none) != 0) {
        return -errno;
    }
    /* The random bytes are above the first frame of the stack, and it is no larger
     * than its limit. */
    make_program(&program, getauxval(AT_RANDOM) - stack_bytes);
    filter.len = program.count;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0 ? 0 : -errno;
}
