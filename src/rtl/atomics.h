/* SPDX-License-Identifier: MIT */
/*
 * rtl/atomics.h - the few atomic operations that the core needs, by compiler builtins.
 */
#ifndef RTL_ATOMICS_H
#define RTL_ATOMICS_H

#include <ntprof/nt_types.h>

/* Adds one to a counter that other processors and the caller may read or write. Wraps
 * at 2^32. Relaxed: a counter's value says nothing about other memory. */
static inline void
RtlIncrementCounter(ULONG *Counter)
{
    (void)__atomic_fetch_add(Counter, 1, __ATOMIC_RELAXED);
}

/* A ULONG64 that whoever defines it has aligned to 8 bytes. On x86 ULONG64 itself is
 * aligned to 4 bytes only, and clang would call a library function for each access. */
typedef ULONG64 __attribute__((aligned(8))) RTL_NUMBER;

/* Adds to a number that only one processor writes, and others read: without a locked
 * instruction, but readers see no torn value. */
static inline void
RtlAddOwned(ULONG64 *Number, ULONG64 Amount)
{
    RTL_NUMBER *const Aligned = (RTL_NUMBER *)Number;

    __atomic_store_n(Aligned, __atomic_load_n(Aligned, __ATOMIC_RELAXED) + Amount,
                     __ATOMIC_RELAXED);
}

/* Adds to a number that several processors write. */
static inline void
RtlAddShared(ULONG64 *Number, ULONG64 Amount)
{
    (void)__atomic_fetch_add((RTL_NUMBER *)Number, Amount, __ATOMIC_RELAXED);
}

/* Reads a number that other processors may be writing: no torn value. */
static inline ULONG64
RtlReadNumber(const ULONG64 *Number)
{
    return __atomic_load_n((const RTL_NUMBER *)Number, __ATOMIC_RELAXED);
}

/* Sets a number that is 0 to Value; FALSE if it was not 0. */
static inline BOOLEAN
RtlExchangeIfZero(ULONG *Number, ULONG Value)
{
    ULONG Zero = 0;

    return __atomic_compare_exchange_n(Number, &Zero, Value, FALSE, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Stores a value that other processors read by RtlReadPublished, with which it pairs:
 * one that reads it sees all that was written before. */
#define RtlPublish(Location, Value) \
    __atomic_store_n((Location), (Value), __ATOMIC_RELEASE)
#define RtlReadPublished(Location) __atomic_load_n((Location), __ATOMIC_ACQUIRE)

/* Stores before it are visible to other processors before loads after it are made. */
static inline void
RtlFullBarrier(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
