/* SPDX-License-Identifier: MIT */
/* top.h - ntprof top: a live screen of a recording or of a store, until the user
 * quits. */
#ifndef TOP_TOP_H
#define TOP_TOP_H

#include "record/recording.h"
#include "top/store.h"

/*
 * top_show_recording - record, and show the recording.
 *
 *   words  the command line, which the profile keeps
 *   print  prints the closing statistics
 *
 * Returns false after an error line.
 */
bool top_show_recording(const struct record_options *options, char **words,
                        recording_print *print);

/* top_show_store - show a store, which top_store_begin has read. Returns false
 * after an error line. */
bool top_show_store(struct top_store *store);

#endif
