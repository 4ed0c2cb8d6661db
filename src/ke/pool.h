/* SPDX-License-Identifier: MIT */
/*
 * ke/pool.h - the nodes of all indexes of a system, and finding a node by its number.
 *
 * Nodes are allocated in chunks, each twice as large as the previous one; a number
 * consists of the chunk, the offset in it, and KI_LEAF. So nodes never move, few chunks
 * are enough for any number of profiles, and finding a node costs one load.
 */
#ifndef KE_POOL_H
#define KE_POOL_H

#include "ke/index.h"

/* A node's number: bit 0 is KI_LEAF, above it the offset in a chunk, then the chunk.
 * Each chunk has twice as many nodes as the one before. */
enum {
    KI_POOL_CHUNKS = 18,
    KI_POOL_FIRST_CHUNK = 64, /* nodes */
    KI_NUMBER_OFFSET_BITS = 26,
    KI_NUMBER_CHUNK_SHIFT = KI_NUMBER_OFFSET_BITS + 1
};

_Static_assert(KI_POOL_FIRST_CHUNK << (KI_POOL_CHUNKS - 1) <=
                   1 << KI_NUMBER_OFFSET_BITS,
               "the last chunk's nodes have numbers");
_Static_assert(KI_POOL_CHUNKS <= 1 << (32 - KI_NUMBER_CHUNK_SHIFT),
               "all chunks have numbers");
/* In a tree with inner nodes the root has at least two children, and each inner node
 * below at least KI_LEAST_ENTRIES. */
_Static_assert(KI_POOL_FIRST_CHUNK << KI_POOL_CHUNKS <
                       2 << 2 * (KI_DEPTH_MAX + 1 - 2) &&
                   KI_LEAST_ENTRIES == 1 << 2,
               "no tree is deeper than KI_DEPTH_MAX");

/*
 * KI_POOL - all nodes of a system, and which of them are free. The node at offset 0 of
 * the first chunk is never used: number 0 means none.
 *
 * A node is used (in a tree), free, or retired: no longer in a tree, but a hit that
 * started before may still read it. Retired nodes are free after HAL_TABLE.Synchronize.
 *
 * Invariant between calls: while nodes are used, Free >= KI_UPDATE_NODES. So a stop,
 * which must not fail, always finds the nodes that it needs, and it frees as many.
 */
typedef struct _KI_POOL {
    KI_NODE *Nodes[KI_POOL_CHUNKS];
    void *Memory[KI_POOL_CHUNKS]; /* what Nodes are in */
    ULONG Chunks;
    ULONG Used;
    ULONG Free; /* those that were never taken included */
    ULONG Retired;
    ULONG Untaken;     /* number of the first node that was never taken */
    ULONG FreeHead;    /* of the list of free nodes that were taken before; 0: empty */
    ULONG RetiredHead; /* of the list of retired nodes; 0: empty */
    ULONG RetiredTail;
    ULONG64 Sequence; /* of the last start */
    /* Ranges contain the HAL's number of their counters (LocateCounters), not the
     * address. */
    BOOLEAN Located;
} KI_POOL;

/* KiNodeAt - return the node with this number, with or without KI_LEAF. Level:
 * interrupt. */
static inline KI_NODE *
KiNodeAt(const KI_POOL *Pool, ULONG Number)
{
    const ULONG Offset = (Number >> 1) & ((1u << KI_NUMBER_OFFSET_BITS) - 1);

    return &Pool->Nodes[Number >> KI_NUMBER_CHUNK_SHIFT][Offset];
}

#endif
