/* SPDX-License-Identifier: MIT */
/*
 * live.c - counters that another thread reads while they count. Public headers only.
 *
 *   cc -O2 live.c -o live $(pkg-config --cflags --libs ntprof) -pthread && ./live
 *
 * The main thread works in a section of its own, which a profile counts in. The reader
 * only loads counters: it needs no call of ntprof, no lock, and stops nobody. Counters
 * are ULONGs that others add to, so it loads each with an atomic.
 */
#include <ntprof/ntprof.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { BUCKET_LOG2 = 4, BUCKET_BYTES = 1 << BUCKET_LOG2 };

#define MEASURED __attribute__((section("measured"), noinline))

/* The linker gives these two for a section whose name is a C name. */
extern const char __start_measured[];
extern const char __stop_measured[];

/* reader - what the reading thread shares with the main thread. */
struct reader {
    const ULONG *counters;
    size_t count;
    atomic_bool end;
};

MEASURED static uint64_t
mix(uint64_t value, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        value ^= value >> 29;
        value *= 0xBF58476D1CE4E5B9u;
    }
    return value;
}

/* About a second of work. Returns a number that depends on all of it. */
static uint64_t
work(void)
{
    const clock_t end = clock() + CLOCKS_PER_SEC;
    uint64_t sum = 1;

    do {
        sum += mix(sum, 1000);
    } while (clock() < end);
    return sum;
}

static unsigned long long
sum_of(const struct reader *reader)
{
    unsigned long long sum = 0;

    for (size_t i = 0; i < reader->count; i++) {
        sum += __atomic_load_n(&reader->counters[i], __ATOMIC_RELAXED);
    }
    return sum;
}

static void *
read_counters(void *argument)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    const struct reader *const reader = argument;

    while (!atomic_load(&reader->end)) {
        printf("%llu hits so far\n", sum_of(reader));
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int
fail(const char *what, NTSTATUS status)
{
    fprintf(stderr, "live: %s: %s (%s)\n", what, ntprof_status_name(status),
            ntprof_status_text(status));
    return 1;
}

/* Work while the profile counts and the other thread reads. */
static int
run(HANDLE profile, struct reader *reader)
{
    NTSTATUS status = NtStartProfile(profile);
    pthread_t thread;
    uint64_t result;

    if (!NT_SUCCESS(status)) {
        return fail("NtStartProfile", status);
    }
    if (pthread_create(&thread, NULL, read_counters, reader) != 0) {
        return fail("pthread_create", STATUS_INSUFFICIENT_RESOURCES);
    }
    result = work();
    atomic_store(&reader->end, true);
    pthread_join(thread, NULL);

    /* When this returns, no counter changes any more. */
    status = NtStopProfile(profile);
    if (!NT_SUCCESS(status)) {
        return fail("NtStopProfile", status);
    }
    printf("%llu hits in all\n(result %llx)\n", sum_of(reader),
           (unsigned long long)result);
    return 0;
}

int
main(void)
{
    const size_t size = (size_t)(__stop_measured - __start_measured);
    const size_t count = (size + BUCKET_BYTES - 1) / BUCKET_BYTES;
    const size_t bytes = count * sizeof(ULONG);
    ULONG *const counters = ntprof_buffer_alloc(bytes);
    struct reader reader = {.counters = counters, .count = count};
    HANDLE profile;
    NTSTATUS status;
    int failed;

    if (counters == NULL) {
        return fail("ntprof_buffer_alloc", STATUS_INSUFFICIENT_RESOURCES);
    }
    status = NtCreateProfileEx(&profile, NtCurrentProcess(),
                               (PVOID)(uintptr_t)__start_measured, size, BUCKET_LOG2,
                               counters, (ULONG)bytes, ProfileTime, 0, NULL);
    if (!NT_SUCCESS(status)) {
        ntprof_buffer_free(counters, bytes);
        return fail("NtCreateProfileEx", status);
    }
    failed = run(profile, &reader);
    NtClose(profile);
    ntprof_buffer_free(counters, bytes);
    return failed;
}
