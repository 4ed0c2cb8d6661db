/* SPDX-License-Identifier: MIT */
/* filter.c - filters the rows of a profile. */
#include "profile/filter.h"

#include "profile/match.h"

#include <stdlib.h>

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

/* Whether a filter's pattern matches entry index of the table of its kind. */
static bool
matches(const struct profile *profile, const struct report_filter *filter, size_t index,
        struct buffer *scratch)
{
    switch (filter->kind) {
    case REPORT_FILTER_IMAGE:
        return match_image(filter->glob, &profile->images[index], scratch);
    case REPORT_FILTER_PROCESS:
        return match_name(filter->glob, profile->processes[index], scratch);
    case REPORT_FILTER_SYMBOL:
        return match_function(filter->glob, &profile->functions[index],
                              /* image */ NULL, scratch);
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
                const struct report_grouping *grouping)
{
    *filter = (struct row_filter){
        .profile = profile,
        .grouping = grouping,
        .by_inline = report_has_key(&grouping->keys, REPORT_BY_INLINE),
    };
    for (size_t i = 0; i < grouping->filter_count; i++) {
        const struct report_filter *one = &grouping->filters[i];
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
    buffer_finish(&filter->scratch);
}

/* Whether a row of code without a name passes. It is shown by its image and address, so
 * it is matched for each row. */
static bool
passes_nameless(struct row_filter *filter, const struct profile_row *row,
                uint32_t function)
{
    const struct profile *const profile = filter->profile;

    for (size_t i = 0; i < filter->grouping->filter_count; i++) {
        const struct report_filter *const one = &filter->grouping->filters[i];

        if (one->kind == REPORT_FILTER_SYMBOL &&
            match_function(one->glob, &profile->functions[function],
                           &profile->images[row->image], &filter->scratch)) {
            return true;
        }
    }
    return false;
}

/* Whether a row passes by the name of its function: of the one in whose machine code
 * its hits are, or if rows are shown by innermost functions, also of that. */
static bool
passes_symbol(struct row_filter *filter, const struct profile_row *row)
{
    const bool *const passes = filter->kinds[REPORT_FILTER_SYMBOL];
    const uint32_t outer = profile_outer_function(filter->profile, row);

    return passes[outer] || (filter->by_inline && passes[row->function]) ||
           (filter->profile->functions[outer].name[0] == '\0' &&
            passes_nameless(filter, row, outer));
}

static bool
passes_process(const struct row_filter *filter, const struct profile_row *row)
{
    const bool *const processes = filter->kinds[REPORT_FILTER_PROCESS];

    return processes == NULL || processes[row->process];
}

bool
row_filter_passes(struct row_filter *filter, const struct profile_row *row)
{
    const bool *const images = filter->kinds[REPORT_FILTER_IMAGE];

    return (images == NULL || images[row->image]) && passes_process(filter, row) &&
           (filter->kinds[REPORT_FILTER_SYMBOL] == NULL || passes_symbol(filter, row));
}

bool
row_filter_passes_on_stack(struct row_filter *filter, const struct stack_walk *walk)
{
    const bool *const symbols = filter->kinds[REPORT_FILTER_SYMBOL];

    if (stack_walk_is_end(walk)) {
        return filter->kinds[REPORT_FILTER_IMAGE] == NULL &&
               passes_process(filter, walk->row) &&
               (symbols == NULL || symbols[walk->place.function]);
    }
    return row_filter_passes(filter, &walk->place);
}

bool
row_filter_passes_nowhere(const struct row_filter *filter,
                          const struct profile_row *row)
{
    return filter->kinds[REPORT_FILTER_IMAGE] == NULL &&
           filter->kinds[REPORT_FILTER_SYMBOL] == NULL && passes_process(filter, row);
}

bool
row_filter_passes_any(struct row_filter *filter, bool on_stacks)
{
    const struct profile *const profile = filter->profile;

    for (size_t i = 0; i < profile->row_count; i++) {
        struct stack_walk walk = stack_walk_start(profile, /* identities */ NULL,
                                                  &profile->rows[i], filter->by_inline);

        while (stack_walk_next(&walk)) {
            if (row_filter_passes_on_stack(filter, &walk)) {
                return true;
            }
            if (!on_stacks) {
                break; /* the first place of a walk is the row itself */
            }
        }
    }
    return false;
}

bool
row_filter_failed(const struct row_filter *filter)
{
    return filter->scratch.failed;
}

bool
filter_matches_any(const struct profile *profile, const struct report_keys *keys,
                   const struct report_filter *one, bool on_stacks, bool *matched)
{
    const struct report_grouping grouping = {
        .keys = *keys, .filters = one, .filter_count = 1};
    struct row_filter filter;
    bool done = row_filter_init(&filter, profile, &grouping);

    *matched = done && row_filter_passes_any(&filter, on_stacks);
    done = done && !row_filter_failed(&filter);
    row_filter_finish(&filter);
    return done;
}
