/* SPDX-License-Identifier: MIT */
/* hal/linux/stack.c - sizes and registers of samples with copies of user stacks. */
#include "hal/linux/stack.h"

#include "hal/linux/record.h"

#include <string.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

/* The largest multiple of 8 that a record's size, of 16 bits, can be. */
enum { RECORD_BYTES_MAX = 65528 };

/* A ring holds the samples of this time, in which the reader is not running. */
#define RING_NS 32000000u

uint64_t
perf_stack_register_mask(void)
{
#if defined(__x86_64__)
    /* Up to IP, and R8 to R15: between them are flags and segments. */
    const uint64_t first = ((uint64_t)2 << PERF_REG_X86_IP) - 1;
    const uint64_t from_r8 =
        ((uint64_t)2 << PERF_REG_X86_R15) - ((uint64_t)1 << PERF_REG_X86_R8);

    return first | from_r8;
#elif defined(__aarch64__)
    return ((uint64_t)2 << PERF_REG_ARM64_PC) - 1;
#else
    return 0;
#endif
}

void
perf_stack_order_registers(const uint64_t *sample, uint64_t *ordered)
{
#if defined(__x86_64__)
    /* A sample has rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, rip, r8 to r15; DWARF rax,
     * rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and rip. */
    static const uint8_t places[PERF_STACK_REGISTERS] = {
        0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};

    for (size_t i = 0; i < PERF_STACK_REGISTERS; i++) {
        ordered[i] = sample[places[i]];
    }
#else
    memcpy(ordered, sample, PERF_STACK_REGISTERS * sizeof(*ordered));
#endif
}

size_t
perf_stack_record_bytes(size_t stack_bytes, bool chain)
{
    const size_t word = sizeof(uint64_t);
    /* The chain begins with its length and PERF_CONTEXT_KERNEL. */
    const size_t chain_words = chain ? 2 + PERF_STACK_CHAIN_MAX : 0;

    /* The registers follow their abi. Before the stack is its size, and behind it how
     * many bytes of it Linux could read. */
    return sizeof(struct perf_sample) + chain_words * word +
           (1 + PERF_STACK_REGISTERS) * word + word + stack_bytes + word;
}

/* Return the smaller one. */
static size_t
least(size_t one, size_t other)
{
    return one < other ? one : other;
}

size_t
perf_stack_grant(size_t asked, size_t ring_bytes, uint64_t period_ns, bool chain)
{
    const size_t without_stack = perf_stack_record_bytes(0, chain);
    /* The ring has room for the records of RING_NS, if each has this size. */
    const uint64_t of_ring = ring_bytes * period_ns / RING_NS;
    const size_t record =
        of_ring < RECORD_BYTES_MAX ? (size_t)of_ring : RECORD_BYTES_MAX;
    const size_t bytes = record > without_stack ? record - without_stack : 0;

    return least(least(asked, ring_bytes / 8), bytes) / 8 * 8;
}
