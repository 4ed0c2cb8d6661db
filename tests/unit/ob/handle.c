/* SPDX-License-Identifier: MIT */
/* The handle table: what a handle finds, and what it never finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include "ob/ob.h"

#include <stdlib.h>

struct body {
    int number;
};

struct fixture {
    struct host_sim *host;
    OB_SYSTEM ob;
    OBJECT_TYPE type;
    OBJECT_TYPE other_type;
    int deleted;      /* how many */
    int last_deleted; /* its number */
};

static struct fixture fixture;

static void
delete_body(void *context, void *body)
{
    struct fixture *const f = context;

    f->deleted++;
    f->last_deleted = ((struct body *)body)->number;
}

static int
setup(void **state)
{
    HOST host;

    fixture = (struct fixture){.host = host_sim_create(NULL)};
    assert_non_null(fixture.host);
    fixture.type =
        (OBJECT_TYPE){.Name = "Body", .Delete = delete_body, .DeleteContext = &fixture};
    fixture.other_type = fixture.type;
    host = host_sim_host(fixture.host);
    ObInitializeSystem(&fixture.ob, &host);
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    ObFinishSystem(&fixture.ob);
    assert_int_equal(host_sim_balance(fixture.host).allocations, 0);
    assert_null(host_sim_complaint(fixture.host));
    host_sim_delete(fixture.host);
    return 0;
}

static struct body *
make(int number)
{
    void *body;

    assert_int_equal(
        ObCreateObject(&fixture.ob, &fixture.type, sizeof(struct body), &body),
        STATUS_SUCCESS);
    ((struct body *)body)->number = number;
    return body;
}

static HANDLE
open_handle(void *body, ACCESS_MASK access)
{
    HANDLE handle = NULL;

    assert_int_equal(ObOpenHandle(&fixture.ob, body, access, &handle), STATUS_SUCCESS);
    assert_non_null(handle);
    return handle;
}

/* A new object that its one handle keeps alive. */
static HANDLE
make_handle(int number)
{
    struct body *const body = make(number);
    const HANDLE handle = open_handle(body, 1);

    ObDereferenceObject(&fixture.ob, body);
    return handle;
}

static NTSTATUS
reference(HANDLE handle, ACCESS_MASK access, void **body)
{
    return ObReferenceObjectByHandle(&fixture.ob, handle, &fixture.type, UserMode,
                                     access, body);
}

static void
check_finds_nothing(HANDLE handle)
{
    int sentinel;
    void *body = &sentinel;

    assert_int_equal(reference(handle, 0, &body), STATUS_INVALID_HANDLE);
    assert_ptr_equal(body, &sentinel);
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_INVALID_HANDLE);
}

static void
handle__open__finds_its_object(void **state)
{
    const HANDLE first = make_handle(1);
    const HANDLE second = make_handle(2);
    void *body;

    (void)state;
    assert_ptr_not_equal(first, second);
    assert_int_equal(reference(first, 1, &body), STATUS_SUCCESS);
    assert_int_equal(((struct body *)body)->number, 1);
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(reference(second, 1, &body), STATUS_SUCCESS);
    assert_int_equal(((struct body *)body)->number, 2);
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(fixture.deleted, 0);
}

/* rule: handle-bad-values */
static void
handle__no_handle__invalid(void **state)
{
    const HANDLE handle = make_handle(1);
    const ULONG_PTR value = (ULONG_PTR)handle;

    (void)state;
    check_finds_nothing(NULL);
    check_finds_nothing(NtCurrentProcess());
    check_finds_nothing((HANDLE)(LONG_PTR)-2);
    check_finds_nothing((HANDLE)(value + 4));
    check_finds_nothing((HANDLE)(value - 4));
    for (unsigned bit = 2; bit < 32; bit++) {
        check_finds_nothing((HANDLE)(value ^ (ULONG_PTR)1 << bit));
    }
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
}

/* rule: handle-value */
static void
handle__truncated_extended_or_tagged__finds_its_object(void **state)
{
    const HANDLE handle = make_handle(1);
    const ULONG_PTR value = (ULONG_PTR)handle;
    const ULONG_PTR same[] = {
        value | 1,
        value | 2,
        value | 3,
        (ULONG_PTR)(ULONG)value,
        (ULONG_PTR)(LONG_PTR)(LONG)(ULONG)value,
#if UINTPTR_MAX > 0xFFFFFFFFu
        value | 0xFFFFFFFF00000000,
        value | 0x100000003,
        value | 0x8000000000000000,
#endif
    };

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        void *body;

        assert_int_equal(reference((HANDLE)same[i], 1, &body), STATUS_SUCCESS);
        assert_int_equal(((struct body *)body)->number, 1);
        ObDereferenceObject(&fixture.ob, body);
    }
    assert_int_equal(ObCloseHandle(&fixture.ob, (HANDLE)(value | 3)), STATUS_SUCCESS);
    assert_int_equal(fixture.deleted, 1);
    check_finds_nothing(handle);
}

