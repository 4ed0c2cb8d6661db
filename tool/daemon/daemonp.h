/* SPDX-License-Identifier: MIT */
/* daemonp.h - declarations that only daemon.c, cycle.c and serving.c use. */
#ifndef DAEMON_DAEMONP_H
#define DAEMON_DAEMONP_H

#include "daemon/account.h"
#include "daemon/daemon.h"
#include "daemon/metrics.h"
#include "daemon/part.h"
#include "daemon/ration.h"
#include "daemon/sender.h"
#include "daemon/window.h"
#include "http/http.h"
#include "record/recording.h"

enum { EPOCH_BYTES = 33, BOOT_BYTES = 40 };

/* Limits of what the agent's server answers. */
enum {
    AGENT_PROFILES_MAX = 4, /* at a time */
    AGENT_SECONDS_MAX = 300,
    AGENT_SECONDS_DEFAULT = 30,
};

/* agent_request - a profile that a client of the server waits for. */
struct agent_request {
    struct http_request *request; /* NULL: none */
    struct part part;
    uint64_t start_real_ns;
    uint64_t start_ns; /* CLOCK_MONOTONIC, as is end_ns */
    uint64_t end_ns;
};

struct agent {
    const struct agent_settings *settings;
    int signal_fd;
    int timer_fd; /* expires at the end of the window, or when the clock is set */
    struct recording recording;
    struct spool spool;
    bool spool_opened;
    bool spool_failing; /* windows wait in memory, which was reported */
    struct sender sender;
    bool sender_left; /* the sender did not end in time: nothing that it uses may be
                       * freed */
    struct http_server *server; /* NULL: none */
    struct account account;
    struct window window;
    struct part part;           /* what was counted in the window */
    struct collector_gaps gaps; /* and what was not */
    struct ration ration;
    /* The interval of source time in the window that ends, from when the next interval
     * is set, just before the window's last look, until a look succeeds. All zero at
     * all other times. */
    struct profile_source outgoing;
    bool interval_pending; /* ration.interval_100ns is not in effect yet */
    bool ration_exceeded;  /* the last window cost more than --max-cpu, and most of it
                            * not for hits */
    uint64_t pace_100ns;   /* the interval in effect, as it was asked for */
    uint64_t cpu_ns;       /* of the agent when the window began */
    uint64_t readers_ns;   /* of processes that read symbols, at that time */
    uint64_t dropped;      /* windows dropped from the spool that were reported */
    uint64_t refused; /* windows refused by the store for good that were reported */
    char epoch[EPOCH_BYTES];
    char boot[BOOT_BYTES];
    struct agent_request requests[AGENT_PROFILES_MAX];
    pthread_mutex_t metrics_lock;
    struct metrics metrics; /* guarded by metrics_lock */
};

/* cycle.c: the window. */

/* agent_time_source - return the index of source time; the number of sources if it is
 * none of them. */
size_t agent_time_source(const struct agent *agent);

/* agent_begin_window - begin the first window, and an epoch. */
void agent_begin_window(struct agent *agent);

/* agent_look - take the hits since the last look, for the window and for all requests.
 * Returns false if memory runs out; the hits are in the next look then. */
bool agent_look(struct agent *agent);

/* agent_finish_window - end the window: write it to the spool, choose the interval of
 * the window after the next, and begin the next window. */
void agent_finish_window(struct agent *agent);

/* agent_describe - set what a profile says of its recording: command, back end, limits,
 * gaps, labels and its time. Returns false if memory runs out. */
bool agent_describe(struct agent *agent, struct profile *profile,
                    uint64_t start_real_ns, uint64_t duration_ns, const char *gaps);

/* agent_read_usage - return the processor time of the agent and its readers, and get
 * their memory. */
uint64_t agent_read_usage(uint64_t *memory_bytes);

/* serving.c: the server and its requests. */

/* agent_serve - start the server if the settings want one. Returns false after an error
 * line. */
bool agent_serve(struct agent *agent);

/* agent_take_request - take a queued request for a profile, if there is one, which
 * begins with a look. */
void agent_take_request(struct agent *agent);

/* agent_handle_requests - answer the requests whose time has ended. */
void agent_handle_requests(struct agent *agent);

/* agent_next_answer_ns - return when, on CLOCK_MONOTONIC, the next request must be
 * answered; UINT64_MAX if there is none. */
uint64_t agent_next_answer_ns(const struct agent *agent);

/* agent_stop_serving - refuse all requests and stop the server. */
void agent_stop_serving(struct agent *agent);

#endif
