/* SPDX-License-Identifier: MIT */
/* difference.c - prints a difference in the format that was asked for. */
#include "view/report/difference.h"

bool
diff_print(FILE *out, const struct diff *diff, const struct report_options *options)
{
    bool done = false;

    switch (options->format) {
    case REPORT_TABLE:
        done = diff_print_table(out, diff, options) && diff_print_notes(out, diff);
        break;
    case REPORT_JSON:
        done = diff_print_json(out, diff);
        break;
    case REPORT_CSV:
        done = diff_print_csv(out, diff);
        break;
    }
    return done && fflush(out) == 0 && !ferror(out);
}
