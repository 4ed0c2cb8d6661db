/* SPDX-License-Identifier: MIT */
/* Probes and copies of memory that is there, is not there, or goes away at a page's
 * end. */
#include "fixture.h"

#include <pthread.h>

static NTSTATUS
probe(const void *address, size_t bytes)
{
    return host.Table->ProbeForWrite(host.Context, (uintptr_t)address, bytes);
}

static NTSTATUS
copy_from(void *to, const void *from, size_t bytes)
{
    return host.Table->CopyFromCaller(host.Context, to, (uintptr_t)from, bytes);
}

static NTSTATUS
copy_to(void *to, const void *from, size_t bytes)
{
    return host.Table->CopyToCaller(host.Context, (uintptr_t)to, from, bytes);
}

static void
allocate__bytes__zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 5000; bytes = bytes * 2 + 1) {
        unsigned char *memory = host.Table->Allocate(host.Context, bytes);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xFF, bytes);
        host.Table->Free(host.Context, memory, bytes);
    }
}

static void
allocate__more_than_there_is__null(void **state)
{
    (void)state;
    if (!SANITIZED) { /* which report the attempt */
        assert_null(host.Table->Allocate(host.Context, PTRDIFF_MAX - 4096u));
    }
}

static void
probe__every_offset_and_length_to_guard__exact(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    const unsigned char *end = memory.pages + memory.bytes;

    (void)state;
    memset(memory.pages, 0xA5, memory.bytes);
    for (size_t before = 1; before < 20; before++) {
        for (size_t bytes = 0; bytes < 20; bytes++) {
            const NTSTATUS expected =
                bytes <= before ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION;

            assert_int_equal(probe(end - before, bytes), expected);
        }
    }
    assert_int_equal(probe(memory.pages, memory.bytes), STATUS_SUCCESS);
    assert_int_equal(probe(memory.pages, memory.bytes + 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probe(memory.pages - 1, memory.bytes), STATUS_ACCESS_VIOLATION);
    for (size_t i = 0; i < memory.bytes; i++) {
        assert_int_equal(memory.pages[i], 0xA5);
    }
    guarded_free(&memory);
}

static void
probe__page_in_the_middle_not_writable__access_violation(void **state)
{
    static const int bad[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC};
    struct guarded memory = guarded_make(3, MAP_PRIVATE);

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        unsigned char *middle = memory.pages + page();

        assert_int_equal(mprotect(middle, page(), bad[i]), 0);
        assert_int_equal(probe(memory.pages, 3 * page()), STATUS_ACCESS_VIOLATION);
        assert_int_equal(probe(middle - 1, 2), STATUS_ACCESS_VIOLATION);
        assert_int_equal(probe(middle, 1), STATUS_ACCESS_VIOLATION);
        assert_int_equal(probe(memory.pages, page()), STATUS_SUCCESS);
        assert_int_equal(probe(middle + page(), page()), STATUS_SUCCESS);
        assert_int_equal(mprotect(middle, page(), PROT_READ | PROT_WRITE), 0);
    }
    assert_int_equal(munmap(memory.pages + page(), page()), 0);
    assert_int_equal(probe(memory.pages, 3 * page()), STATUS_ACCESS_VIOLATION);
    guarded_free(&memory);
}

static void
probe__end_of_user_space_and_wrap__access_violation(void **state)
{
    const ULONG64 highest = host.Table->HighestUserAddress;
    static const ULONG64 starts[] = {0,
                                     1,
                                     4095,
                                     0xFFFFFFFFFFFFFFFF,
                                     0xFFFFFFFFFFFFF000,
                                     0xFFFF800000000000,
                                     0x0000800000000000};

    (void)state;
    /* The last byte itself may be the stack's. */
    assert_int_equal(host.Table->ProbeForWrite(host.Context, highest, 2),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(host.Table->ProbeForWrite(host.Context, highest + 1, 1),
                     STATUS_ACCESS_VIOLATION);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        assert_int_equal(host.Table->ProbeForWrite(host.Context, starts[i], 4096),
                         STATUS_ACCESS_VIOLATION);
        assert_int_equal(host.Table->ProbeForWrite(host.Context, starts[i], SIZE_MAX),
                         STATUS_ACCESS_VIOLATION);
    }
}

static void
probe__text_and_constants__access_violation(void **state)
{
    static const char constant[] = "not to be written";

    (void)state;
    assert_int_equal(probe((const void *)(uintptr_t)&probe, 1),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(probe(constant, 1), STATUS_ACCESS_VIOLATION);
    assert_string_equal(constant, "not to be written");
}

static void
probe__file_shorter_than_mapping__access_violation(void **state)
{
    const int file = memfd_create("short", MFD_CLOEXEC);
    unsigned char *memory;

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 1), 0);
    memory = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(probe(memory, page()), STATUS_SUCCESS);
    assert_int_equal(probe(memory, page() + 1), STATUS_ACCESS_VIOLATION);
    munmap(memory, 2 * page());
    close(file);
}

struct counting {
    ULONG *counter;
    size_t times;
};

