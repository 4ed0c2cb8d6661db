/* SPDX-License-Identifier: MIT */
/*
 * account.h - turns what a session counted since its start into what it counted since
 * the last look.
 */
#ifndef DAEMON_ACCOUNT_H
#define DAEMON_ACCOUNT_H

#include "record/collect/collector.h"
#include "record/record_options.h"

/* account - what was passed on so far. All zero: nothing. */
struct account {
    struct profile_source sources[RECORD_SOURCES_MAX];
    double events[RECORD_SOURCES_MAX]; /* of the kernel's own count */
    struct collector_gaps gaps;
};

/*
 * Reduce the statistics of a profile, and gaps, to what is new. They add up as before.
 * Hits that the session took for missed may arrive later: then no look has a negative
 * figure, but later ones have fewer missed hits.
 */
void account_take(struct account *account, struct profile *look,
                  struct collector_gaps *gaps);

/* Add the gaps of a look to those of a window. */
void account_add_gaps(struct collector_gaps *sum, const struct collector_gaps *more);

#endif
