/* SPDX-License-Identifier: MIT */
/*
 * Every call by which a lock asks for something, made to fail in turn: the status that
 * is published, and nothing stays locked, mapped or changed. The same of an unlock,
 * which cannot fail: the counts are there all the same. rules: start-lock,
 * start-fails-clean
 *
 * Linked with --wrap for the calls below.
 */
#include "lock.h"

static size_t made;
static size_t fail_at; /* 0: none */

static bool
fails(void)
{
    made++;
    return made == fail_at;
}

void *__real_malloc(size_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                  off_t offset);
void *__real_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to);
int __real_host_memory_lock(uintptr_t start, size_t bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                  off_t offset);
void *__wrap_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to);
int __wrap_host_memory_lock(uintptr_t start, size_t bytes);

void *
__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *
__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

void *
__wrap_mremap(void *at, size_t old_bytes, size_t bytes, int flags, void *to)
{
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mremap(at, old_bytes, bytes, flags, to);
}

int
__wrap_host_memory_lock(uintptr_t start, size_t bytes)
{
    return fails() ? -EAGAIN : __real_host_memory_lock(start, bytes);
}

/* Locks with the n-th call failing. Another try may serve, so it may succeed all the
 * same. */
static bool
lock_with_failure(size_t n, ULONG *buffer, size_t counters)
{
    const size_t mappings = count_mappings(true);
    const size_t before_kb = locked_kb();
    NTSTATUS status;
    MDL mdl;

    made = 0;
    fail_at = n;
    status = lock(&mdl, buffer, counters);
    fail_at = 0;
    if (!NT_SUCCESS(status)) {
        assert_true(status == STATUS_INSUFFICIENT_RESOURCES ||
                    status == STATUS_WORKING_SET_QUOTA);
        assert_int_equal(locked_kb(), before_kb);
        assert_int_equal(count_mappings(true), mappings);
    } else {
        assert_int_equal(host.Table->MapPages(host.Context, &mdl), STATUS_SUCCESS);
        hit(&mdl, counters - 1);
        unmap_and_unlock(&mdl);
        buffer[counters - 1]--;
    }
    for (size_t i = 0; i < counters; i++) {
        assert_int_equal(value(&buffer[i]), i);
    }
    return made >= n;
}

static void
fail_each(ULONG *buffer, size_t counters, size_t least)
{
    size_t n = 1;

    for (size_t i = 0; i < counters; i++) {
        buffer[i] = (ULONG)i;
    }
    while (lock_with_failure(n, buffer, counters)) {
        n++;
    }
    assert_true(n > least); /* that many calls did fail */
}

static void
lock__each_call_fails_in_turn__status_and_nothing_left(void **state)
{
    struct guarded memory = guarded_make(6, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;

    (void)state;
    fail_each(guarded_end(&memory, 9), 9, 4);
    fail_each(buffer, 6 * per_page, 6);
    fail_each(buffer + 3, 6 * per_page - 7, 6);
    /* Private pages on both sides of a shared one, and a page in part. */
    assert_ptr_equal(__real_mmap(memory.pages + 3 * page(), page(),
                                 PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory.pages + 3 * page());
    fail_each(buffer, 6 * per_page - 7, 6);
    guarded_free(&memory);
}

/* While others hold parts of it: theirs stay as they are. */
static void
lock__each_call_fails_beside_other_locks__those_hold(void **state)
{
    struct guarded memory = guarded_make(6, MAP_PRIVATE);
    ULONG *buffer = (ULONG *)(void *)memory.pages;
    const size_t per_page = page() / 4;
    MDL small;
    MDL pages;

    (void)state;
    lock_and_map(&small, buffer + 5, 7);
    lock_and_map(&pages, buffer + 3 * per_page, 2 * per_page);
    fail_each(buffer, 6 * per_page - 7, 4);
    fail_each(buffer + 1, per_page, 2);
    hit(&small, 1);
    hit(&pages, 1);
    unmap_and_unlock(&small);
    unmap_and_unlock(&pages);
    assert_int_equal(value(&buffer[6]), 5 + 1); /* filled from 1 on */
    assert_int_equal(value(&buffer[3 * per_page + 1]), 3 * per_page + 1 + 1);
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(lock__each_call_fails_in_turn__status_and_nothing_left),
        host_test(lock__each_call_fails_beside_other_locks__those_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
