/* SPDX-License-Identifier: MIT */
/* group_outside.c - groups of hits that are in no row of the profile. */
#include "profile/groupp.h"
#include "profile/join.h"

#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

/* Names of the row for hits outside of all known mappings, of those for hits in user
 * mode and in kernel mode that were not counted, and of the row for hits elsewhere than
 * in a region. */
static const struct profile_image no_image = {
    .path = "[no image]", .build_id = "", .named = true};
static const struct profile_function no_function = {
    .name = "[no image]", .system_name = "", .file = "", .definition = ""};
static const struct profile_image user_mode = {
    .path = "[user mode]", .build_id = "", .named = true};
static const struct profile_function user_function = {
    .name = "[user mode]", .system_name = "", .file = "", .definition = ""};
static const struct profile_image kernel_mode = {
    .path = "[kernel, unknown]", .build_id = "", .named = true};
static const struct profile_function kernel_function = {
    .name = "[kernel, unknown]", .system_name = "", .file = "", .definition = ""};
static const struct profile_image elsewhere = {
    .path = "[outside of the region]", .build_id = "", .named = true};
static const struct profile_function elsewhere_function = {
    .name = "[outside of the region]", .system_name = "", .file = "", .definition = ""};

/* Return the outside hits of a source that are in one mode; those outside of a region
 * are in one row. */
static uint64_t
outside_in(const struct profile *profile, const struct profile_source *source,
           bool kernel)
{
    const uint64_t in_kernel = report_is_region(profile) ? 0 : source->outside_kernel;

    return kernel ? in_kernel : source->outside - in_kernel;
}

/* Whether user mode was left out by each source with outside hits in it. */
static bool
is_user_left_out(const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (outside_in(profile, &profile->sources[i], /* kernel */ false) > 0 &&
            !profile->sources[i].user_left_out) {
            return false;
        }
    }
    return true;
}

/* Add a row for the outside hits in one mode, which are in counters, of one source or,
 * if NULL, of all. */
static bool
add_outside_row(struct report_groups *groups, const uint64_t *counters,
                const struct profile_source *source, bool kernel)
{
    const struct profile *const profile = groups->profile;
    const bool user = is_user_left_out(profile);
    const bool region = report_is_region(profile);
    const struct profile_image *const image = kernel   ? &kernel_mode
                                              : user   ? &user_mode
                                              : region ? &elsewhere
                                                       : &no_image;
    const struct profile_function *const function = kernel   ? &kernel_function
                                                    : user   ? &user_function
                                                    : region ? &elsewhere_function
                                                             : &no_function;
    const struct report_group wanted = {
        .function = function,
        .inner = function,
        .function_id = kernel ? GROUP_OUTSIDE_ID - 1 : GROUP_OUTSIDE_ID,
        .inner_id = kernel ? GROUP_OUTSIDE_ID - 1 : GROUP_OUTSIDE_ID,
        .file = "",
        .image = image,
        .process = report_groups_by(groups, REPORT_BY_PROCESS) ||
                           report_groups_by(groups, REPORT_BY_PID)
                       ? image->path
                       : "",
        .thread = "",
        .unit = "",
        .source = source};
    struct grouper grouper = {.profile = profile,
                              .groups = groups,
                              .width = grouper_width(profile, groups->keys),
                              .capacity = groups->count};
    struct report_group *added = grouper_append(&grouper, &wanted);
    uint64_t *sums;

    if (added == NULL) {
        return false;
    }
    sums = group_sums(groups, added);
    if (source == NULL) {
        add_all_clamped(sums, counters, grouper.width);
    } else {
        grouper_add_own(&grouper, (size_t)(source - profile->sources), counters, sums);
    }
    if (groups->has_totals) { /* nothing is known of their callers */
        memcpy(sums + grouper.width, sums, grouper.width * sizeof(*sums));
    }
    return true;
}

/* Add a row for each mode with outside hits, of one source or, if NULL, of all. */
static bool
add_outside_rows(struct report_groups *groups, const struct profile_source *source)
{
    const struct profile *const profile = groups->profile;
    const size_t width = profile_width(profile);
    uint64_t *const counters = calloc(width + 1, sizeof(*counters));
    bool done = counters != NULL;

    for (size_t kernel = 0; done && kernel < 2; kernel++) {
        bool any = false;

        for (size_t i = 0; i < profile->source_count; i++) {
            any = any || ((source == NULL || source == &profile->sources[i]) &&
                          outside_in(profile, &profile->sources[i], kernel != 0) > 0);
        }
        profile_set_outside(profile,
                            report_is_region(profile) ? PROFILE_OUTSIDE_ALL
                            : kernel != 0             ? PROFILE_OUTSIDE_KERNEL
                                                      : PROFILE_OUTSIDE_USER,
                            counters);
        done = !any || add_outside_row(groups, counters, source, kernel != 0);
    }
    free(counters);
    return done;
}

/* Add outside hits to the row of their source, which is there where rows are grouped
 * only by source; otherwise as rows of their own. */
static bool
add_to_source(struct report_groups *groups, const uint64_t *counters,
              const struct profile_source *source)
{
    struct grouper grouper = {.profile = groups->profile, .groups = groups};

    for (size_t i = 0; i < groups->count; i++) {
        if (groups->groups[i].source == source) {
            grouper_add_own(&grouper, (size_t)(source - groups->profile->sources),
                            counters, group_sums(groups, &groups->groups[i]));
            return true;
        }
    }
    return add_outside_rows(groups, source);
}

static bool
add_outside_by_source(struct report_groups *groups, const uint64_t *counters)
{
    const struct profile *const profile = groups->profile;
    const bool only_source = report_groups_only_by_source(groups);

    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const source = &profile->sources[i];

        if (source->outside > 0 &&
            !(only_source ? add_to_source(groups, counters, source)
                          : add_outside_rows(groups, source))) {
            return false;
        }
    }
    return true;
}

/* Add rows for the outside hits, which are in counters. */
static bool
add_outside(struct report_groups *groups, const uint64_t *counters)
{
    const struct profile *const profile = groups->profile;
    struct grouper grouper = {
        .profile = profile, .groups = groups, .width = groups->width};
    bool outside = false;

    for (size_t i = 0; i < profile->source_count; i++) {
        outside = outside || counters[i] > 0;
    }
    add_all_clamped(groups->totals, counters, profile_width(profile));
    if (!groups->filtered) {
        add_all_clamped(groups->selected, counters, profile_width(profile));
    }
    if (!outside || groups->filtered) {
        return true;
    }
    if (!(report_groups_by(groups, REPORT_BY_SOURCE)
              ? add_outside_by_source(groups, counters)
              : add_outside_rows(groups, /* source */ NULL))) {
        return false;
    }
    if (!report_groups_only_by_source(groups)) {
        grouper_sort(&grouper); /* shares have changed, too */
    }
    return true;
}

bool
report_groups_add_outside(struct report_groups *groups)
{
    const size_t width = profile_width(groups->profile);
    uint64_t *const counters = calloc(width + 1, sizeof(*counters));
    bool done;

    if (counters == NULL) {
        return false;
    }
    profile_set_outside(groups->profile, PROFILE_OUTSIDE_ALL, counters);
    done = add_outside(groups, counters);
    free(counters);
    return done;
}
