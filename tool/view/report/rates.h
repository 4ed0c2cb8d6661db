/* SPDX-License-Identifier: MIT */
/*
 * rates.h - the rates of a source: asked for, granted and measured, and why they
 * differ. Only files beside it include it.
 */
#ifndef VIEW_REPORT_RATES_H
#define VIEW_REPORT_RATES_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Append an interval as a rate for time, otherwise as a number of events. */
void report_put_interval(struct buffer *line, const struct profile_source *source,
                         double interval);

/* Append the interval that was granted. A source that was joined from several, with
 * different intervals (profile/join.h), has all of them. */
void report_put_granted(struct buffer *line, const struct profile_source *source);

/* Append the rates asked for, granted and measured; for a joined source only those
 * granted. */
void report_put_rates(struct buffer *line, const struct profile_source *source);

/* Append a warning for each rate that differs by more than 5% from the one asked for or
 * granted, with the causes that are known from the statistics. Not for joined sources.
 *
 *   verbose  also report a measured rate that differs for no fault: because of kernel
 *            mode and ends of threads
 */
void report_put_rate_warnings(struct buffer *lines, const struct profile *profile,
                              const struct profile_source *source, bool verbose);

#endif
