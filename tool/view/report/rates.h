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

/* Append the interval that was granted, or all of them (profile/join.h). */
void report_put_granted(struct buffer *line, const struct profile_source *source);

/* Append the three rates; of several intervals only these. */
void report_put_rates(struct buffer *line, const struct profile_source *source);

/* Append lines about rates that differ by more than 5%, with the causes that the
 * statistics know. */
void report_put_rate_warnings(struct buffer *lines, const struct profile *profile,
                              const struct profile_source *source, bool verbose);

#endif
