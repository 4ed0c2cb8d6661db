/* SPDX-License-Identifier: MIT */
/*
 * time_limit.h - calls that may wait for ever, for a file system (NFS, FUSE) that does
 * not answer. They run beside the caller (base/apart.h) and are waited for.
 *
 * Calls have keys, such as the device of a file. In a minute, calls with one key are
 * waited for two seconds together, also if each is only slow, and then refused; calls
 * with all keys ten, and then each is waited for a twentieth of a second. A call that
 * does not return is left alone, and those with its key are refused until it returns.
 * Such a call cannot be ended, so there are at most TIME_LIMIT_STUCK_MAX of them; while
 * there are as many, no other call is begun.
 */
#ifndef BASE_TIME_LIMIT_H
#define BASE_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { TIME_LIMIT_S = 2, TIME_LIMIT_ALL_S = 10, TIME_LIMIT_STUCK_MAX = 64 };

/*
 * time_limit_run - have work(argument) called beside the caller; without a limit on the
 * caller's own thread if nothing can run beside it. Any thread.
 *
 * Returns 0 when work has returned. Otherwise -ETIMEDOUT: the argument is not the
 * caller's any more, and drop(argument) is called when nothing uses it, which may be
 * before this function returns.
 */
int time_limit_run(uint64_t key, void (*work)(void *), void (*drop)(void *),
                   void *argument);

/* time_limit_is_late - return whether calls with this key are refused. */
bool time_limit_is_late(uint64_t key);

/* time_limit_set_late - have calls with this key refused for a minute. */
void time_limit_set_late(uint64_t key);

/* time_limit_close - close a descriptor in the same way, since closing may wait for the
 * server of a FUSE file system. If a call with this key is stuck, the descriptor is
 * closed when that call returns. */
void time_limit_close(uint64_t key, int fd);

#endif
