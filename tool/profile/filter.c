/* SPDX-License-Identifier: MIT */
/* filter.c - filters the rows of a profile. */
#include "profile/filter.h"

#include "profile/match.h"

#include <stdlib.h>
#include <string.h>

const char *
filter_kind_name(enum report_filter_kind kind)
{
    static const char *const names[] = {
        [REPORT_FILTER_IMAGE] = "image",
        [REPORT_FILTER_PROCESS] = "process",
        [REPORT_FILTER_SYMBOL] = "symbol",
        [REPORT_FILTER_KINDS] = "",
    };

    return names[kind];
}

/* Return the number of names of a kind in the profile. */
static size_t
name_count(const struct profile *profile, enum report_filter_kind kind)
{
    switch (kind) {
    case REPORT_FILTER_IMAGE:
        return profile->image_count;
    case REPORT_FILTER_PROCESS:
        return profile->process_count;
    case REPORT_FILTER_SYMBOL:
        return profile->function_count;
    case REPORT_FILTER_KINDS:
        break;
    }
    return 0;
}

static bool
matches(const struct profile *profile, const struct report_filter *filter, size_t index,
        struct buffer *scratch)
{
    const struct profile_function *function;

    switch (filter->kind) {
    case REPORT_FILTER_IMAGE:
        return match_image(filter->glob, &profile->images[index], scratch);
    case REPORT_FILTER_PROCESS:
        return match_name(filter->glob, profile->processes[index], scratch);
    case REPORT_FILTER_SYMBOL:
        function = &profile->functions[index];
        return match_name(filter->glob, function->name, scratch) ||
               (function->system_name != function->name &&
                match_name(filter->glob, function->system_name, scratch));
    case REPORT_FILTER_KINDS:
        break;
    }
    return false;
}

/* Mark in passes the names that the filter matches. Returns false if memory runs
 * out. */
static bool
mark(const struct profile *profile, const struct report_filter *filter, bool *passes)
{
    const size_t count = name_count(profile, filter->kind);
    struct buffer scratch = {0};
    bool done;

    for (size_t i = 0; i < count; i++) {
        passes[i] = passes[i] || matches(profile, filter, i, &scratch);
    }
    done = !scratch.failed;
    buffer_finish(&scratch);
    return done;
}

bool
row_filter_init(struct row_filter *filter, const struct profile *profile,
                const struct report_options *options)
{
    memset(filter, 0, sizeof(*filter));
    for (size_t i = 0; i < options->filter_count; i++) {
        const struct report_filter *one = &options->filters[i];
        bool **passes = &filter->kinds[one->kind];

        if (*passes == NULL) {
            *passes = calloc(name_count(profile, one->kind) + 1, sizeof(**passes));
        }
        if (*passes == NULL || !mark(profile, one, *passes)) {
            return false;
        }
    }
    return true;
}

void
row_filter_finish(struct row_filter *filter)
{
    for (size_t i = 0; i < REPORT_FILTER_KINDS; i++) {
        free(filter->kinds[i]);
    }
}

bool
row_filter_passes(const struct row_filter *filter, const struct profile_row *row)
{
    const uint32_t index[] = {
        [REPORT_FILTER_IMAGE] = row->image,
        [REPORT_FILTER_PROCESS] = row->process,
        [REPORT_FILTER_SYMBOL] = row->function,
    };

    for (size_t i = 0; i < REPORT_FILTER_KINDS; i++) {
        if (filter->kinds[i] != NULL && !filter->kinds[i][index[i]]) {
            return false;
        }
    }
    return true;
}

bool
filter_matches_any(const struct profile *profile, const struct report_filter *filter,
                   bool *matched)
{
    const size_t count = name_count(profile, filter->kind);
    bool *passes = calloc(count + 1, sizeof(*passes));
    const bool done = passes != NULL && mark(profile, filter, passes);

    *matched = done && memchr(passes, true, count * sizeof(*passes)) != NULL;
    free(passes);
    return done;
}
