/* SPDX-License-Identifier: MIT */
/* ke/ki.h - for ke alone. */
#ifndef KE_KI_H
#define KE_KI_H

#include "ke/index.h"
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

/* KiInsertRange, KiRemoveRange - publish Process's index with or without Profile. Removing takes
 * no memory and so cannot fail. */
NTSTATUS KiInsertRange(KE_SYSTEM *Ke, KPROCESS *Process, KPROFILE *Profile);
void KiRemoveRange(KE_SYSTEM *Ke, KPROCESS *Process, const KPROFILE *Profile);
void KiRemoveAllRanges(KE_SYSTEM *Ke, KPROCESS *Process);
void KiFinishIndex(KE_SYSTEM *Ke, KPROCESS *Process);

/* KiHashProcess, KiUnhashProcess - let hits find Process, or no longer. */
void KiHashProcess(KE_SYSTEM *Ke, KPROCESS *Process);
void KiUnhashProcess(KE_SYSTEM *Ke, KPROCESS *Process);

void KiFinishSources(KE_SYSTEM *Ke);

#endif
