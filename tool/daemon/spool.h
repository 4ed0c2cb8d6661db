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

/* spool_limits - of age, a number of windows: clocks may be set to any time. */
struct spool_limits {
    uint64_t bytes;
    uint64_t windows;
};

/* spool_statistics - since the start, and now. */
struct spool_statistics {
    uint64_t written;  /* windows */
    uint64_t dropped;  /* windows that the limits removed */
    uint64_t failures; /* attempts to write */
    uint64_t files;    /* now, as are the following; without those refused */
    uint64_t refused;
    uint64_t bytes;
    uint64_t waiting; /* windows in memory */
};

/* spool_window - a window that could not be written yet. */
struct spool_window {
    char name[SPOOL_NAME_BYTES];
    void *bytes;
    size_t size;
};

struct spool {
    int folder;  /* -1: not open */
    int lock_fd; /* holds the lock */
    struct spool_limits limits;
    pthread_mutex_t lock; /* guards the following */
    struct spool_statistics statistics;
    struct spool_window waiting[SPOOL_WAITING_MAX];
    char taken[SPOOL_NAME_BYTES]; /* file that the sender reads; or "" */
    char failure[256];            /* why windows are waiting; "" if they are not */
};

/*
 * Open the folder, make it if it does not exist, and remove what an agent that was
 * killed left half written. Returns false with the error set, also if another agent has
 * it; spool_close must be called in any case.
 */
bool spool_open(struct spool *spool, const char *path,
                const struct spool_limits *limits, struct spool_error *error);
void spool_close(struct spool *spool);

/* Let another agent have the folder, though something in this process may still use the
 * spool: it cannot be closed then. */
void spool_unlock(struct spool *spool);

/*
 * Add a window. If it cannot be written it waits in memory; *failure then says why
 * until the next call.
 *
 *   bytes     malloc'd; taken over
 *   start_ns  start of the window, by which files are ordered
 *
 * Returns whether no window is waiting now.
 */
bool spool_put(struct spool *spool, uint64_t start_ns, const char *epoch, void *bytes,
               size_t size);

/* Try again to write the windows that are waiting. Returns whether none is left. */
bool spool_retry(struct spool *spool);

/* Drop the oldest files until the folder is within the limits again. */
void spool_drop_excess(struct spool *spool);

/*
 * Take the oldest window that is not the same as or older than after, "" for the first.
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

/* Return a window that was taken. Returns false with errno set if it can be neither
 * removed nor set aside: it stays. */
bool spool_done(struct spool *spool, const char *name, enum spool_fate fate);

void spool_get_statistics(struct spool *spool, struct spool_statistics *statistics);

#endif
