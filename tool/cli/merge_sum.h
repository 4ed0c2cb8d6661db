/* SPDX-License-Identifier: MIT */
/* merge_sum.h - says what ntprof merge added up. */
#ifndef CLI_MERGE_SUM_H
#define CLI_MERGE_SUM_H

#include "profile/profile.h"

/* merge_print_sum - print a line on standard error: how many files became this profile,
 * with how many hits, written where. */
void merge_print_sum(const struct profile *profile, size_t files, const char *output);

#endif
