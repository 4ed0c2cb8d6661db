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
 * from argv: times such as 10m count back from each look. */
struct top_store {
    const char *url;
    struct {
        const char *name; /* of a row of input_rows */
        const char *value;
    } selected[TOP_STORE_SELECTED_MAX];
    size_t selected_count;
    struct input_options input; /* the same, with the times of the last look */
    /* delay_ns, duration_ns, output, names; and the sources of the first look */
    struct record_options options;
    struct names names;    /* for listings */
    bool written;          /* options.output, by top_store_write */
    struct profile *first; /* what top_store_begin read, until it is taken */
    char *source_names[RECORD_SOURCES_MAX]; /* what options.sources points to */
};

/* Free what the functions below have allocated; the options stay. */
void top_store_finish(struct top_store *store);

/* Prepare for names, and read the store for the first time, which finds out the
 * sources. Returns false after an error line. */
bool top_store_begin(struct top_store *store);

/* Read what the store has now; the first time, return what top_store_begin read.
 * Returns NULL with the error set, also if the sources are others than at first. */
struct profile *top_store_read(struct top_store *store, struct pprof_error *error);

/* Write a profile that was read into options.output: the first time, what has its name
 * becomes FILE.old. */
bool top_store_write(struct top_store *store, const struct profile *profile,
                     struct pprof_error *error);

#endif
