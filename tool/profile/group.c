/* SPDX-License-Identifier: MIT */
/*
 * group.c - groups the rows of a profile by keys. Strings of a profile are interned, so
 * names are compared by pointer.
 *
 * Invariant: a group has the counters of a row or, grouped by source, only those of its
 * own source. So memory is proportional to the hits of the profile, not to their
 * square.
 */
#include "profile/groupp.h"

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/text.h"
#include "profile/estimate.h"
#include "profile/filter.h"
#include "profile/join.h"
#include "profile/stack_walk.h"

#include <stdlib.h>
#include <string.h>

/* Keys that name an image, and those of them that name a place in it. */
#define IMAGE_KEYS (PLACE_KEYS | BIT(REPORT_BY_IMAGE))
#define PLACE_KEYS                                                           \
    (BIT(REPORT_BY_FUNCTION) | BIT(REPORT_BY_INLINE) | BIT(REPORT_BY_LINE) | \
     BIT(REPORT_BY_ADDRESS) | BIT(REPORT_BY_BUCKET))
#define ADDRESS_KEYS (BIT(REPORT_BY_ADDRESS) | BIT(REPORT_BY_BUCKET))

/* --- keys of a row --- */

/* Whether rows are grouped by at least one of these keys. */
static bool
has_any_key(const struct grouper *grouper, unsigned keys)
{
    return (grouper->keys & keys) != 0;
}

