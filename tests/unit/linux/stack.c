/* SPDX-License-Identifier: MIT */
/* stack.c - how many bytes of stack a ring has room for, and the order of registers. */
#include "cmocka_all.h"

#include "hal/linux/record.h"
#include "hal/linux/stack.h"

enum { MS = 1000000, RING = 512 * 1024, RECORD_MAX = 65528 };

/* The bytes beside the stack, by hand: fixed part, registers with their abi, the two
 * sizes of the stack; number, mark and addresses of the chain. */
enum { BESIDE = 40 + 8 + 8 * PERF_STACK_REGISTERS + 16, CHAIN = 8 + 8 + 8 * 127 };

/* rule: stack-granted */
static void
grant__least_of_four_bounds__multiple_of_8(void **state)
{
    static const struct {
        size_t asked;
        size_t ring_bytes;
        uint64_t period_ns;
        bool chain;
        size_t granted;
    } rows[] = {
        /* what is asked */
        {512, RING, MS, false, 512},
        {519, RING, MS, false, 512},
        {520, RING, MS, true, 520},
        {8192, RING, MS, true, 8192},
        /* 32 hits in 32 ms */
        {16384, RING, MS, false, 16384 - BESIDE},
        {16384, RING, MS, true, 16384 - BESIDE - CHAIN},
        {65528, 4 * RING, MS, false, RECORD_MAX - BESIDE},
        {65528, 4 * RING, MS, true, RECORD_MAX - BESIDE - CHAIN},
        {65528, 4 * RING, MS / 2, false, 32768 - BESIDE},
        {65528, RING, MS / 10, true, (1638 - BESIDE - CHAIN) / 8 * 8},
        {65528, RING, MS / 10, false, (1638 - BESIDE) / 8 * 8},
        /* no room for what is beside the stack */
        {65528, RING, MS / 100, true, 0},
        {65528, 8192, MS, true, 0},
        {65528, 8192, 0, false, 0},
        {65528, 0, MS, false, 0},
        /* an eighth of the ring */
        {65528, RING, 1000 * (uint64_t)MS, false, 65536 - 8 - BESIDE},
        {65528, 8192, 1000 * (uint64_t)MS, true, 1024},
        {65528, 65536, 10 * MS, false, 8192},
        /* a record of Linux */
        {UINT32_MAX, 64 * RING, 1000 * (uint64_t)MS, true, RECORD_MAX - BESIDE - CHAIN},
        {SIZE_MAX, 64 * RING, 1000 * (uint64_t)MS, false, RECORD_MAX - BESIDE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t granted = perf_stack_grant(rows[i].asked, rows[i].ring_bytes,
                                                rows[i].period_ns, rows[i].chain);

        assert_int_equal(granted, rows[i].granted);
        assert_int_equal(granted % 8, 0);
        assert_true(granted == 0 ||
                    perf_stack_record_bytes(granted, rows[i].chain) <= RECORD_MAX);
    }
}

static void
record_bytes__by_hand__the_same(void **state)
{
    (void)state;
    assert_int_equal(perf_stack_record_bytes(1000, false), BESIDE + 1000);
    assert_int_equal(perf_stack_record_bytes(1000, true), BESIDE + CHAIN + 1000);
}

/* rule: stack-copy */
static void
registers__order_of_a_sample__order_of_dwarf(void **state)
{
    uint64_t sample[PERF_STACK_REGISTERS + 1];
    uint64_t ordered[PERF_STACK_REGISTERS + 1] = {0};

    (void)state;
    for (uint64_t i = 0; i <= PERF_STACK_REGISTERS; i++) {
        sample[i] = i;
    }
    perf_stack_order_registers(sample, ordered);
    assert_int_equal(__builtin_popcountll(perf_stack_register_mask()),
                     PERF_STACK_REGISTERS);
#if defined(__x86_64__)
    /* A sample's numbers of rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
    static const uint64_t expected[] = {0,  3,  2,  1,  4,  5,  6,  7, 9,
                                        10, 11, 12, 13, 14, 15, 16, 8};

    assert_memory_equal(ordered, expected, sizeof(expected));
    assert_int_equal(perf_stack_register_mask(), 0xFF01FF);
#else
    assert_memory_equal(ordered, sample, PERF_STACK_REGISTERS * sizeof(ordered[0]));
#endif
    assert_int_equal(ordered[PERF_STACK_REGISTERS], 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grant__least_of_four_bounds__multiple_of_8),
        cmocka_unit_test(record_bytes__by_hand__the_same),
        cmocka_unit_test(registers__order_of_a_sample__order_of_dwarf),
    };

    return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
