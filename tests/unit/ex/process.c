/* SPDX-License-Identifier: MIT */
/* NtOpenProcess, and profiles of processes that end while handles to them are open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

enum { PID = MACHINE_OTHER_PID };

static struct machine machine;

static int
setup(void **state)
{
    machine_open(&machine, NULL);
    *state = &machine;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    machine_close(&machine);
    return 0;
}

static NTSTATUS
open_process(uint64_t address, ACCESS_MASK access, uint64_t pid)
{
    return ExOpenProcess(&machine.system, UserMode, address, access, pid);
}

static void
check_access(ACCESS_MASK asked, ACCESS_MASK granted, ACCESS_MASK not_granted)
{
    HANDLE handle;
    void *body;

    assert_int_equal(open_process(MACHINE_HANDLE, asked, PID), STATUS_SUCCESS);
    handle = machine_read_handle(&machine, MACHINE_HANDLE);
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handle,
                                               &machine.system.ProcessType, UserMode,
                                               granted, &body),
                     STATUS_SUCCESS);
    ObDereferenceObject(&machine.system.Ob, body);
    assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handle,
                                               &machine.system.ProcessType, UserMode,
                                               not_granted, &body),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(ExClose(&machine.system, handle), STATUS_SUCCESS);
}

/* rule: handle-process */
static void
open__access__as_asked_generic_mapped(void **state)
{
    (void)state;
    check_access(PROCESS_QUERY_INFORMATION, PROCESS_QUERY_INFORMATION, 0x10);
    check_access(0x1000, 0x1000, PROCESS_QUERY_INFORMATION);
    check_access(0x80000000, PROCESS_QUERY_INFORMATION, 0x80000000);
    check_access(0x10000000, 0x001FFFFF, 0x10000000);
}

/* rules: handle-process-missing, handle-process-denied */
static void
open__failures__status_and_handle_untouched(void **state)
{
    static const uint64_t pattern = 0xA5A5A5A5A5A5A5A5;
    uint64_t word;

    (void)state;
    machine_write(&machine, MACHINE_HANDLE, &pattern, sizeof(pattern));
    assert_int_equal(open_process(0, PROCESS_QUERY_INFORMATION, PID),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(open_process(0x50000000, PROCESS_QUERY_INFORMATION, 1),
                     STATUS_ACCESS_VIOLATION);
    assert_int_equal(open_process(MACHINE_HANDLE, PROCESS_QUERY_INFORMATION, 0),
                     STATUS_INVALID_CID);
    assert_int_equal(open_process(MACHINE_HANDLE, PROCESS_QUERY_INFORMATION, 4711),
                     STATUS_INVALID_CID);
    assert_int_equal(
        open_process(MACHINE_HANDLE, PROCESS_QUERY_INFORMATION, PID + 0x100000000),
        STATUS_INVALID_CID);
    host_sim_set_accessible(machine.host, PID, false);
    assert_int_equal(open_process(MACHINE_HANDLE, PROCESS_QUERY_INFORMATION, PID),
                     STATUS_ACCESS_DENIED);
    memcpy(&word, host_sim_at(machine.host, MACHINE_HANDLE, 8), sizeof(word));
    assert_true(word == pattern);
    assert_int_equal(host_sim_balance(machine.host).open_processes, 0);
    assert_int_equal(machine.system.Ob.ObjectCount, 0);
}

static void
open__own_pid_twice__same_process(void **state)
{
    HANDLE handles[2];
    void *bodies[2];
    EPROCESS *current;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        handles[i] = machine_open_process(&machine, MACHINE_PID);
        assert_int_equal(ObReferenceObjectByHandle(&machine.system.Ob, handles[i],
                                                   &machine.system.ProcessType,
                                                   UserMode, PROCESS_QUERY_INFORMATION,
                                                   &bodies[i]),
                         STATUS_SUCCESS);
    }
    assert_ptr_not_equal(handles[0], handles[1]);
    assert_ptr_equal(bodies[0], bodies[1]);
    assert_int_equal(
        ExReferenceProcess(&machine.system, UserMode, NtCurrentProcess(), &current),
        STATUS_SUCCESS);
    assert_ptr_equal(current, bodies[0]);
    for (size_t i = 0; i < 2; i++) {
        ObDereferenceObject(&machine.system.Ob, bodies[i]);
    }
    ObDereferenceObject(&machine.system.Ob, current);
}

static HANDLE
create_for(HANDLE process)
{
    EX_CREATE_PROFILE request = machine_request();

    request.Process = process;
    return machine_create(&machine, &request);
}

static ULONG
hit(void)
{
    return sim_hit(machine.sim, ProfileTime, 0, PID, MACHINE_CODE);
}

static void
end_process(void)
{
    host_sim_end_process(machine.host, PID);
    sim_exit(machine.sim, PID);
}

static void
begin_process(void)
{
    host_sim_add_process(machine.host, PID);
    sim_add_process(machine.sim, PID);
}

/* rules: process-gone, start-process-gone */
static void
profile__its_process_ended__stop_succeeds_start_too_no_interrupts(void **state)
{
    const HANDLE process = machine_open_process(&machine, PID);
    const HANDLE profile = create_for(process);

    (void)state;
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    end_process();
    assert_int_equal(hit(), 0);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
    /* It exists and may be started; it gets no more samples. nt.md 14, 13. */
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_SUCCESS);
    assert_int_equal(sim_started(machine.sim), 0);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile),
                     STATUS_PROFILING_NOT_STARTED);
    /* A profile can still be made for it through the handle. */
    (void)create_for(process);
}

