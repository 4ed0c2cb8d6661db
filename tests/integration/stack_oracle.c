/* SPDX-License-Identifier: MIT */
/*
 * stack_oracle.c - single-steps a program, and holds what is found of its stack at each
 * instruction against what its calls and returns say.
 *
 *   stack_oracle INSTRUCTIONS PASSED exec|entry COMMAND...
 *
 * The shadow stack has an entry for each call: where its return address is, or on arm64
 * where the stack ends at the call, and that address. An entry goes once the stack
 * pointer is above it, whatever did that: a return, longjmp, an exception, the end of a
 * signal handler; on arm64 also by a return to it. It is complete from where there are
 * no calls: the program's exec, or its entry, where the loader is done. From there on
 * the first PASSED instructions are only followed. Prints one line of JSON.
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
enum { COPY_BYTES = 1 << 16, SHOWN_MAX = 10 };

/* shadow - a call that has not returned, or what a signal interrupted. */
struct shadow {
    uint64_t slot; /* address of the return address; the stack pointer at the call */
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

static uint64_t
word_at(pid_t pid, uint64_t address)
{
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)address, NULL);
}

/* Add a call, or what a signal interrupted, to the shadow stack. */
static void
push(uint64_t slot, uint64_t returns, bool exact)
{
    if (shadow_count == SHADOWS_MAX) {
        fail("shadows");
    }
    shadows[shadow_count++] = (struct shadow){slot, returns, exact};
}

/* --- the machine --- */

static bool
get_registers(pid_t pid, struct user_regs_struct *at)
{
    struct iovec all = {at, sizeof(*at)};

    return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all) == 0;
}

static bool
set_registers(pid_t pid, struct user_regs_struct *at)
{
    struct iovec all = {at, sizeof(*at)};

    return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &all) == 0;
}

#if defined(__x86_64__)

/* int3, behind which a program stops. */
enum { BREAKPOINT = 0xcc, BREAKPOINT_MASK = 0xff, BREAKPOINT_BYTES = 1 };

#define PC(at) ((at)->rip)
#define SP(at) ((at)->rsp)

static void
take_registers(const struct user_regs_struct *at, struct stack_sample *sample)
{
    const uint64_t registers[SYM_REGISTERS] = {
        at->rax, at->rdx, at->rcx, at->rbx, at->rsi, at->rdi, at->rbp, at->rsp,
        at->r8,  at->r9,  at->r10, at->r11, at->r12, at->r13, at->r14, at->r15};

    memcpy(sample->registers, registers, sizeof(registers));
}

/* What the delivery of a signal did to the calls: the frame of the kernel has the
 * handler's return address, and the registers. */
static void
follow_signal(pid_t pid, const struct user_regs_struct *before,
              const struct user_regs_struct *at)
{
    push(at->rsp + 8 + sym_signal_offsets[SYM_REGISTERS], before->rip, true);
    push(at->rsp, word_at(pid, at->rsp), false);
}

/* What one instruction did to the calls. */
static void
follow_instruction(pid_t pid, const struct user_regs_struct *before,
                   const struct user_regs_struct *at)
{
    enum { CALL_BYTES_MAX = 8 };
    uint64_t returns;

    if (at->rsp == before->rsp - 8) {
        returns = word_at(pid, at->rsp);
        if (returns > before->rip && returns <= before->rip + CALL_BYTES_MAX &&
            at->rip != returns) {
            push(at->rsp, returns, false);
        }
    }
}

/* Code was mapped or unmapped: the instruction was a call of the system. */
static bool
maps_code(pid_t pid, const struct user_regs_struct *before,
          const struct user_regs_struct *at)
{
    enum { MMAP = 9, MPROTECT = 10, MUNMAP = 11, SYSCALL_BYTES = 2 };

    (void)pid;
    return at->rip == before->rip + SYSCALL_BYTES && at->rcx == at->rip &&
           before->rax >= MMAP && before->rax <= MUNMAP;
}

#else

/* brk, at which a program stops. */
enum { BREAKPOINT_BYTES = 0 };
#define BREAKPOINT UINT64_C(0xd4200000)
#define BREAKPOINT_MASK UINT64_C(0xffffffff)

enum { LINK = 30, INSTRUCTION_BYTES = 4 };

#define PC(at) ((at)->pc)
#define SP(at) ((at)->sp)

/* Of addresses that may be signed. */
#define WITHOUT_SIGNATURE(address) ((address) & ((UINT64_C(1) << 48) - 1))

static void
take_registers(const struct user_regs_struct *at, struct stack_sample *sample)
{
    memcpy(sample->registers, at->regs, sizeof(at->regs));
    sample->registers[SYM_REGISTER_SP] = at->sp;
}

