/* SPDX-License-Identifier: MIT */
/* ke/profint.c - the profile interrupt as the HAL calls it. */
#include "ke/profint.h"

ULONG
KeProfileInterruptWithSource(KE_SYSTEM *Ke, const KE_HIT *Hit)
{
    ULONG Matches = 0;

    /* The process's list first, then the global one, as NT does. */
    if ((Hit->Scope & KE_SCOPE_PROCESS) != 0) {
        const KPROCESS *const Process = KiFindProcess(Ke, Hit->ProcessId);

        if (Process != NULL) {
            Matches += KiCountInProcess(Process, Hit);
        }
    }
    if ((Hit->Scope & KE_SCOPE_GLOBAL) != 0) {
        Matches += KiCountInProcess(&Ke->Global, Hit);
    }
    KiKeepBooks(Ke, Hit, Matches);
    return Matches;
}
