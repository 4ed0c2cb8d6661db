/* SPDX-License-Identifier: MIT */
/*
 * self.c - a program that profiles itself with NT's calls. Public headers only.
 *
 *   cc -O2 self.c -o self $(pkg-config --cflags --libs ntprof) && ./self
 *
 * The measured functions share a section of their own, so the region is the section and
 * each function begins on a bucket. The counters are live: they can be read at any
 * moment. It works in a container, too.
 */
#include <ntprof/ntprof.h>

#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { BUCKET_LOG2 = 6, BUCKET_BYTES = 1 << BUCKET_LOG2 };

#define MEASURED \
    __attribute__((section("measured"), noinline, aligned(1 << BUCKET_LOG2)))

/* The linker gives these two for a section whose name is a C name. */
extern const char __start_measured[];
extern const char __stop_measured[];

MEASURED static uint64_t
mix(uint64_t value, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        value ^= value >> 29;
        value *= 0xBF58476D1CE4E5B9u;
    }
    return value;
}

MEASURED static uint64_t
collatz(uint64_t value)
{
    uint64_t steps = 0;

    for (; value > 1; steps++) {
        value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    }
    return steps;
}

/* About a second of work, most of it in mix. Returns a number that depends on all of
 * it. */
static uint64_t
work(void)
{
    const clock_t end = clock() + CLOCKS_PER_SEC;
    uint64_t sum = 1;

    do {
        sum += mix(sum, 600) + collatz(sum % 1000000 + 1);
    } while (clock() < end);
    return sum;
}

/* Hits of the function that begins at start: from there to the next function, or the
 * end. */
static ULONG64
hits_of(const ULONG *counters, const char *start, const char *other)
{
    const char *const end = other > start ? other : __stop_measured;
    ULONG64 hits = 0;

    for (const char *at = start; at < end; at += BUCKET_BYTES) {
        hits += counters[(size_t)(at - __start_measured) / BUCKET_BYTES];
    }
    return hits;
}

/* ntprof_session_error(NULL) is the reason of the call that this thread made last. */
static int
fail(const char *what, NTSTATUS status)
{
    fprintf(stderr, "self: %s: %s (%s) %s\n", what, ntprof_status_name(status),
            ntprof_status_text(status), ntprof_session_error(NULL));
    return 1;
}

/*
 * Where Linux refuses perf events, as in most containers, timers count instead. They
 * take a real-time signal of the program, so the library only uses them where it is
 * asked to.
 */
static NTSTATUS
open_session(ntprof_session **session)
{
    const ntprof_session_options options = {.size = sizeof(options),
                                            .backend = "perf,timer"};
    const NTSTATUS status = ntprof_session_open(&options, session);

    if (NT_SUCCESS(status)) {
        ntprof_session_use(*session); /* by this thread's calls */
    }
    return status;
}

/* Profiles work. */
static int
measure(ULONG *counters, size_t size, size_t bytes)
{
    const char *const in_mix = (const char *)(uintptr_t)mix;
    const char *const in_collatz = (const char *)(uintptr_t)collatz;
    uint64_t result;
    HANDLE profile;
    NTSTATUS status;

    status = NtCreateProfileEx(&profile, NtCurrentProcess(),
                               (PVOID)(uintptr_t)__start_measured, size, BUCKET_LOG2,
                               counters, (ULONG)bytes, ProfileTime, 0, NULL);
    if (!NT_SUCCESS(status)) {
        return fail("NtCreateProfileEx", status);
    }

    status = NtStartProfile(profile);
    if (!NT_SUCCESS(status)) {
        (void)fail("NtStartProfile", status);
        NtClose(profile);
        return 1;
    }
    result = work();
    NtStopProfile(profile);
    NtClose(profile);
    printf("%6llu hits in mix\n%6llu hits in collatz\n(result %llx)\n",
           (unsigned long long)hits_of(counters, in_mix, in_collatz),
           (unsigned long long)hits_of(counters, in_collatz, in_mix),
           (unsigned long long)result);
    return 0;
}

int
main(void)
{
    const size_t size = (size_t)(__stop_measured - __start_measured);
    const size_t bytes = (size + BUCKET_BYTES - 1) / BUCKET_BYTES * sizeof(ULONG);
    ULONG *const counters = ntprof_buffer_alloc(bytes);
    ntprof_session *session;
    NTSTATUS status;
    int failed;

    if (counters == NULL) {
        return fail("ntprof_buffer_alloc", STATUS_INSUFFICIENT_RESOURCES);
    }
    status = open_session(&session);
    if (NT_SUCCESS(status)) {
        failed = measure(counters, size, bytes);
        ntprof_session_close(session);
    } else {
        failed = fail("ntprof_session_open", status);
    }
    ntprof_buffer_free(counters, bytes);
    return failed;
}
