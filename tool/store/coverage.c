/* SPDX-License-Identifier: MIT */
/* coverage.c - compares the time of a host's windows with that of the selection. */
#include "store/coverage.h"
#include "store/store.h"

#include "base/text.h"

#include <inttypes.h>

void
coverage_put_time(struct buffer *text, int64_t time_ns)
{
    const double seconds = (double)time_ns / (double)STORE_SECOND_NS;

    if (seconds < 120) {
        buffer_print(text, "%.0fs", seconds);
    } else if (seconds < 7200) {
        buffer_print(text, "%.0fm", seconds / 60);
    } else if (seconds < 2 * 86400) {
        buffer_print(text, "%.1fh", seconds / 3600);
    } else {
        buffer_print(text, "%.1fd", seconds / 86400);
    }
}

/* Return whether the windows of a host leave more of the selected time uncovered than
 * rounding does, which is half the length of an average window; *missing_ns is then
 * what they leave. Times of a store that somebody else wrote may be any, so sums that
 * overflow count as nothing missing. */
static bool
lacks_windows(const struct coverage *coverage, uint64_t windows, int64_t covered_ns,
              int64_t *missing_ns)
{
    return windows <= INT64_MAX && covered_ns >= 0 &&
           !__builtin_sub_overflow(coverage->end_ns, coverage->start_ns, missing_ns) &&
           !__builtin_sub_overflow(*missing_ns, covered_ns, missing_ns) &&
           *missing_ns > covered_ns / (int64_t)windows / 2;
}

void
coverage_add(struct coverage *coverage, const char *host, uint64_t windows,
             int64_t covered_ns)
{
    int64_t missing_ns;

    if (windows == 0) {
        if (coverage->hosts_without++ < COVERAGE_NAMED) {
            buffer_append_text(&coverage->without,
                               coverage->without.size > 0 ? ", " : "");
            text_escape(&coverage->without, host);
        }
        return;
    }
    if (!lacks_windows(coverage, windows, covered_ns, &missing_ns)) {
        return;
    }
    if (coverage->hosts_partly++ < COVERAGE_NAMED) {
        buffer_append_text(&coverage->partly, coverage->partly.size > 0 ? ", " : "");
        text_escape(&coverage->partly, host);
        buffer_append_text(&coverage->partly, " (");
        coverage_put_time(&coverage->partly, missing_ns);
        buffer_append_text(&coverage->partly, ")");
    }
}

/* Append how many hosts there are beyond those that are named. */
static void
put_more(struct buffer *text, uint64_t hosts)
{
    if (hosts > COVERAGE_NAMED) {
        buffer_print(text, " and %" PRIu64 " more", hosts - COVERAGE_NAMED);
    }
}

void
coverage_put(const struct coverage *coverage, struct buffer *text)
{
    const bool both = coverage->hosts_without > 0 && coverage->hosts_partly > 0;

    if (coverage->hosts_without > 0) {
        buffer_append_text(text, "no windows of ");
        buffer_append(text, coverage->without.data, coverage->without.size);
        put_more(text, coverage->hosts_without);
    }
    if (coverage->hosts_partly > 0) {
        buffer_append_text(text, both ? "; of " : "of ");
        coverage_put_time(text, coverage->end_ns - coverage->start_ns);
        buffer_append_text(text, " windows are missing on ");
        buffer_append(text, coverage->partly.data, coverage->partly.size);
        put_more(text, coverage->hosts_partly);
    }
}

void
coverage_finish(struct coverage *coverage)
{
    buffer_finish(&coverage->without);
    buffer_finish(&coverage->partly);
}
