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
#include "stacks/walk.h"

#include "sandbox/process.h"
#include "symbols/client/unwind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IMAGES_MAX = 256, MAPPINGS_MAX = 1024, SHADOWS_MAX = 1 << 16 };
enum { COPY_BYTES = 1 << 16, CALL_BYTES_MAX = 8, SHOWN_MAX = 10 };

/* image - a file with code, or the vdso. */
struct image {
    char path[512];
    struct sym_image *symbols; /* NULL: not an ELF file */
};

/* shadow - a call that has not returned, or what a signal interrupted. */
struct shadow {
    uint64_t slot; /* address of the return address */
    uint64_t returns;
    bool exact; /* it was interrupted */
};

static struct image images[IMAGES_MAX];
static uint32_t image_count;
static struct stack_mapping mappings[MAPPINGS_MAX];
static size_t mapping_count;
static struct shadow shadows[SHADOWS_MAX];
static size_t shadow_count;
static struct stack_rules *rules;
static uint8_t copy[COPY_BYTES];

/* Of the instructions that were asked about. */
static struct {
    unsigned long asked, whole, no_rules, unsupported, landing, wrong, first_right,
        signals, rows_asked;
} counts;

static void
fail(const char *what)
{
    perror(what);
    exit(2);
}

/* --- mappings --- */

static uint32_t
find_image(const char *path)
{
    uint32_t i = 0;
    int fd;

    while (i < image_count && strcmp(images[i].path, path) != 0) {
        i++;
    }
    if (i < image_count) {
        return i;
    }
    if (image_count == IMAGES_MAX) {
        fail("images");
    }
    image_count++;
    snprintf(images[i].path, sizeof(images[i].path), "%s", path);
    if (strcmp(path, "[vdso]") == 0) {
        images[i].symbols = sym_image_open_vdso(NULL);
    } else if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        images[i].symbols = sym_image_open(fd, path, "", NULL);
    }
    return i;
}

static void
add_mapping(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    struct stack_mapping *const mapping = &mappings[mapping_count++];

    *mapping = (struct stack_mapping){start, end, start, find_image(path), false};
    mapping->anonymous = images[mapping->image].symbols == NULL;
    if (!mapping->anonymous) {
        mapping->address = sym_image_place_address(images[mapping->image].symbols,
                                                   offset, end - start);
    }
}

static void
read_mappings(pid_t pid)
{
    char line[1024];
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    file = fopen(line, "re");
    mapping_count = 0;
    while (file != NULL && mapping_count < MAPPINGS_MAX &&
           fgets(line, sizeof(line), file) != NULL) {
        char path[512] = "";
        unsigned long start;
        unsigned long end;
        unsigned long offset;
        char rights[8];

        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511[^\n]", &start, &end, rights,
                   &offset, path) >= 4 &&
            rights[2] == 'x' && strcmp(path, "[vsyscall]") != 0) {
            add_mapping(start, end, offset, path);
        }
    }
    if (file == NULL) {
        fail("maps");
    }
    fclose(file);
}

static const struct stack_mapping *
mapping_of(uint64_t address)
{
    return stack_mapping_find(mappings, mapping_count, address);
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
        .mappings = mappings,
        .mapping_count = mapping_count,
    };
}

static void
walk(const struct stack_sample *sample, struct stack_walked *walked)
{
    while (!stack_walk(sample, rules, walked)) {
        struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
        const size_t count =
            sym_image_unwind(images[walked->image].symbols, walked->address, rows);

        counts.rows_asked++;
        stack_rules_add(rules, walked->image, rows, count);
    }
}

/* Is a frame that of the call which a shadow is of? */
static bool
is_same(const struct stack_frame *frame, const struct shadow *shadow)
{
    const uint64_t place = shadow->exact ? shadow->returns : shadow->returns - 1;
    const struct stack_mapping *const mapping = mapping_of(place);

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
    const struct stack_mapping *const mapping = mapping_of(at->rip);

    fprintf(stderr, "at %s+0x%llx: %zu right of %zu frames and %zu calls, end %d in %s",
            mapping == NULL ? "?" : images[mapping->image].path,
            mapping == NULL ? at->rip : at->rip - mapping->start + mapping->address,
            right, walked->count, shadow_count, walked->end,
            walked->image == STACK_NO_IMAGE ? "none" : images[walked->image].path);
    if (right > 0) {
        fprintf(stderr, ", behind 0x%llx of %s",
                (unsigned long long)walked->frames[right - 1].address,
                images[walked->frames[right - 1].image].path);
    }
    fputc('\n', stderr);
}

/* The unwinder of exceptions overwrites the registers that its own functions saved with
 * those of the frame that it lands in, and only then leaves the frames between: for
 * these instructions no unwind table can be right. */
static bool
may_land(const struct user_regs_struct *at)
{
    const struct stack_mapping *const mapping = mapping_of(at->rip);

    return mapping != NULL &&
           strstr(images[mapping->image].path, "/libgcc_s.so") != NULL;
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
        if (mapping_of(at.rip) == NULL || maps_code(&before, &at)) {
            read_mappings(pid);
        }
        if (steps >= passed) {
            const struct stack_sample sample = sample_of(pid, &at);
            struct stack_walked walked;

            walk(&sample, &walked);
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

    if (argc < 5 || sandbox_prepare() != 0) {
        return 2;
    }
    rules = stack_rules_create();
    pid = start(argv + 4);
    if (strcmp(argv[3], "entry") == 0) {
        run_to_entry(pid);
    }
    read_mappings(pid);
    steps = step_all(pid, strtoul(argv[2], NULL, 10), strtoul(argv[1], NULL, 10));
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    for (uint32_t i = 0; i < image_count; i++) {
        sym_image_close(images[i].symbols);
    }
    printf("{\"steps\": %lu, \"asked\": %lu, \"first\": %lu, \"whole\": %lu, "
           "\"no_rules\": %lu, \"unsupported\": %lu, \"landing\": %lu, \"wrong\": %lu, "
           "\"signals\": %lu, "
           "\"rows_asked\": %lu, \"rows\": %zu}\n",
           steps, counts.asked, counts.first_right, counts.whole, counts.no_rules,
           counts.unsupported, counts.landing, counts.wrong, counts.signals,
           counts.rows_asked, stack_rules_count(rules));
    stack_rules_delete(rules);
    sandbox_finish();
    return 0;
}
