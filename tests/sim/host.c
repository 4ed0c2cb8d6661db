/* SPDX-License-Identifier: MIT */
/* The simulated host itself: what the other tests rely on to notice mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

#define AREA 0x10000ull

struct fixture {
    struct host_sim *sim;
    HOST host;
};

static struct fixture fixture;

static int
setup(void **state)
{
    fixture.sim = host_sim_create(NULL);
    assert_non_null(fixture.sim);
    fixture.host = host_sim_host(fixture.sim);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    host_sim_delete(fixture.sim);
    return 0;
}

static void
allocate__given_and_taken_back__balance(void **state)
{
    static const char zeroes[100];
    void *const first = HostAllocate(&fixture.host, 100);
    void *const second = HostAllocate(&fixture.host, 28);

    (void)state;
    assert_memory_equal(first, zeroes, 100);
    assert_int_equal((uintptr_t)first % 16, 0);
    assert_int_equal(host_sim_balance(fixture.sim).allocations, 2);
    assert_int_equal(host_sim_balance(fixture.sim).bytes, 128);
    HostFree(&fixture.host, first, 100);
    HostFree(&fixture.host, NULL, 5);
    assert_int_equal(host_sim_balance(fixture.sim).bytes, 28);
    HostFree(&fixture.host, second, 28);
    assert_int_equal(host_sim_balance(fixture.sim).allocations, 0);
    assert_null(host_sim_complaint(fixture.sim));
}

static void
free__wrong_size__complaint(void **state)
{
    void *const memory = HostAllocate(&fixture.host, 100);

    (void)state;
    HostFree(&fixture.host, memory, 99);
    assert_non_null(host_sim_complaint(fixture.sim));
}

static void
fail__nth_call__that_one_alone_or_all_later(void **state)
{
    void *memory[6];

    (void)state;
    host_sim_fail(fixture.sim, HOST_SIM_ALLOCATE, 2, false);
    for (size_t i = 0; i < 3; i++) {
        memory[i] = HostAllocate(&fixture.host, 8);
    }
    assert_true(memory[0] != NULL && memory[1] == NULL && memory[2] != NULL);
    host_sim_fail(fixture.sim, HOST_SIM_ANY_CALL, 2, true);
    for (size_t i = 3; i < 6; i++) {
        memory[i] = HostAllocate(&fixture.host, 8);
    }
    assert_true(memory[3] != NULL && memory[4] == NULL && memory[5] == NULL);
    host_sim_clear_failures(fixture.sim);
    assert_int_equal(host_sim_calls(fixture.sim, HOST_SIM_ALLOCATE), 6);
    for (size_t i = 0; i < 6; i++) {
        HostFree(&fixture.host, memory[i], 8);
    }
    assert_int_equal(host_sim_balance(fixture.sim).allocations, 0);
}

static void
map__regions__apart_but_neighbours_in_the_simulation(void **state)
{
    unsigned char *const first = host_sim_map(fixture.sim, AREA, 0x1800);
    unsigned char *const second = host_sim_map(fixture.sim, AREA + 0x2000, 0x1000);
    unsigned char bytes[8];

    (void)state;
    assert_true(first != NULL && second != NULL);
    assert_null(host_sim_map(fixture.sim, AREA + 0x1000, 0x1000));
    assert_null(host_sim_map(fixture.sim, AREA - 0x1000, 0x1001));
    assert_null(host_sim_map(fixture.sim, AREA + 0x5001, 0x1000));
    memcpy(first + 0x1FFC, "abcd", 4);
    memcpy(second, "efgh", 4);
    assert_int_equal(fixture.host.Table->CopyFromCaller(fixture.host.Context, bytes,
                                                        AREA + 0x1FFC, 8),
                     STATUS_SUCCESS);
    assert_memory_equal(bytes, "abcdefgh", 8);
    assert_ptr_equal(host_sim_at(fixture.sim, AREA + 0x1FFC, 4), first + 0x1FFC);
    assert_null(host_sim_at(fixture.sim, AREA + 0x1FFC, 5));
    assert_null(host_sim_at(fixture.sim, AREA - 1, 1));
}

static void
guards__written_before_or_behind__noticed(void **state)
{
    unsigned char *const memory = host_sim_map(fixture.sim, AREA, 0x1000);
    const unsigned char before = memory[-1];

    (void)state;
    memset(memory, 0xFF, 0x1000);
    assert_true(host_sim_guards_intact(fixture.sim));
    memory[0x1000]++;
    assert_false(host_sim_guards_intact(fixture.sim));
    memory[0x1000]--;
    assert_true(host_sim_guards_intact(fixture.sim));
    memory[-1] = (unsigned char)(before + 1);
    assert_false(host_sim_guards_intact(fixture.sim));
}

static void
locks__wrong_order__complaint(void **state)
{
    MDL mdl = {.StartVa = AREA, .ByteCount = 64};
    const HOST_TABLE *const table = fixture.host.Table;

    (void)state;
    assert_non_null(host_sim_map(fixture.sim, AREA, 0x1000));
    assert_int_equal(table->LockPages(fixture.sim, &mdl), STATUS_SUCCESS);
    assert_int_equal(table->MapPages(fixture.sim, &mdl), STATUS_SUCCESS);
    assert_null(host_sim_complaint(fixture.sim));
    table->UnlockPages(fixture.sim, &mdl);
    assert_non_null(host_sim_complaint(fixture.sim));
    assert_int_equal(host_sim_balance(fixture.sim).locks, 1);
}

static void
locked_buffer__caller_unmaps__counted_on(void **state)
{
    MDL mdl = {.StartVa = AREA + 4, .ByteCount = 4};
    const HOST_TABLE *const table = fixture.host.Table;
    ULONG *const memory = host_sim_map(fixture.sim, AREA, 0x1000);

    (void)state;
    assert_int_equal(table->LockPages(fixture.sim, &mdl), STATUS_SUCCESS);
    assert_int_equal(table->MapPages(fixture.sim, &mdl), STATUS_SUCCESS);
    host_sim_unmap(fixture.sim, AREA);
    assert_int_equal(table->ProbeForWrite(fixture.sim, AREA, 4),
                     STATUS_ACCESS_VIOLATION);
    *(ULONG *)mdl.MappedSystemVa = 5;
    assert_int_equal(memory[1], 5);
    /* Something else can come there, and is another memory. */
    assert_ptr_not_equal(host_sim_map(fixture.sim, AREA, 0x1000), memory);
    table->UnmapPages(fixture.sim, &mdl);
    table->UnlockPages(fixture.sim, &mdl);
    assert_null(host_sim_complaint(fixture.sim));
}

