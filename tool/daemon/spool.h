/* SPDX-License-Identifier: MIT */
/*
 * spool.h - the folder where finished windows wait for the store.
 *
 * A window is a profile file, START-EPOCH.pb.gz, that is written completely, synced and
 * then renamed; so whatever kills the agent or the machine, a file is whole. A window
 * that cannot be written, as on a full disk, is kept in memory and tried again. Both
 * are bounded: the oldest windows are dropped first, and counted. A window that the
 * store refused for good is renamed to refused-START-EPOCH.pb.gz; it is not taken again
 * but counts for the bounds.
 *
 * Threads: any; a file that spool_take has taken is not dropped until spool_done.
 */
#ifndef DAEMON_SPOOL_H
#define DAEMON_SPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPOOL_NAME_BYTES = 80,
    SPOOL_WAITING_MAX = 16, /* windows in memory */
};

#define SPOOL_WAITING_BYTES_MAX (UINT64_C(16) << 20)

struct spool_error {
    char text[512];
};

/* spool_limits - what the folder may hold. Age is limited by a number of windows, as
 * clocks may be set to any time. */
struct spool_limits {
    uint64_t bytes;
    uint64_t windows;
};

/* spool_statistics - what was counted since the start, and what there is now. */
struct spool_statistics {
    uint64_t written;  /* windows */
    uint64_t dropped;  /* windows that were removed by the limits, or for room */
    uint64_t failures; /* attempts to write */
    uint64_t files;    /* windows in the folder now, without the refused ones */
    uint64_t refused;  /* windows in the folder that the store refused */
    uint64_t bytes;    /* of all windows in the folder */
    uint64_t waiting;  /* windows in memory */
};

/* spool_window - a window that could not be written yet. */
struct spool_window {
    char name[SPOOL_NAME_BYTES];
    void *bytes;
    size_t size;
};

struct spool {
    int folder;  /* -1: not open */
    int lock_fd; /* locked, so that no other agent uses the folder */
    struct spool_limits limits;
    pthread_mutex_t lock; /* guards the following */
    struct spool_statistics statistics;
    struct spool_window waiting[SPOOL_WAITING_MAX];
    char taken[SPOOL_NAME_BYTES]; /* name of the file that the sender has; "": none */
    char failure[256];            /* why windows are waiting; "" if they are not */
};

/*
 * spool_open - open the folder, make it if it does not exist, and remove what an agent
 * that was killed left half written. Returns false with the error set, also if another
 * agent has it; spool_close must be called in any case.
 */
bool spool_open(struct spool *spool, const char *path,
                const struct spool_limits *limits, struct spool_error *error);
void spool_close(struct spool *spool);

/* spool_unlock - let another agent use the folder. It is for a spool that something in
 * this process may still use, and that cannot be closed therefore. */
void spool_unlock(struct spool *spool);

/*
 * spool_put - add a window. If it cannot be written it waits in memory, and
 * spool->failure says why until the next call.
 *
 *   bytes     malloc'd; taken over
 *   start_ns  start of the window, by which files are ordered
 *
 * Returns whether no window is waiting now.
 */
bool spool_put(struct spool *spool, uint64_t start_ns, const char *epoch, void *bytes,
               size_t size);

/* spool_retry - try again to write the windows that are waiting. Returns whether none
 * is left. */
bool spool_retry(struct spool *spool);

/* spool_drop_excess - drop the oldest files until the folder is within its limits. */
void spool_drop_excess(struct spool *spool);

/*
 * spool_take - take the oldest window behind the one with the name after; "": the
 * oldest of all. It is not dropped until spool_done.
 *
 *   name   out: for spool_done, and for the next call
 *   bytes  out: malloc'd
 *
 * Returns false if there is none. A file that cannot be read has *bytes NULL and errno
 * set.
 */
bool spool_take(struct spool *spool, const char *after, char name[SPOOL_NAME_BYTES],
                void **bytes, size_t *size);

/* spool_fate - what becomes of a window that was taken. */
enum spool_fate { SPOOL_KEEP, SPOOL_REMOVE, SPOOL_SET_ASIDE };

/* spool_done - give a window back that was taken. Returns false with errno set if it
 * can be neither removed nor set aside: it stays. */
bool spool_done(struct spool *spool, const char *name, enum spool_fate fate);

void spool_get_statistics(struct spool *spool, struct spool_statistics *statistics);

#endif
