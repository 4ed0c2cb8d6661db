/* SPDX-License-Identifier: MIT */
/* ke/pool.c - allocates, frees and recycles nodes. Level: passive. */
#include "ke/pool.h"
#include "ke/ki.h"
#include "rtl/assert.h"

_Static_assert(KI_POOL_FIRST_CHUNK > 2 * KI_UPDATE_NODES,
               "one chunk is enough for a start");

static ULONG64
KiChunkNodes(ULONG Chunk)
{
    return (ULONG64)KI_POOL_FIRST_CHUNK << Chunk;
}

/* Returns the size of a chunk in the host's memory, with padding: its nodes are aligned
 * to a cache line. */
static ULONG64
KiChunkBytes(ULONG Chunk)
{
    return KiChunkNodes(Chunk) * sizeof(KI_NODE) + (KI_LINE_BYTES - 1);
}

/* Return the number of a node without KI_LEAF, which is bit 0 (pool.h). */
static ULONG
KiNodeNumber(ULONG Chunk, ULONG Offset)
{
    return (Chunk << KI_NUMBER_CHUNK_SHIFT) + (Offset << 1);
}

/* Returns the size of a chunk of a HAL that counts by itself, which aligns it. */
static SIZE_T
KiBareChunkBytes(ULONG Chunk)
{
    return (SIZE_T)(KiChunkNodes(Chunk) * sizeof(KI_NODE));
}

/* Returns the memory of a chunk, allocated by a HAL that counts by itself or else by
 * the host. NULL if there is none. */
static void *
KiAllocateChunk(KE_SYSTEM *Ke, ULONG Chunk)
{
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;

    if (Counting != NULL) {
        return Counting->AllocateNodes(Ke->Hal.Context, Chunk, KiBareChunkBytes(Chunk));
    }
    return HostAllocate(&Ke->Host, (SIZE_T)KiChunkBytes(Chunk));
}

/* Frees the memory of a chunk; a HAL without FreeNodes keeps it. */
static void
KiFreeChunk(KE_SYSTEM *Ke, ULONG Chunk)
{
    const HAL_COUNTING *const Counting = Ke->Hal.Table->Counting;
    void *const Memory = Ke->Pool.Memory[Chunk];

    if (Counting == NULL) {
        HostFree(&Ke->Host, Memory, (SIZE_T)KiChunkBytes(Chunk));
    } else if (Counting->FreeNodes != NULL) {
        Counting->FreeNodes(Ke->Hal.Context, Chunk, Memory, KiBareChunkBytes(Chunk));
    }
}

/* Adds the next chunk. FALSE if there are all, or memory runs out. */
static BOOLEAN
KiGrowPool(KE_SYSTEM *Ke)
{
    KI_POOL *const Pool = &Ke->Pool;
    const ULONG Chunk = Pool->Chunks;
    const ULONG64 Nodes = KiChunkNodes(Chunk);
    void *Memory;

    if (Chunk == KI_POOL_CHUNKS || KiChunkBytes(Chunk) > (SIZE_T)-1) {
        return FALSE;
    }
    Memory = KiAllocateChunk(Ke, Chunk);
    if (Memory == NULL) {
        return FALSE;
    }
    Pool->Memory[Chunk] = Memory;
    Pool->Nodes[Chunk] = (KI_NODE *)(((ULONG_PTR)Memory + (KI_LINE_BYTES - 1)) &
                                     ~(ULONG_PTR)(KI_LINE_BYTES - 1));
    Pool->Chunks++;
    Pool->Free += (ULONG)Nodes;
    if (Chunk == 0) {
        Pool->Untaken = KiNodeNumber(0, 1); /* number 0 is none */
        Pool->Free--;
    }
    return TRUE;
}

void
KiFinishPool(KE_SYSTEM *Ke)
{
    KI_POOL *const Pool = &Ke->Pool;

    for (ULONG Chunk = 0; Chunk < Pool->Chunks; Chunk++) {
        KiFreeChunk(Ke, Chunk);
    }
    *Pool = (KI_POOL){.Sequence = Pool->Sequence, .Located = Pool->Located};
}

NTSTATUS
KiReserveNodes(KE_SYSTEM *Ke)
{
    KI_POOL *const Pool = &Ke->Pool;
    const ULONG Needed = 2 * KI_UPDATE_NODES; /* for a start now and a stop later */

    if (Pool->Free >= Needed) {
        return STATUS_SUCCESS;
    }
    KiRecycleNodes(Ke);
    /* If the pool did not grow until it must, nearly each start would have to wait for
     * hits in order to recycle nodes. So as many as an eighth of the used nodes are
     * kept free, too. */
    if (Pool->Free < Needed + Pool->Used / 8 && !KiGrowPool(Ke) &&
        Pool->Free < Needed) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    return STATUS_SUCCESS;
}

/* Returns the number of the node behind this one, perhaps in the next chunk. */
static ULONG
KiNextUntaken(ULONG Number)
{
    const ULONG Chunk = Number >> KI_NUMBER_CHUNK_SHIFT;
    const ULONG Next = Number + KiNodeNumber(0, 1);

    return Next == KiNodeNumber(Chunk, (ULONG)KiChunkNodes(Chunk))
               ? KiNodeNumber(Chunk + 1, 0)
               : Next;
}

ULONG
KiTakeNode(KI_POOL *Pool)
{
    ULONG Number = Pool->FreeHead;

    RTL_ASSERT(Pool->Free > 0);
    if (Number != 0) {
        Pool->FreeHead = KiNodeAt(Pool, Number)->Next;
    } else {
        Number = Pool->Untaken;
        Pool->Untaken = KiNextUntaken(Number);
    }
    Pool->Free--;
    Pool->Used++;
    return Number & ~(ULONG)KI_LEAF;
}

void
KiFreeNode(KI_POOL *Pool, ULONG Number)
{
    RTL_ASSERT(Number != 0 && Pool->Used > 0);
    KiNodeAt(Pool, Number)->Next = Pool->FreeHead;
    Pool->FreeHead = Number;
    Pool->Free++;
    Pool->Used--;
}

void
KiRetireNode(KI_POOL *Pool, ULONG Number)
{
    RTL_ASSERT(Number != 0 && Pool->Used > 0);
    KiNodeAt(Pool, Number)->Next = Pool->RetiredHead;
    if (Pool->RetiredHead == 0) {
        Pool->RetiredTail = Number;
    }
    Pool->RetiredHead = Number;
    Pool->Retired++;
    Pool->Used--;
}

void
KiRecycleNodes(KE_SYSTEM *Ke)
{
    KI_POOL *const Pool = &Ke->Pool;

    if (Pool->RetiredHead == 0) {
        return;
    }
    KiWaitForHits(Ke);
    KiNodeAt(Pool, Pool->RetiredTail)->Next = Pool->FreeHead;
    Pool->FreeHead = Pool->RetiredHead;
    Pool->RetiredHead = 0;
    Pool->Free += Pool->Retired;
    Pool->Retired = 0;
}