/* Started after its pid became another process's: that one is never measured. */
/* rule: start-process-gone */
/* rule: handle-process-reused */
static void
profile__pid_used_again_before_start__other_process_not_measured(void **state)
{
    const HANDLE process = machine_open_process(&machine, PID);
    const HANDLE profile = create_for(process);

    (void)state;
    end_process();
    begin_process();
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_SUCCESS);
    assert_int_equal(sim_started(machine.sim), 0);
    assert_int_equal(hit(), 0);
    assert_int_equal(machine_counter(&machine, 0), 0);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
}

/* The old one's profile is started all the time; both must stay apart. */
/* rule: handle-process-reused */
static void
profile__pid_used_again_while_started__each_counts_its_own(void **state)
{
    const HANDLE old_process = machine_open_process(&machine, PID);
    const HANDLE old_profile = create_for(old_process);
    EX_CREATE_PROFILE request = machine_request();
    HANDLE profile;

    (void)state;
    assert_int_equal(ExStartProfile(&machine.system, UserMode, old_profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    end_process();
    begin_process();
    request.Process = machine_open_process(&machine, PID);
    assert_ptr_not_equal(request.Process, old_process);
    request.Buffer -= 64;
    profile = machine_create_started(&machine, &request);
    assert_int_equal(hit(), 1);
    assert_int_equal(hit(), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, old_profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 3);
    /* And once more with both. */
    assert_int_equal(ExStartProfile(&machine.system, UserMode, old_profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
    assert_int_equal(hit(), 0);
    assert_int_equal(machine_counter(&machine, 0), 1);
}

/* Its last hits still wait in the back end when somebody finds out that it is gone. */
static void
profile__its_process_ended_hits_queued__all_counted(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 100}};
    EX_CREATE_PROFILE request = machine_request();
    struct machine queued;
    HANDLE profile;

    (void)state;
    machine_open(&queued, &options);
    request.Process = machine_open_process(&queued, PID);
    profile = machine_create_started(&queued, &request);
    for (int i = 0; i < 3; i++) {
        (void)sim_hit(queued.sim, ProfileTime, 0, PID, MACHINE_CODE);
    }
    host_sim_end_process(queued.host, PID);
    sim_exit(queued.sim, PID);
    assert_int_equal(ExOpenProcess(&queued.system, UserMode, MACHINE_HANDLE,
                                   PROCESS_QUERY_INFORMATION, PID),
                     STATUS_INVALID_CID);
    assert_int_equal(ExStopProfile(&queued.system, UserMode, profile), STATUS_SUCCESS);
    assert_int_equal(machine_counter(&queued, 0), 3);
    machine_close(&queued);
}

/* By a host that cannot tell processes of one pid apart. */
/* rule: process-gone, handle-process-reused */
static void
end_process__started__no_more_hits_stop_and_start_succeed(void **state)
{
    const HANDLE profile = create_for(machine_open_process(&machine, PID));
    EX_CREATE_PROFILE request = machine_request();
    HANDLE second;

    (void)state;
    ExEndProcess(&machine.system, PID + 1); /* which nobody knows */
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    ExEndProcess(&machine.system, PID);
    assert_int_equal(sim_started(machine.sim), 0);
    assert_int_equal(hit(), 0);
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_PROFILING_NOT_STOPPED);
    /* The next process with the pid. */
    request.Process = machine_open_process(&machine, PID);
    request.Buffer -= 64;
    second = machine_create_started(&machine, &request);
    assert_int_equal(hit(), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, profile), STATUS_SUCCESS);
    assert_int_equal(ExStartProfile(&machine.system, UserMode, profile),
                     STATUS_SUCCESS);
    assert_int_equal(hit(), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, second), STATUS_SUCCESS);
    assert_int_equal(hit(), 0);
    assert_int_equal(machine_counter(&machine, 0), 1);
    assert_int_equal(machine_counter(&machine, 16), 2);
}

/* rule: process-gone */
static void
end_process__hits_queued__counted_before(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 100}};
    EX_CREATE_PROFILE request = machine_request();
    struct machine queued;

    (void)state;
    machine_open(&queued, &options);
    request.Process = machine_open_process(&queued, PID);
    (void)machine_create_started(&queued, &request);
    for (int i = 0; i < 3; i++) {
        (void)sim_hit(queued.sim, ProfileTime, 0, PID, MACHINE_CODE);
    }
    ExEndProcess(&queued.system, PID);
    assert_int_equal(machine_counter(&queued, 0), 3);
    machine_close(&queued);
}

static void
profile__global__no_matter_who_ends(void **state)
{
    EX_CREATE_PROFILE request = machine_request();

    (void)state;
    request.Process = NULL;
    (void)machine_create_started(&machine, &request);
    assert_int_equal(hit(), 1);
    end_process();
    begin_process();
    assert_int_equal(hit(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(open__access__as_asked_generic_mapped),
        TEST(open__failures__status_and_handle_untouched),
        TEST(open__own_pid_twice__same_process),
        TEST(profile__its_process_ended__stop_succeeds_start_too_no_interrupts),
        TEST(profile__pid_used_again_before_start__other_process_not_measured),
        TEST(profile__pid_used_again_while_started__each_counts_its_own),
        TEST(profile__its_process_ended_hits_queued__all_counted),
        TEST(end_process__started__no_more_hits_stop_and_start_succeed),
        TEST(end_process__hits_queued__counted_before),
        TEST(profile__global__no_matter_who_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