static void *
count_up(void *argument)
{
    const struct counting *counting = argument;

    for (size_t i = 0; i < counting->times; i++) {
        __atomic_fetch_add(counting->counter, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The probe writes, and must not undo what others write at the same time. */
static void
probe__other_thread_writes__nothing_lost(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    struct counting counting = {guarded_end(&memory, 1), 300000};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, count_up, &counting), 0);
    while (__atomic_load_n(counting.counter, __ATOMIC_RELAXED) < counting.times) {
        assert_int_equal(probe(counting.counter, 4), STATUS_SUCCESS);
    }
    pthread_join(thread, NULL);
    assert_int_equal(*counting.counter, counting.times);
    guarded_free(&memory);
}

static void
word_add__any_amount__exact_modulo_2_32(void **state)
{
    static const uint32_t amounts[] = {0,    1,      2047,       2048,       2049,
                                       4095, 4096,   0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                                       1000, 999999, 0xDEADBEEF};
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    ULONG *word = guarded_end(&memory, 1);
    uint32_t expected = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
        assert_int_equal(host_word_add((uintptr_t)word, amounts[i]), 0);
        expected += amounts[i];
        assert_int_equal(*word, expected);
        assert_int_equal(word[-1], 0);
    }
    assert_int_equal(host_word_add((uintptr_t)(word + 1), 0x12345), 0x12345);
    guarded_free(&memory);
}

static void
copy__straddling_the_guard__access_violation_without_effect(void **state)
{
    struct guarded memory = guarded_make(2, MAP_PRIVATE);
    unsigned char *end = memory.pages + memory.bytes;
    unsigned char own[16] = {0};

    (void)state;
    memset(end - 8, 7, 8);
    assert_int_equal(copy_from(own, end - 8, 8), STATUS_SUCCESS);
    assert_memory_equal(own, end - 8, 8);
    assert_int_equal(copy_from(own, end - 8, 9), STATUS_ACCESS_VIOLATION);
    assert_int_equal(copy_from(own, end, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(copy_from(own, end, 0), STATUS_SUCCESS);

    memset(own, 9, sizeof(own));
    assert_int_equal(copy_to(end - 8, own, 9), STATUS_ACCESS_VIOLATION);
    for (int i = 1; i <= 8; i++) {
        assert_int_equal(end[-i], 7);
    }
    assert_int_equal(copy_to(end - 8, own, 8), STATUS_SUCCESS);
    assert_memory_equal(end - 8, own, 8);
    assert_int_equal(copy_to(memory.pages + page() - 3, own, 8), STATUS_SUCCESS);
    assert_memory_equal(memory.pages + page() - 3, own, 8);
    guarded_free(&memory);
}

static void
copy__hostile_addresses__access_violation(void **state)
{
    static const ULONG64 hostile[] = {0,
                                      8,
                                      0x0000800000000000,
                                      0xFFFF800000000000,
                                      0xFFFFFFFFFFFFFFF8,
                                      0xFFFFFFFFFFFFFFFF};
    unsigned char own[16] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        assert_int_equal(host.Table->CopyFromCaller(host.Context, own, hostile[i], 16),
                         STATUS_ACCESS_VIOLATION);
        assert_int_equal(host.Table->CopyToCaller(host.Context, hostile[i], own, 16),
                         STATUS_ACCESS_VIOLATION);
    }
}

static void
copy__read_only_page__read_but_not_written(void **state)
{
    struct guarded memory = guarded_make(1, MAP_PRIVATE);
    unsigned char own[4] = {1, 2, 3, 4};

    (void)state;
    assert_int_equal(mprotect(memory.pages, page(), PROT_READ), 0);
    assert_int_equal(copy_to(memory.pages, own, 4), STATUS_ACCESS_VIOLATION);
    assert_int_equal(copy_from(own, memory.pages, 4), STATUS_SUCCESS);
    assert_int_equal(own[3], 0);
    guarded_free(&memory);
}

/* 1..: the line that failed, roughly. */
static int
copy_in_sandbox(void *argument)
{
    struct guarded *memory = argument;
    unsigned char *end = memory->pages + memory->bytes;
    static unsigned char own[20000];

    if (refuse_call(SYS_process_vm_readv, EPERM) ||
        refuse_call(SYS_process_vm_writev, ENOSYS)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(own); i++) {
        own[i] = (unsigned char)(i % 251);
    }
    if (copy_to(end - sizeof(own), own, sizeof(own)) != STATUS_SUCCESS ||
        memcmp(end - sizeof(own), own, sizeof(own)) != 0) {
        return 2;
    }
    memset(own, 0, sizeof(own));
    if (copy_from(own, end - sizeof(own), sizeof(own)) != STATUS_SUCCESS ||
        memcmp(end - sizeof(own), own, sizeof(own)) != 0) {
        return 3;
    }
    if (copy_from(own, end - 8, 9) != STATUS_ACCESS_VIOLATION ||
        copy_to(end - 8, own, 9) != STATUS_ACCESS_VIOLATION ||
        copy_from(own, end, 1) != STATUS_ACCESS_VIOLATION ||
        copy_to(NULL, own, 1) != STATUS_ACCESS_VIOLATION ||
        copy_to((void *)(uintptr_t)&copy_to, own, 1) != STATUS_ACCESS_VIOLATION) {
        return 4;
    }
    return count_descriptors() == descriptors_before ? 0 : 5;
}

static void
copy__process_vm_calls_refused__same_results(void **state)
{
    struct guarded memory = guarded_make(8, MAP_PRIVATE);

    (void)state;
    assert_child_returns_0(copy_in_sandbox, &memory);
    guarded_free(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(allocate__bytes__zeroed_and_aligned),
        host_test(allocate__more_than_there_is__null),
        host_test(probe__every_offset_and_length_to_guard__exact),
        host_test(probe__page_in_the_middle_not_writable__access_violation),
        host_test(probe__end_of_user_space_and_wrap__access_violation),
        host_test(probe__text_and_constants__access_violation),
        host_test(probe__file_shorter_than_mapping__access_violation),
        host_test(probe__other_thread_writes__nothing_lost),
        host_test(word_add__any_amount__exact_modulo_2_32),
        host_test(copy__straddling_the_guard__access_violation_without_effect),
        host_test(copy__hostile_addresses__access_violation),
        host_test(copy__read_only_page__read_but_not_written),
        host_test(copy__process_vm_calls_refused__same_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