static uint64_t
pointer_bits(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Set the line of a row's code or, where functions are grouped, of their definition: of
 * innermost functions only if rows are of nothing else. */
static void
set_line(const struct grouper *grouper, const struct profile_row *row,
         struct report_group *group)
{
    const struct profile_function *shown = group->function;

    if (has_any_key(grouper, ADDRESS_KEYS | BIT(REPORT_BY_LINE))) {
        group->file = group->inner->file;
        group->line = row->line;
        return;
    }
    if (grouper->keys == BIT(REPORT_BY_INLINE)) {
        shown = group->inner;
    }
    group->file = identity_file(shown);
    group->line = shown->start_line;
}

/* Return the address by which a row is grouped. */
static uint64_t
row_address(const struct grouper *grouper, const struct profile_row *row)
{
    return grouper->joins_buckets
               ? profile_bucket_start(grouper->profile,
                                      &grouper->profile->images[row->image],
                                      row->address)
               : row->address;
}

/* Return the group of a row whose functions have these numbers, without hits and
 * source. function: index of the one that has the code. */
static struct report_group
group_of_place(const struct grouper *grouper, const struct profile_row *row,
               uint32_t function, uint32_t outer, uint32_t inner)
{
    const struct profile *profile = grouper->profile;
    struct report_group group = {0};

    if (has_any_key(grouper, IMAGE_KEYS)) {
        group.image = &profile->images[row->image];
    }
    if (has_any_key(grouper, PLACE_KEYS)) {
        group.function = &profile->functions[function];
        group.inner = &profile->functions[row->function];
        group.function_id = outer;
        group.inner_id = inner;
        group.address = row_address(grouper, row);
        group.has_address = true;
        set_line(grouper, row, &group);
    }
    if (has_any_key(grouper, BIT(REPORT_BY_PROCESS) | BIT(REPORT_BY_PID))) {
        group.process = profile->processes[row->process];
    }
    if (has_any_key(grouper, BIT(REPORT_BY_PID))) {
        group.pid = row->pid;
    }
    if (has_any_key(grouper, BIT(REPORT_BY_THREAD))) {
        group.thread = profile->threads[row->thread];
    }
    if (has_any_key(grouper, BIT(REPORT_BY_UNIT))) {
        group.unit = profile->units[row->unit];
    }
    if (has_any_key(grouper, BIT(REPORT_BY_CPU))) {
        group.cpu_plus_1 = row->cpu_plus_1;
    }
    return group;
}

static struct report_group
group_of_row(const struct grouper *grouper, const struct profile_row *row)
{
    const struct identities *identities = &grouper->groups->identities;
    const size_t number = (size_t)(row - grouper->profile->rows);

    return group_of_place(grouper, row, profile_outer_function(grouper->profile, row),
                          identities->outer[number], identities->inner[number]);
}

/* Return the group of the function at hand of a walk, without hits and source. Where
 * the walk begins, that is the group of its row. An end is in no image. */
static struct report_group
group_of_walk(const struct grouper *grouper, const struct stack_walk *walk)
{
    const struct identities *const identities = &grouper->groups->identities;
    const struct profile_row *const place = &walk->place;
    uint32_t outer;
    struct report_group group;

    if (walk->call == 0 && place->caller == walk->row->caller) {
        return group_of_row(grouper, walk->row);
    }
    outer = walk->call != 0 ? identities->calls[walk->call]
                            : identities->outer[walk->row - grouper->profile->rows];
    group = group_of_place(
        grouper, place,
        walk->inlined ? walk->outer : profile_outer_function(grouper->profile, place),
        outer,
        stack_walk_is_end(walk) ? outer
                                : identity_number(identities, place->image,
                                                  place->function, place->caller != 0));
    if (stack_walk_is_end(walk)) {
        (void)identity_function(identities, outer, &group.image);
        group.has_address = false;
    }
    return group;
}

/* --- which rows are one --- */

static bool
same_image(const struct profile_image *a, const struct profile_image *b)
{
    return a == b ||
           (a != NULL && b != NULL && a->path == b->path && a->build_id == b->build_id);
}

static bool
same_path(const struct profile_image *a, const struct profile_image *b)
{
    return a == b || (a != NULL && b != NULL && a->path == b->path);
}

/* Whether groups of different builds of an image are kept apart: where rows are of
 * images or addresses. The number of a function (identity.h) is that of its image
 * already. */
static bool
is_by_build(const struct grouper *grouper)
{
    return has_any_key(grouper, ADDRESS_KEYS | BIT(REPORT_BY_IMAGE));
}

/* Whether a group is a whole bucket (grouper.joins_buckets), which may contain several
 * functions, so that its function is not compared. Address 0 means unknown. */
static bool
is_of_bucket(const struct grouper *grouper, const struct report_group *group)
{
    return grouper->joins_buckets && group->address != 0;
}

static uint32_t
hash_group(const struct grouper *grouper, const struct report_group *group)
{
    uint32_t hash = hash_mix(group->cpu_plus_1, pointer_bits(group->process));

    if (group->pid != 0) {
        hash = hash_mix(hash, group->pid);
    }
    if (group->thread != NULL) {
        hash = hash_mix(hash, pointer_bits(group->thread));
    }
    if (group->unit != NULL) {
        hash = hash_mix(hash, pointer_bits(group->unit));
    }
    if (group->source != NULL) {
        hash = hash_mix(hash, pointer_bits(group->source));
    }
    if (group->image != NULL && is_by_build(grouper)) {
        hash = hash_mix(hash, pointer_bits(group->image->path));
        if (!grouper->join_builds) {
            hash = hash_mix(hash, pointer_bits(group->image->build_id));
        }
    }
    if (is_of_bucket(grouper, group)) {
        return hash_mix(hash, group->address);
    }
    if (has_any_key(grouper, PLACE_KEYS)) {
        hash = hash_mix(hash, group->function_id);
    }
    if (has_any_key(grouper, BIT(REPORT_BY_INLINE))) {
        hash = hash_mix(hash, group->inner_id);
    }
    if (has_any_key(grouper, BIT(REPORT_BY_LINE))) {
        hash = hash_mix(hash_mix(hash, pointer_bits(group->file)), group->line);
    }
    return has_any_key(grouper, ADDRESS_KEYS) ? hash_mix(hash, group->address) : hash;
}

/* Whether two groups have the same code, as far as the keys of the grouping distinguish
 * code. */
static bool
same_code(const struct grouper *grouper, const struct report_group *a,
          const struct report_group *b)
{
    if (is_of_bucket(grouper, a)) {
        return a->address == b->address;
    }
    return a->function_id == b->function_id &&
           (!has_any_key(grouper, BIT(REPORT_BY_INLINE)) ||
            a->inner_id == b->inner_id) &&
           (!has_any_key(grouper, BIT(REPORT_BY_LINE)) ||
            (a->line == b->line && a->file == b->file)) &&
           (!has_any_key(grouper, ADDRESS_KEYS) || a->address == b->address);
}

static bool
same_group(const struct grouper *grouper, const struct report_group *a,
           const struct report_group *b)
{
    return a->process == b->process && a->thread == b->thread && a->unit == b->unit &&
           a->cpu_plus_1 == b->cpu_plus_1 && a->pid == b->pid &&
           a->source == b->source &&
           (!is_by_build(grouper) ||
            (grouper->join_builds ? same_path(a->image, b->image)
                                  : same_image(a->image, b->image))) &&
           same_code(grouper, a, b);
}

/* --- hits of groups --- */

struct report_group *
grouper_append(struct grouper *grouper, const struct report_group *wanted)
{
    struct report_groups *const groups = grouper->groups;
    const size_t hits_size =
        grouper->width * sizeof(uint64_t) * (groups->has_totals ? 2 : 1);
    struct report_group *group;
    uint8_t *hits;

    group =
        array_grow(groups->groups, groups->count, &grouper->capacity, sizeof(*group));
    if (group == NULL) {
        return NULL;
    }
    groups->groups = group;
    hits = buffer_reserve(&groups->hits, hits_size);
    if (hits == NULL) {
        return NULL;
    }
    memset(hits, 0, hits_size);
    group = &groups->groups[groups->count++];
    *group = *wanted;
    group->hits_at = groups->hits.size / sizeof(uint64_t);
    groups->hits.size += hits_size;
    return group;
}

/* Return the group with the same keys as wanted, which is appended if there is none.
 * Returns NULL if memory runs out. */
static struct report_group *
find_or_append(struct grouper *grouper, const struct report_group *wanted)
{
    const uint32_t hash = hash_group(grouper, wanted);
    struct report_groups *groups = grouper->groups;
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&grouper->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (same_group(grouper, &groups->groups[at], wanted)) {
            return &groups->groups[at];
        }
    }
    if (!hash_index_add(&grouper->index, hash, (uint32_t)groups->count)) {
        return NULL;
    }
    return grouper_append(grouper, wanted);
}

