/* SPDX-License-Identifier: MIT */
/*
 * log/log.c - queues of messages, and their receiver. One for the process: the log is
 * also of what happens before there is a session, and between sessions.
 *
 * Invariants:
 *   - lock is held for a few assignments only, and never while the receiver is called;
 *   - calls is the number of threads that are calling the receiver; function and
 *     context are replaced only while calls is 0 and setting is true.
 */
#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer messages are cut. More bytes of messages than QUEUE_BYTES_MAX are not kept,
 * but counted: a call may open thousands of events. */
enum { MESSAGE_BYTES = 1024, QUEUE_BYTES_FIRST = 4096, QUEUE_BYTES_MAX = 4 << 20 };

int log_level = -1;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* calls is 0, or setting is false */
    ntprof_log *function;   /* NULL: none */
    void *context;
    size_t calls;
    bool setting; /* a thread is replacing the receiver: there is none */
} receiver = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Messages: each a level, a char, and a text with its NUL. */
struct queue {
    char *bytes;
    size_t used;
    size_t room;
    uint64_t dropped;
};

static _Thread_local struct {
    struct queue queue;
    unsigned depth;   /* of log_enter */
    int cancel_state; /* before the outermost log_enter */
    bool calling;     /* the receiver */
} thread;

/* ---- queues ---- */

/* Make room for so many bytes more. Returns false if memory runs out, or the queue
 * would have more than QUEUE_BYTES_MAX. */
static bool
queue_reserve(struct queue *queue, size_t bytes)
{
    size_t room = queue->room != 0 ? queue->room : QUEUE_BYTES_FIRST;
    char *larger;

    while (room - queue->used < bytes) {
        room *= 2;
    }
    if (room == queue->room) {
        return true;
    }
    larger = room <= QUEUE_BYTES_MAX ? realloc(queue->bytes, room) : NULL;
    if (larger == NULL) {
        return false;
    }
    queue->bytes = larger;
    queue->room = room;
    return true;
}

/* Append a message; one for which there is no room is counted as dropped. */
static void
queue_put(struct queue *queue, int level, const char *text)
{
    const size_t bytes = strlen(text) + 1;

    if (!queue_reserve(queue, 1 + bytes)) {
        queue->dropped++;
        return;
    }
    queue->bytes[queue->used] = (char)level;
    memcpy(queue->bytes + queue->used + 1, text, bytes);
    queue->used += 1 + bytes;
}

static void
queue_finish(struct queue *queue)
{
    free(queue->bytes);
    *queue = (struct queue){0};
}

/* Replace control characters: names from outside may have any. */
static void
make_line(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

void
log_add(int level, const char *format, ...)
{
    const int error = errno;
    char text[MESSAGE_BYTES];
    va_list arguments;

    if (thread.calling) {
        return; /* the receiver calls the library, which it must not */
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    make_line(text);
    queue_put(&thread.queue, level, text);
    errno = error;
}

/* ---- the receiver ---- */

/* Pass each message of a queue to a receiver, and then how many were dropped, if any.
 * Messages above level were made for the receiver before. The lock is not held. */
static void
receiver_call(ntprof_log *function, void *context, int level, const struct queue *queue)
{
    char text[64];

    for (size_t at = 0; at < queue->used;) {
        const char *const message = queue->bytes + at + 1;

        if (queue->bytes[at] <= level) {
            function(context, queue->bytes[at], message);
        }
        at += 1 + strlen(message) + 1;
    }
    if (queue->dropped != 0 && level >= NTPROF_LOG_WARNING) {
        snprintf(text, sizeof(text), "%llu messages were dropped: too many at once",
                 (unsigned long long)queue->dropped);
        function(context, NTPROF_LOG_WARNING, text);
    }
}

/* Pass the messages of the calling thread to the receiver, and free them. Without a
 * receiver they are lost. */
static void
pass_on(void)
{
    const int error = errno;
    struct queue queue = thread.queue;
    ntprof_log *function;
    void *context;
    int level;

    thread.queue = (struct queue){0};
    pthread_mutex_lock(&receiver.lock);
    function = receiver.function;
    context = receiver.context;
    level = __atomic_load_n(&log_level, __ATOMIC_RELAXED); /* set with the lock */
    receiver.calls += function != NULL;
    pthread_mutex_unlock(&receiver.lock);
    if (function != NULL) {
        thread.calling = true;
        receiver_call(function, context, level, &queue);
        thread.calling = false;
        pthread_mutex_lock(&receiver.lock);
        assert(receiver.calls > 0);
        if (--receiver.calls == 0) {
            pthread_cond_broadcast(&receiver.changed);
        }
        pthread_mutex_unlock(&receiver.lock);
    }
    queue_finish(&queue);
    errno = error;
}

void
log_enter(void)
{
    if (thread.depth++ == 0) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &thread.cancel_state);
    }
}

void
log_leave(void)
{
    if (thread.depth == 1 && (thread.queue.used != 0 || thread.queue.dropped != 0)) {
        pass_on();
    }
    /* 0: a child that was forked within calls leaves those of its parent. */
    if (thread.depth > 0 && --thread.depth == 0) {
        pthread_setcancelstate(thread.cancel_state, NULL);
    }
}

bool
log_set(ntprof_log *function, void *context, int level)
{
    if (thread.calling) {
        return false;
    }
    pthread_mutex_lock(&receiver.lock);
    while (receiver.setting) {
        pthread_cond_wait(&receiver.changed, &receiver.lock);
    }
    receiver.setting = true;
    receiver.function = NULL;
    __atomic_store_n(&log_level, -1, __ATOMIC_RELAXED);
    while (receiver.calls != 0) {
        pthread_cond_wait(&receiver.changed, &receiver.lock);
    }
    receiver.setting = false;
    receiver.function = function;
    receiver.context = context;
    __atomic_store_n(&log_level, function != NULL ? level : -1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&receiver.changed);
    pthread_mutex_unlock(&receiver.lock);
    return true;
}

/* ---- fork ---- */

static void
take_for_fork(void)
{
    pthread_mutex_lock(&receiver.lock);
}

static void
leave_after_fork(void)
{
    pthread_mutex_unlock(&receiver.lock);
}

/* Unlock in the child of a fork. Only the thread that forked is there, so no other
 * calls the receiver or waits. The messages in its queue are passed on in the
 * parent. */
static void
leave_in_child(void)
{
    queue_finish(&thread.queue);
    if (thread.depth > 0) {
        thread.depth = 0;
        pthread_setcancelstate(thread.cancel_state, NULL);
    }
    receiver.calls = thread.calling;
    receiver.setting = false;
    receiver.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&receiver.lock);
}

void
log_prepare(void)
{
    /* Without memory for the handlers a fork at the wrong moment may hang the child. */
    (void)pthread_atfork(take_for_fork, leave_after_fork, leave_in_child);
}
