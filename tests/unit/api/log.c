/* SPDX-License-Identifier: MIT */
/*
 * log.c - what the log's receiver gets, from which threads, and that no lock of the
 * library is held meanwhile: the linker has its calls of pthread_mutex_lock counted.
 */
#include "log/log.h"

#include <ntprof/ntprof.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 200, GIVE_UP_SECONDS = 60 };

/* ---- locks that the calling thread holds ---- */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

static _Thread_local unsigned held;
static _Thread_local unsigned taken;

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    const int result = __real_pthread_mutex_lock(mutex);

    held += result == 0;
    taken += result == 0;
    return result;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    const int result = __real_pthread_mutex_unlock(mutex);

    held -= result == 0;
    return result;
}

/* ---- receivers ---- */

struct received {
    char text[1 << 16];
    size_t messages;
    int highest;
    unsigned locks; /* held during a call */
    size_t most_bytes;
    bool bad_line;
    char last[64];
};

/* For one thread. */
static void
receive(void *context, int level, const char *message)
{
    struct received *const received = context;
    const size_t used = strlen(received->text);
    const size_t length = strlen(message);

    received->messages++;
    received->highest = level > received->highest ? level : received->highest;
    received->locks += held;
    received->most_bytes =
        length > received->most_bytes ? length : received->most_bytes;
    received->bad_line |= strpbrk(message, "\n\r\t\033\177") != NULL;
    snprintf(received->last, sizeof(received->last), "%.60s", message);
    snprintf(received->text + used, sizeof(received->text) - used, "%s\n", message);
}

static void
assert_received(const struct received *received, const char *text)
{
    if (strstr(received->text, text) == NULL) {
        print_message("%s", received->text);
        fail_msg("no message has \"%s\"", text);
    }
}

static int
setup(void **state)
{
    *state = calloc(1, sizeof(struct received));
    assert_non_null(*state);
    ((struct received *)*state)->highest = -1;
    return 0;
}

static int
teardown(void **state)
{
    assert_int_equal(ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR), STATUS_SUCCESS);
    free(*state);
    return 0;
}

static ntprof_session *
open_simulated(uint32_t flags)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "sim", .flags = flags};
    ntprof_session *session;

    assert_int_equal(ntprof_session_open(&options, &session), STATUS_SUCCESS);
    return session;
}

/* ---- what is logged ---- */

static void
set_log__bad_level__refused_and_nothing_changes(void **state)
{
    struct received *const received = *state;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    assert_int_equal(ntprof_set_log(NULL, NULL, NTPROF_LOG_DEBUG + 1),
                     STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(ntprof_session_error(NULL), "NTPROF_LOG_"));
    assert_int_equal(ntprof_set_log(NULL, NULL, -1), STATUS_INVALID_PARAMETER);
    ntprof_session_close(open_simulated(0));
    assert_received(received, "session closed");
}

static void
session__opened_used_closed__each_is_logged(void **state)
{
    struct received *const received = *state;
    ntprof_session *session;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    session = open_simulated(NTPROF_SESSION_POLLED);
    assert_received(received, "back end sim: opened");
    assert_received(received, "session opened: back end sim, NT newest, polled");
    assert_int_equal(ntprof_session_watch(session, NULL, NULL), STATUS_SUCCESS);
    assert_received(received, "process 0 (swapper) is followed");
    assert_received(received, " maps ");
    assert_int_equal(ntprof_session_freeze(session), STATUS_NOT_SUPPORTED);
    assert_received(received, "a call failed: STATUS_NOT_SUPPORTED: back end sim");
    ntprof_session_close(session);
    assert_received(received, "session closed");
    assert_int_equal(received->highest, NTPROF_LOG_DEBUG);
    assert_int_equal(received->locks, 0);
    assert_false(received->bad_line);
    assert_int_equal(ntprof_session_open(NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_received(received, "a call failed: STATUS_INVALID_PARAMETER: there is no");
}

static void
session__lower_level__no_debug_messages(void **state)
{
    struct received *const received = *state;
    ntprof_session *session;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_INFO),
                     STATUS_SUCCESS);
    session = open_simulated(NTPROF_SESSION_POLLED);
    assert_int_equal(ntprof_session_watch(session, NULL, NULL), STATUS_SUCCESS);
    ntprof_session_close(session);
    assert_int_equal(received->messages, 0);
    assert_int_equal(ntprof_set_log(NULL, received, NTPROF_LOG_DEBUG), STATUS_SUCCESS);
    assert_false(log_wants(NTPROF_LOG_ERROR));
}

