/* SPDX-License-Identifier: MIT */
/*
 * lifetimes.c - whose hits count when processes end, run other programs, and have
 * numbers that others have too: used again, or in another pid namespace. rules:
 * handle-process, handle-process-reused
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Linux tells when a process started in hundredths of a second. */
enum { SLOT = 40, PAGE_BYTES = 4096, START_TIME_US = 20000 };

/* ---- processes that call ---- */

/* As often as each word says, until 0. */
static int
call_when_told(const struct peer *test, void *argument)
{
    uint64_t times;

    (void)argument;
    while ((times = peer_hear(test)) != 0) {
        if (times == UINT64_MAX) {
            return 1;
        }
        call_slot(SLOT, times);
        peer_tell(test, times);
    }
    return 0;
}

static void
have_it_call(const struct peer *peer, uint64_t times)
{
    peer_tell(peer, times);
    peer_hear(peer);
}

static void
end_caller(struct peer *peer)
{
    peer_tell(peer, 0);
    peer_finish(peer);
}

/* ---- containers ---- */

/* What a container's first process ends with. */
enum {
    CONTAINER_REFUSED = 99,
    BAD_OPEN = 2,
    BAD_NUMBER,
    BAD_START,
    BAD_STATUS,
    BAD_COUNT
};

/* What it does; no cmocka. Returns 0 or one of these. */
typedef int container_body(void *argument);

static int
run_first(container_body *body, void *argument)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0) {
        return CONTAINER_REFUSED;
    }
    return body(argument);
}

static int
run_container(container_body *body, void *argument)
{
    int status;
    pid_t first;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
        return CONTAINER_REFUSED;
    }
    first = fork();
    if (first == 0) {
        _exit(run_first(body, argument));
    }
    if (first < 0 || waitpid(first, &status, 0) != first || !WIFEXITED(status)) {
        return 1;
    }
    return WEXITSTATUS(status);
}

/* In pid and mount namespaces of its own, as containers are. Returns what it ends with.
 */
static int
container_status(container_body *body, void *argument)
{
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(run_container(body, argument));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int
do_nothing(void *argument)
{
    (void)argument;
    return 0;
}

/* Before a test starts anything: only root may make containers, and not in a chroot. */
static void
need_containers(void)
{
    if (container_status(do_nothing, NULL) == CONTAINER_REFUSED) {
        skip_because("namespaces are not allowed here");
    }
}

/* Has the next process of the namespace this number. */
static bool
choose_next_pid(pid_t pid)
{
    FILE *const file = fopen("/proc/sys/kernel/ns_last_pid", "we");
    bool written;

    if (file == NULL) {
        return false;
    }
    written = fprintf(file, "%d", (int)pid - 1) > 0;
    return fclose(file) == 0 && written;
}

/* A caller that has this number. */
static bool
start_caller_as(struct peer *peer, pid_t pid)
{
    if (!choose_next_pid(pid)) {
        return false;
    }
    peer_start(peer, call_when_told, NULL);
    return peer->pid == pid;
}

/* A session that delivers and notices nothing unasked, and its source. */
static bool
open_polled(KPROFILE_SOURCE *source)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = backend, .flags = NTPROF_SESSION_POLLED};
    char name[64];

    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        return false;
    }
    ntprof_session_use(session);
    name_source_at(name, sizeof(name), slot_address(SLOT));
    return NT_SUCCESS(ntprof_source_lookup(session, name, source));
}

static NTSTATUS
open_by_pid(pid_t pid, HANDLE *process)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)pid};

    return NtOpenProcess(process, PROCESS_QUERY_INFORMATION, NULL, &client);
}

/* A started profile over all slots of the process, without cmocka. */
static NTSTATUS
start_for(HANDLE process, ULONG *counters, KPROFILE_SOURCE source, HANDLE *profile)
{
    const NTSTATUS status = NtCreateProfileEx(
        profile, process, (PVOID)(uintptr_t)slot_address(0), SLOT_BYTES * SLOT_COUNT, 4,
        counters, SLOT_COUNT * sizeof(ULONG), source, 0, NULL);

    return NT_SUCCESS(status) ? NtStartProfile(*profile) : status;
}

