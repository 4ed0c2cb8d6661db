/* SPDX-License-Identifier: MIT */
/* Profile objects without handles of ex: an embedder's handle table, and rewinding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

static struct machine machine;

static int
setup(void **state)
{
    (void)state;
    machine_open(&machine, NULL);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_check_undone(&machine);
    machine_close(&machine);
    return 0;
}

/* ---- an embedder's table of one handle, which notes what it is asked ---- */

static struct {
    EPROFILE *profile;
    unsigned looked_up;
    unsigned inserted;
    unsigned closed;
    NTSTATUS look_up_status;
    NTSTATUS insert_status;
} table;

static NTSTATUS
look_up(void *context, KPROCESSOR_MODE mode, HANDLE handle, EPROCESS **process)
{
    (void)mode;
    assert_ptr_equal(context, &table);
    assert_int_equal((uintptr_t)handle, 0x44);
    table.looked_up++;
    return NT_SUCCESS(table.look_up_status)
               ? ExReferenceProcessById(&machine.system, MACHINE_PID, process)
               : table.look_up_status;
}

static NTSTATUS
insert(void *context, EPROFILE *profile, ACCESS_MASK access, HANDLE *handle)
{
    assert_ptr_equal(context, &table);
    assert_int_equal(access, PROFILE_CONTROL);
    table.inserted++;
    if (!NT_SUCCESS(table.insert_status)) {
        return table.insert_status;
    }
    table.profile = profile;
    *handle = (HANDLE)(uintptr_t)0x88;
    return STATUS_SUCCESS;
}

static void
close_handle(void *context, HANDLE handle)
{
    assert_ptr_equal(context, &table);
    assert_int_equal((uintptr_t)handle, 0x88);
    table.closed++;
    ExDereferenceObject(&machine.system, table.profile);
    table.profile = NULL;
}

static const EX_HANDLE_TABLE handles = {
    .Size = sizeof(EX_HANDLE_TABLE),
    .Context = &table,
    .ReferenceProcess = look_up,
    .InsertHandle = insert,
    .CloseHandle = close_handle,
};

static NTSTATUS
create(const EX_CREATE_PROFILE *request)
{
    return ExCreateProfileObject(&machine.system, UserMode, EX_CREATE_PROFILE_EX,
                                 request, &handles, NULL);
}

static EX_CREATE_PROFILE
request_by_handle(void)
{
    EX_CREATE_PROFILE request = machine_request();

    memset(&table, 0, sizeof(table));
    request.Process = (HANDLE)(uintptr_t)0x44;
    return request;
}

static HANDLE
written_handle(void)
{
    HANDLE handle;

    memcpy(&handle, host_sim_at(machine.host, MACHINE_HANDLE, sizeof(handle)),
           sizeof(handle));
    return handle;
}

