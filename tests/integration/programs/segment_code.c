/* SPDX-License-Identifier: MIT */
/*
 * segment_code.c - see segment_code.h.
 *
 * The ways there and back are far jumps; the 64-bit code to come back to must lie below
 * 4 GB. Nothing is pushed in between, so the stack pointer may have any value
 * meanwhile; r14 and r15 are out of reach of such code and keep theirs. A far return
 * would read the stack, which QEMU's emulation (7.2) does as the kernel: it faults with
 * SMAP.
 */
#include "segment_code.h"

#include <asm/ldt.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE_LDT = 0x11, CONTENTS_CODE = 2, PAGE_BYTES = 4096 };

/* The page behind the segment; the loops jump to it. */
#define EXIT_ADDRESS (SEGMENT_BASE + SEGMENT_BYTES)

extern const char segment_loop_32[];
extern const char segment_loop_16[];
extern const char segment_loop_64[];
extern const char segment_exit[];
extern const char segment_end[];

/* Templates: copied to where they run. */
__asm__(".pushsection .rodata\n"
        "segment_loop_32:\n"
        "    .code32\n"
        "1:  decl %ecx\n"
        "    jnz 1b\n"
        "    ljmp $0x33, $0x30010000\n"
        "segment_loop_16:\n"
        "    .code16\n"
        "1:  decl %ecx\n"
        "    jnz 1b\n"
        "    ljmpl $0x33, $0x30010000\n"
        "    .code64\n"
        "segment_loop_64:\n"
        "1:  decl %ecx\n"
        "    jnz 1b\n"
        "segment_exit:\n"
        "    movq %r15, %rsp\n"
        "    jmp *%r14\n"
        "segment_end:\n"
        "    .popsection\n");

/* rdi: offset, rsi: selector, edx: rounds. */
__asm__(".pushsection .text\n"
        "    .type segment_enter, @function\n"
        "segment_enter:\n"
        "    pushq %rbx\n"
        "    pushq %rbp\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    leaq 1f(%rip), %r14\n"
        "    movq %rsp, %r15\n"
        "    movl %edx, %ecx\n"
        "    movl %edi, -16(%rsp)\n"
        "    movl %esi, -12(%rsp)\n"
        "    ljmpl *-16(%rsp)\n"
        "1:  popq %r15\n"
        "    popq %r14\n"
        "    popq %rbp\n"
        "    popq %rbx\n"
        "    ret\n"
        "    .size segment_enter, . - segment_enter\n"
        "    .popsection\n");

void segment_enter(uint64_t offset, uint64_t selector, uint32_t rounds);

static int
make_descriptor(unsigned int entry, unsigned int is_32_bit)
{
    const struct user_desc descriptor = {
        .entry_number = entry,
        .base_addr = (unsigned int)SEGMENT_BASE,
        .limit = (unsigned int)SEGMENT_BYTES - 1,
        .seg_32bit = is_32_bit & 1,
        .contents = CONTENTS_CODE,
        .useable = 1,
    };

    return syscall(SYS_modify_ldt, WRITE_LDT, &descriptor, sizeof(descriptor)) == 0
               ? 0
               : -errno;
}

static void
copy_code(uint64_t offset, const char *from, const char *to)
{
    memcpy((void *)(uintptr_t)(SEGMENT_BASE + offset), from, (size_t)(to - from));
}

int
segment_make(void)
{
    void *const wanted = (void *)(uintptr_t)SEGMENT_BASE;
    const size_t bytes = SEGMENT_BYTES + PAGE_BYTES;
    int result;

    if (mmap(wanted, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted) {
        return -ENOMEM;
    }
    copy_code(LOOP_32, segment_loop_32, segment_loop_16);
    copy_code(LOOP_16, segment_loop_16, segment_loop_64);
    copy_code(LOOP_64, segment_loop_64, segment_end);
    copy_code(EXIT_ADDRESS - SEGMENT_BASE, segment_exit, segment_end);
    if (mprotect(wanted, bytes, PROT_READ | PROT_EXEC) != 0) {
        return -errno;
    }
    result = make_descriptor(SELECTOR_32 >> 3, 1);
    return result != 0 ? result : make_descriptor(SELECTOR_16 >> 3, 0);
}

void
segment_run(uint64_t selector, uint64_t offset, uint32_t rounds)
{
    segment_enter(offset, selector, rounds);
}