static ULONG
value(const ULONG *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* ---- numbers that are used again ---- */

/* A profile of the second process with a number, started by its own handle. */
static int
count_second(const struct peer *second, KPROFILE_SOURCE source)
{
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    HANDLE process;
    HANDLE profile;

    if (!NT_SUCCESS(open_by_pid(second->pid, &process)) ||
        !NT_SUCCESS(start_for(process, counters, source, &profile))) {
        return BAD_START;
    }
    have_it_call(second, 7);
    return !NT_SUCCESS(NtStopProfile(profile)) ? BAD_STATUS
           : value(&counters[SLOT]) == 7       ? 0
                                               : BAD_COUNT;
}

/* All that the session is asked lies before the number is used again and after all
 * calls. */
static int
use_number_again(void *argument)
{
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    struct peer first;
    struct peer second;
    KPROFILE_SOURCE source;
    HANDLE process;
    HANDLE profile;
    NTSTATUS status;

    (void)argument;
    if (!open_polled(&source)) {
        return BAD_OPEN;
    }
    peer_start(&first, call_when_told, NULL);
    if (!NT_SUCCESS(open_by_pid(first.pid, &process)) ||
        !NT_SUCCESS(start_for(process, counters, source, &profile))) {
        return BAD_START;
    }
    have_it_call(&first, 3);
    end_caller(&first);
    usleep(START_TIME_US); /* or they could be told apart by nothing */
    if (!start_caller_as(&second, first.pid)) {
        return BAD_NUMBER;
    }
    have_it_call(&second, 50);
    if (!NT_SUCCESS(NtStopProfile(profile))) {
        return BAD_STATUS;
    }
    if (value(&counters[SLOT]) != 3) {
        fprintf(stderr, "%u hits instead of 3\n", value(&counters[SLOT]));
        return BAD_COUNT;
    }
    /* Nor when it is started again. */
    status = NtStartProfile(profile);
    have_it_call(&second, 500);
    if (status != STATUS_PROCESS_IS_TERMINATING &&
        (!NT_SUCCESS(status) || !NT_SUCCESS(NtStopProfile(profile)))) {
        return BAD_STATUS;
    }
    if (value(&counters[SLOT]) != 3) {
        return BAD_COUNT;
    }
    return count_second(&second, source);
}

static void
pid__used_again__the_new_process_does_not_count(void **state)
{
    need_exact_source();

    (void)state;
    if (!is_root()) {
        return; /* as root, who may choose numbers */
    }
    need_containers();
    assert_int_equal(container_status(use_number_again, NULL), 0);
}

/* ---- numbers of others ---- */

/* A process here has the number that another one, outside, has there. */
static int
count_namesake(void *argument)
{
    const struct peer *const outside = argument;
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    struct peer inside;
    KPROFILE_SOURCE source;
    HANDLE process;
    HANDLE profile;

    if (!open_polled(&source)) {
        return BAD_OPEN;
    }
    if (!start_caller_as(&inside, outside->pid)) {
        return BAD_NUMBER;
    }
    if (!NT_SUCCESS(open_by_pid(inside.pid, &process)) ||
        !NT_SUCCESS(start_for(process, counters, source, &profile))) {
        return BAD_START;
    }
    have_it_call(&inside, 7);
    have_it_call(outside, 1000);
    have_it_call(&inside, 20);
    call_slot(SLOT, 300);
    if (!NT_SUCCESS(NtStopProfile(profile))) {
        return BAD_STATUS;
    }
    end_caller(&inside);
    return value(&counters[SLOT]) == 27 ? 0 : BAD_COUNT;
}

static void
session__in_a_pid_namespace__counts_what_it_names_there(void **state)
{
    need_exact_source();

    struct peer outside;

    (void)state;
    if (!is_root()) {
        return; /* as root, who may make namespaces */
    }
    need_containers();
    peer_start(&outside, call_when_told, NULL);
    assert_int_equal(container_status(count_namesake, &outside), 0);
    end_caller(&outside);
}

/* Of a namespace below: the session outside names it by the number that it has outside.
 */
static int
call_in_container(void *argument)
{
    return call_when_told(argument, NULL);
}

static int
be_container(const struct peer *test, void *argument)
{
    (void)argument;
    return run_container(call_in_container, (void *)(uintptr_t)test);
}

/* The container's first process, as it is known here. */
static pid_t
child_of(pid_t pid)
{
    char path[64];
    FILE *file;
    int child = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &child) != 1) {
            child = 0;
        }
        fclose(file);
    }
    return child;
}

/* Is this the namespace that the kernel began with? Its number is always the same. */
static bool
is_first_pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == 0xEFFFFFFC;
}

static void
process__in_a_pid_namespace_below__counts_by_its_number_here(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer container;
    KPROFILE_SOURCE source;
    HANDLE process;
    HANDLE profile;

    (void)state;
    if (!is_root()) {
        return; /* as root, who may make namespaces */
    }
    if (fixture_has(FIXTURE_EVENTS_OF_ALL) && !is_first_pid_namespace()) {
        print_message("back end bpf counts below the first pid namespace only\n");
        skip(); /* the next test has what it answers elsewhere */
    }
    need_containers();
    source = slot_source(SLOT);
    peer_start(&container, be_container, NULL);
    have_it_call(&container, 1);
    process = open_process(child_of(container.pid));
    profile = start_slots(process, counters, source);
    have_it_call(&container, 12);
    call_slot(SLOT, 100);
    end_caller(&container);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 12);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
}

