/* SPDX-License-Identifier: MIT */
/*
 * account.h - turns what a session counted since its start into what it counted since
 * the last look.
 */
#ifndef DAEMON_ACCOUNT_H
#define DAEMON_ACCOUNT_H

#include "record/collect/collector.h"
#include "record/record_options.h"

/* account - the figures of all looks so far, added up. All zero: there was none. */
struct account {
    struct profile_source sources[RECORD_SOURCES_MAX];
    double events[RECORD_SOURCES_MAX]; /* measured * taken: what the kernel counted */
    struct collector_gaps gaps;
};

/*
 * account_take - reduce the statistics of a look, and its gaps, from what was counted
 * since the start to what was counted since the last call. A figure that shrinks, as
 * that of missed hits which arrive late after all, counts 0 until it exceeds its
 * largest value; expected and taken are the sums of the others again.
 */
void account_take(struct account *account, struct profile *look,
                  struct collector_gaps *gaps);

/* account_add_gaps - add the gaps of a look to those of a window. */
void account_add_gaps(struct collector_gaps *sum, const struct collector_gaps *more);

#endif
