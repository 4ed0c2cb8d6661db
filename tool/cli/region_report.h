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
    size_t rows; /* 0: whole; else this many buckets with the most hits */
};

/* Print the table. Returns false if memory runs out or writing to out fails. */
bool region_report_print(FILE *out, const struct region_report *report);

/* Print the member "region" of a JSON report, and the comma after it; context is a
 * struct region_report. Returns false as above. */
bool region_report_print_member(FILE *out, const void *context);

#endif
