/* SPDX-License-Identifier: MIT */
/* loop.h - the main thread of ntprof top: waits for keys, signals, jobs and the
 * time. */
#ifndef TOP_LOOP_H
#define TOP_LOOP_H

#include "record/ending.h"
#include "top/topp.h"
#include "view/screen/display.h"

/* top_loop - what the main thread waits for. */
struct top_loop {
    struct ending ending;
    int signal_fd; /* for SIGWINCH and SIGTSTP */
    struct tui_display *display;
    struct top_worker worker;
    bool working; /* The worker has a job of this kind since that time: */
    enum top_job_kind kind;
    uint64_t since_ns;
    bool row_awaited; /* a listing or callers were requested and have not arrived */
    bool row_wanted;  /* Jobs that wait for the worker: */
    struct top_job row;
    bool write_wanted;
    uint64_t next_ns; /* time of the next look; 0: at once */
    uint64_t end_ns;  /* end of --duration */
};

/* Block the signals that end or change the screen, which the loop then waits for.
 * Call it before the recording starts. Returns false after an error line;
 * top_loop_finish must be called in any case. */
bool top_loop_prepare(struct top_loop *loop);
void top_loop_finish(struct top_loop *loop);

/* Show looks until the end. Returns false after an error line. */
bool top_loop_run(struct top *top, struct top_loop *loop);

#endif
