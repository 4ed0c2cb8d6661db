/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/stack.h - copies of user stacks in samples: the registers that come with
 * them, and how many bytes of stack a ring has room for.
 */
#ifndef HAL_LINUX_STACK_H
#define HAL_LINUX_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* User registers in a sample with a stack; 0: stacks are not copied on this machine. */
#if defined(__x86_64__)
enum { PERF_STACK_REGISTERS = 17 };
#elif defined(__aarch64__)
enum { PERF_STACK_REGISTERS = 33 };
#else
enum { PERF_STACK_REGISTERS = 0 };
#endif

/* Fewest bytes of stack that are granted. */
enum { PERF_STACK_BYTES_MIN = 512 };

/* Most addresses of a kernel chain; kernel.perf_event_max_stack may allow fewer. */
enum { PERF_STACK_CHAIN_MAX = 127 };

/* perf_stack_register_mask - return the registers for perf_event_attr. */
uint64_t perf_stack_register_mask(void);

/* perf_stack_order_registers - bring PERF_STACK_REGISTERS registers from the order of a
 * sample into that of DWARF's numbers, behind which the program counter comes. */
void perf_stack_order_registers(const uint64_t *sample, uint64_t *ordered);

/* perf_stack_record_bytes - return the size of a sample with so many bytes of stack and
 * the longest kernel chain. chain: samples have one. */
size_t perf_stack_record_bytes(size_t stack_bytes, bool chain);

/*
 * perf_stack_grant - return how many bytes of stack samples of a source may have.
 *
 *   asked       in: no more than that
 *   ring_bytes  in: an eighth of it at most, so that it holds some at any interval
 *   period_ns   in: of the source: the ring has room for the samples of 32 ms
 *   chain       in: samples have a kernel chain
 *
 * The result is a multiple of 8, and a sample with it fits into a record of Linux. With
 * less than PERF_STACK_BYTES_MIN the caller must not ask for stacks.
 */
size_t perf_stack_grant(size_t asked, size_t ring_bytes, uint64_t period_ns,
                        bool chain);

#endif
