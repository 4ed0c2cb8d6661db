/* SPDX-License-Identifier: MIT */
/* merge_sum.c - says what ntprof merge added up. */
#include "cli/merge_sum.h"
#include "base/arithmetic.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

/* Add up a source's hits of all rows: not all files have statistics. Returns UINT64_MAX
 * if the sum is larger. */
static uint64_t
count_hits(const struct profile *profile, size_t source)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        add_clamped(&hits, profile->rows[i].hits[source]);
    }
    return hits;
}

/* Print the hits of a source, together with those of its other intervals. */
static void
print_source(const struct profile *profile, size_t source)
{
    char shown[256];
    uint64_t hits = 0;
    size_t intervals = 0;

    for (size_t i = 0; i < profile->source_count; i++) {
        /* Equal names are one string of the profile. */
        if (profile->sources[i].name != profile->sources[source].name) {
            continue;
        }
        if (i < source) {
            return; /* it was printed with the first one of its name */
        }
        intervals++;
        add_clamped(&hits, count_hits(profile, i));
    }
    fprintf(stderr, ", %" PRIu64 " hit%s of %s", hits, hits == 1 ? "" : "s",
            text_show(shown, sizeof(shown), profile->sources[source].name));
    if (intervals > 1) {
        fprintf(stderr, " at %zu intervals", intervals);
    }
}

void
merge_print_sum(const struct profile *profile, size_t files, const char *output)
{
    char shown[256];

    fprintf(stderr, "ntprof: merged %zu profile%s, %zu row%s", files,
            files == 1 ? "" : "s", profile->row_count,
            profile->row_count == 1 ? "" : "s");
    for (size_t i = 0; i < profile->source_count; i++) {
        print_source(profile, i);
    }
    fprintf(stderr, ", into %s\n", text_show(shown, sizeof(shown), output));
}
