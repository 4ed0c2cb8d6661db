/* SPDX-License-Identifier: MIT */
/* region_report.h - shows the hits of a region bucket by bucket, with instructions. */
#ifndef CLI_REGION_REPORT_H
#define CLI_REGION_REPORT_H

#include "profile/profile.h"
#include "record/region.h"
#include "symbols/client/image.h"

#include <stdio.h>

struct region_report {
    const struct region *region;
    const struct profile *profile; /* has hits of the region only */
    const struct sym_settings *symbols;
    size_t rows; /* 0: the whole region; else only this many buckets with the most
                  * hits */
};

/* region_report_print - print the table. Returns false if memory runs out or writing to
 * out fails. */
bool region_report_print(FILE *out, const struct region_report *report);

/* region_report_print_member - print the member "region" of a JSON report, and the
 * comma after it; context is a struct region_report. Returns false as
 * region_report_print does. */
bool region_report_print_member(FILE *out, const void *context);

#endif