/* rule: handle-value */
static void
handle__any_use_of_a_slot__low_bits_and_bit_31_clear(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        const HANDLE handle = make_handle(i);

        assert_in_range((ULONG_PTR)handle, 4, 0x7FFFFFFC);
        assert_int_equal((ULONG_PTR)handle % 4, 0);
        assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    }
}

/* All other slots of the table are in use.  rule: handle-bad-values */
static void
handle__slot_used_511_times_since__stays_invalid(void **state)
{
    struct body *const body = make(1);
    HANDLE stale;
    HANDLE last;

    (void)state;
    for (int i = 0; i < 63; i++) {
        (void)open_handle(body, 1);
    }
    stale = open_handle(body, 1);
    assert_int_equal(ObCloseHandle(&fixture.ob, stale), STATUS_SUCCESS);
    for (int i = 0; i < 511; i++) {
        last = open_handle(body, 1);
        assert_int_equal(fixture.ob.EntryCount, 64);
        check_finds_nothing(stale);
        assert_int_equal(ObCloseHandle(&fixture.ob, last), STATUS_SUCCESS);
    }
    ObDereferenceObject(&fixture.ob, body);
}

/* rule: handle-bad-values */
static void
handle__slots_free__used_again_oldest_first(void **state)
{
    struct body *const body = make(1);
    HANDLE first;

    (void)state;
    for (int i = 0; i < 60; i++) {
        (void)open_handle(body, 1);
    }
    first = open_handle(body, 1);
    assert_int_equal(ObCloseHandle(&fixture.ob, first), STATUS_SUCCESS);
    /* Three slots were never used, and are before it in each round of four. */
    for (int i = 0; i < 511 * 4 + 3; i++) {
        const HANDLE handle = open_handle(body, 1);

        check_finds_nothing(first);
        assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    }
    ObDereferenceObject(&fixture.ob, body);
}

static void
handle__every_number_in_use__refused_until_one_is_closed(void **state)
{
    enum { MOST = (1 << 20) - 1 };
    struct body *const body = make(1);
    HANDLE handle = NULL;
    HANDLE more = (HANDLE)0x1234;

    (void)state;
    for (int i = 0; i < MOST; i++) {
        handle = open_handle(body, 1);
    }
    assert_int_equal(ObOpenHandle(&fixture.ob, body, 1, &more),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_ptr_equal(more, (HANDLE)0x1234);
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    assert_int_equal(ObOpenHandle(&fixture.ob, body, 1, &more), STATUS_SUCCESS);
    check_finds_nothing(handle);
    ObDereferenceObject(&fixture.ob, body);
}

static void
handle__empty_table__invalid(void **state)
{
    (void)state;
    check_finds_nothing(NULL);
    check_finds_nothing((HANDLE)4);
    check_finds_nothing((HANDLE) ~(ULONG_PTR)0);
}

static void
handle__pseudo__never_given_out(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_true((LONG_PTR)make_handle(i) > 0);
    }
}

/* A slot that is used again gives another handle, many times over. */
static void
handle__closed_and_slot_used_again__stays_invalid(void **state)
{
    enum { ROUNDS = 5000 };
    static HANDLE old[ROUNDS];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        old[i] = make_handle(i);
        assert_int_equal(ObCloseHandle(&fixture.ob, old[i]), STATUS_SUCCESS);
        assert_int_equal(fixture.deleted, i + 1);
        assert_int_equal(fixture.last_deleted, i);
    }
    (void)make_handle(ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        check_finds_nothing(old[i]);
    }
    assert_int_equal(fixture.deleted, ROUNDS);
}

static void
handle__closed_twice__invalid(void **state)
{
    const HANDLE handle = make_handle(1);

    (void)state;
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    assert_int_equal(fixture.deleted, 1);
    check_finds_nothing(handle);
    assert_int_equal(fixture.deleted, 1);
}