uint64_t *
group_sums(const struct report_groups *groups, const struct report_group *group)
{
    return (uint64_t *)(void *)groups->hits.data + group->hits_at;
}

/* Let a group be that of another one's rows too: its address is the lowest of all, and
 * what they do not share is dropped. */
static void
widen(struct report_group *group, const struct report_group *by)
{
    if (by->address < group->address) {
        group->address = by->address;
    }
    if (!same_image(group->image, by->image)) {
        group->several_builds = true;
    }
    if (group->inner_id != by->inner_id) {
        group->inner = NULL;
    }
}

/* Find or add the group equal to wanted, which is that of a row's hits or, with total,
 * of a function on its stack. What a group with hits says of these is not changed by
 * its total. Returns NULL if memory runs out. */
static struct report_group *
widened_group(struct grouper *grouper, const struct report_group *wanted, bool total)
{
    const size_t count = grouper->groups->count;
    struct report_group *group = find_or_append(grouper, wanted);

    if (group == NULL) {
        return NULL;
    }
    if (grouper->groups->count > count) {
        group->total_only = total;
    }
    if (group->total_only == total) {
        widen(group, wanted);
    }
    return group;
}

void
grouper_add_own(const struct grouper *grouper, size_t source, const uint64_t *counters,
                uint64_t *sums)
{
    const struct profile_source *const own = &grouper->profile->sources[source];

    add_clamped(&sums[0], counters[source]);
    add_all_clamped(&sums[1], &counters[own->first_part], own->part_count);
}

/* Add the counters of a row to the hits of a group, or to its totals unless it has them
 * from this row already. */
