/* SPDX-License-Identifier: MIT */
/*
 * time_limit.c - remembers how long calls with each key were waited for, and which
 * workers are stuck.
 *
 * A worker is idle (in idle), busy with a call that is waited for, or stuck with one
 * that is not any more. All that is static is guarded by lock.
 */
#include "base/time_limit.h"

#include "base/apart.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITS_MAX = 64 };

static const uint64_t minute_ns = 60 * CLOCK_SECOND_NS;

/* Once calls with all keys together took as long as they may, one is still waited for
 * as long as calls take on a file system that answers. */
static const uint64_t least_ns = CLOCK_SECOND_NS / 20;

/* Calls that take less cost nothing: there may be thousands. */
static const uint64_t free_ns = CLOCK_SECOND_NS / 1000;

/* call - the parameters of time_limit_run. */
struct call {
    uint64_t key;
    void (*work)(void *);
    void (*drop)(void *);
    void *argument;
};

struct worker {
    struct worker *next; /* of those that are idle, or stuck */
    pthread_cond_t changed;
    struct call call; /* work is NULL: nothing to do */
    uint64_t took_ns; /* the last call that was waited for */
    bool stuck;
};

/* waits - how long calls with a key were waited for, in the minute that began with the
 * first one. */
struct waits {
    uint64_t key;
    uint64_t until_ns;
    uint64_t ns;
};

/* closing - a descriptor that cannot be closed now. */
struct closing {
    struct closing *next;
    uint64_t key;
    int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *idle;
static struct worker *stuck;
static unsigned stuck_count;
static struct closing *closings;
static struct waits waits[WAITS_MAX];
static unsigned waits_next;
static struct waits all_waits; /* of all keys */

static void
remove_stuck(struct worker *worker)
{
    struct worker **next = &stuck;

    while (*next != worker) {
        next = &(*next)->next;
    }
    *next = worker->next;
    stuck_count--;
}

static bool
is_stuck(uint64_t key)
{
    const struct worker *each = stuck;

    while (each != NULL && each->call.key != key) {
        each = each->next;
    }
    return each != NULL;
}

/* The waits for calls with a key in this minute, or NULL. */
static struct waits *
find_waits(uint64_t key, uint64_t now_ns)
{
    for (unsigned i = 0; i < WAITS_MAX; i++) {
        if (waits[i].key == key && waits[i].until_ns > now_ns) {
            return &waits[i];
        }
    }
    return NULL;
}

static uint64_t
waited_ns(uint64_t key, uint64_t now_ns)
{
    const struct waits *const found = find_waits(key, now_ns);

    return found == NULL ? 0 : found->ns;
}

static bool
is_late(uint64_t key)
{
    return is_stuck(key) ||
           waited_ns(key, clock_now_ns()) >= TIME_LIMIT_S * CLOCK_SECOND_NS;
}

/* Count a wait for a key, and for all, in this minute. */
static void
add_waits(uint64_t key, uint64_t ns)
{
    const uint64_t now_ns = clock_now_ns();
    struct waits *found = find_waits(key, now_ns);

    if (found == NULL) {
        found = &waits[waits_next++ % WAITS_MAX];
        *found = (struct waits){.key = key, .until_ns = now_ns + minute_ns};
    }
    found->ns += ns;
    if (all_waits.until_ns <= now_ns) {
        all_waits = (struct waits){.until_ns = now_ns + minute_ns};
    }
    all_waits.ns += ns;
}

/* Return how long a call with a key may be waited for. */
static uint64_t
limit_ns(uint64_t key)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t all_ns = all_waits.until_ns > now_ns ? all_waits.ns : 0;
    const uint64_t all_max_ns = TIME_LIMIT_ALL_S * CLOCK_SECOND_NS;
    const uint64_t key_ns = waited_ns(key, now_ns);
    const uint64_t key_max_ns = TIME_LIMIT_S * CLOCK_SECOND_NS;
    const uint64_t key_left_ns = key_ns < key_max_ns ? key_max_ns - key_ns : 0;
    const uint64_t all_left_ns = all_ns < all_max_ns ? all_max_ns - all_ns : 0;
    const uint64_t left_ns = key_left_ns < all_left_ns ? key_left_ns : all_left_ns;

    return left_ns > least_ns ? left_ns : least_ns;
}

/* Close the descriptors that no stuck call uses any more. The lock is held, and
 * released during each close. */
static void
close_waiting(void)
{
    struct closing **next = &closings;

    while (*next != NULL) {
        struct closing *const closing = *next;

        if (is_stuck(closing->key)) {
            next = &closing->next;
            continue;
        }
        *next = closing->next;
        pthread_mutex_unlock(&lock);
        close(closing->fd);
        free(closing);
        pthread_mutex_lock(&lock);
        next = &closings;
    }
}

/* The main function of a worker: make calls, one after the other. When a call returns
 * that its caller has given up, its result is dropped, and the worker is idle again. */
