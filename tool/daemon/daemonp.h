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
    bool spool_failing; /* and that was reported */
    struct sender sender;
    bool sender_left; /* it did not end in time: nothing that it uses may be freed */
    struct http_server *server; /* NULL: none */
    struct account account;
    struct window window;
    struct part part; /* of the window */
    struct collector_gaps gaps;
    struct ration ration;
    /* The interval of source time in the window that ends: that of the next one is set
     * just before its last look. All zero: it stays. */
    struct profile_source outgoing;
    bool interval_pending; /* ration.interval_100ns is not in effect yet */
    bool ration_exceeded;  /* in the window before, and not for hits */
    uint64_t pace_100ns;   /* the interval in effect, as it was asked for */
    uint64_t cpu_ns;       /* of the agent when the window began */
    uint64_t readers_ns;   /* of it, of processes that read symbols */
    uint64_t dropped;      /* windows of the spool, as reported so far */
    uint64_t refused;      /* the same of windows that the store refused for good */
    char epoch[EPOCH_BYTES];
    char boot[BOOT_BYTES];
    struct agent_request requests[AGENT_PROFILES_MAX];
    pthread_mutex_t metrics_lock;
    struct metrics metrics; /* guarded by metrics_lock */
};

/* cycle.c: the window. */

/* Begin the first window. */
void agent_begin_window(struct agent *agent);

/* Take the hits since the last look, for the window and for the requests. Returns false
 * if memory ran out; they are in the next look then. */
bool agent_look(struct agent *agent);

/* End the window: write it to the spool, choose the next interval, and begin the next
 * window. */
void agent_finish_window(struct agent *agent);

/* Set what a profile says of its recording, for a time that starts then. Returns false
 * if memory runs out. */
bool agent_describe(struct agent *agent, struct profile *profile,
                    uint64_t start_real_ns, uint64_t duration_ns, const char *gaps);

/* Read the processor time and memory of the agent and its readers. */
uint64_t agent_read_usage(uint64_t *memory_bytes);

/* serving.c: the server and its requests. */

/* Start the server if the settings want one. Returns false after an error line. */
bool agent_serve(struct agent *agent);

/* Take a new request, if there is one. */
void agent_take_request(struct agent *agent);

/* Answer the requests whose time has come. */
void agent_handle_requests(struct agent *agent);

/* Return when the next request has to be answered; UINT64_MAX: there is none. */
uint64_t agent_next_answer_ns(const struct agent *agent);

/* Refuse all requests and stop the server. */
void agent_stop_serving(struct agent *agent);

#endif