static void
add_counters(struct grouper *grouper, struct report_group *group,
             const struct profile_row *row, bool total)
{
    const size_t number = (size_t)(row - grouper->profile->rows);
    uint64_t *sums = group_sums(grouper->groups, group);

    if (total && group->total_of == number + 1) {
        return;
    }
    if (total) {
        group->total_of = number + 1;
        sums += grouper->width;
    }
    if (group->source != NULL) {
        grouper_add_own(grouper, (size_t)(group->source - grouper->profile->sources),
                        row->hits, sums);
    } else {
        add_all_clamped(sums, row->hits, grouper->width);
    }
}

/* Add a row to the group equal to wanted or, grouped by source, to those of its
 * sources: each with hits of the row has its own group. With total it is added to their
 * totals. Returns false if memory runs out. */
static bool
add_row(struct grouper *grouper, struct report_group wanted,
        const struct profile_row *row, bool total)
{
    const struct profile *const profile = grouper->profile;
    const bool by_source = has_any_key(grouper, BIT(REPORT_BY_SOURCE));

    for (size_t i = 0; i < (by_source ? profile->source_count : 1); i++) {
        struct report_group *group;

        if (by_source && row->hits[i] == 0) {
            continue;
        }
        wanted.source = by_source ? &profile->sources[i] : NULL;
        group = widened_group(grouper, &wanted, total);
        if (group == NULL) {
            return false;
        }
        add_counters(grouper, group, row, total);
    }
    return true;
}

/* Add a row to the totals of the groups of its stack that pass. */
static bool
add_stack(struct grouper *grouper, struct row_filter *filter,
          const struct profile_row *row)
{
    struct stack_walk walk =
        stack_walk_start(grouper->profile, &grouper->groups->identities, row,
                         has_any_key(grouper, BIT(REPORT_BY_INLINE)));

    while (stack_walk_next(&walk)) {
        if (row_filter_passes_on_stack(filter, &walk) &&
            !add_row(grouper, group_of_walk(grouper, &walk), row, /* total */ true)) {
            return false;
        }
    }
    return true;
}

/* --- order --- */

/* Make a group of each source, also of those without hits: rows are grouped only by
 * source. */
static bool
group_sources(struct grouper *grouper)
{
    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        const struct report_group wanted = {.source = &grouper->profile->sources[i]};
        struct report_group *group = grouper_append(grouper, &wanted);

        if (group == NULL) {
            return false;
        }
        grouper_add_own(grouper, i, grouper->groups->selected,
                        group_sums(grouper->groups, group));
    }
    return true;
}

static int
compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* Compare groups of different sources by their shares, since their hits cannot be
 * compared. */
static int
compare_shares(const struct grouper *grouper, const struct report_group *a,
               const struct report_group *b)
{
    const struct report_groups *groups = grouper->groups;
    const double a_share =
        report_group_share(groups, a, report_group_main_source(groups, a));
    const double b_share =
        report_group_share(groups, b, report_group_main_source(groups, b));

    return (a_share < b_share) - (a_share > b_share);
}

/* Return by how many counters groups are compared: those of a source's parts decide
 * nothing. */
static size_t
compared_counters(const struct grouper *grouper, const struct report_group *group)
{
    return group->source != NULL ? 1 : grouper->profile->source_count;
}

static int
compare_hits(const struct grouper *grouper, const struct report_group *a,
             const struct report_group *b)
{
    const uint64_t *a_hits = group_sums(grouper->groups, a);
    const uint64_t *b_hits = group_sums(grouper->groups, b);
    int order = 0;

    if (a->source != b->source) {
        return compare_shares(grouper, a, b);
    }
    for (size_t i = 0; order == 0 && i < compared_counters(grouper, a); i++) {
        order = compare_numbers(b_hits[i], a_hits[i]);
    }
    /* Totals lie behind the hits. */
    a_hits += grouper->width;
    b_hits += grouper->width;
    for (size_t i = 0;
         order == 0 && grouper->groups->has_totals && i < compared_counters(grouper, a);
         i++) {
        order = compare_numbers(b_hits[i], a_hits[i]);
    }
    return order;
}

