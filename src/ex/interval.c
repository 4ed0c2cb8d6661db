/* SPDX-License-Identifier: MIT */
/* ex/interval.c - NtQueryIntervalProfile and NtSetIntervalProfile. docs/behaviour.md,
 * Intervals. */
#include "ex/exp.h"
#include "mm/mm.h"

/* Returns the interval of a source in 32 bits, or 0 if the HAL lacks it. That of
 * ProfileAlignmentFixup is what was last set (rule query-alignment-fixup). */
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

/* Does both queries of an interval, that of 3.10 and the later one. */
static NTSTATUS
ExpQueryIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
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

    /* As published: success even if the memory was unmapped after the probe. */
    (void)ExpWrite(System, Mode, Interval, &Value, sizeof(Value));
    return STATUS_SUCCESS;
}

/* Clamps an interval as NT's HALs do; not for ntprof's own sources. */
static ULONG
ExpClampInterval(const KSYSTEM *System, ULONG Interval, KPROFILE_SOURCE ProfileSource)
{
    const EX_VERSION *const Version = System->Version;

    if (ProfileSource == ProfileTime) {
        if (Interval < Version->LeastTimeInterval) {
            return Version->LeastTimeInterval;
        }
        if (Version->MostTimeInterval != 0 && Interval > Version->MostTimeInterval) {
            return Version->MostTimeInterval;
        }
    } else if (ProfileSource < ProfileNtprofBase &&
               Interval < Version->LeastEventInterval) {
        return Version->LeastEventInterval;
    }
    return Interval;
}

/* Does both calls that set an interval, that of 3.10 and the later one. */
static NTSTATUS
ExpSetIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval,
                      KPROFILE_SOURCE ProfileSource)
{
    if (System->Version->SetNeedsPrivilege) {
        const NTSTATUS Status = SeCheckSystemProfilePrivilege(&System->Host, Mode);

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    /* Kept without clamping; the HAL gets it too (rule set-alignment-fixup). */
    if (ProfileSource == ProfileAlignmentFixup) {
        System->AlignmentFixupInterval = Interval;
    }
    System->Hal.Table->SetInterval(System->Hal.Context, ProfileSource,
                                   ExpClampInterval(System, Interval, ProfileSource));
    return STATUS_SUCCESS;
}

NTSTATUS
ExQueryIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode,
                       KPROFILE_SOURCE ProfileSource, ULONG64 Interval)
{
    const NTSTATUS Status = ExpEnter(System, System->Version->HasSources);

    return NT_SUCCESS(Status)
               ? ExpQueryIntervalProfile(System, Mode, ProfileSource, Interval)
               : Status;
}

NTSTATUS
ExSetIntervalProfile(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval,
                     KPROFILE_SOURCE ProfileSource)
{
    const NTSTATUS Status = ExpEnter(System, System->Version->HasSources);

    return NT_SUCCESS(Status)
               ? ExpSetIntervalProfile(System, Mode, Interval, ProfileSource)
               : Status;
}

NTSTATUS
ExQueryIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 Interval)
{
    const NTSTATUS Status = ExpEnter(System, !System->Version->HasSources);

    return NT_SUCCESS(Status)
               ? ExpQueryIntervalProfile(System, Mode, ProfileTime, Interval)
               : Status;
}

NTSTATUS
ExSetIntervalProfile310(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG Interval)
{
    const NTSTATUS Status = ExpEnter(System, !System->Version->HasSources);

    return NT_SUCCESS(Status)
               ? ExpSetIntervalProfile(System, Mode, Interval, ProfileTime)
               : Status;
}
