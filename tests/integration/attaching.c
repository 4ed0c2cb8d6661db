/* SPDX-License-Identifier: MIT */
/*
 * attaching.c - what other threads can do while a start or a watch waits for threads of
 * the profiled process.
 *
 * The process is a peer that has called clone() with CLONE_VFORK: it may create a
 * thread as far as /proc shows, so the back end pauses until it is told to go on. The
 * library sleeps by nanosleep(), which this program replaces: a pause lasts until
 * pause_with has returned.
 */
#include "fixture.h"
#include "guarded.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct peer peer;         /* in clone() until it is told a word */
static HANDLE process;           /* it */
static ULONG *counters;          /* of each profile, SLOT_COUNT */
static HANDLE unstarted;         /* a profile of the peer */
static HANDLE own;               /* a started profile of this process */
static void (*pause_with)(void); /* what the next pause does */
static _Thread_local bool may_pause;

int
nanosleep(const struct timespec *wait, struct timespec *rest)
{
    void (*const with)(void) = pause_with;

    if (may_pause && with != NULL) {
        pause_with = NULL;
        with();
    }
    return clock_nanosleep(CLOCK_MONOTONIC, 0, wait, rest);
}

static int
wait_in_clone(const struct peer *test, void *argument)
{
    const long pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);

    (void)argument;
    if (pid == 0) {
        (void)peer_hear(test);
        _exit(0);
    }
    if (pid < 0 || waitpid((pid_t)pid, NULL, 0) != pid) {
        return 1;
    }
    return peer_hear(test) == 2 ? 0 : 1;
}

/* The state of a thread as /proc has it. */
static char
state_of(pid_t pid, pid_t tid)
{
    char path[64];
    char text[256] = "";
    const char *end;
    ssize_t length;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    length = read(fd, text, sizeof(text) - 1);
    assert_true(length > 0);
    close(fd);
    end = strrchr(text, ')');
    assert_non_null(end);
    return end[2];
}

static HANDLE
create_of(HANDLE of)
{
    return create_profile(of, slot_address(0), SLOT_BYTES * SLOT_COUNT, 4, counters,
                          SLOT_COUNT, ProfileTime);
}

static void
setup_processes(void)
{
    counters = guarded_counters(SLOT_COUNT);
    peer_start(&peer, wait_in_clone, NULL);
    while (state_of(peer.pid, peer.pid) != 'D') {
        sched_yield();
    }
    process = open_process(peer.pid);
    unstarted = create_of(process);
    own = create_of(NtCurrentProcess());
    assert_success(NtStartProfile(own));
}

static void
finish_processes(void)
{
    assert_success(NtClose(unstarted));
    assert_success(NtClose(own));
    assert_success(NtClose(process));
    peer_tell(&peer, 2);
    peer_finish(&peer);
}

/* ---- a thread that makes one call ---- */

struct caller {
    pthread_t thread;
    NTSTATUS (*call)(void);
    _Atomic pid_t tid;
    atomic_bool done;
    NTSTATUS status;
};

static void *
caller_main(void *argument)
{
    struct caller *const caller = argument;

    ntprof_session_use(session);
    atomic_store(&caller->tid, (pid_t)syscall(SYS_gettid));
    caller->status = caller->call();
    atomic_store(&caller->done, true);
    return NULL;
}

static void
caller_start(struct caller *caller, NTSTATUS (*call)(void))
{
    *caller = (struct caller){.call = call};
    assert_int_equal(pthread_create(&caller->thread, NULL, caller_main, caller), 0);
}

/* Wait until it waits itself: for a lock, since its calls do nothing else for long. */
static void
caller_wait_blocked(const struct caller *caller)
{
    while (atomic_load(&caller->tid) == 0 ||
           state_of(getpid(), atomic_load(&caller->tid)) != 'S') {
        assert_false(atomic_load(&caller->done));
        sched_yield();
    }
    assert_false(atomic_load(&caller->done));
}

static void
caller_finish(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    assert_status(caller->status, STATUS_SUCCESS);
}

static NTSTATUS
stop_own(void)
{
    return NtStopProfile(own);
}

static NTSTATUS
query_interval(void)
{
    ULONG interval;

    return NtQueryIntervalProfile(ProfileTime, &interval);
}

/* ---- tests ---- */

static sem_t paused;
static sem_t answered;

static void
hand_over(void)
{
    sem_post(&paused);
    while (sem_wait(&answered) != 0) {
    }
}

static NTSTATUS
start_unstarted(void)
{
    may_pause = true;
    return NtStartProfile(unstarted);
}

static NTSTATUS
watch_process(void)
{
    may_pause = true;
    return ntprof_session_watch(session, process, NULL);
}

/* Attach by one thread; while it is paused, call by this one and stop by a third. */
static void
call_while_attaching(NTSTATUS (*attach)(void))
{
    ntprof_session_info info = {.size = sizeof(info)};
    struct caller attaching;
    struct caller stopping;
    HANDLE created;

    setup_processes();
    sem_init(&paused, 0, 0);
    sem_init(&answered, 0, 0);
    pause_with = hand_over;
    caller_start(&attaching, attach);
    sem_wait(&paused);

    assert_success(query_interval());
    created = create_of(NtCurrentProcess());
    assert_success(ntprof_session_get_info(session, &info));
    assert_int_equal(info.started, 1);
    assert_false(atomic_load(&attaching.done));
    caller_start(&stopping, stop_own);
    caller_wait_blocked(&stopping);

    peer_tell(&peer, 1);
    sem_post(&answered);
    caller_finish(&attaching);
    caller_finish(&stopping);
    sem_destroy(&paused);
    sem_destroy(&answered);
    assert_success(NtClose(created));
    finish_processes();
}

static void
start__waits_for_threads__other_threads_query_and_create(void **state)
{
    (void)state;
    call_while_attaching(start_unstarted);
}

static void
watch__waits_for_threads__other_threads_query_and_create(void **state)
{
    (void)state;
    call_while_attaching(watch_process);
}

static struct caller querying;
static bool started;

static void
let_query(void)
{
    caller_start(&querying, query_interval);
    caller_wait_blocked(&querying);
    peer_tell(&peer, 1);
}

static void
start_in_notification(void *context, const ntprof_notification *notification)
{
    (void)context;
    (void)notification;
    if (!started) {
        started = true;
        assert_success(start_unstarted());
    }
}

/* The notification belongs to its place in the stream: nothing comes between. */
static void
start__in_a_notification__keeps_the_lock(void **state)
{
    HANDLE self;

    (void)state;
    setup_processes();
    started = false;
    pause_with = let_query;
    self = open_process(getpid());
    assert_success(ntprof_session_set_notify(session, start_in_notification, NULL));
    assert_success(ntprof_session_watch(session, self, NULL));
    assert_true(started);
    assert_null(pause_with);
    caller_finish(&querying);
    assert_success(ntprof_session_set_notify(session, NULL, NULL));
    assert_success(NtClose(self));
    finish_processes();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(start__waits_for_threads__other_threads_query_and_create),
        fixture_test(watch__waits_for_threads__other_threads_query_and_create),
        fixture_test(start__in_a_notification__keeps_the_lock),
    };

    return fixture_run("attaching", tests, sizeof(tests) / sizeof(tests[0]));
}
