/* SPDX-License-Identifier: MIT */
/*
 * sender.h - adds the windows of the spool to the store, oldest first.
 *
 * A window is deleted when the store has it, and set aside in the spool when the store
 * refuses it for good. Any other failure is reported once, until the
 * store takes windows again; it is tried again after a while, which doubles up to a
 * minute. Adding a window twice changes nothing in a store, so nothing depends on what
 * the last attempt of a killed agent achieved.
 */
#ifndef DAEMON_SENDER_H
#define DAEMON_SENDER_H

#include "daemon/spool.h"
#include "store/store.h"

#include <pthread.h>

struct sender {
    struct spool *spool;
    char *url;
    char *host; /* of windows without that label */
    struct store_stop stop;
    struct store *store; /* NULL: not open. Only sender_main uses it */
    uint64_t opened_ns;  /* when the store was opened */
    struct apart *apart; /* the process that runs sender_main; NULL: there is none */
    pthread_mutex_t lock;
    pthread_cond_t wake;  /* signalled when closing or fresh is set */
    pthread_cond_t gone;  /* signalled when ended is set */
    bool closing;         /* guarded by lock, as are the following */
    bool fresh;           /* there may be new windows */
    bool ended;           /* sender_main has only to return */
    uint64_t deadline_ns; /* 0, or when closing is set: until when windows are still
                           * added */
    uint64_t sent;        /* windows, as are the following, since the start */
    uint64_t failures;
    uint64_t busy; /* of failures: the store was locked */
    uint64_t unreadable;
    uint64_t refused;
};

/* sender_start - start to send, apart from the caller (base/apart.h). The spool must
 * outlive the sender; it has copies of url and host. Returns 0 or a negative errno. */
int sender_start(struct sender *sender, struct spool *spool, const char *url,
                 const char *host);

/* sender_wake - tell the sender that the spool has a new window. */
void sender_wake(struct sender *sender);

/* sender_stop - add what is in the spool once more, for some seconds at most and not
 * after a failure, and end the sender. Returns false if it does not end in time,
 * because its store does not answer: it goes on then, and sender and spool must stay as
 * long as the process. */
bool sender_stop(struct sender *sender);

struct metrics;

/* sender_get_metrics - set the sender's members of metrics. */
void sender_get_metrics(struct sender *sender, struct metrics *metrics);

#endif
