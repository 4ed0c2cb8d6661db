/* SPDX-License-Identifier: MIT */
/* recorded.c - prints what a recording found. */
#include "cli/recorded.h"

#include "cli/missing_names.h"
#include "cli/region_report.h"
#include "cli/terminal.h"
#include "view/report/report.h"

#include <errno.h>

bool
recorded_print_statistics(const struct recording *recording,
                          const struct profile *profile)
{
    return report_print_statistics(recording->report, profile, missing_names_advise,
                                   recording->options->verbose) &&
           recording_print_stacks(recording);
}

bool
recorded_print(const struct recording *recording, const struct profile *profile)
{
    const struct region_report region = {
        .region = &recording->region,
        .profile = profile,
        .symbols = &recording->names.settings,
        .rows = recording->options->rows,
    };
    struct report_options options = {
        .format = recording->options->json ? REPORT_JSON : REPORT_TABLE,
        .by.keys = recording->options->by,
        .rows = recording->options->rows,
        .full_names = recording->options->full_names,
        .advise = missing_names_advise,
        .verbose = recording->options->verbose,
        .ends_printed = true, /* by recording_print_stacks */
        .print_members =
            recording->options->region != NULL ? region_report_print_member : NULL,
        .members_context = &region,
    };

    terminal_fit(recording->report_end, &options);
    errno = 0; /* terminal_fit sets it if the output is no terminal */
    if (recording->options->region != NULL && !recording->options->json) {
        return region_report_print(recording->report, &region) &&
               recorded_print_statistics(recording, profile);
    }
    return report_print(recording->report, profile, &options) &&
           (recording->options->json || recording_print_stacks(recording));
}