/* rule: create-process-handle, create-bucket-range */
static void
create_object__process_is_looked_up_at_its_place__handle_last(void **state)
{
    EX_CREATE_PROFILE request = request_by_handle();

    (void)state;
    /* A bucket size that is wrong comes before the process. */
    table.look_up_status = STATUS_INVALID_HANDLE;
    request.BucketSize = 1;
    assert_int_equal(create(&request), STATUS_INVALID_PARAMETER);
    assert_int_equal(table.looked_up, 0);
    request = request_by_handle();
    table.look_up_status = STATUS_OBJECT_TYPE_MISMATCH;
    assert_int_equal(create(&request), STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(table.looked_up, 1);
    assert_int_equal(table.inserted, 0);

    request = request_by_handle();
    assert_int_equal(create(&request), STATUS_SUCCESS);
    assert_int_equal(table.inserted, 1);
    assert_int_equal((uintptr_t)written_handle(), 0x88);
    assert_int_equal(ExStartProfileObject(&machine.system, table.profile),
                     STATUS_SUCCESS);
    assert_int_equal(ExStartProfileObject(&machine.system, table.profile),
                     STATUS_PROFILING_NOT_STOPPED);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(ExStopProfileObject(&machine.system, table.profile),
                     STATUS_SUCCESS);
    assert_int_equal(ExStopProfileObject(&machine.system, table.profile),
                     STATUS_PROFILING_NOT_STARTED);
    assert_int_equal(machine_counter(&machine, 0), 1);
    /* The last reference stops a started one. */
    assert_int_equal(ExStartProfileObject(&machine.system, table.profile),
                     STATUS_SUCCESS);
    ExReferenceObject(table.profile);
    ExDereferenceObject(&machine.system, table.profile);
    assert_int_equal(machine.system.StartedCount, 1);
    ExDereferenceObject(&machine.system, table.profile);
    ExDereferenceObject(&machine.system, NULL);
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
}

/* rule: create-handle-fault */
static void
create_object__handle_fails__nothing_left(void **state)
{
    EX_CREATE_PROFILE request = request_by_handle();

    (void)state;
    table.insert_status = STATUS_INSUFFICIENT_RESOURCES;
    assert_int_equal(create(&request), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
    assert_int_equal(table.closed, 0);

    request = request_by_handle();
    host_sim_fail(machine.host, HOST_SIM_COPY_TO_CALLER, 1, false);
    assert_int_equal(create(&request), STATUS_ACCESS_VIOLATION);
    assert_int_equal(table.inserted, 1);
    assert_int_equal(table.closed, 1);
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
}

/* Without handles: the process is an object, and so is what comes out. */
static void
create_object__no_handle_table__process_is_an_object(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    EPROCESS *process;
    EPROFILE *profile = NULL;

    (void)state;
    assert_int_equal(ExReferenceProcessById(&machine.system, 0, &process),
                     STATUS_INVALID_CID);
    assert_int_equal(
        ExReferenceProcessById(&machine.system, MACHINE_OTHER_PID, &process),
        STATUS_SUCCESS);
    request.Process = (HANDLE)process;
    request.ProfileHandle = 0; /* ignored */
    assert_int_equal(ExCreateProfileObject(&machine.system, UserMode,
                                           EX_CREATE_PROFILE_EX, &request, NULL,
                                           &profile),
                     STATUS_SUCCESS);
    ExDereferenceObject(&machine.system, process); /* the profile has its own */
    assert_int_equal(ExStartProfileObject(&machine.system, profile), STATUS_SUCCESS);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 0, MACHINE_OTHER_PID, MACHINE_CODE), 1);
    ExDereferenceObject(&machine.system, profile);
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
}