/* Of this machine: how far it comes depends on what Linux allows. */
static void
session__over_perf__events_and_rings_or_the_refusal(void **state)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "perf", .flags = NTPROF_SESSION_POLLED};
    struct received *const received = *state;
    static ULONG counters[16];
    ntprof_session *session;
    HANDLE profile;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    if (!NT_SUCCESS(ntprof_session_open(&options, &session))) {
        assert_received(received, "back end perf: refused: ");
        assert_received(received, "event refused: type 1, config 0x0");
        return;
    }
    assert_received(received, "event opened: type 1, config 0x0");
    assert_received(received, "back end perf: opened");
    ntprof_session_use(session);
    assert_int_equal(NtCreateProfile(&profile, NtCurrentProcess(),
                                     (PVOID)(uintptr_t)counters, sizeof(counters), 4,
                                     counters, sizeof(counters), ProfileTime,
                                     (KAFFINITY)-1),
                     STATUS_SUCCESS);
    if (NT_SUCCESS(NtStartProfile(profile))) {
        assert_received(received, "one a processor: made");
        assert_int_equal(NtStopProfile(profile), STATUS_SUCCESS);
        assert_received(received, "closed, of an event");
    }
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    assert_int_equal(received->locks, 0);
}

static void
sleep_60_ms(void *context, const ntprof_notification *notification)
{
    const struct timespec wait = {.tv_nsec = 60000000};

    (void)notification;
    if (*(int *)context == 0) {
        ++*(int *)context;
        nanosleep(&wait, NULL);
    }
}

