/* SPDX-License-Identifier: MIT */
/*
 * stack_oracle.c - single-steps a program, and holds what is found of its stack at each
 * instruction against what its calls and returns say.
 *
 *   stack_oracle INSTRUCTIONS PASSED exec|entry COMMAND...
 *
 * The shadow stack has an entry for each call: where its return address is, and that.
 * An entry goes once rsp is above it, whatever did that: a return, longjmp, an
 * exception, the end of a signal handler. It is complete from where there are no calls:
 * the program's exec, or its entry, where the loader is done. From there on the first
 * PASSED instructions are only followed. Prints one line of JSON.
 */
#include "stack_images.h"

#include "symbols/border/unwind.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHADOWS_MAX = 1 << 16 };
enum { COPY_BYTES = 1 << 16, CALL_BYTES_MAX = 8, SHOWN_MAX = 10 };

/* shadow - a call that has not returned, or what a signal interrupted. */
struct shadow {
    uint64_t slot; /* address of the return address */
    uint64_t returns;
    bool exact; /* it was interrupted */
};

static struct shadow shadows[SHADOWS_MAX];
static size_t shadow_count;
static uint8_t copy[COPY_BYTES];

/* Of the instructions that were asked about. */
static struct {
    unsigned long asked, whole, no_rules, unsupported, landing, wrong, first_right,
        signals;
} counts;

static void
fail(const char *what)
{
    perror(what);
    exit(2);
}

/* --- mappings --- */

static void
read_mappings(pid_t pid)
{
    char line[1024];
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    file = fopen(line, "re");
    stack_images_unmap_all();
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char path[512] = "";
        unsigned long start;
        unsigned long end;
        unsigned long offset;
        char rights[8];

        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511[^\n]", &start, &end, rights,
                   &offset, path) >= 4 &&
            rights[2] == 'x' && strcmp(path, "[vsyscall]") != 0) {
            stack_images_map(start, end, offset, path);
        }
    }
    if (file == NULL) {
        fail("maps");
    }
    fclose(file);
}

/* --- the walk --- */

static struct stack_sample
sample_of(pid_t pid, const struct user_regs_struct *at)
{
    struct iovec here = {copy, sizeof(copy)};
    struct iovec there = {(void *)(uintptr_t)at->rsp, sizeof(copy)};
    const ssize_t copied = process_vm_readv(pid, &here, 1, &there, 1, 0);

    if (copied < 0) {
        fail("process_vm_readv");
    }
    return (struct stack_sample){
        .registers = {at->rax, at->rdx, at->rcx, at->rbx, at->rsi, at->rdi, at->rbp,
                      at->rsp, at->r8, at->r9, at->r10, at->r11, at->r12, at->r13,
                      at->r14, at->r15},
        .address = at->rip,
        .copy = copy,
        .copied_bytes = (size_t)copied,
        .asked_bytes = sizeof(copy),
    };
}

/* Is a frame that of the call which a shadow is of? */
static bool
is_same(const struct stack_frame *frame, const struct shadow *shadow)
{
    const uint64_t place = shadow->exact ? shadow->returns : shadow->returns - 1;
    const struct stack_mapping *const mapping = stack_images_mapping(place);

    return mapping != NULL && mapping->image == frame->image &&
           place - mapping->start + mapping->address == frame->address;
}

/* How many frames are right, from the innermost on. */
static size_t
count_right(const struct stack_walked *walked)
{
    size_t right = 0;

    while (right < walked->count && right < shadow_count &&
           is_same(&walked->frames[right], &shadows[shadow_count - 1 - right])) {
        right++;
    }
    return right;
}

static void
show(const struct user_regs_struct *at, const struct stack_walked *walked, size_t right)
{
    const struct stack_mapping *const mapping = stack_images_mapping(at->rip);

    fprintf(stderr, "at %s+0x%llx: %zu right of %zu frames and %zu calls, end %d in %s",
            mapping == NULL ? "?" : stack_images_path(mapping->image),
            mapping == NULL ? at->rip : at->rip - mapping->start + mapping->address,
            right, walked->count, shadow_count, walked->end,
            stack_images_path(walked->image));
    if (right > 0) {
        fprintf(stderr, ", behind 0x%llx of %s",
                (unsigned long long)walked->frames[right - 1].address,
                stack_images_path(walked->frames[right - 1].image));
    }
    fputc('\n', stderr);
}

/* The unwinder of exceptions overwrites the registers that its own functions saved with
 * those of the frame that it lands in, and only then leaves the frames between: for
 * these instructions no unwind table can be right. */
static bool
may_land(const struct user_regs_struct *at)
{
    const struct stack_mapping *const mapping = stack_images_mapping(at->rip);

    return mapping != NULL &&
           strstr(stack_images_path(mapping->image), "/libgcc_s.so") != NULL;
}

/* A stack that is not whole has to end where there are no rules. */
static void
judge(const struct user_regs_struct *at, const struct stack_walked *walked)
{
    const size_t right = count_right(walked);
    const bool ended =
        walked->end == STACK_NO_RULES || walked->end == STACK_UNSUPPORTED;
    const bool wrong = right < walked->count || (right < shadow_count && !ended) ||
                       (!ended && walked->end != STACK_WHOLE);
    static unsigned int shown;

    counts.asked++;
    counts.first_right += right > 0 || (shadow_count == 0 && walked->count == 0);
    counts.whole += !wrong && right == shadow_count;
    counts.landing += wrong && may_land(at);
    counts.wrong += wrong && !may_land(at);
    if (!wrong && right < shadow_count) {
        counts.no_rules += walked->end == STACK_NO_RULES;
        counts.unsupported += walked->end == STACK_UNSUPPORTED;
    }
    if ((wrong || right < shadow_count) && !may_land(at) && shown++ < SHOWN_MAX) {
        show(at, walked, right);
    }
}

