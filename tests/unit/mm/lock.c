/* SPDX-License-Identifier: MIT */
/* Locking and mapping a counter buffer. docs/behaviour.md, Start and its MDL limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include "mm/mm.h"

#define AREA 0x10000000ull
enum { LIMIT = 0x10000 };

struct fixture {
    struct host_sim *sim;
    HOST host;
    void *area;
};

static struct fixture fixture;

static int
setup(void **state)
{
    fixture.sim = host_sim_create(NULL);
    fixture.host = host_sim_host(fixture.sim);
    fixture.area = host_sim_map(fixture.sim, AREA, 0x20000);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    assert_int_equal(host_sim_balance(fixture.sim).locks, 0);
    assert_int_equal(host_sim_balance(fixture.sim).mappings, 0);
    assert_null(host_sim_complaint(fixture.sim));
    host_sim_delete(fixture.sim);
    return 0;
}

static void
lock_and_map__good_buffer__mapped_until_undone(void **state)
{
    MDL mdl;

    (void)state;
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA + 8, 64, LIMIT),
                     STATUS_SUCCESS);
    assert_ptr_equal(mdl.MappedSystemVa, (char *)fixture.area + 8);
    assert_true(mdl.StartVa == AREA + 8);
    assert_int_equal(mdl.ByteCount, 64);
    assert_int_equal(host_sim_locked_bytes(fixture.sim), 64);
    MmFlush(&fixture.host, &mdl);
    assert_int_equal(host_sim_flushes(fixture.sim), 1);
    MmUnmapAndUnlock(&fixture.host, &mdl);
    assert_int_equal(host_sim_locked_bytes(fixture.sim), 0);
}

static void
lock_and_map__same_buffer_twice__both_hold(void **state)
{
    MDL first;
    MDL second;

    (void)state;
    assert_int_equal(MmLockAndMap(&fixture.host, &first, AREA, 64, LIMIT),
                     STATUS_SUCCESS);
    assert_int_equal(MmLockAndMap(&fixture.host, &second, AREA + 32, 64, LIMIT),
                     STATUS_SUCCESS);
    MmUnmapAndUnlock(&fixture.host, &first);
    ((ULONG *)second.MappedSystemVa)[0] = 7;
    assert_int_equal(((ULONG *)fixture.area)[8], 7);
    MmUnmapAndUnlock(&fixture.host, &second);
}

static void
lock_and_map__mdl_limit__exact(void **state)
{
    MDL mdl;

    (void)state;
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, LIMIT, LIMIT),
                     STATUS_SUCCESS);
    MmUnmapAndUnlock(&fixture.host, &mdl);
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, LIMIT + 1, LIMIT),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(host_sim_calls(fixture.sim, HOST_SIM_LOCK_PAGES), 1);
}

static void
lock_and_map__lock_fails__its_status(void **state)
{
    MDL mdl;

    (void)state;
    host_sim_protect(fixture.sim, AREA + 0x1000, 1, HOST_SIM_READ_ONLY);
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, 0x1004, LIMIT),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, 0x1000, LIMIT),
                     STATUS_SUCCESS);
    MmUnmapAndUnlock(&fixture.host, &mdl);
    host_sim_fail(fixture.sim, HOST_SIM_LOCK_PAGES, 1, false);
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, 64, LIMIT),
                     STATUS_WORKING_SET_QUOTA);
}

static void
lock_and_map__map_fails__insufficient_resources_unlocked(void **state)
{
    MDL mdl;

    (void)state;
    host_sim_fail(fixture.sim, HOST_SIM_MAP_PAGES, 1, false);
    host_sim_set_failure(fixture.sim, HOST_SIM_MAP_PAGES, STATUS_ACCESS_VIOLATION);
    assert_int_equal(MmLockAndMap(&fixture.host, &mdl, AREA, 64, LIMIT),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(host_sim_balance(fixture.sim).locks, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lock_and_map__good_buffer__mapped_until_undone),
        TEST(lock_and_map__same_buffer_twice__both_hold),
        TEST(lock_and_map__mdl_limit__exact),
        TEST(lock_and_map__lock_fails__its_status),
        TEST(lock_and_map__map_fails__insufficient_resources_unlocked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