static void
process__lives_of_one_pid__told_apart(void **state)
{
    const HOST_TABLE *const table = fixture.host.Table;
    HOST_PROCESS first;
    HOST_PROCESS second;

    (void)state;
    host_sim_add_process(fixture.sim, 7);
    assert_int_equal(table->OpenProcess(fixture.sim, 7, &first), STATUS_SUCCESS);
    assert_false(table->IsProcessGone(fixture.sim, &first));
    host_sim_end_process(fixture.sim, 7);
    assert_true(table->IsProcessGone(fixture.sim, &first));
    assert_int_equal(table->OpenProcess(fixture.sim, 7, &second), STATUS_INVALID_CID);
    host_sim_add_process(fixture.sim, 7);
    assert_int_equal(table->OpenProcess(fixture.sim, 7, &second), STATUS_SUCCESS);
    assert_true(table->IsProcessGone(fixture.sim, &first));
    assert_false(table->IsProcessGone(fixture.sim, &second));
    host_sim_set_accessible(fixture.sim, 7, false);
    assert_int_equal(table->CheckProcessAccess(fixture.sim, &second),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(table->CheckProcessAccess(fixture.sim, &first), STATUS_SUCCESS);
    table->CloseProcess(fixture.sim, &first);
    table->CloseProcess(fixture.sim, &second);
    assert_null(host_sim_complaint(fixture.sim));
    table->CloseProcess(fixture.sim, &second);
    assert_non_null(host_sim_complaint(fixture.sim));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(allocate__given_and_taken_back__balance),
        TEST(free__wrong_size__complaint),
        TEST(fail__nth_call__that_one_alone_or_all_later),
        TEST(map__regions__apart_but_neighbours_in_the_simulation),
        TEST(guards__written_before_or_behind__noticed),
        TEST(locks__wrong_order__complaint),
        TEST(locked_buffer__caller_unmaps__counted_on),
        TEST(process__lives_of_one_pid__told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
