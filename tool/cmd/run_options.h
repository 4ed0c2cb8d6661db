/* SPDX-License-Identifier: MIT */
/*
 * run_options.h - the options of ntprof run, checked as far as no session is needed.
 */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUN_SOURCES_MAX = 16, RUN_GROUPS_MAX = 128 };

struct run_options {
    char *source_text;                    /* copy of -e, cut at its commas */
    const char *sources[RUN_SOURCES_MAX]; /* into source_text */
    size_t source_count;
    uint64_t interval_100ns; /* of source time */
    uint64_t events;         /* for a hit of the other sources; 0: their defaults */
    uint32_t bucket_bytes;
    GROUP_AFFINITY affinity[RUN_GROUPS_MAX];
    uint16_t affinity_count; /* 0: all */
    const char *hal;         /* NULL: the best */
    const char *output;
    size_t rows;
    bool json;
    bool quiet;
    bool help;
    const char *report; /* NULL: standard error */
    char **command;     /* NULL-terminated, at least one */
};

/* False after an error line on standard error. run_options_finish is due in any case. */
bool run_options_parse(struct run_options *options, int argc, char **argv);
void run_options_finish(struct run_options *options);

/* Is this source's interval a time? */
bool run_source_is_time(const char *name);

#endif
