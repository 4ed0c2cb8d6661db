/* SPDX-License-Identifier: MIT */
/* group_counts.c - the numbers of groups: hits, units, shares, their errors, and
 * ends. */
#include "profile/group.h"

#include "profile/join.h"

const uint64_t *
report_group_counters(const struct report_groups *groups,
                      const struct report_group *group)
{
    return (const uint64_t *)(const void *)groups->hits.data + group->hits_at;
}

static struct report_count
count_of(const struct profile *profile, size_t source, const uint64_t *counters)
{
    return (struct report_count){
        .hits = profile_hits(&profile->sources[source], source, counters),
        .units = counters[source],
    };
}

struct report_count
report_total(const struct report_groups *groups, size_t source)
{
    return count_of(groups->profile, source, groups->totals);
}

struct report_count
report_selected(const struct report_groups *groups, size_t source)
{
    return count_of(groups->profile, source, groups->selected);
}

/* Return a copy of a source that says where its counters are among those of a group.
 * *source: in, its index; out, the index of its first counter. */
static struct profile_source
source_in_group(const struct report_groups *groups, const struct report_group *group,
                size_t *source)
{
    struct profile_source found = groups->profile->sources[*source];

    if (group->source != NULL) {
        found.first_part = 1;
        *source = 0;
    }
    return found;
}

/* Whether a group has counters of a source. */
static bool
has_source(const struct report_groups *groups, const struct report_group *group,
           size_t source)
{
    return group->source == NULL || group->source == &groups->profile->sources[source];
}

/* Return what is in the counters of a group for a source. */
static struct report_count
group_count_of(const struct report_groups *groups, const struct report_group *group,
               size_t source, const uint64_t *counters)
{
    struct report_count count = {0};

    if (has_source(groups, group, source)) {
        const struct profile_source found = source_in_group(groups, group, &source);

        count.hits = profile_hits(&found, source, counters);
        count.units = counters[source];
    }
    return count;
}

struct report_count
report_group_count(const struct report_groups *groups, const struct report_group *group,
                   size_t source)
{
    return group_count_of(groups, group, source, report_group_counters(groups, group));
}

struct report_count
report_group_total(const struct report_groups *groups, const struct report_group *group,
                   size_t source)
{
    return group_count_of(groups, group, source,
                          report_group_counters(groups, group) + groups->width);
}

uint64_t
report_group_hits(const struct report_groups *groups, const struct report_group *group,
                  size_t source)
{
    return report_group_count(groups, group, source).hits;
}

double
report_group_variance(const struct report_groups *groups,
                      const struct report_group *group, size_t source)
{
    double variance = 0;

    if (has_source(groups, group, source)) {
        const struct profile_source found = source_in_group(groups, group, &source);

        variance =
            profile_variance(&found, source, report_group_counters(groups, group));
    }
    return variance;
}

size_t
report_group_main_source(const struct report_groups *groups,
                         const struct report_group *group)
{
    return group->source != NULL ? (size_t)(group->source - groups->profile->sources)
                                 : 0;
}

static double
share_of(uint64_t hits, uint64_t total)
{
    return total > 0 ? (double)hits / (double)total : 0;
}

double
report_group_share(const struct report_groups *groups, const struct report_group *group,
                   size_t source)
{
    if (source >= groups->profile->source_count) {
        return 0;
    }
    return share_of(report_group_count(groups, group, source).units,
                    groups->totals[source]);
}

double
report_group_total_share(const struct report_groups *groups,
                         const struct report_group *group, size_t source)
{
    return source < groups->profile->source_count
               ? share_of(report_group_total(groups, group, source).units,
                          groups->totals[source])
               : 0;
}

/* Return the error of a share, computed as if each hit represented as many units as a
 * hit of the row does on average (variance / units). So it is right for a row whose
 * hits have different intervals. */
static double
share_error(const struct report_groups *groups, const struct report_group *group,
            size_t source)
{
    const struct profile_source *const of = &groups->profile->sources[source];
    const double total = (double)groups->totals[source];
    const double units = (double)report_group_count(groups, group, source).units;
    double of_hit = 1;

    if (units > 0) {
        of_hit = report_group_variance(groups, group, source) / units;
    } else if (total > 0) {
        of_hit = profile_variance(of, source, groups->totals) / total;
    }
    return report_error(units / of_hit, total / of_hit);
}

double
report_group_error(const struct report_groups *groups, const struct report_group *group,
                   size_t source)
{
    if (source >= groups->profile->source_count ||
        report_is_exact(&groups->profile->sources[source]) ||
        (report_groups_only_by_source(groups) && !groups->filtered)) {
        return 0; /* exact counts, or the share is 1 by definition */
    }
    return share_error(groups, group, source);
}

double
report_selected_share(const struct report_groups *groups, size_t source)
{
    return share_of(groups->selected[source], groups->totals[source]);
}

uint64_t
report_group_bucket_end(const struct report_groups *groups,
                        const struct report_group *group)
{
    const uint64_t bytes = groups->profile->bucket_bytes;

    return bytes > 0 && group->address <= UINT64_MAX - bytes ? group->address + bytes
                                                             : 0;
}