/* Programs of bpf cannot tell such a process, unless the session is in the first
 * namespace: it is refused, by name, and not counted as nothing. */
static int
count_further_below(void *argument)
{
    ULONG *const counters = ntprof_buffer_alloc(PAGE_BYTES);
    const NTSTATUS expected =
        fixture_has(FIXTURE_EVENTS_OF_ALL) ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    struct peer container;
    KPROFILE_SOURCE source;
    HANDLE process;
    HANDLE profile;

    (void)argument;
    if (!open_polled(&source)) {
        return BAD_OPEN;
    }
    peer_start(&container, be_container, NULL);
    have_it_call(&container, 1);
    if (!NT_SUCCESS(open_by_pid(child_of(container.pid), &process))) {
        return BAD_NUMBER;
    }
    if (start_for(process, counters, source, &profile) != expected) {
        return BAD_START;
    }
    if (expected != STATUS_SUCCESS) {
        end_caller(&container);
        return strstr(ntprof_session_error(session), "pid namespace") != NULL
                   ? 0
                   : BAD_STATUS;
    }
    have_it_call(&container, 12);
    end_caller(&container);
    return NT_SUCCESS(NtStopProfile(profile)) && value(&counters[SLOT]) == 12
               ? 0
               : BAD_COUNT;
}

static void
session__in_a_pid_namespace__counts_or_refuses_those_below(void **state)
{
    need_exact_source();

    (void)state;
    if (!is_root()) {
        return; /* as root, who may make namespaces */
    }
    need_containers();
    assert_int_equal(container_status(count_further_below, NULL), 0);
}

/* ---- ends and other programs ---- */

static void
process__ends_while_started__counters_stay(void **state)
{
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    const KPROFILE_SOURCE source = slot_source(SLOT);
    struct peer peer;
    HANDLE process;
    HANDLE profile;

    (void)state;
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    profile = start_slots(process, counters, source);
    have_it_call(&peer, 9);
    end_caller(&peer);
    call_slot(SLOT, 100);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, SLOT, 9);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 9);
    /* Whether other processes' hits are in them depends on when the end is noticed. */
    assert_int_equal(read_statistics(session, source).counted, 9);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
}

/* The program that it becomes calls the same address 500 times. */
static int
call_and_exec(const struct peer *test, void *path)
{
    const int fd = open(slots_path(), O_RDONLY);
    char address[32];

    snprintf(address, sizeof(address), "%" PRIx64, FIXED_ADDRESS);
    if (dup2(fd, STDIN_FILENO) < 0 || map_fixed_slots() != 0) {
        return 1;
    }
    peer_hear(test);
    call_address(FIXED_ADDRESS, 3);
    execl(path, path, address, "500", "0", (char *)NULL);
    return 1;
}

static void
process__runs_another_program__its_counting_ends(void **state)
{
    ULONG *const counter = guarded_counters(1);
    const KPROFILE_SOURCE source = fixed_source(session);
    struct peer peer;
    HANDLE process;
    HANDLE profile;

    (void)state;
    peer_start(&peer, call_and_exec, (void *)(uintptr_t)program_path("PAGE_CALLER"));
    process = open_process(peer.pid);
    profile =
        create_profile(process, FIXED_ADDRESS, PAGE_BYTES, 12, counter, 1, source);
    assert_success(NtStartProfile(profile));
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_success(NtStopProfile(profile));
    assert_int_equal(value(counter), 3);
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
}

/* What is readable wakes who delivers, again and again. */
static void
process__ends_long_after_its_profile__a_forked_childs_descriptors_wake_nobody(
    void **state)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = backend, .flags = NTPROF_SESSION_POLLED};
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct pollfd descriptor = {.events = POLLIN};
    struct peer peer;
    struct peer child;
    HANDLE process;
    HANDLE profile;

    (void)state;
    fixture_reopen(&options);
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    profile = start_slots(process, counters, ProfileTime);
    peer_start(&child, call_when_told, NULL);
    assert_success(NtStopProfile(profile));
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
    end_caller(&peer);
    descriptor.fd = ntprof_session_fd(session);
    assert_success(ntprof_session_poll(session, NULL));
    assert_success(ntprof_session_poll(session, NULL));
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    end_caller(&child);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(
            process__ends_long_after_its_profile__a_forked_childs_descriptors_wake_nobody),
        fixture_test(pid__used_again__the_new_process_does_not_count),
        fixture_test(session__in_a_pid_namespace__counts_what_it_names_there),
        fixture_test(process__in_a_pid_namespace_below__counts_by_its_number_here),
        fixture_test(session__in_a_pid_namespace__counts_or_refuses_those_below),
        fixture_test(process__ends_while_started__counters_stay),
        fixture_test(process__runs_another_program__its_counting_ends),
    };

    return fixture_run("lifetimes", tests, sizeof(tests) / sizeof(tests[0]));
}
