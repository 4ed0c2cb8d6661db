/* SPDX-License-Identifier: MIT */
/* pprof.c - fuzz target: whatever the bytes are, reading them ends in a profile that can be
 * reported and written again, or in an error with words. */
#include "profile/pprof.h"
#include "report/report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
report_all(const struct profile *profile)
{
    FILE *const out = fopen("/dev/null", "w");
    struct report_options options = {.rows = 5};

    if (out == NULL) {
        abort();
    }
    for (options.key = REPORT_BY_FUNCTION; options.key <= REPORT_BY_SOURCE;
         options.key++) {
        for (options.format = REPORT_TABLE; options.format <= REPORT_CSV;
             options.format++) {
            report_print(out, profile, &options);
        }
    }
    fclose(out);
}

/* What was read is written and read again: nothing may get lost. */
static void
round_trip(struct profile *profile)
{
    struct pprof_error error;
    struct profile *again;
    void *bytes;
    size_t size;

    profile_sort(profile);
    if (!pprof_encode(profile, &bytes, &size)) {
        return;
    }
    again = pprof_decode(bytes, size, &error);
    if (again == NULL || again->row_count != profile->row_count) {
        fprintf(stderr, "round trip: %zu rows, then %zu: %s\n", profile->row_count,
                again == NULL ? 0 : again->row_count, again == NULL ? error.text : "");
        abort();
    }
    profile_delete(again);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_error error = {.text = ""};
    struct profile *const profile = pprof_decode(data, size, &error);

    if (profile == NULL) {
        if (error.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    report_all(profile);
    round_trip(profile);
    profile_delete(profile);
    return 0;
}
