/* SPDX-License-Identifier: MIT */
/*
 * failures.c - a whole session on real perf events, with each allocation and each host
 * call made to fail in turn: no call crashes, failures leave outputs alone, and nothing
 * stays open.
 *
 * Linked with --wrap for the calls below, which reaches our own objects alone.
 */
#include "breakpoints.h"

#include <ntprof/ntprof.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLS = 100 };

/* Calls made, and the one that fails; 0: none does. One thread at a time counts. */
static size_t made;
static size_t fail_at;
static ptrdiff_t live; /* allocations not freed */
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

/* Counts a call that takes (1), gives back (-1) or neither; does it fail? */
static bool
fails(void)
{
    bool now;

    pthread_mutex_lock(&count_lock);
    now = ++made == fail_at;
    pthread_mutex_unlock(&count_lock);
    return now;
}

static void *
keep_count(void *memory)
{
    if (memory != NULL) {
        pthread_mutex_lock(&count_lock);
        live++;
        pthread_mutex_unlock(&count_lock);
    }
    return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd,
                  off_t offset);
int __real_ioctl(int fd, unsigned long request, ...);
int __real_epoll_create1(int flags);
int __real_epoll_ctl(int epoll, int operation, int fd, void *event);
int __real_eventfd(unsigned value, int flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
                  off_t offset);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd, void *event);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);

void *
__wrap_malloc(size_t size)
{
    return fails() ? NULL : keep_count(__real_malloc(size));
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : keep_count(__real_calloc(count, size));
}

void *
__wrap_realloc(void *memory, size_t size)
{
    void *grown;

    if (fails()) {
        return NULL;
    }
    grown = __real_realloc(memory, size);
    return memory == NULL ? keep_count(grown) : grown;
}

void
__wrap_free(void *memory)
{
    if (memory != NULL) {
        pthread_mutex_lock(&count_lock);
        live--;
        pthread_mutex_unlock(&count_lock);
    }
    __real_free(memory);
}

static int
refuse(int error)
{
    errno = error;
    return -1;
}

void *
__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, size, protection, flags, fd, offset);
}

int
__wrap_ioctl(int fd, unsigned long request, void *argument)
{
    return fails() ? refuse(ENOMEM) : __real_ioctl(fd, request, argument);
}

int
__wrap_epoll_create1(int flags)
{
    return fails() ? refuse(EMFILE) : __real_epoll_create1(flags);
}

int
__wrap_epoll_ctl(int epoll, int operation, int fd, void *event)
{
    return fails() ? refuse(ENOMEM) : __real_epoll_ctl(epoll, operation, fd, event);
}

int
__wrap_eventfd(unsigned value, int flags)
{
    return fails() ? refuse(EMFILE) : __real_eventfd(value, flags);
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*body)(void *), void *argument)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, body, argument);
}

/* ---- the scenario ---- */

static volatile unsigned work_done;

__attribute__((noinline)) static void
profiled(void)
{
    work_done++;
}

/* Of the source that counts each call of it. */
static char source_name[64];

/* Names it, or skips the test with the reason where there is none: its first statement.
 */
static void
need_exact_source(void)
{
    if (geteuid() != 0) {
        need_breakpoints();
    }
    name_exact_source(source_name, sizeof(source_name), (uintptr_t)profiled);
}

static size_t
count_descriptors(void)
{
    DIR *const folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* Starts a profile of profiled(), calls it, stops. Did all succeed? */
static bool
count_calls(ntprof_session *session, const KPROFILE_SOURCE source, ULONG *counters)
{
    const HANDLE untouched = (HANDLE)(uintptr_t)0x1234;
    HANDLE profile = untouched;
    ntprof_source_info info = {.size = sizeof(info)};
    NTSTATUS status =
        NtCreateProfileEx(&profile, NtCurrentProcess(), (PVOID)(uintptr_t)profiled, 64,
                          6, counters, sizeof(ULONG), source, 0, NULL);

    if (!NT_SUCCESS(status)) {
        assert_ptr_equal(profile, untouched);
        return false;
    }
    status = NtStartProfile(profile);
    if (!NT_SUCCESS(status)) {
        assert_int_equal(NtStopProfile(profile), STATUS_PROFILING_NOT_STARTED);
        assert_int_equal(NtClose(profile), STATUS_SUCCESS);
        assert_int_equal(counters[0], 0);
        return false;
    }
    for (int i = 0; i < CALLS; i++) {
        profiled();
    }
    assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
    assert_int_equal(NtClose(profile), STATUS_SUCCESS);
    if (!NT_SUCCESS(ntprof_source_get(session, source, &info))) {
        return false;
    }
    /* Whatever failed meanwhile: what was taken is what was counted. */
    assert_int_equal(info.taken, info.counted + info.outside);
    assert_int_equal(counters[0], info.counted);
    return counters[0] == CALLS;
}

static bool
run_session(uint32_t flags)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "perf", .flags = flags};
    KPROFILE_SOURCE source;
    ntprof_session *session = NULL;
    ULONG *counters;
    bool done = false;

    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        assert_null(session);
        return false;
    }
    ntprof_session_use(session);
    counters = ntprof_buffer_alloc(sizeof(ULONG));
    if (counters != NULL &&
        NT_SUCCESS(ntprof_source_lookup(session, source_name, &source))) {
        done = count_calls(session, source, counters);
    }
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    ntprof_buffer_free(counters, sizeof(ULONG));
    return done;
}

/* Fails the first, second ... call until the session makes fewer calls than that. */
static void
fail_each(uint32_t flags)
{
    size_t descriptors;
    size_t refused = 0;

    assert_true(run_session(flags)); /* makes what stays for the process */
    descriptors = count_descriptors();
    for (size_t i = 1;; i++) {
        const ptrdiff_t before = live;
        bool done;

        made = 0;
        fail_at = i;
        done = run_session(flags);
        fail_at = 0;
        assert_int_equal(count_descriptors(), descriptors);
        /* The registry of the process's pages may have grown, once. */
        assert_true(live - before <= 1);
        if (made < i) {
            assert_true(done);
            break;
        }
        refused += !done;
    }
    assert_true(refused > 10);
    assert_true(run_session(flags));
}

static void
polled_session__each_call_fails_in_turn__nothing_left(void **state)
{
    need_exact_source();

    (void)state;
    fail_each(NTPROF_SESSION_POLLED);
}

static void
session_with_thread__each_call_fails_in_turn__nothing_left(void **state)
{
    need_exact_source();

    (void)state;
    fail_each(0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polled_session__each_call_fails_in_turn__nothing_left),
        cmocka_unit_test(session_with_thread__each_call_fails_in_turn__nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
