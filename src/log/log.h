/* SPDX-License-Identifier: MIT */
/*
 * log/log.h - messages for the receiver that ntprof_set_log names.
 *
 * Messages are made where something happens, which is mostly under locks of ours; their
 * receiver must be called under none. So LOG puts a message into a queue of the calling
 * thread. A thread counts the calls and locks of ours that it is in (log_enter and
 * log_leave), and passes its messages on when it has left the outermost.
 *
 * Not for code that runs for each hit, nor for signal handlers.
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include <ntprof/session.h>
#include <stdbool.h>

/* Messages above this level are not wanted; atomic. -1: none are. */
extern int log_level;

static inline bool
log_wants(int level)
{
    return level <= __atomic_load_n(&log_level, __ATOMIC_RELAXED);
}

/* LOG - log a message of a NTPROF_LOG_... level. Off it costs one load and evaluates no
 * argument. Keeps errno. */
#define LOG(level, ...)                  \
    do {                                 \
        if (log_wants(level)) {          \
            log_add(level, __VA_ARGS__); \
        }                                \
    } while (0)
#define LOG_DEBUG(...) LOG(NTPROF_LOG_DEBUG, __VA_ARGS__)

/* log_add - put a message into the calling thread's queue; only LOG calls it. Keeps
 * errno. */
void log_add(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_enter - note that the calling thread enters a call of the library, or has taken a
 * lock that messages may be logged under. Until it leaves the outermost it is not
 * cancelled (pthread_cancel): it would never release what it holds. */
void log_enter(void);

/* log_leave - undo a log_enter, after the lock was released. The outermost one passes
 * on what was logged. Keeps errno. */
void log_leave(void);

/*
 * log_set - replace the receiver; NULL: none. When it returns, no thread calls the old
 * one any more, or will.
 *
 *   level  in: NTPROF_LOG_...
 *
 * Returns false, and does nothing, in a thread that is calling a receiver.
 */
bool log_set(ntprof_log *receiver, void *context, int level);

/* log_prepare - have forked children get a log that works. Once, at load. */
void log_prepare(void);

#endif