static void
handle__other_type__mismatch_before_access(void **state)
{
    const HANDLE handle = make_handle(1);
    void *body = NULL;

    (void)state;
    assert_int_equal(ObReferenceObjectByHandle(&fixture.ob, handle, &fixture.other_type,
                                               UserMode, 0xFFFFFFFF, &body),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_null(body);
}

static void
handle__access_not_granted__denied(void **state)
{
    static const struct {
        ACCESS_MASK granted;
        ACCESS_MASK desired;
        NTSTATUS status;
    } rows[] = {
        {0x1, 0x1, STATUS_SUCCESS},       {0x1, 0x0, STATUS_SUCCESS},
        {0x0, 0x0, STATUS_SUCCESS},       {0x0, 0x1, STATUS_ACCESS_DENIED},
        {0x1, 0x3, STATUS_ACCESS_DENIED}, {0x2, 0x1, STATUS_ACCESS_DENIED},
        {0xF0001, 0x1, STATUS_SUCCESS},   {0xFFFFFBFF, 0x400, STATUS_ACCESS_DENIED},
    };
    struct body *const object = make(1);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const HANDLE handle = open_handle(object, rows[i].granted);
        void *body = NULL;

        assert_int_equal(reference(handle, rows[i].desired, &body), rows[i].status);
        if (NT_SUCCESS(rows[i].status)) {
            assert_ptr_equal(body, object);
            ObDereferenceObject(&fixture.ob, body);
        } else {
            assert_null(body);
        }
    }
    ObDereferenceObject(&fixture.ob, object);
}

static void
handle__two_of_one_object__last_close_deletes(void **state)
{
    struct body *const body = make(9);
    const HANDLE first = open_handle(body, 1);
    const HANDLE second = open_handle(body, 1);

    (void)state;
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(ObCloseHandle(&fixture.ob, first), STATUS_SUCCESS);
    assert_int_equal(fixture.deleted, 0);
    assert_int_equal(ObCloseHandle(&fixture.ob, second), STATUS_SUCCESS);
    assert_int_equal(fixture.deleted, 1);
    assert_int_equal(fixture.last_deleted, 9);
}

static void
handle__closed_while_referenced__object_stays(void **state)
{
    const HANDLE handle = make_handle(4);
    void *body;

    (void)state;
    assert_int_equal(reference(handle, 1, &body), STATUS_SUCCESS);
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    check_finds_nothing(handle);
    assert_int_equal(fixture.deleted, 0);
    assert_int_equal(((struct body *)body)->number, 4);
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(fixture.deleted, 1);
}

static void
handle__hundred_thousand__all_found_and_closed(void **state)
{
    enum { MANY = 100000 };
    HANDLE *const handles = calloc(MANY, sizeof(*handles));
    void *body;

    (void)state;
    assert_non_null(handles);
    for (int i = 0; i < MANY; i++) {
        handles[i] = make_handle(i);
    }
    assert_int_equal(fixture.ob.ObjectCount, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(reference(handles[i], 1, &body), STATUS_SUCCESS);
        assert_int_equal(((struct body *)body)->number, i);
        ObDereferenceObject(&fixture.ob, body);
    }
    /* Every other one, so that free slots lie among used ones. */
    for (int i = 0; i < MANY; i += 2) {
        assert_int_equal(ObCloseHandle(&fixture.ob, handles[i]), STATUS_SUCCESS);
    }
    for (int i = 0; i < MANY; i++) {
        const NTSTATUS status = reference(handles[i], 1, &body);

        assert_int_equal(status, i % 2 == 0 ? STATUS_INVALID_HANDLE : STATUS_SUCCESS);
        if (NT_SUCCESS(status)) {
            assert_int_equal(((struct body *)body)->number, i);
            ObDereferenceObject(&fixture.ob, body);
        }
    }
    free(handles);
}

static void
handle__table_cannot_grow__refused_others_kept(void **state)
{
    struct body *const body = make(1);
    HANDLE handle = (HANDLE)0x1234;
    HANDLE kept[2000];
    size_t count = 0;

    (void)state;
    host_sim_fail(fixture.host, HOST_SIM_ALLOCATE, 2, true);
    while (count < 2000 &&
           NT_SUCCESS(ObOpenHandle(&fixture.ob, body, 1, &kept[count]))) {
        count++;
    }
    assert_in_range(count, 1, 1999);
    assert_int_equal(ObOpenHandle(&fixture.ob, body, 1, &handle),
                     STATUS_INSUFFICIENT_RESOURCES);
    assert_ptr_equal(handle, (HANDLE)0x1234);
    host_sim_clear_failures(fixture.host);
    assert_int_equal(ObOpenHandle(&fixture.ob, body, 1, &handle), STATUS_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ObCloseHandle(&fixture.ob, kept[i]), STATUS_SUCCESS);
    }
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(fixture.deleted, 0);
    assert_int_equal(ObCloseHandle(&fixture.ob, handle), STATUS_SUCCESS);
    assert_int_equal(fixture.deleted, 1);
}

