/* SPDX-License-Identifier: MIT */
/* ex/interval.c - NtQueryIntervalProfile and NtSetIntervalProfile. docs/behaviour.md, Intervals. */
#include "ex/exp.h"
#include "mm/mm.h"

static ULONG
ExpQueryInterval(KSYSTEM *System, KPROFILE_SOURCE ProfileSource)
{
    HAL_SOURCE Source;

    if (ProfileSource == ProfileAlignmentFixup) {
        return System->AlignmentFixupInterval;
    }
    System->Hal.Table->QuerySource(System->Hal.Context, ProfileSource, &Source);
    if (!Source.Supported) {
        return 0;
    }
    return Source.Interval > 0xFFFFFFFFu ? 0xFFFFFFFFu : (ULONG)Source.Interval;
}

NTSTATUS
ExQueryIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                       KPROFILE_SOURCE ProfileSource, ULONG64 Interval)
{
    ULONG Value;

    if (Mode == UserMode) {
        const NTSTATUS Status =
            MmProbeForWrite(&System->Host, Interval, sizeof(ULONG), sizeof(ULONG));

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    Value = ExpQueryInterval(System, ProfileSource);

    /* As published: success although the memory vanished after the probe. */
    (void)ExpWrite(System, Mode, Interval, &Value, sizeof(Value));
    return STATUS_SUCCESS;
}

NTSTATUS
ExSetIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval,
                     KPROFILE_SOURCE ProfileSource)
{
    if (!SeHasSystemProfilePrivilege(&System->Host, Mode)) {
        return STATUS_PRIVILEGE_NOT_HELD;
    }
    if (ProfileSource == ProfileAlignmentFixup) {
        System->AlignmentFixupInterval = Interval;
    }
    System->Hal.Table->SetInterval(System->Hal.Context, ProfileSource, Interval);
    return STATUS_SUCCESS;
}
