/* SPDX-License-Identifier: MIT */
/*
 * windows_style.c - a program as they are written for Windows: it profiles a section of
 * its own code, with NT's names, types and order of calls and nothing else. C and C++;
 * public headers only.
 *
 *   cc -O2 windows_style.c -o windows_style $(pkg-config --cflags --libs ntprof) &&
 *   ./windows_style
 *
 * It needs no right. Setting an interval does; without it the program says so and goes
 * on.
 */
#include <ntprof/ntprof.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKET_LOG2 4
#define ENOUGH_HITS 20
#define MOST_ROUNDS 200

/* On Windows: #pragma code_seg(".profiled"). The linker gives the section's ends here.
 */
#define PROFILED __attribute__((section("profiled"), noinline))
#ifdef __cplusplus
extern "C" {
#endif
extern char __start_profiled[];
extern char __stop_profiled[];
#ifdef __cplusplus
}
#endif

static volatile ULONG result;

PROFILED static ULONG
checksum(const UCHAR *bytes, ULONG count)
{
    ULONG sum = 1;
    ULONG i;

    for (i = 0; i < count; i++) {
        sum = (sum << 5 | sum >> 27) ^ bytes[i];
    }
    return sum;
}

/* A slice of work, a tenth of a second of processor time. */
static void
work(void)
{
    static UCHAR bytes[0x10000];
    const clock_t end = clock() + CLOCKS_PER_SEC / 10;

    while (clock() < end) {
        result += checksum(bytes, sizeof(bytes));
    }
}

static BOOLEAN
failed(const char *what, NTSTATUS status)
{
    fprintf(stderr, "%s: 0x%08X\n", what, (unsigned)status);
    return FALSE;
}

/* ---- What can be profiled here ---- */

/* A source whose interval is 0 is not supported, and a profile of it cannot be made. */
static BOOLEAN
check_source(KPROFILE_SOURCE source)
{
    static ULONG counter;
    HANDLE profile;
    ULONG interval = 0xFFFFFFFF;
    NTSTATUS status = NtQueryIntervalProfile(source, &interval);

    if (!NT_SUCCESS(status) || interval == 0xFFFFFFFF) {
        return failed("NtQueryIntervalProfile", status);
    }
    status = NtCreateProfileEx(&profile, NtCurrentProcess(), (PVOID)__start_profiled, 4,
                               BUCKET_LOG2, &counter, sizeof(counter), source, 0, NULL);
    if (interval == 0) {
        return status == STATUS_NOT_SUPPORTED ? TRUE
                                              : failed("unsupported source", status);
    }
    if (!NT_SUCCESS(status)) {
        return failed("supported source", status);
    }
    printf("source %2u: interval %u\n", (unsigned)source, (unsigned)interval);
    status = NtClose(profile);
    return NT_SUCCESS(status) ? TRUE : failed("NtClose", status);
}