static void
handle__facts__access_and_attributes_of_each_handle(void **state)
{
    struct body *const body = make(1);
    const HANDLE plain = open_handle(body, 0x20001);
    const HANDLE inherited = open_handle(body, 1);
    OB_HANDLE_FACTS facts;

    (void)state;
    ObSetHandleAttributes(&fixture.ob, inherited, 2);
    assert_int_equal(ObQueryHandle(&fixture.ob, plain, &facts), STATUS_SUCCESS);
    assert_ptr_equal(facts.Body, body);
    assert_int_equal(facts.GrantedAccess, 0x20001);
    assert_int_equal(facts.Attributes, 0);
    assert_int_equal(ObQueryHandle(&fixture.ob, inherited, &facts), STATUS_SUCCESS);
    assert_int_equal(facts.GrantedAccess, 1);
    assert_int_equal(facts.Attributes, 2);

    /* The next handle in the same slot does not have them. */
    assert_int_equal(ObCloseHandle(&fixture.ob, inherited), STATUS_SUCCESS);
    assert_int_equal(ObQueryHandle(&fixture.ob, inherited, &facts),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(facts.Attributes, 2);
    assert_int_equal(ObQueryHandle(&fixture.ob, open_handle(body, 1), &facts),
                     STATUS_SUCCESS);
    assert_int_equal(facts.Attributes, 0);
    ObDereferenceObject(&fixture.ob, body);
}

static void
handle__opened_and_closed__type_and_object_count(void **state)
{
    struct body *const body = make(1);
    const HANDLE first = open_handle(body, 1);
    OB_OBJECT_FACTS facts;

    (void)state;
    assert_int_equal(ObCloseHandle(&fixture.ob, open_handle(body, 1)), STATUS_SUCCESS);
    assert_int_equal(fixture.type.HandleCount, 1);
    assert_int_equal(fixture.type.MostHandles, 2);
    ObQueryObject(body, &facts);
    assert_ptr_equal(facts.Type, &fixture.type);
    assert_int_equal(facts.HandleCount, 1);
    assert_int_equal(facts.PointerCount, 2);
    assert_int_equal(ObCloseHandle(&fixture.ob, first), STATUS_SUCCESS);
    assert_int_equal(fixture.type.HandleCount, 0);
    assert_int_equal(fixture.type.ObjectCount, 1);
    ObDereferenceObject(&fixture.ob, body);
    assert_int_equal(fixture.type.ObjectCount, 0);
    assert_int_equal(fixture.type.MostObjects, 1);
}

static void
finish_system__open_handles__closed(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        (void)make_handle(i);
    }
    ObFinishSystem(&fixture.ob);
    assert_int_equal(fixture.deleted, 300);
    assert_int_equal(fixture.ob.ObjectCount, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(handle__open__finds_its_object),
        TEST(handle__no_handle__invalid),
        TEST(handle__truncated_extended_or_tagged__finds_its_object),
        TEST(handle__any_use_of_a_slot__low_bits_and_bit_31_clear),
        TEST(handle__slot_used_511_times_since__stays_invalid),
        TEST(handle__slots_free__used_again_oldest_first),
        TEST(handle__every_number_in_use__refused_until_one_is_closed),
        TEST(handle__empty_table__invalid),
        TEST(handle__pseudo__never_given_out),
        TEST(handle__closed_and_slot_used_again__stays_invalid),
        TEST(handle__closed_twice__invalid),
        TEST(handle__other_type__mismatch_before_access),
        TEST(handle__access_not_granted__denied),
        TEST(handle__two_of_one_object__last_close_deletes),
        TEST(handle__closed_while_referenced__object_stays),
        TEST(handle__hundred_thousand__all_found_and_closed),
        TEST(handle__table_cannot_grow__refused_others_kept),
        TEST(handle__facts__access_and_attributes_of_each_handle),
        TEST(handle__opened_and_closed__type_and_object_count),
        TEST(finish_system__open_handles__closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
