/* SPDX-License-Identifier: MIT */
/*
 * record_options.h - the options of the commands that record a profile, checked as far
 * as no session is needed. Which of them a command has is up to its record_syntax.
 */
#ifndef CMD_RECORD_OPTIONS_H
#define CMD_RECORD_OPTIONS_H

#include "cmd/names.h"
#include "report/report.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_SOURCES_MAX = 16, RECORD_GROUPS_MAX = 128 };

/* record_syntax - what one command takes besides the options that all have. */
struct record_syntax {
    const char *command; /* "run": in messages */
    bool program;  /* words after the options: a program to run; else there are none */
    bool pids;     /* -p, of which one is needed; words are processes too */
    bool duration; /* --duration */
    bool machine;  /* --kernel, --user, -G */
    bool screen;   /* a live one: -a, -d, and -p is not needed; nothing of tables */
};

struct record_options {
    const struct record_syntax *syntax;
    char *source_text;                       /* copy of -e, cut at its commas */
    const char *sources[RECORD_SOURCES_MAX]; /* into source_text */
    size_t source_count;
    uint64_t interval_100ns; /* of source time */
    bool rate_max;           /* what the machine bears instead, if it can be measured */
    uint64_t events;         /* for a hit of the other sources; 0: their defaults */
    uint32_t bucket_bytes;
    GROUP_AFFINITY affinity[RECORD_GROUPS_MAX];
    uint16_t affinity_count; /* 0: all */
    bool per_cpu;            /* processors are told apart: those of affinity */
    const char *hal;         /* NULL: the best */
    const char *output;
    uint64_t memory_max; /* bytes */
    uint64_t every_ns;   /* between rewrites of output; 0: at the end alone */
    uint32_t *pids;      /* in the order given, each once */
    size_t pid_count;
    uint64_t duration_ns; /* 0: no end */
    uint64_t delay_ns;    /* between two looks at what was counted */
    bool all;             /* -a */
    bool kernel_only;     /* of what runs, the kernel alone */
    bool user_only;       /* user mode alone */
    char *cgroup;         /* directory of the one that is profiled; NULL: all */
    struct names_options names;
    struct report_keys by;
    size_t rows;
    bool json;
    bool quiet;
    const char *report; /* NULL: standard error */
    char **program;     /* NULL-terminated, at least one; NULL if the syntax has none */
};

/* True: the command is to run. False: *exit_status is what it exits with, after its
 * help or an error line. record_options_finish is due in any case. */
bool record_options_take(struct record_options *options,
                         const struct record_syntax *syntax, int argc, char **argv,
                         int *exit_status);
void record_options_finish(struct record_options *options);

/* Is this source's interval a time? */
bool record_source_is_time(const char *name);

#endif
