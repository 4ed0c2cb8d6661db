/* SPDX-License-Identifier: MIT */
/* ke/ki.h - functions and types within ke. */
#ifndef KE_KI_H
#define KE_KI_H

#include "ke/ke.h"

/*
 * KI_INTERRUPT - how many started profiles of a process need interrupts of a source, by
 * processor. The HAL starts them with the first and stops them with the last.
 */
typedef struct _KI_INTERRUPT {
    LIST_ENTRY Entry; /* KPROCESS.InterruptListHead */
    KPROFILE_SOURCE Source;
    ULONG Processors;
    ULONG Counts[];
} KI_INTERRUPT;

/*
 * KiStartInterrupts - start interrupts on each processor of the profile, or on none.
 * STATUS_INSUFFICIENT_RESOURCES, or the HAL's status. KiStopInterrupts undoes it.
 * KiFinishInterrupts frees the records of a process without started profiles.
 */
NTSTATUS KiStartInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile);
void KiStopInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile);
void KiFinishInterrupts(KE_SYSTEM *Ke, KPROCESS *Process);

/* KiWaitForHits - return when every hit that is being counted sees what the caller has
 * published. */
void KiWaitForHits(KE_SYSTEM *Ke);

/* A change makes at most this number of nodes: two for each node of the path from the
 * root, and a new root. A removal makes no more than it retires. */
enum { KI_UPDATE_NODES = 2 * KI_DEPTH_MAX + 1 };

/*
 * KiReserveNodes - ensure that there are nodes for one insertion and a later removal.
 * STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS KiReserveNodes(KE_SYSTEM *Ke);

/* KiTakeNode - return the number, without KI_LEAF, of a node that was free; there must
 * be one. Its content is undefined. */
ULONG KiTakeNode(KI_POOL *Pool);

/* KiFreeNode - free a node that no hit can see any more. KiRetireNode - free it later,
 * because a hit that has started may still see it. */
void KiFreeNode(KI_POOL *Pool, ULONG Number);
void KiRetireNode(KI_POOL *Pool, ULONG Number);

/* KiRecycleNodes - make retired nodes free, if there are any, after a wait for the hits
 * that may still see them. */
void KiRecycleNodes(KE_SYSTEM *Ke);

/* KiFinishPool - free all memory. No node may be used. */
void KiFinishPool(KE_SYSTEM *Ke);

/*
 * KiInsertIntoTree, KiRemoveFromTree - return the root of a copy of Root's tree, with
 * or without one range. An inserted profile has a higher sequence than all in the tree;
 * a removed range is in the tree. The nodes are reserved, so that neither can fail.
 */
ULONG KiInsertIntoTree(KI_POOL *Pool, ULONG Root, KI_SPAN Span, const KI_RANGE *Range,
                       KPROFILE *Profile);
ULONG KiRemoveFromTree(KI_POOL *Pool, ULONG Root, ULONG64 Base, ULONG64 Sequence);

/* KiFreeTree - free all its nodes. No hit may see it any more. */
void KiFreeTree(KI_POOL *Pool, ULONG Root);

/*
 * KiInsertRange, KiRemoveRange - publish Process's index with or without Profile.
 * Removing needs no memory and cannot fail; when it returns, no hit sees Profile any
 * more. KiInsertRange: STATUS_INSUFFICIENT_RESOURCES, or the HAL's status.
 *
 * KiRemoveAllRanges does the same for all profiles of Process at once. KiFinishIndex
 * does that too, and frees the pool if no process has nodes any more.
 */
NTSTATUS KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile);
void KiRemoveRange(KE_SYSTEM *Ke, KPROCESS *Process, const KPROFILE *Profile);
void KiRemoveAllRanges(KE_SYSTEM *Ke, KPROCESS *Process);
void KiFinishIndex(KE_SYSTEM *Ke, KPROCESS *Process);

/* KiHashProcess, KiUnhashProcess - let hits find Process, or no longer. */
void KiHashProcess(KE_SYSTEM *Ke, KPROCESS *Process);
void KiUnhashProcess(KE_SYSTEM *Ke, KPROCESS *Process);

/* KiFinishSources - free the statistics of all sources. */
void KiFinishSources(KE_SYSTEM *Ke);

#endif