static BOOLEAN
check_sources(void)
{
    ULONG source;

    for (source = 0; source < ProfileMaximum; source++) {
        /* The interval of alignment fixups is only what was last set. */
        if (source != ProfileAlignmentFixup && !check_source((KPROFILE_SOURCE)source)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- The interval: query, set, restore ---- */

static BOOLEAN
set_interval(ULONG wanted, ULONG *old)
{
    ULONG now = 0;
    NTSTATUS status = NtQueryIntervalProfile(ProfileTime, old);

    if (!NT_SUCCESS(status) || *old == 0) {
        return failed("NtQueryIntervalProfile", status);
    }
    status = NtSetIntervalProfile(wanted, ProfileTime);
    if (status == STATUS_PRIVILEGE_NOT_HELD) {
        printf("interval stays %u: the privilege is not held\n", (unsigned)*old);
        wanted = *old;
    } else if (!NT_SUCCESS(status)) {
        return failed("NtSetIntervalProfile", status);
    }
    /* What takes effect is what the machine can do: Linux may have lowered its maximum
     * rate. */
    status = NtQueryIntervalProfile(ProfileTime, &now);
    if (!NT_SUCCESS(status) || now == 0) {
        return failed("NtQueryIntervalProfile", status);
    }
    printf("interval: %u x 100 ns%s\n", (unsigned)now,
           now == wanted ? "" : ", the nearest here");
    return TRUE;
}

static BOOLEAN
restore_interval(ULONG old)
{
    ULONG now = 0;
    NTSTATUS status = NtSetIntervalProfile(old, ProfileTime);

    if (!NT_SUCCESS(status) && status != STATUS_PRIVILEGE_NOT_HELD) {
        return failed("NtSetIntervalProfile", status);
    }
    /* Coarser, if Linux has lowered its maximum rate meanwhile. */
    status = NtQueryIntervalProfile(ProfileTime, &now);
    return NT_SUCCESS(status) && now >= old ? TRUE
                                            : failed("restored interval", status);
}

/* ---- Profiling ---- */

typedef struct _PROFILE {
    HANDLE Handle;
    ULONG *Buffer;
    ULONG *Copy; /* taken while it is stopped */
    ULONG BufferSize;
} PROFILE;

static ULONG64
total(const PROFILE *profile)
{
    ULONG64 sum = 0;
    ULONG i;

    for (i = 0; i < profile->BufferSize / sizeof(ULONG); i++) {
        sum += profile->Copy[i];
    }
    return sum;
}

/* Zero the buffer, start, work, stop, copy; longer slices until there is something to
 * see. */
static BOOLEAN
run_profile(PROFILE *profile)
{
    ULONG round;

    memset(profile->Buffer, 0, profile->BufferSize);
    for (round = 0; round < MOST_ROUNDS; round++) {
        NTSTATUS status = NtStartProfile(profile->Handle);

        if (!NT_SUCCESS(status)) {
            return failed("NtStartProfile", status);
        }
        if (NtStartProfile(profile->Handle) != STATUS_PROFILING_NOT_STOPPED) {
            return failed("NtStartProfile twice", status);
        }
        work();
        status = NtStopProfile(profile->Handle);
        if (!NT_SUCCESS(status)) {
            return failed("NtStopProfile", status);
        }
        if (NtStopProfile(profile->Handle) != STATUS_PROFILING_NOT_STARTED) {
            return failed("NtStopProfile twice", status);
        }
        memcpy(profile->Copy, profile->Buffer, profile->BufferSize);
        if (total(profile) >= ENOUGH_HITS) {
            return TRUE;
        }
    }
    return failed("no hits", STATUS_UNSUCCESSFUL);
}

static void
print_profile(const PROFILE *profile)
{
    ULONG i;

    for (i = 0; i < profile->BufferSize / sizeof(ULONG); i++) {
        if (profile->Copy[i] != 0) {
            printf("  +0x%02X %6u\n", (unsigned)(i << BUCKET_LOG2),
                   (unsigned)profile->Copy[i]);
        }
    }
}

/* Uses the profile that was made, and gives it back. */
static BOOLEAN
use_profile(const char *name, NTSTATUS created, PROFILE *profile)
{
    BOOLEAN good;
    NTSTATUS status;

    if (!NT_SUCCESS(created)) {
        return failed(name, created);
    }
    good = run_profile(profile);
    status = NtClose(profile->Handle);
    if (!NT_SUCCESS(status)) {
        return failed("NtClose", status);
    }
    if (NtClose(profile->Handle) != STATUS_INVALID_HANDLE) {
        return failed("NtClose twice", status);
    }
    if (good) {
        printf("%s: %u hits\n", name, (unsigned)total(profile));
        print_profile(profile);
    }
    return good;
}

static BOOLEAN
profile_section(PROFILE *profile)
{
    const PVOID base = (PVOID)__start_profiled;
    const SIZE_T size = (SIZE_T)(__stop_profiled - __start_profiled);
    NTSTATUS status;

    /* A counter short of what the section needs. */
    if (NtCreateProfile(&profile->Handle, NtCurrentProcess(), base, size, BUCKET_LOG2,
                        profile->Buffer, profile->BufferSize - (ULONG)sizeof(ULONG),
                        ProfileTime, (KAFFINITY)-1) != STATUS_BUFFER_TOO_SMALL) {
        return failed("NtCreateProfile, short buffer", STATUS_UNSUCCESSFUL);
    }
    status = NtCreateProfile(&profile->Handle, NtCurrentProcess(), base, size,
                             BUCKET_LOG2, profile->Buffer, profile->BufferSize,
                             ProfileTime, (KAFFINITY)-1);
    if (!use_profile("NtCreateProfile", status, profile)) {
        return FALSE;
    }
    status =
        NtCreateProfileEx(&profile->Handle, NtCurrentProcess(), base, size, BUCKET_LOG2,
                          profile->Buffer, profile->BufferSize, ProfileTime, 0, NULL);
    return use_profile("NtCreateProfileEx", status, profile);
}

int
main(void)
{
    const SIZE_T size = (SIZE_T)(__stop_profiled - __start_profiled);
    const SIZE_T buckets =
        (size + ((SIZE_T)1 << BUCKET_LOG2) - 1) / ((SIZE_T)1 << BUCKET_LOG2);
    PROFILE profile;
    ULONG old;
    BOOLEAN good;

    profile.BufferSize = (ULONG)(buckets * sizeof(ULONG));
    profile.Buffer = (ULONG *)malloc(profile.BufferSize);
    profile.Copy = (ULONG *)malloc(profile.BufferSize);
    if (profile.Buffer == NULL || profile.Copy == NULL) {
        return 1;
    }
    good = check_sources() && set_interval(5000, &old);
    if (good) {
        good = profile_section(&profile);
        good = restore_interval(old) && good;
    }
    free(profile.Copy);
    free(profile.Buffer);
    return good ? 0 : 1;
}
