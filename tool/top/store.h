/* SPDX-License-Identifier: MIT */
/*
 * store.h - a store as what ntprof top shows: at each look all that its selection
 * has at that time. There is no recording then.
 */
#ifndef TOP_STORE_H
#define TOP_STORE_H

#include "input/input.h"
#include "record/record_options.h"

enum { TOP_STORE_SELECTED_MAX = 32 };

/* top_store - which store, and the options that select in it. Their values are borrowed
 * from argv, and read again at each look: times such as 10m count back from it. */
struct top_store {
    const char *url;
    struct {
        const char *name; /* of the option, a row of input_rows */
        const char *value;
    } selected[TOP_STORE_SELECTED_MAX];
    size_t selected_count;
    struct input_options input; /* what these options select, with the
                                 * times of the last look */
    /* delay_ns, duration_ns, output, names; and the sources of the first look */
    struct record_options options;
    struct names names;    /* for listings */
    bool written;          /* top_store_write has written options.output */
    struct profile *first; /* what top_store_begin read, until it is taken */
    char *source_names[RECORD_SOURCES_MAX]; /* what options.sources points to */
};

/* top_store_finish - free what the functions below have allocated; the options stay. */
void top_store_finish(struct top_store *store);

/* top_store_begin - prepare for names, and read the store for the first time, which
 * finds out the sources. Returns false after an error line. */
bool top_store_begin(struct top_store *store);

/* top_store_read - read what the store has now; the first call returns what
 * top_store_begin has read. Returns NULL with the error set, also if the sources are
 * others than at first. The caller owns the profile. */
struct profile *top_store_read(struct top_store *store, struct pprof_error *error);

/* top_store_write - write a profile that was read into options.output. The first time,
 * a file of that name becomes FILE.old. Returns false with the error set. */
bool top_store_write(struct top_store *store, const struct profile *profile,
                     struct pprof_error *error);

#endif
