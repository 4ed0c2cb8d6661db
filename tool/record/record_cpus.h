/* SPDX-License-Identifier: MIT */
/* record_cpus.h - the processors of -C and --per cpu. Both functions print their own
 * errors. */
#ifndef RECORD_RECORD_CPUS_H
#define RECORD_RECORD_CPUS_H

#include "record/record_options.h"

/* Set options->affinity from a list such as 0,2-3, whose processors must all be online.
 * Returns false after an error line. */
bool record_cpus_parse(struct record_options *options, const char *text);

/* With per_cpu and without -C, set options->affinity to the processors that are online,
 * since --per cpu needs a list. Returns false after an error line. */
bool record_cpus_list(struct record_options *options);

#endif
