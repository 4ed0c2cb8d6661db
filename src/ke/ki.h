/* SPDX-License-Identifier: MIT */
/* ke/ki.h - for ke alone. */
#ifndef KE_KI_H
#define KE_KI_H

#include "ke/ke.h"

/*
 * KI_INTERRUPT - how many started profiles of a process need interrupts of a source, by
 * processor. The HAL is asked at the first and told at the last.
 */
typedef struct _KI_INTERRUPT {
    LIST_ENTRY Entry; /* KPROCESS.InterruptListHead */
    KPROFILE_SOURCE Source;
    ULONG Processors;
    ULONG Counts[];
} KI_INTERRUPT;

/* KiStartInterrupts - for each processor of the profile; nothing is left on failure. */
NTSTATUS KiStartInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile);
void KiStopInterrupts(KE_SYSTEM *Ke, const KPROFILE *Profile);
void KiFinishInterrupts(KE_SYSTEM *Ke, KPROCESS *Process);

/* A change makes at most so many nodes: two for each of the way from the root, and a
 * new root. A removal makes no more than it retires. */
enum { KI_UPDATE_NODES = 2 * KI_DEPTH_MAX + 1 };

/*
 * KiReserveNodes - have nodes for one insertion, and afterwards for one removal still.
 * STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS KiReserveNodes(KE_SYSTEM *Ke);

/* KiTakeNode - one of the free nodes; there must be one. Its content is anything. */
ULONG KiTakeNode(KI_POOL *Pool);

/* KiFreeNode, KiRetireNode - no hit can see it any more; a hit that has begun may. */
void KiFreeNode(KI_POOL *Pool, ULONG Number);
void KiRetireNode(KI_POOL *Pool, ULONG Number);

/* KiRecycleNodes - wait for the hits that may see retired nodes, if there are any. */
void KiRecycleNodes(KE_SYSTEM *Ke);

/* KiFinishPool - give all memory back. No node may be used. */
void KiFinishPool(KE_SYSTEM *Ke);

/*
 * KiInsertIntoTree, KiRemoveFromTree - the root of a tree like that of Root, with or
 * without one range. The profile's sequence is greater than all in the tree; the range
 * removed is there. The nodes were reserved: neither can fail.
 */
ULONG KiInsertIntoTree(KI_POOL *Pool, ULONG Root, KI_SPAN Span, const KI_RANGE *Range,
                       KPROFILE *Profile);
ULONG KiRemoveFromTree(KI_POOL *Pool, ULONG Root, ULONG64 Base, ULONG64 Sequence);

/* KiFreeTree - free all its nodes. No hit may see it any more. */
void KiFreeTree(KI_POOL *Pool, ULONG Root);

/* KiInsertRange, KiRemoveRange - publish Process's index with or without Profile.
 * Removing takes no memory and so cannot fail; when it returns, no hit sees Profile any
 * more. */
NTSTATUS KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile);
void KiRemoveRange(KE_SYSTEM *Ke, KPROCESS *Process, const KPROFILE *Profile);
void KiRemoveAllRanges(KE_SYSTEM *Ke, KPROCESS *Process);
void KiFinishIndex(KE_SYSTEM *Ke, KPROCESS *Process);

/* KiHashProcess, KiUnhashProcess - let hits find Process, or no longer. */
void KiHashProcess(KE_SYSTEM *Ke, KPROCESS *Process);
void KiUnhashProcess(KE_SYSTEM *Ke, KPROCESS *Process);

void KiFinishSources(KE_SYSTEM *Ke);

#endif
