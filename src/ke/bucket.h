/* SPDX-License-Identifier: MIT */
/*
 * ke/bucket.h - which counter an address belongs to, and whether a hit matches a
 * profile: the one arithmetic of all back ends. Compiles for the host, for 32 bits and
 * for BPF; includes nothing but types.
 */
#ifndef KE_BUCKET_H
#define KE_BUCKET_H

#include <ntprof/nt_types.h>

#define KI_BUCKET_NONE (~(ULONG64)0)

/* The minimum is that of sessions with fine buckets; NT's is PROFILE_BUCKET_LOG2_MIN,
 * which is 2. */
enum { KI_BUCKET_LOG2_MIN = 0, KI_BUCKET_LOG2_MAX = 31, KI_COUNTER_BYTES = 4 };

/* KiBucketNumber - the same as KiBucketIndex, for an address that is known to be
 * inside. */
static inline ULONG64
KiBucketNumber(ULONG64 Address, ULONG64 Base, ULONG Log2)
{
    return (Address - Base) >> Log2;
}

/*
 * KiBucketIndex - index of the ULONG counter that covers Address.
 *
 *   Address   sampled program counter
 *   Base      first byte of the region; the region is [Base, Base + Size)
 *   Size      length of the region, in bytes
 *   Log2      KI_BUCKET_LOG2_MIN..KI_BUCKET_LOG2_MAX, checked by the caller
 *
 * Returns the index, or KI_BUCKET_NONE. Level: interrupt.
 */
static inline ULONG64
KiBucketIndex(ULONG64 Address, ULONG64 Base, ULONG64 Size, ULONG Log2)
{
    /* Below Base the difference wraps to a huge value: one compare tests both ends. */
    const ULONG64 Offset = Address - Base;

    return Offset < Size ? KiBucketNumber(Address, Base, Log2) : KI_BUCKET_NONE;
}

/* KiBucketCount - buckets of a region, the last and perhaps partial one included. Exact
 * for all values. Log2 is KI_BUCKET_LOG2_MIN..KI_BUCKET_LOG2_MAX. */
static inline ULONG64
KiBucketCount(ULONG64 Size, ULONG Log2)
{
    const ULONG64 Mask = ((ULONG64)1 << Log2) - 1;

    return (Size >> Log2) + ((Size & Mask) != 0);
}

/*
 * KiBucketsFit - does a buffer have a counter for each bucket of a region, the last and
 * perhaps partial one included? Exact for all values: nothing is rounded or cut off.
 *
 *   Size         of the region, in bytes
 *   Log2         KI_BUCKET_LOG2_MIN..KI_BUCKET_LOG2_MAX
 *   BufferBytes  of the buffer; a partial counter at its end does not count
 */
static inline BOOLEAN
KiBucketsFit(ULONG64 Size, ULONG Log2, ULONG BufferBytes)
{
    const ULONG64 Counters = BufferBytes / KI_COUNTER_BYTES;

    return KiBucketCount(Size, Log2) <= Counters;
}

/* KiProcessorInSet - is Processor in the set of Count words? Level: interrupt. */
static inline BOOLEAN
KiProcessorInSet(ULONG Processor, const ULONG64 *Set, ULONG Count)
{
    const ULONG Word = Processor / 64;

    return Word < Count && (Set[Word] >> (Processor % 64) & 1) != 0;
}

/*
 * KiHitMatches - does a hit count in a profile whose region contains its address?
 * Level: interrupt.
 *
 *   Source, Segment         of the profile
 *   Processors              of the profile: the word of its set that HitProcessor is in
 *   HitSource, HitSelector  of the hit
 *   HitProcessor            of the hit, 0..
 */
static inline BOOLEAN
KiHitMatches(ULONG Source, ULONG Segment, ULONG64 Processors, ULONG HitSource,
             ULONG HitSelector, ULONG HitProcessor)
{
    /* One branch: a mispredicted one costs more than all of this. */
    const ULONG64 Absent = ~Processors >> (HitProcessor % 64) & 1;

    return ((Source ^ HitSource) | (Segment ^ HitSelector) | Absent) == 0;
}

#endif
