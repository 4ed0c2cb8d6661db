/* SPDX-License-Identifier: MIT */
/* Objects: references, deletion, and generic access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include "ob/ob.h"

#include <string.h>

static int deleted;

static void
count_deletion(void *context, void *body)
{
    (void)body;
    ++*(int *)context;
}

static OBJECT_TYPE type = {
    .Name = "Thing",
    .GenericRead = 0x00020001,
    .GenericWrite = 0x00020002,
    .GenericExecute = 0x00020004,
    .GenericAll = 0x000F0007,
    .ValidAccess = 0x000F0007,
    .Delete = count_deletion,
    .DeleteContext = &deleted,
};

static void
object__created__zeroed_and_aligned(void **state)
{
    struct host_sim *const sim = host_sim_create(NULL);
    const HOST host = host_sim_host(sim);
    static const unsigned char zeroes[333];
    OB_SYSTEM ob;
    void *body;

    (void)state;
    ObInitializeSystem(&ob, &host);
    for (SIZE_T bytes = 1; bytes < sizeof(zeroes); bytes += 83) {
        assert_int_equal(ObCreateObject(&ob, &type, bytes, &body), STATUS_SUCCESS);
        assert_int_equal((uintptr_t)body % 16, 0);
        assert_memory_equal(body, zeroes, bytes);
        memset(body, 0x5A, bytes);
        ObDereferenceObject(&ob, body);
    }
    assert_int_equal(host_sim_balance(sim).allocations, 0);
    assert_null(host_sim_complaint(sim));
    ObFinishSystem(&ob);
    host_sim_delete(sim);
}

static void
object__references__last_one_deletes(void **state)
{
    struct host_sim *const sim = host_sim_create(NULL);
    const HOST host = host_sim_host(sim);
    OB_SYSTEM ob;
    void *body;

    (void)state;
    deleted = 0;
    ObInitializeSystem(&ob, &host);
    assert_int_equal(ObCreateObject(&ob, &type, 8, &body), STATUS_SUCCESS);
    assert_int_equal(ob.ObjectCount, 1);
    ObReferenceObject(body);
    ObReferenceObject(body);
    ObDereferenceObject(&ob, body);
    ObDereferenceObject(&ob, body);
    assert_int_equal(deleted, 0);
    ObDereferenceObject(&ob, NULL);
    ObDereferenceObject(&ob, body);
    assert_int_equal(deleted, 1);
    assert_int_equal(ob.ObjectCount, 0);
    ObFinishSystem(&ob);
    host_sim_delete(sim);
}

static void
object__no_memory__refused_output_untouched(void **state)
{
    struct host_sim *const sim = host_sim_create(NULL);
    const HOST host = host_sim_host(sim);
    OB_SYSTEM ob;
    void *body = &ob;

    (void)state;
    ObInitializeSystem(&ob, &host);
    host_sim_fail(sim, HOST_SIM_ALLOCATE, 1, false);
    assert_int_equal(ObCreateObject(&ob, &type, 8, &body),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_ptr_equal(body, &ob);
    assert_int_equal(ob.ObjectCount, 0);
    ObFinishSystem(&ob);
    host_sim_delete(sim);
}

static void
object__made_and_deleted__type_counts_now_and_most(void **state)
{
    enum { MOST = 3 };
    struct host_sim *const sim = host_sim_create(NULL);
    const HOST host = host_sim_host(sim);
    OBJECT_TYPE counted = type;
    OB_SYSTEM ob;
    void *bodies[MOST];
    OB_OBJECT_FACTS facts;

    (void)state;
    ObInitializeSystem(&ob, &host);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(ObCreateObject(&ob, &counted, 8, &bodies[i]), STATUS_SUCCESS);
    }
    assert_int_equal(counted.ObjectCount, MOST);
    ObReferenceObject(bodies[0]);
    ObQueryObject(bodies[0], &facts);
    assert_ptr_equal(facts.Type, &counted);
    assert_int_equal(facts.PointerCount, 2);
    assert_int_equal(facts.HandleCount, 0);
    ObDereferenceObject(&ob, bodies[0]);
    for (int i = 0; i < MOST; i++) {
        ObDereferenceObject(&ob, bodies[i]);
    }
    assert_int_equal(counted.ObjectCount, 0);
    assert_int_equal(counted.MostObjects, MOST);
    assert_int_equal(counted.MostHandles, 0);

    host_sim_fail(sim, HOST_SIM_ALLOCATE, 1, false);
    assert_int_equal(ObCreateObject(&ob, &counted, 8, &bodies[0]),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(counted.ObjectCount, 0);
    ObFinishSystem(&ob);
    host_sim_delete(sim);
}

/* rule: handle-access */
static void
desired_access__generic_maximum_and_too_much__mapped_or_denied(void **state)
{
    enum { ALL = 0x000F0007, MAXIMUM_ALLOWED = 0x02000000 };
    static const struct {
        ACCESS_MASK desired;
        ACCESS_MASK most;
        ACCESS_MASK granted;
        bool denied;
    } rows[] = {
        {0, ALL, 0, false},
        {1, ALL, 1, false},
        {0x80000000, ALL, 0x00020001, false},
        {0x40000000, ALL, 0x00020002, false},
        {0x20000000, ALL, 0x00020004, false},
        {0x10000000, ALL, 0x000F0007, false},
        {0xC0000004, ALL, 0x00020007, false},
        {MAXIMUM_ALLOWED, ALL, ALL, false},
        {MAXIMUM_ALLOWED, 1, 1, false},
        {MAXIMUM_ALLOWED, 0, 0, false},
        {MAXIMUM_ALLOWED | 1, 1, 1, false},
        {MAXIMUM_ALLOWED | 0x80000000, ALL, ALL, false},
        {MAXIMUM_ALLOWED | 2, 1, 0, true},
        {MAXIMUM_ALLOWED | 0x10000000, 1, 0, true},
        {0x400, ALL, 0, true},
        {0x01000000, ALL, 0, true},
        {0xFFFFFFFF, ALL, 0, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ACCESS_MASK granted = 0x5A5A5A5A;

        assert_int_equal(
            ObMapDesiredAccess(&type, rows[i].desired, rows[i].most, &granted),
            rows[i].denied ? STATUS_ACCESS_DENIED : STATUS_SUCCESS);
        assert_int_equal(granted, rows[i].denied ? 0x5A5A5A5A : rows[i].granted);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object__created__zeroed_and_aligned),
        cmocka_unit_test(object__references__last_one_deletes),
        cmocka_unit_test(object__no_memory__refused_output_untouched),
        cmocka_unit_test(object__made_and_deleted__type_counts_now_and_most),
        cmocka_unit_test(
            desired_access__generic_maximum_and_too_much__mapped_or_denied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