static void
delivery__takes_long__is_logged(void **state)
{
    struct received *const received = *state;
    ntprof_session *const session = open_simulated(NTPROF_SESSION_POLLED);
    int slept = 1;

    assert_int_equal(ntprof_session_set_notify(session, sleep_60_ms, &slept),
                     STATUS_SUCCESS);
    assert_int_equal(ntprof_session_watch(session, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    slept = 0;
    for (int i = 0; slept == 0 && i < 100000; i++) {
        assert_int_equal(ntprof_session_poll(session, NULL), STATUS_SUCCESS);
    }
    assert_int_equal(slept, 1);
    assert_received(received, "a delivery took ");
    ntprof_session_close(session);
}

static void
message__control_characters_or_too_long__one_line_and_cut(void **state)
{
    struct received *const received = *state;
    char name[3000];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    log_enter();
    errno = ENOTTY;
    LOG_DEBUG("runs %s", "a\nb\033[31m\x7f");
    LOG_DEBUG("%s", name);
    assert_int_equal(received->messages, 0); /* as long as a lock may be held */
    log_leave();
    assert_int_equal(errno, ENOTTY);
    assert_received(received, "runs a?b?[31m?\n");
    assert_int_equal(received->most_bytes, 1023);
    assert_false(received->bad_line);
}

static void
messages__too_many_at_once__dropped_and_counted(void **state)
{
    struct received *const received = *state;
    char name[1000];
    char wanted[64];
    size_t kept;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    log_enter();
    for (int i = 0; i < 6000; i++) {
        LOG_DEBUG("%s", name);
    }
    log_leave();
    kept = received->messages - 1;
    assert_in_range(kept, 4000, 5999);
    snprintf(wanted, sizeof(wanted), "%zu messages were dropped: too many at once",
             6000 - kept);
    assert_string_equal(received->last, wanted);
    log_enter();
    LOG_DEBUG("later");
    log_leave();
    assert_string_equal(received->last, "later");
}

/* ---- threads ---- */

struct gate {
    sem_t inside; /* the receiver is being called */
    sem_t go_on;
    int calls; /* atomic */
};

static void
wait_at_gate(void *context, int level, const char *message)
{
    struct gate *const gate = context;

    (void)level;
    if (strstr(message, "session opened") != NULL &&
        __atomic_fetch_add(&gate->calls, 1, __ATOMIC_RELAXED) == 0) {
        sem_post(&gate->inside);
        sem_wait(&gate->go_on);
    }
}

static void *
open_and_close(void *argument)
{
    (void)argument;
    ntprof_session_close(open_simulated(0));
    return NULL;
}

static void *
remove_receiver(void *argument)
{
    assert_int_equal(ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR), STATUS_SUCCESS);
    __atomic_store_n((int *)argument, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void
receiver__takes_its_time__other_threads_and_a_fork_go_on(void **state)
{
    struct gate gate = {0};
    pthread_t thread;
    pthread_t remover;
    int removed = 0;
    int status;
    pid_t child;

    (void)state;
    sem_init(&gate.inside, 0, 0);
    sem_init(&gate.go_on, 0, 0);
    assert_int_equal(ntprof_set_log(wait_at_gate, &gate, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    pthread_create(&thread, NULL, open_and_close, NULL);
    sem_wait(&gate.inside);
    (void)open_and_close(NULL);
    child = fork();
    if (child == 0) {
        alarm(GIVE_UP_SECONDS);
        /* The thread that calls the receiver is not here: nobody waits for it. */
        _exit(ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR) == STATUS_SUCCESS ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* Who replaces the receiver waits for it. */
    pthread_create(&remover, NULL, remove_receiver, &removed);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(__atomic_load_n(&removed, __ATOMIC_ACQUIRE), 0);
        sched_yield();
    }
    sem_post(&gate.go_on);
    pthread_join(thread, NULL);
    pthread_join(remover, NULL);
    assert_int_equal(gate.calls, 2);
    sem_destroy(&gate.inside);
    sem_destroy(&gate.go_on);
}

/* A receiver that may be called until it was replaced. */
struct shared {
    uint64_t messages; /* atomic, as all members */
    uint64_t locks;
    uint64_t late;
    int replaced;
};

static void
receive_shared(void *context, int level, const char *message)
{
    struct shared *const shared = context;

    (void)level;
    (void)message;
    __atomic_fetch_add(&shared->messages, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->locks, held, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->late,
                       (uint64_t)__atomic_load_n(&shared->replaced, __ATOMIC_RELAXED),
                       __ATOMIC_RELAXED);
}

static void *
use_sessions(void *argument)
{
    ntprof_session *const shared_session = argument;

    for (int i = 0; i < ROUNDS; i++) {
        ntprof_session *const session = open_simulated(i % 2 == 0 ? 0 : 1);

        (void)ntprof_session_freeze(shared_session);
        (void)ntprof_session_watch(session, NULL, NULL);
        ntprof_session_close(session);
    }
    return NULL;
}

static void
receiver__replaced_while_threads_log__no_late_call_and_no_lock(void **state)
{
    static struct shared receivers[ROUNDS];
    ntprof_session *const session = open_simulated(0);
    pthread_t threads[THREADS];
    uint64_t messages = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, use_sessions, session);
    }
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(ntprof_set_log(receive_shared, &receivers[i], 3),
                         STATUS_SUCCESS);
        if (i > 0) {
            __atomic_store_n(&receivers[i - 1].replaced, 1, __ATOMIC_RELAXED);
        }
        (void)ntprof_session_freeze(session);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(ntprof_set_log(NULL, NULL, 0), STATUS_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        messages += receivers[i].messages;
        assert_int_equal(receivers[i].locks, 0);
        assert_int_equal(receivers[i].late, 0);
    }
    assert_true(messages >= ROUNDS);
    assert_true(taken > 0); /* so they are counted */
    ntprof_session_close(session);
}

/* ---- receivers that break the contract, and notifications ---- */

struct offender {
    ntprof_session *session;
    unsigned calls;
    NTSTATUS status;
};

static void
call_library(void *context, int level, const char *message)
{
    struct offender *const offender = context;

    (void)level;
    (void)message;
    offender->calls++;
    (void)ntprof_session_freeze(offender->session);
    offender->status = ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR);
}

static void
receiver__calls_the_library__gets_no_message_of_that(void **state)
{
    struct offender offender = {.session = open_simulated(NTPROF_SESSION_POLLED)};

    (void)state;
    assert_int_equal(ntprof_set_log(call_library, &offender, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    (void)ntprof_session_freeze(offender.session);
    assert_int_equal(offender.calls, 1);
    assert_int_equal(offender.status, STATUS_INVALID_PARAMETER);
    assert_int_equal(ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR), STATUS_SUCCESS);
    ntprof_session_close(offender.session);
}

struct notified {
    const struct received *received;
    ntprof_session *session;
    size_t notifications;
    size_t messages_inside;
};

static void
fail_inside(void *context, const ntprof_notification *notification)
{
    struct notified *const notified = context;

    (void)notification;
    notified->notifications++;
    (void)ntprof_session_freeze(notified->session);
    notified->messages_inside += notified->received->messages;
}

static void
call_in_notification__fails__logged_when_the_delivery_has_ended(void **state)
{
    struct received *const received = *state;
    struct notified notified = {.received = received,
                                .session = open_simulated(NTPROF_SESSION_POLLED)};

    assert_int_equal(
        ntprof_session_set_notify(notified.session, fail_inside, &notified),
        STATUS_SUCCESS);
    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    assert_int_equal(ntprof_session_watch(notified.session, NULL, NULL),
                     STATUS_SUCCESS);
    assert_true(notified.notifications > 0);
    assert_int_equal(notified.messages_inside, 0);
    assert_received(received, "a call failed: STATUS_NOT_SUPPORTED");
    assert_int_equal(received->locks, 0);
    ntprof_session_close(notified.session);
}

/* Messages that wait when the level is lowered, as by a call within a notification. */
static void
set_log__lower_level_while_messages_wait__no_messages_above_it(void **state)
{
    struct received *const received = *state;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    log_enter();
    LOG_DEBUG("of the level before");
    LOG(NTPROF_LOG_ERROR, "of both levels");
    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_ERROR),
                     STATUS_SUCCESS);
    log_leave();
    assert_string_equal(received->text, "of both levels\n");
}

static void
test_cancel(void *context, int level, const char *message)
{
    (void)level;
    (void)message;
    pthread_testcancel();
    __atomic_fetch_add((unsigned *)context, 1, __ATOMIC_RELAXED);
}

static void *
log_cancelled(void *argument)
{
    (void)argument;
    pthread_cancel(pthread_self());
    log_enter();
    LOG_DEBUG("once");
    log_leave();
    pthread_testcancel();
    return NULL;
}

static void
receiver__thread_is_cancelled__it_returns_before(void **state)
{
    unsigned calls = 0;
    pthread_t thread;
    void *result;

    (void)state;
    assert_int_equal(ntprof_set_log(test_cancel, &calls, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, log_cancelled, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(ntprof_set_log(NULL, NULL, NTPROF_LOG_ERROR), STATUS_SUCCESS);
    assert_int_equal(calls, 1);
}

static void
fork__messages_wait__are_the_parents(void **state)
{
    struct received *const received = *state;
    int status;
    pid_t child;

    assert_int_equal(ntprof_set_log(receive, received, NTPROF_LOG_DEBUG),
                     STATUS_SUCCESS);
    log_enter();
    LOG_DEBUG("before the fork");
    child = fork();
    if (child == 0) {
        log_leave();
        ntprof_session_close(open_simulated(0));
        _exit(strstr(received->text, "session closed") != NULL &&
                      strstr(received->text, "before") == NULL
                  ? 0
                  : 1);
    }
    log_leave();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(received->text, "before the fork\n");
}

#define log_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        log_test(set_log__bad_level__refused_and_nothing_changes),
        log_test(session__opened_used_closed__each_is_logged),
        log_test(session__lower_level__no_debug_messages),
        log_test(session__over_perf__events_and_rings_or_the_refusal),
        log_test(delivery__takes_long__is_logged),
        log_test(message__control_characters_or_too_long__one_line_and_cut),
        log_test(messages__too_many_at_once__dropped_and_counted),
        log_test(receiver__takes_its_time__other_threads_and_a_fork_go_on),
        log_test(receiver__replaced_while_threads_log__no_late_call_and_no_lock),
        log_test(receiver__calls_the_library__gets_no_message_of_that),
        log_test(call_in_notification__fails__logged_when_the_delivery_has_ended),
        log_test(set_log__lower_level_while_messages_wait__no_messages_above_it),
        log_test(receiver__thread_is_cancelled__it_returns_before),
        log_test(fork__messages_wait__are_the_parents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