/* Order groups with equal hits, so that the order is reproducible. */
static int
compare_names(const struct report_group *a, const struct report_group *b)
{
    int order = compare_texts(a->process, b->process);

    if (order == 0) {
        order = compare_numbers(a->pid, b->pid);
    }
    if (order == 0) {
        order = compare_texts(a->thread, b->thread);
    }
    if (order == 0) {
        order = compare_texts(a->unit, b->unit);
    }
    if (order == 0) {
        order = compare_numbers(a->cpu_plus_1, b->cpu_plus_1);
    }
    if (order == 0 && a->image != NULL && b->image != NULL) {
        order = compare_texts(a->image->path, b->image->path);
    }
    if (order == 0 && a->function != NULL && b->function != NULL) {
        order = compare_texts(a->function->name, b->function->name);
    }
    return order;
}

static int
compare_groups(const void *left, const void *right, void *context)
{
    const struct report_group *a = left;
    const struct report_group *b = right;
    int order = compare_hits(context, a, b);

    if (order == 0) {
        order = compare_names(a, b);
    }
    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->line, b->line);
    }
    /* Both point into one array, or both are NULL. */
    return order != 0
               ? order
               : compare_numbers(pointer_bits(a->source), pointer_bits(b->source));
}

/* --- callers and callees --- */

/* Return the group of hits that have no caller or callee: of the function itself, or of
 * stacks that end with it. */
static struct report_group
group_of_nowhere(const struct grouper *grouper, const struct profile_row *row,
                 enum relation_found found)
{
    static const struct profile_function functions[] = {
        {.name = "[itself]", .system_name = "", .file = "", .definition = ""},
        {.name = "[no caller]", .system_name = "", .file = "", .definition = ""},
        {.name = "[no stack]", .system_name = "", .file = "", .definition = ""},
    };
    const uint32_t which = found == RELATION_ITSELF ? 0 : row->stack != 0 ? 1 : 2;
    struct report_group group = group_of_place(
        grouper, row, 0, GROUP_NOWHERE_ID + which, GROUP_NOWHERE_ID + which);

    if (group.image != NULL) {
        group.image = &identity_stack_image;
    }
    if (group.function != NULL) {
        group.function = group.inner = &functions[which];
        group.file = "";
        group.line = 0;
        group.address = 0;
        group.has_address = false;
    }
    return group;
}

/* Set *group to that of the caller or callee that the hits of a row count for. Returns
 * false if there is none that passes. */
static bool
find_related(const struct grouper *grouper, struct row_filter *filter,
             const struct profile_row *row, struct report_group *group)
{
    struct stack_walk walk;
    const enum relation_found found = relation_find(
        &grouper->relation, grouper->profile, &grouper->groups->identities, row, &walk);

    if (found == RELATION_FUNCTION) {
        *group = group_of_walk(grouper, &walk);
        return row_filter_passes_on_stack(filter, &walk);
    }
    if (found == RELATION_NONE) {
        return false;
    }
    *group = group_of_nowhere(grouper, row, found);
    return row_filter_passes_nowhere(filter, row);
}

/* --- grouping --- */

/* Add a row to the totals and, if it passes the filters, to its group. Returns false if
 * memory runs out. */
static bool
add_filtered_row(struct grouper *grouper, struct row_filter *filter,
                 const struct profile_row *row)
{
    struct report_groups *groups = grouper->groups;
    struct report_group group;
    bool passes;

    if (groups->relation != NULL) {
        passes = find_related(grouper, filter, row, &group);
    } else {
        group = group_of_row(grouper, row);
        passes = row_filter_passes(filter, row);
    }
    add_all_clamped(groups->totals, row->hits, grouper->row_width);
    if (passes) {
        add_all_clamped(groups->selected, row->hits, grouper->row_width);
    }
    /* Whole sources are the sums above: group_sources. */
    return !passes || report_groups_only_by_source(groups) ||
           add_row(grouper, group, row, /* total */ false);
}

void
grouper_sort(struct grouper *grouper)
{
    if (grouper->groups->count > 1) {
        qsort_r(grouper->groups->groups, grouper->groups->count,
                sizeof(struct report_group), compare_groups, grouper);
    }
}

/* Group all rows that pass, then their callers, and sort the groups; whole sources keep
 * their order. */