static void
worker_main(void *argument)
{
    struct worker *const self = argument;

    pthread_mutex_lock(&lock);
    for (;;) {
        uint64_t begin_ns;

        while (self->call.work == NULL) {
            pthread_cond_wait(&self->changed, &lock);
        }
        pthread_mutex_unlock(&lock);
        begin_ns = clock_now_ns();
        self->call.work(self->call.argument);
        self->took_ns = clock_now_ns() - begin_ns;
        pthread_mutex_lock(&lock);
        if (self->stuck) {
            pthread_mutex_unlock(&lock);
            self->call.drop(self->call.argument);
            pthread_mutex_lock(&lock);
            remove_stuck(self);
            close_waiting();
            self->stuck = false;
            self->next = idle;
            idle = self;
        }
        self->call.work = NULL;
        pthread_cond_broadcast(&self->changed);
    }
}

static struct worker *
start_worker(void)
{
    struct worker *const worker = calloc(1, sizeof(*worker));
    pthread_condattr_t monotonic;

    if (worker == NULL) {
        return NULL;
    }
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (apart_start("ntprof-files", worker_main, worker, /* detached */ true) == NULL) {
        pthread_cond_destroy(&worker->changed);
        free(worker);
        return NULL;
    }
    return worker;
}

static struct worker *
take_worker(void)
{
    struct worker *const worker = idle;

    if (worker == NULL) {
        return start_worker();
    }
    idle = worker->next;
    return worker;
}

/* Wait until a worker has done its call, and is idle again. Returns false if the limit
 * was reached first: the worker is stuck then. The lock is held. */
static bool
wait_for(struct worker *worker)
{
    const uint64_t wait_ns = limit_ns(worker->call.key);
    const struct timespec until = clock_timespec(clock_now_ns() + wait_ns);

    while (worker->call.work != NULL) {
        if (pthread_cond_timedwait(&worker->changed, &lock, &until) == ETIMEDOUT &&
            worker->call.work != NULL) {
            worker->stuck = true;
            worker->next = stuck;
            stuck = worker;
            stuck_count++;
            add_waits(worker->call.key, wait_ns);
            return false;
        }
    }
    if (worker->took_ns >= free_ns) {
        add_waits(worker->call.key, worker->took_ns);
    }
    worker->next = idle;
    idle = worker;
    return true;
}

/* Have a worker do a call, unless its key is refused or too many calls are stuck. The
 * lock is held, and released here. Returns as time_limit_run does. */
static int
run_call(bool key_refused, const struct call *call)
{
    const bool refused = key_refused || stuck_count >= TIME_LIMIT_STUCK_MAX;
    struct worker *const worker = refused ? NULL : take_worker();
    bool done = false;

    if (worker != NULL) {
        worker->call = *call;
        pthread_cond_broadcast(&worker->changed);
        done = wait_for(worker);
    }
    pthread_mutex_unlock(&lock);
    if (refused) {
        call->drop(call->argument);
    } else if (worker == NULL) {
        call->work(call->argument); /* better without a limit than not at all */
        done = true;
    }
    return done ? 0 : -ETIMEDOUT;
}

int
time_limit_run(uint64_t key, void (*work)(void *), void (*drop)(void *), void *argument)
{
    const struct call call = {key, work, drop, argument};

    pthread_mutex_lock(&lock);
    return run_call(is_late(key), &call);
}

bool
time_limit_is_late(uint64_t key)
{
    bool found;

    pthread_mutex_lock(&lock);
    found = is_late(key);
    pthread_mutex_unlock(&lock);
    return found;
}

void
time_limit_set_late(uint64_t key)
{
    pthread_mutex_lock(&lock);
    add_waits(key, TIME_LIMIT_S * CLOCK_SECOND_NS);
    pthread_mutex_unlock(&lock);
}

static void
close_now(void *argument)
{
    struct closing *const closing = argument;

    close(closing->fd);
    closing->fd = -1;
}

/* The drop function of a close that was not waited for, or was refused. If it did not
 * close the descriptor, keep that until the call that is stuck on its file system
 * returns. */
static void
close_later(void *argument)
{
    struct closing *const closing = argument;

    if (closing->fd < 0) {
        free(closing);
        return;
    }
    pthread_mutex_lock(&lock);
    closing->next = closings;
    closings = closing;
    if (stuck_count == 0) { /* the stuck call has returned, so no other will close */
        close_waiting();
    }
    pthread_mutex_unlock(&lock);
}

void
time_limit_close(uint64_t key, int fd)
{
    struct closing *const closing = malloc(sizeof(*closing));
    const struct call call = {key, close_now, close_later, closing};

    if (closing == NULL) {
        close(fd);
        return;
    }
    *closing = (struct closing){.key = key, .fd = fd};
    pthread_mutex_lock(&lock);
    if (run_call(is_stuck(key), &call) == 0) {
        free(closing);
    }
}
