/* SPDX-License-Identifier: MIT */
/*
 * record_options.h - the options of the commands that record a profile, checked as far
 * as that needs no session. The table of a command says which of them it has.
 */
#ifndef RECORD_RECORD_OPTIONS_H
#define RECORD_RECORD_OPTIONS_H

#include "base/cpu_list.h"
#include "base/options.h"
#include "profile/grouping.h"
#include "record/program_file.h"
#include "symbols/client/names.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sources in one recording, and groups of 64 processors. */
enum { RECORD_SOURCES_MAX = 16, RECORD_GROUPS_MAX = CPU_LIST_GROUPS };

/* record_syntax - what a command accepts, and what is particular about it. */
struct record_syntax {
    const struct options_syntax *options; /* its rows are of record_rows.h */
    bool pids; /* words are processes, as with -p; without a screen one is needed */
    /* a live screen: it refreshes, and writes a file only on request */
    bool screen;
    /* the recording is one of collector_options.endless, and has no file */
    bool endless;
    uint64_t hz; /* default rate of source time; 0: 997 */
};

/* record_given - texts that are checked together once all options are read; NULL: not
 * given. */
struct record_given {
    const char *frequency;
    const char *interval;
    const char *events;
    const char *sources;
};

struct record_options {
    const struct record_syntax *syntax;
    const char *command; /* of the syntax */
    struct record_given given;
    char **words;      /* copy of argv, which program points into */
    char *source_text; /* copy of the value of -e, split at its commas */
    const char *sources[RECORD_SOURCES_MAX]; /* pointers into source_text */
    size_t source_count;
    uint64_t interval_100ns; /* interval of source time */
    bool rate_max; /* -F max: use the measured rate instead, if it can be measured */
    bool no_guard; /* intervals may starve programs */
    double overhead_percent; /* what hits may cost, by --max-overhead; 0: no bound */
    uint64_t events;         /* interval of the other sources; 0: their defaults */
    uint32_t bucket_bytes;
    GROUP_AFFINITY affinity[RECORD_GROUPS_MAX];
    uint16_t affinity_count; /* 0: all processors */
    bool threads;            /* rows have threads and process ids */
    bool stacks;             /* rows have callers */
    uint32_t stack_bytes;    /* with stacks: bytes of a stack that are copied at most */
    size_t contexts;         /* with stacks: bound of rows with callers, and of calls */
    bool per_cpu;            /* separate profiles for the processors of affinity */
    const char *hal;         /* NULL: the best back end */
    const char *output;
    char *made_output;   /* allocated: output, in a folder made for it; or NULL */
    uint64_t memory_max; /* in bytes */
    uint64_t every_ns;   /* time between rewrites of output; 0: only at the end */
    uint32_t *pids;      /* in the given order, without duplicates */
    /* for each of pids the name by which it was found, a word of argv; or NULL */
    const char **pid_names;
    size_t pid_count;
    bool children;           /* --children: their descendants that run already too */
    uint64_t duration_ns;    /* 0: no limit */
    uint64_t start_delay_ns; /* time before counting starts */
    const char *control;     /* path of a FIFO; or NULL */
    const char *region;      /* value of --region; NULL: all code is profiled */
    uint64_t delay_ns;       /* time between two looks at the counters */
    bool all;                /* -a */
    bool kernel_only;        /* profile only the kernel */
    bool user_only;          /* profile only user mode */
    char *cgroup;            /* directory of the cgroup to profile; NULL: all */
    struct names_options names;
    struct report_keys by;
    size_t rows;
    bool full_names;
    bool json;
    bool quiet;
    bool verbose;       /* the lines below the table have rates and all sums */
    const char *report; /* NULL: standard error */
    /* NULL-terminated, at least one word; NULL if the syntax has no program */
    char **program;
};

/* Read a command line. Returns true if the command has to run. Returns false after its
 * help or an error line. *exit_status becomes the exit status of either, and is
 * CMD_FAILED if the command has to run. record_options_finish must be called in any
 * case. */
bool record_options_take(struct record_options *options,
                         const struct record_syntax *syntax, int argc, char **argv,
                         int *exit_status);

/* Free what the options have allocated. */
void record_options_finish(struct record_options *options);

/* Return the program or processes to profile. */
struct program_choice record_program(const struct record_options *options);

/* Return whether the interval of this source is a time. */
bool record_source_is_time(const char *name);

#endif