static bool
group_rows(struct grouper *grouper, struct row_filter *filter)
{
    for (size_t i = 0; i < grouper->profile->row_count; i++) {
        if (!add_filtered_row(grouper, filter, &grouper->profile->rows[i])) {
            return false;
        }
    }
    if (report_groups_only_by_source(grouper->groups)) {
        return group_sources(grouper);
    }
    for (size_t i = 0; grouper->groups->has_totals && i < grouper->profile->row_count;
         i++) {
        if (!add_stack(grouper, filter, &grouper->profile->rows[i])) {
            return false;
        }
    }
    grouper_sort(grouper);
    return true;
}

static unsigned
key_bits(const struct report_keys *keys)
{
    const struct report_keys *const used = report_keys_used(keys);
    unsigned bits = 0;

    for (size_t i = 0; i < used->count; i++) {
        bits |= BIT(used->list[i]);
    }
    return bits;
}

size_t
grouper_width(const struct profile *profile, unsigned keys)
{
    size_t parts = 0;

    if ((keys & BIT(REPORT_BY_SOURCE)) == 0) {
        return profile_width(profile);
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile->sources[i].part_count > parts) {
            parts = profile->sources[i].part_count;
        }
    }
    return 1 + parts;
}

bool
report_group_rows(const struct profile *profile, const struct report_grouping *grouping,
                  struct report_groups *groups)
{
    const unsigned keys = key_bits(&grouping->keys);
    struct grouper grouper = {
        .profile = profile,
        .keys = keys,
        .join_builds = grouping->join_builds,
        .groups = groups,
        .width = grouper_width(profile, keys),
        .row_width = profile_width(profile),
        .joins_buckets = (keys & ADDRESS_KEYS) != 0 && profile->bucket_least != 0,
    };
    struct row_filter filter = {.kinds = {NULL}};
    bool done;

    memset(groups, 0, sizeof(*groups));
    groups->profile = profile;
    groups->keys = keys;
    groups->relation = grouping->relation.glob != NULL ? &grouping->relation : NULL;
    groups->filtered = grouping->filter_count > 0 || groups->relation != NULL;
    groups->has_totals = report_shows_totals(profile, grouping);
    groups->width = grouper.width;
    groups->totals = calloc(grouper.row_width + 1, sizeof(*groups->totals));
    groups->selected = calloc(grouper.row_width + 1, sizeof(*groups->selected));
    done = groups->totals != NULL && groups->selected != NULL &&
           identities_find(profile, &groups->identities) &&
           (groups->relation == NULL ||
            relation_init(&grouper.relation, &groups->identities, groups->relation,
                          has_any_key(&grouper, BIT(REPORT_BY_INLINE)))) &&
           row_filter_init(&filter, profile, grouping) &&
           group_rows(&grouper, &filter) && !row_filter_failed(&filter);
    row_filter_finish(&filter);
    relation_finish(&grouper.relation);
    hash_index_finish(&grouper.index);
    return done;
}

/* --- what reports ask --- */

void
report_groups_finish(struct report_groups *groups)
{
    identities_finish(&groups->identities);
    free(groups->groups);
    free(groups->totals);
    free(groups->selected);
    buffer_finish(&groups->hits);
}

bool
report_shows_totals(const struct profile *profile,
                    const struct report_grouping *grouping)
{
    const unsigned bits = key_bits(&grouping->keys);

    return profile_has_stacks(profile) && grouping->relation.glob == NULL &&
           (bits & IMAGE_KEYS) != 0 && (bits & ADDRESS_KEYS) == 0;
}

bool
report_groups_have_functions(const struct report_groups *groups)
{
    return (groups->keys & PLACE_KEYS) != 0;
}

bool
report_groups_only_by_source(const struct report_groups *groups)
{
    return groups->keys == BIT(REPORT_BY_SOURCE);
}

bool
report_groups_by(const struct report_groups *groups, enum report_key key)
{
    return (groups->keys & BIT(key)) != 0;
}

bool
report_is_region(const struct profile *profile)
{
    return profile->limits != NULL &&
           strstr(profile->limits, PROFILE_REGION_ONLY) != NULL;
}
