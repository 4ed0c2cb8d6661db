/* SPDX-License-Identifier: MIT */
/*
 * control.h - what changes a recording while it runs: the lines of --control, SIGUSR2,
 * and the times of --delay and --duration.
 *
 * Order of calls: prepare, open, begin, handle, close. All but prepare and begin run on
 * the keeper's thread or while there is none.
 */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recording;

/* Bytes of a line of --control; longer ones are ignored. */
enum { CONTROL_LINE_MAX = 128 };

struct control {
    struct recording *recording;
    int poll_fd;       /* epoll of the next three and of SIGUSR2; or -1 */
    int fifo_fd;       /* or -1 */
    int timer_fd;      /* the end of --delay, then that of --duration; or -1 */
    int adapt_fd;      /* when to adapt the interval to what hits cost; or -1 */
    uint64_t adapt_ns; /* the time that adapt_fd waits */
    bool delayed;      /* --delay has not ended */
    bool limited;      /* --duration has to be timed from the first start on */
    bool counting;
    bool changed;        /* counting stopped at least once */
    uint64_t counted_ns; /* without the current time of counting */
    uint64_t since_ns;   /* CLOCK_MONOTONIC; when counting last started */
    char line[CONTROL_LINE_MAX + 1];
    size_t length;
    bool overlong; /* the line in progress is too long and will be ignored */
};

/* Handle SIGUSR2 from now on, unless it is ignored: it asks for a snapshot. Call it
 * before signals are blocked or forwarded. */
void control_prepare(void);

/* Open the FIFO of the options, the timers and poll_fd. Returns false
 * after an error line. */
bool control_open(struct control *control, struct recording *recording);

/* Begin the measured time: start counting, or with --delay pause it and time the delay.
 * Returns 0 or a negative errno. */
int control_begin(struct control *control);

/* Handle what made poll_fd readable. */
void control_handle(struct control *control);

/* Return for how long hits were counted until a time of CLOCK_MONOTONIC. */
uint64_t control_counted_ns(const struct control *control, uint64_t until_ns);

/* Close what control_open opened, also in part. */
void control_close(struct control *control);

#endif