static void
create_object__arguments_of_ours__invalid_parameter(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    EX_HANDLE_TABLE bad = handles;
    EPROFILE *profile;

    (void)state;
    assert_int_equal(ExCreateProfileObject(&machine.system, UserMode, 3, &request,
                                           &handles, &profile),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(ExCreateProfileObject(&machine.system, UserMode,
                                           EX_CREATE_PROFILE_EX, &request, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    bad.CloseHandle = NULL;
    assert_int_equal(ExCreateProfileObject(&machine.system, UserMode,
                                           EX_CREATE_PROFILE_EX, &request, &bad,
                                           &profile),
                     STATUS_INVALID_PARAMETER);
    bad = handles;
    bad.Size--;
    assert_int_equal(ExCreateProfileObject(&machine.system, UserMode,
                                           EX_CREATE_PROFILE_EX, &request, &bad,
                                           &profile),
                     STATUS_INVALID_PARAMETER);
}

/* ---- rewinding: the recipe of ARCHITECTURE.md, Embedding ---- */

enum { MOST_PROFILES = 6, HITS = 1000, ENDED_PID = 4711 };

struct checkpoint {
    EX_PROFILE_INFORMATION profiles[MOST_PROFILES];
    size_t count;
    unsigned char memory[MACHINE_BUFFER_BYTES];
};

/* Started ones first, in the order in which they were started. */
static EX_PROFILE_INFORMATION *
next_to_start(struct checkpoint *at, ULONG64 after)
{
    EX_PROFILE_INFORMATION *next = NULL;

    for (size_t i = 0; i < at->count; i++) {
        if (at->profiles[i].StartSequence > after &&
            (next == NULL || at->profiles[i].StartSequence < next->StartSequence)) {
            next = &at->profiles[i];
        }
    }
    return next;
}

static void
start_again(struct machine *on, struct checkpoint *at, EPROFILE *profiles[])
{
    const EX_PROFILE_INFORMATION *next = next_to_start(at, 0);

    for (; next != NULL; next = next_to_start(at, next->StartSequence)) {
        assert_int_equal(
            ExStartProfileObject(&on->system, profiles[next - at->profiles]),
            STATUS_SUCCESS);
    }
}

/* Records all profiles and the guest's memory. Stopping brings the counts into it. */
static void
take_checkpoint(struct machine *on, struct checkpoint *at)
{
    EPROFILE *profiles[MOST_PROFILES];

    at->count = 0;
    for (EPROFILE *profile = ExNextProfileObject(&on->system, NULL); profile != NULL;
         profile = ExNextProfileObject(&on->system, profile)) {
        assert_true(at->count < MOST_PROFILES);
        at->profiles[at->count].Size = sizeof(at->profiles[0]);
        assert_int_equal(
            ExQueryProfileObject(&on->system, profile, &at->profiles[at->count]),
            STATUS_SUCCESS);
        profiles[at->count++] = profile;
    }
    for (size_t i = 0; i < at->count; i++) {
        if (at->profiles[i].Started) {
            assert_int_equal(ExStopProfileObject(&on->system, profiles[i]),
                             STATUS_SUCCESS);
        }
    }
    memcpy(at->memory, host_sim_at(on->host, MACHINE_BUFFER, MACHINE_BUFFER_BYTES),
           MACHINE_BUFFER_BYTES);
    start_again(on, at, profiles);
}

/* The process of a profile, with a reference; NULL: all. One that has ended may have a
 * number that another process has now, so any other number that ends stands for it. */
static EPROCESS *
reference_process(struct machine *on, const EX_PROFILE_INFORMATION *was)
{
    const ULONG64 pid = was->ProcessEnded ? ENDED_PID : was->ProcessId;
    EPROCESS *process = NULL;

    if (pid != 0) {
        assert_int_equal(ExReferenceProcessById(&on->system, pid, &process),
                         STATUS_SUCCESS);
    }
    if (was->ProcessEnded) {
        ExEndProcess(&on->system, pid);
    }
    return process;
}

static EPROFILE *
create_again(struct machine *on, EX_PROFILE_INFORMATION *was)
{
    EX_CREATE_PROFILE request = was->Parameters;
    EPROCESS *const process = reference_process(on, was);
    EPROFILE *profile = NULL;

    request.Process = (HANDLE)process;
    request.AffinityArray = (ULONG_PTR)was->Groups;
    assert_int_equal(ExCreateProfileObject(&on->system, KernelMode, was->Service,
                                           &request, NULL, &profile),
                     STATUS_SUCCESS);
    ExDereferenceObject(&on->system, process);
    return profile;
}

static void
rewind_to(struct machine *on, struct checkpoint *at, EPROFILE *profiles[])
{
    memcpy(host_sim_at(on->host, MACHINE_BUFFER, MACHINE_BUFFER_BYTES), at->memory,
           MACHINE_BUFFER_BYTES);
    for (size_t i = 0; i < at->count; i++) {
        profiles[i] = create_again(on, &at->profiles[i]);
    }
    start_again(on, at, profiles);
}

/* The same from the same seed. */
static void
run(struct machine *on, uint32_t seed)
{
    for (int i = 0; i < HITS; i++) {
        const uint32_t number = seed = seed * 1664525 + 1013904223;

        (void)sim_hit_segment(on->sim, ProfileTime, number >> 9 & 1,
                              (number >> 10 & 1) != 0 ? MACHINE_PID : MACHINE_OTHER_PID,
                              MACHINE_CODE + (number >> 12 & 0xFF), 0x1F,
                              number >> 20 & 0xFF);
    }
}

/* Six: of one processor, of all processes, stopped, (x86) of a segment, of a process
 * that ends while run() goes on with its number, and of no bytes. */
static void
create_all(struct machine *on, const EX_OPTIONS *options)
{
    EX_CREATE_PROFILE request = machine_request();
    EPROFILE *made[MOST_PROFILES];
    const ULONG service =
        options->Version == 0 ? EX_CREATE_PROFILE_EX : EX_CREATE_PROFILE_AFFINITY;
    const GROUP_AFFINITY second = {.Mask = 2};
    EPROCESS *process;
    EPROCESS *other;

    assert_int_equal(ExReferenceProcessById(&on->system, MACHINE_PID, &process),
                     STATUS_SUCCESS);
    assert_int_equal(ExReferenceProcessById(&on->system, MACHINE_OTHER_PID, &other),
                     STATUS_SUCCESS);
    for (size_t i = 0; i < MOST_PROFILES; i++) {
        request = machine_request();
        request.Buffer -= i * MACHINE_COUNTER_BYTES;
        request.Process = i == 1 ? NULL : (HANDLE)(i == 4 ? other : process);
        request.Affinity = i == 0 ? 2 : ~(KAFFINITY)0;
        request.GroupCount = i == 0;
        request.AffinityArray = (ULONG_PTR)&second;
        if (i == 5) {
            request.ProfileSize = 0;
        }
        if (i == 3 && options->Abi == EX_ABI_X86) {
            request.ProfileBase = 0x1F;
            request.BucketSize = 0;
        }
        assert_int_equal(ExCreateProfileObject(&on->system, KernelMode, service,
                                               &request, NULL, &made[i]),
                         STATUS_SUCCESS);
    }
    ExDereferenceObject(&on->system, process);
    ExDereferenceObject(&on->system, other);
    /* Not in the order of creation. */
    assert_int_equal(ExStartProfileObject(&on->system, made[5]), STATUS_SUCCESS);
    assert_int_equal(ExStartProfileObject(&on->system, made[4]), STATUS_SUCCESS);
    assert_int_equal(ExStartProfileObject(&on->system, made[3]), STATUS_SUCCESS);
    assert_int_equal(ExStartProfileObject(&on->system, made[0]), STATUS_SUCCESS);
    assert_int_equal(ExStartProfileObject(&on->system, made[1]), STATUS_SUCCESS);
}

static void
delete_all(struct machine *on)
{
    EPROFILE *profile;

    while ((profile = ExNextProfileObject(&on->system, NULL)) != NULL) {
        ExDereferenceObject(&on->system, profile);
    }
}

static void
check_same(const struct checkpoint *one, const struct checkpoint *other)
{
    assert_int_equal(one->count, MOST_PROFILES);
    assert_int_equal(other->count, MOST_PROFILES);
    for (size_t i = 0; i < MOST_PROFILES; i++) {
        assert_int_equal(one->profiles[i].Started, i != 2);
        assert_int_equal(other->profiles[i].Started, i != 2);
        assert_int_equal(one->profiles[i].ProcessEnded, i == 4);
        assert_int_equal(other->profiles[i].ProcessEnded, i == 4);
    }
    assert_memory_equal(one->memory, other->memory, sizeof(one->memory));
}

static void
rewind__to_a_checkpoint__the_same_counts(void **state)
{
    static const EX_OPTIONS all_options[] = {
        {.Version = 0}, {.Version = 502, .Abi = EX_ABI_X86}, {.Version = 502}};
    static struct checkpoint middle, end, end_again;

    (void)state;
    for (size_t i = 0; i < sizeof(all_options) / sizeof(all_options[0]); i++) {
        const struct machine_options options = {.ex = all_options[i]};
        EPROFILE *profiles[MOST_PROFILES];
        struct machine first, second;

        machine_open(&first, &options);
        host_sim_add_process(first.host, ENDED_PID);
        create_all(&first, &all_options[i]);
        run(&first, 1);
        ExEndProcess(&first.system, MACHINE_OTHER_PID);
        take_checkpoint(&first, &middle);
        run(&first, 2);
        take_checkpoint(&first, &end);
        assert_memory_not_equal(middle.memory, end.memory, sizeof(end.memory));

        /* Back in the same system, and in another one. */
        delete_all(&first);
        rewind_to(&first, &middle, profiles);
        run(&first, 2);
        take_checkpoint(&first, &end_again);
        check_same(&end, &end_again);

        machine_open(&second, &options);
        host_sim_add_process(second.host, ENDED_PID);
        rewind_to(&second, &middle, profiles);
        run(&second, 2);
        take_checkpoint(&second, &end_again);
        check_same(&end, &end_again);
        delete_all(&first);
        delete_all(&second);
        machine_close(&first);
        machine_close(&second);
    }
}

static void
query_object__size__checked(void **state)
{
    const EX_CREATE_PROFILE request = machine_request();
    EX_PROFILE_INFORMATION information = {.Size = sizeof(information) - 1};

    (void)state;
    (void)machine_create(&machine, &request);
    assert_int_equal(ExQueryProfileObject(&machine.system,
                                          ExNextProfileObject(&machine.system, NULL),
                                          &information),
                     STATUS_INFO_LENGTH_MISMATCH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(create_object__process_is_looked_up_at_its_place__handle_last),
        TEST(create_object__handle_fails__nothing_left),
        TEST(create_object__no_handle_table__process_is_an_object),
        TEST(create_object__arguments_of_ours__invalid_parameter),
        TEST(query_object__size__checked),
        cmocka_unit_test(rewind__to_a_checkpoint__the_same_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