static void
follow_signal(pid_t pid, const struct user_regs_struct *before,
              const struct user_regs_struct *at)
{
    (void)pid;
    push(at->sp + sym_signal_offsets[SYM_REGISTERS], before->pc, true);
    push(at->sp, at->regs[LINK], false);
}

/* Instructions that call set the link register to what is behind them; those that
 * return go where it says. */
static void
follow_instruction(pid_t pid, const struct user_regs_struct *before,
                   const struct user_regs_struct *at)
{
    const uint64_t next = before->pc + INSTRUCTION_BYTES;

    (void)pid;
    if (at->pc == next) {
        return;
    }
    if (at->regs[LINK] == next) {
        push(at->sp, next, false);
    } else if (at->pc == WITHOUT_SIGNATURE(at->regs[LINK])) {
        while (shadow_count > 0 && shadows[shadow_count - 1].slot <= at->sp) {
            shadow_count--;
        }
    }
}

static bool
maps_code(pid_t pid, const struct user_regs_struct *before,
          const struct user_regs_struct *at)
{
    enum { NUMBER = 8, MUNMAP = 215, MMAP = 222, MPROTECT = 226 };
    const uint64_t number = before->regs[NUMBER];

    return at->pc == before->pc + INSTRUCTION_BYTES &&
           (number == MUNMAP || number == MMAP || number == MPROTECT) &&
           (uint32_t)word_at(pid, before->pc) == 0xd4000001; /* svc */
}

#endif

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
    struct iovec there = {(void *)(uintptr_t)SP(at), sizeof(copy)};
    const ssize_t copied = process_vm_readv(pid, &here, 1, &there, 1, 0);
    struct stack_sample sample = {
        .address = PC(at),
        .copy = copy,
        .copied_bytes = (size_t)copied,
        .asked_bytes = sizeof(copy),
    };

    if (copied < 0) {
        fail("process_vm_readv");
    }
    take_registers(at, &sample);
    return sample;
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
    const struct stack_mapping *const mapping = stack_images_mapping(PC(at));

    fprintf(stderr, "at %s+0x%llx: %zu right of %zu frames and %zu calls, end %d in %s",
            mapping == NULL ? "?" : stack_images_path(mapping->image),
            (unsigned long long)(mapping == NULL
                                     ? PC(at)
                                     : PC(at) - mapping->start + mapping->address),
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
    const struct stack_mapping *const mapping = stack_images_mapping(PC(at));

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
    if (!wrong && right == shadow_count) {
        counts.whole++;
        return;
    }
    if (may_land(at)) {
        counts.landing++;
        return;
    }
    counts.wrong += wrong;
    counts.no_rules += !wrong && walked->end == STACK_NO_RULES;
    counts.unsupported += !wrong && walked->end == STACK_UNSUPPORTED;
    if (shown++ < SHOWN_MAX) {
        show(at, walked, right);
    }
}

/* --- the shadow stack --- */

/* What one instruction, or the delivery of a signal, did to the calls. */
static void
follow(pid_t pid, const struct user_regs_struct *before,
       const struct user_regs_struct *at, bool signal)
{
    if (signal && PC(at) != PC(before) && SP(at) < SP(before)) {
        follow_signal(pid, before, at);
        counts.signals++;
    } else {
        follow_instruction(pid, before, at);
    }
    while (shadow_count > 0 && shadows[shadow_count - 1].slot < SP(at)) {
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
    const uint64_t stop = (code & ~(uint64_t)BREAKPOINT_MASK) | BREAKPOINT;
    struct user_regs_struct at;
    int status;

    if (ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry, (void *)stop) != 0 ||
        ptrace(PTRACE_CONT, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid ||
        !WIFSTOPPED(status) || !get_registers(pid, &at) ||
        PC(&at) != entry + BREAKPOINT_BYTES) {
        fail("the program's entry");
    }
    PC(&at) = entry;
    if (ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry, (void *)code) != 0 ||
        !set_registers(pid, &at)) {
        fail("the program's entry");
    }
}

static unsigned long
step_all(pid_t pid, unsigned long passed, unsigned long most)
{
    struct user_regs_struct before;
    struct user_regs_struct at;
    unsigned long steps = 0;
    int number = 0;

    if (!get_registers(pid, &before)) {
        fail("PTRACE_GETREGSET");
    }
    for (; steps < passed + most; steps++) {
        const int delivered = number;
        int status;

        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (long)number) != 0 ||
            waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
            !get_registers(pid, &at)) {
            break; /* it ended */
        }
        number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        follow(pid, &before, &at, delivered != 0);
        if (stack_images_mapping(PC(&at)) == NULL || maps_code(pid, &before, &at)) {
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