/* --- the shadow stack --- */

static void
push(uint64_t slot, uint64_t returns, bool exact)
{
    if (shadow_count == SHADOWS_MAX) {
        fail("shadows");
    }
    shadows[shadow_count++] = (struct shadow){slot, returns, exact};
}

static uint64_t
word_at(pid_t pid, uint64_t address)
{
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)address, NULL);
}

/* What one instruction, or the delivery of a signal, did to the calls. */
static void
follow(pid_t pid, const struct user_regs_struct *before,
       const struct user_regs_struct *at, bool signal)
{
    uint64_t returns;

    if (signal && at->rip != before->rip && at->rsp < before->rsp) {
        /* The frame of the kernel: the handler's return address, and the registers. */
        push(at->rsp + 8 + sym_signal_offsets[SYM_REGISTERS], before->rip, true);
        push(at->rsp, word_at(pid, at->rsp), false);
        counts.signals++;
    } else if (at->rsp == before->rsp - 8) {
        returns = word_at(pid, at->rsp);
        if (returns > before->rip && returns <= before->rip + CALL_BYTES_MAX &&
            at->rip != returns) {
            push(at->rsp, returns, false);
        }
    }
    while (shadow_count > 0 && shadows[shadow_count - 1].slot < at->rsp) {
        shadow_count--;
    }
}

/* --- the program --- */

static pid_t
start(char **command)
{
    const pid_t pid = fork();
    int status;

    if (pid < 0) {
        fail("fork");
    }
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
            execvp(command[0], command);
        }
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
        fprintf(stderr, "%s does not run\n", command[0]);
        exit(2);
    }
    return pid;
}

/* The address where the loader begins the program, from its auxiliary vector. */
static uint64_t
entry_of(pid_t pid)
{
    uint64_t pairs[64][2] = {{0}};
    char path[64];
    size_t count;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    file = fopen(path, "re");
    if (file == NULL) {
        fail(path);
    }
    count = fread(pairs, sizeof(pairs[0]), sizeof(pairs) / sizeof(pairs[0]), file);
    fclose(file);
    for (size_t i = 0; i < count; i++) {
        if (pairs[i][0] == AT_ENTRY) {
            return pairs[i][1];
        }
    }
    fail("AT_ENTRY");
    return 0;
}

/* By a breakpoint in its code, which is taken away again. */
static void
run_to_entry(pid_t pid)
{
    const uint64_t entry = entry_of(pid);
    const uint64_t code = word_at(pid, entry);
    const uint64_t stop = (code & ~UINT64_C(0xff)) | 0xcc;
    struct user_regs_struct at;
    int status;

    if (ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry, (void *)stop) != 0 ||
        ptrace(PTRACE_CONT, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid ||
        !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, NULL, &at) != 0 ||
        at.rip != entry + 1) {
        fail("the program's entry");
    }
    at.rip = entry;
    if (ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry, (void *)code) != 0 ||
        ptrace(PTRACE_SETREGS, pid, NULL, &at) != 0) {
        fail("the program's entry");
    }
}

/* Code was mapped or unmapped: the instruction was a call of the system. */
static bool
maps_code(const struct user_regs_struct *before, const struct user_regs_struct *at)
{
    enum { MMAP = 9, MPROTECT = 10, MUNMAP = 11, SYSCALL_BYTES = 2 };

    return at->rip == before->rip + SYSCALL_BYTES && at->rcx == at->rip &&
           before->rax >= MMAP && before->rax <= MUNMAP;
}

static unsigned long
step_all(pid_t pid, unsigned long passed, unsigned long most)
{
    struct user_regs_struct before;
    struct user_regs_struct at;
    unsigned long steps = 0;
    int number = 0;

    if (ptrace(PTRACE_GETREGS, pid, NULL, &before) != 0) {
        fail("PTRACE_GETREGS");
    }
    for (; steps < passed + most; steps++) {
        const int delivered = number;
        int status;

        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (long)number) != 0 ||
            waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
            ptrace(PTRACE_GETREGS, pid, NULL, &at) != 0) {
            break; /* it ended */
        }
        number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        follow(pid, &before, &at, delivered != 0);
        if (stack_images_mapping(at.rip) == NULL || maps_code(&before, &at)) {
            read_mappings(pid);
        }
        if (steps >= passed) {
            struct stack_sample sample = sample_of(pid, &at);
            struct stack_walked walked;

            stack_images_walk(&sample, &walked);
            judge(&at, &walked);
        }
        before = at;
    }
    return steps;
}

int
main(int argc, char **argv)
{
    unsigned long steps;
    pid_t pid;

    if (argc < 5 || stack_images_init() != 0) {
        return 2;
    }
    pid = start(argv + 4);
    if (strcmp(argv[3], "entry") == 0) {
        run_to_entry(pid);
    }
    read_mappings(pid);
    steps = step_all(pid, strtoul(argv[2], NULL, 10), strtoul(argv[1], NULL, 10));
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    printf("{\"steps\": %lu, \"asked\": %lu, \"first\": %lu, \"whole\": %lu, "
           "\"no_rules\": %lu, \"unsupported\": %lu, \"landing\": %lu, \"wrong\": %lu, "
           "\"signals\": %lu, "
           "\"rows_asked\": %lu, \"rows\": %zu}\n",
           steps, counts.asked, counts.first_right, counts.whole, counts.no_rules,
           counts.unsupported, counts.landing, counts.wrong, counts.signals,
           stack_images_rows_asked(), stack_images_row_count());
    stack_images_finish();
    return 0;
}
