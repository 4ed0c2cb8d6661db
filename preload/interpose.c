/* SPDX-License-Identifier: MIT */
/*
 * preload/interpose.c - functions that the program calls instead of libc's.
 *
 * Each does what libc's does, and what the preload object needs beside it. The program
 * does not see the signal of the timers: when it asks for the action of that signal, it
 * is told the default one; when it sets an action, the timers take another signal.
 */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

static struct {
    struct preload_libc shared;
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                          void *);
    int (*thrd_create)(thrd_t *, thrd_start_t, void *); /* NULL: an old libc */
    int (*dlclose)(void *);
    sighandler_t (*signal)(int, sighandler_t);
    sighandler_t (*sysv_signal)(int, sighandler_t); /* NULL: no glibc */
    void (*exit_now)(int) __attribute__((noreturn));
} libc;

/* Find libc's function of a name. dlsym returns a pointer to an object, which C does
 * not convert to a function. */
bool
preload_find(const char *name, void *pointer)
{
    void *const symbol = dlsym(RTLD_NEXT, name);

    memcpy(pointer, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* Find libc's own functions; returns false if one is missing. This is done at the first
 * use, not in a constructor: constructors of other libraries may call the functions
 * below before ours runs. */
static bool
find_all(void)
{
    (void)preload_find("thrd_create", &libc.thrd_create);
    (void)preload_find("__sysv_signal", &libc.sysv_signal);
    return preload_find("sigaction", &libc.shared.sigaction) &&
           preload_find("pthread_sigmask", &libc.shared.pthread_sigmask) &&
           preload_find("pthread_getattr_np", &libc.shared.pthread_getattr_np) &&
           preload_find("pthread_attr_getstack", &libc.shared.pthread_attr_getstack) &&
           preload_find("pthread_attr_destroy", &libc.shared.pthread_attr_destroy) &&
           preload_find("pthread_create", &libc.pthread_create) &&
           preload_find("dlclose", &libc.dlclose) &&
           preload_find("signal", &libc.signal) &&
           preload_find("_exit", &libc.exit_now);
}

/* Whether libc's own functions are known; the first call finds them. exit_now is found
 * last, so it stands for all. */
static bool
libc_is_found(void)
{
    return libc.exit_now != NULL || find_all();
}

bool
preload_find_libc(struct preload_libc *found)
{
    if (!libc_is_found()) {
        return false;
    }
    *found = libc.shared;
    return true;
}

/* ---- Threads ---- */

/* The start routine that the program gave to pthread_create, and its argument. */
struct start {
    void *(*function)(void *);
    void *argument;
};

/* The start routine of each new thread: arm it, then run the program's own. */
static void *
begin_thread(void *given)
{
    const struct start start = *(const struct start *)given;

    free(given);
    preload_begin_thread();
    return start.function(start.argument);
}

REPLACES int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*function)(void *), void *argument)
{
    struct start *start;
    int failure;

    if (!libc_is_found()) {
        return EAGAIN;
    }
    start = preload_timer() != NULL ? malloc(sizeof(*start)) : NULL;
    if (start == NULL) {
        return libc.pthread_create(thread, attributes, function, argument);
    }
    *start = (struct start){function, argument};
    failure = libc.pthread_create(thread, attributes, begin_thread, start);
    if (failure != 0) {
        free(start);
    }
    return failure;
}

/* The same as struct start and begin_thread, for threads of C11. */
struct c11_start {
    thrd_start_t function;
    void *argument;
};

static int
begin_c11_thread(void *given)
{
    const struct c11_start start = *(const struct c11_start *)given;

    free(given);
    preload_begin_thread();
    return start.function(start.argument);
}

/* Replaced besides pthread_create, because libc's thrd_create does not call the
 * pthread_create above. */
REPLACES int
thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    struct c11_start *start;
    int result;

    if (!libc_is_found() || libc.thrd_create == NULL) {
        return thrd_error;
    }
    start = preload_timer() != NULL ? malloc(sizeof(*start)) : NULL;
    if (start == NULL) {
        return libc.thrd_create(thread, function, argument);
    }
    *start = (struct c11_start){function, argument};
    result = libc.thrd_create(thread, begin_c11_thread, start);
    if (result != thrd_success) {
        free(start);
    }
    return result;
}

/* ---- Libraries ---- */

REPLACES int
dlclose(void *handle)
{
    int result;

    if (!libc_is_found()) {
        return -1;
    }
    result = libc.dlclose(handle);
    if (preload_timer() != NULL) {
        images_drop_unloaded();
    }
    return result;
}

/* ---- Signals ---- */

bool
preload_leave_signals(const sigset_t *signals)
{
    struct thread_timer *const timer = preload_timer();
    struct thread_timer_loss loss;
    int result;

    if (timer == NULL) {
        return true;
    }
    result = thread_timer_leave_signals(timer, signals, &loss);
    preload_count_loss(loss);
    return result != -EAGAIN;
}

static bool
is_timers(int number)
{
    struct thread_timer *const timer = preload_timer();

    return timer != NULL && thread_timer_signal(timer) == number;
}

/* Prepare that the program sets the action of a signal. Returns false if nothing is to
 * be done: the timers go on with it, and it has the default action to the program.
 * Keeps errno. */
static bool
prepare_action(int number, sighandler_t handler)
{
    const int saved_errno = errno;
    bool is_left;
    sigset_t one;

    /* Programs reset all signals, which does not make each their own. */
    if (handler == SIG_DFL && !is_timers(number)) {
        return true;
    }
    sigemptyset(&one);
    (void)sigaddset(&one, number); /* fails for a wrong number */
    is_left = preload_leave_signals(&one);
    if (!is_left && handler != SIG_DFL) {
        preload_end_timers();
        is_left = true;
    }
    errno = saved_errno;
    return is_left;
}

REPLACES int
sigaction(int number, const struct sigaction *action, struct sigaction *previous)
{
    if (!libc_is_found()) {
        errno = ENOSYS;
        return -1;
    }
    if (action == NULL ? !is_timers(number)
                       : prepare_action(number, action->sa_handler)) {
        return libc.shared.sigaction(number, action, previous);
    }
    if (previous != NULL) {
        memset(previous, 0, sizeof(*previous)); /* SIG_DFL */
    }
    return 0;
}

/* Set a handler by libc's function *set, signal() or a variant. set points to a member
 * of libc, which is read only after it was found. */
static sighandler_t
set_handler(sighandler_t (*const *set)(int, sighandler_t), int number,
            sighandler_t handler)
{
    if (!libc_is_found() || *set == NULL) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    return prepare_action(number, handler) ? (*set)(number, handler) : SIG_DFL;
}

REPLACES sighandler_t
signal(int number, sighandler_t handler)
{
    return set_handler(&libc.signal, number, handler);
}

/* signal() of programs that were compiled as plain ISO C. */
REPLACES sighandler_t
__sysv_signal(int number, sighandler_t handler)
{
    return set_handler(&libc.sysv_signal, number, handler);
}

REPLACES sighandler_t
sysv_signal(int number, sighandler_t handler)
{
    return set_handler(&libc.sysv_signal, number, handler);
}

/* ---- The end ---- */

REPLACES void
_exit(int status)
{
    preload_end_process();
    if (libc_is_found()) {
        libc.exit_now(status);
    }
    abort();
}

REPLACES void
_Exit(int status)
{
    _exit(status);
}
