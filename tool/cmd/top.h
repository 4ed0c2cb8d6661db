/* SPDX-License-Identifier: MIT */
/* top.h - what the files of ntprof top share: a recording and the screen that shows it. For top*.c alone. */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include "annotate/listing.h"
#include "cmd/recording.h"
#include "cmd/targets.h"
#include "tui/screen.h"

/* top_books - what a look found of one source. */
struct top_books {
    uint64_t taken;
    uint64_t outside;
    uint64_t missing; /* lost, throttled or missed */
};

struct top {
    const struct record_options *options;
    struct recording recording;
    struct targets targets;
    struct tui_screen screen;
    char hal[32];
    struct top_books books[RECORD_SOURCES_MAX];
    uint64_t looked_ns; /* CLOCK_MONOTONIC: the last look */
    uint64_t spent_ns;  /* CLOCK_PROCESS_CPUTIME_ID: then */
    /* The listing that is shown, and what it is of: */
    struct annotator *annotator; /* NULL until one is wanted */
    struct profile *profile;
    struct listing *listing;
    size_t listed;          /* the row */
    uint64_t list_again_ns; /* CLOCK_MONOTONIC: not before */
};

uint64_t top_now_ns(void);

/* The time from which the first look counts. */
void top_begin_looks(struct top *top);

/* Takes what came since the last look onto the screen. */
void top_look(struct top *top);

/* What is told above the rows, of the source that is chosen. */
void top_tell_status(struct top *top);

/* Shows the listing of the row at the cursor. */
void top_list(struct top *top);

/* Makes the one that is shown anew, unless that costs too much by now. */
void top_list_again(struct top *top);

void top_list_finish(struct top *top);

/* Writes the file. */
void top_write(struct top *top);

#endif
