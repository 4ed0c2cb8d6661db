/* SPDX-License-Identifier: MIT */
/*
 * group.c - groups the rows of a profile by keys. Strings of a profile are interned, so
 * names are compared by pointer.
 *
 * Invariant: a group has one counter for each source or, grouped by source, only that
 * of its own source. So memory is proportional to the hits of the profile, not to their
 * square.
 */
#include "profile/group.h"

#include "view/report/summary.h"

#include "base/hash_index.h"
#include "base/text.h"
#include "profile/estimate.h"
#include "profile/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BIT(key) (1u << (key))

/* Keys that name an image, and those of them that name a place in it. */
#define IMAGE_KEYS (PLACE_KEYS | BIT(REPORT_BY_IMAGE))
#define PLACE_KEYS                                                            \
    (BIT(REPORT_BY_FUNCTION) | BIT(REPORT_BY_LINE) | BIT(REPORT_BY_ADDRESS) | \
     BIT(REPORT_BY_BUCKET))
#define ADDRESS_KEYS (BIT(REPORT_BY_ADDRESS) | BIT(REPORT_BY_BUCKET))

struct grouper {
    const struct profile *profile;
    unsigned keys;
    struct report_groups *groups;
    size_t width; /* number of counters of a group */
    size_t capacity;
    struct hash_index index;
};

static bool
has_keys(const struct grouper *grouper, unsigned keys)
{
    return (grouper->keys & keys) != 0;
}

static bool
is_named(const struct profile_function *function)
{
    return function->name[0] != '\0';
}

static uint64_t
pointer_bits(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Return the group of a row, without hits and source. */
static struct report_group
group_of_row(const struct grouper *grouper, const struct profile_row *row)
{
    const struct profile *profile = grouper->profile;
    const struct profile_function *function = &profile->functions[row->function];
    struct report_group group = {0};

    if (has_keys(grouper, IMAGE_KEYS)) {
        group.image = &profile->images[row->image];
    }
    if (has_keys(grouper, PLACE_KEYS)) {
        group.function = is_named(function) ? function : NULL;
        group.address = row->address;
        group.has_address = true;
        group.line = has_keys(grouper, ADDRESS_KEYS | BIT(REPORT_BY_LINE))
                         ? row->line
                         : function->start_line;
    }
    if (has_keys(grouper, BIT(REPORT_BY_PROCESS))) {
        group.process = profile->processes[row->process];
    }
    if (has_keys(grouper, BIT(REPORT_BY_THREAD))) {
        group.thread = profile->threads[row->thread];
    }
    if (has_keys(grouper, BIT(REPORT_BY_UNIT))) {
        group.unit = profile->units[row->unit];
    }
    if (has_keys(grouper, BIT(REPORT_BY_CPU))) {
        group.cpu_plus_1 = row->cpu_plus_1;
    }
    return group;
}

/* Whether groups with different addresses differ: code without names has nothing
 * else. */
static bool
is_by_address(const struct grouper *grouper, const struct report_group *group)
{
    return group->has_address &&
           (has_keys(grouper, ADDRESS_KEYS) || group->function == NULL);
}

static uint32_t
hash_group(const struct grouper *grouper, const struct report_group *group)
{
    uint32_t hash = hash_mix(group->cpu_plus_1, pointer_bits(group->process));

    if (group->thread != NULL) {
        hash = hash_mix(hash, pointer_bits(group->thread));
    }
    if (group->unit != NULL) {
        hash = hash_mix(hash, pointer_bits(group->unit));
    }
    if (group->source != NULL) {
        hash = hash_mix(hash, pointer_bits(group->source));
    }
    if (group->image != NULL) {
        hash = hash_mix(hash, pointer_bits(group->image->path));
        hash = hash_mix(hash, pointer_bits(group->image->build_id));
    }
    if (group->function != NULL) {
        hash = hash_mix(hash, pointer_bits(group->function->name));
        hash = hash_mix(hash, pointer_bits(group->function->system_name));
    }
    if (group->function != NULL && has_keys(grouper, BIT(REPORT_BY_LINE))) {
        hash = hash_mix(hash, pointer_bits(group->function->file));
        hash = hash_mix(hash, group->line);
    }
    return is_by_address(grouper, group) ? hash_mix(hash, group->address) : hash;
}

static bool
same_image(const struct profile_image *a, const struct profile_image *b)
{
    return a == b ||
           (a != NULL && b != NULL && a->path == b->path && a->build_id == b->build_id);
}

static bool
same_function(const struct profile_function *a, const struct profile_function *b)
{
    return a == b || (a != NULL && b != NULL && a->name == b->name &&
                      a->system_name == b->system_name);
}

/* Grouped by line: whether two groups of one function have the same line. */
static bool
same_line(const struct report_group *a, const struct report_group *b)
{
    return a->function == NULL ||
           (a->line == b->line && a->function->file == b->function->file);
}

static bool
same_group(const struct grouper *grouper, const struct report_group *a,
           const struct report_group *b)
{
    return a->process == b->process && a->thread == b->thread && a->unit == b->unit &&
           a->cpu_plus_1 == b->cpu_plus_1 && a->source == b->source &&
           same_image(a->image, b->image) && same_function(a->function, b->function) &&
           (!has_keys(grouper, BIT(REPORT_BY_LINE)) || same_line(a, b)) &&
           (!is_by_address(grouper, a) || a->address == b->address);
}

static struct report_group *
append_group(struct grouper *grouper, const struct report_group *wanted)
{
    struct report_groups *groups = grouper->groups;
    const size_t hits_size = grouper->width * sizeof(uint64_t);
    struct report_group *group;
    uint8_t *hits;

    if (groups->count == grouper->capacity) {
        const size_t capacity = grouper->capacity > 0 ? grouper->capacity * 2 : 64;

        group = reallocarray(groups->groups, capacity, sizeof(*group));
        if (group == NULL) {
            return NULL;
        }
        groups->groups = group;
        grouper->capacity = capacity;
    }
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
    return append_group(grouper, wanted);
}

static void
add_clamped(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) {
        *sum = UINT64_MAX;
    }
}

static uint64_t *
hits_of(const struct report_groups *groups, const struct report_group *group)
{
    return (uint64_t *)(void *)groups->hits.data + group->hits_at;
}

/* Find or add the group equal to wanted. Returns NULL if memory runs out. */
static struct report_group *
widened_group(struct grouper *grouper, const struct report_group *wanted)
{
    struct report_group *group = find_or_append(grouper, wanted);

    if (group != NULL && wanted->address < group->address) {
        group->address = wanted->address;
    }
    return group;
}

/* Grouped by source: each source with hits of the row has its own group. */
static bool
add_row_by_source(struct grouper *grouper, const struct profile_row *row)
{
    struct report_group wanted = group_of_row(grouper, row);

    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        struct report_group *group;

        if (row->hits[i] == 0) {
            continue;
        }
        wanted.source = &grouper->profile->sources[i];
        group = widened_group(grouper, &wanted);
        if (group == NULL) {
            return false;
        }
        add_clamped(hits_of(grouper->groups, group), row->hits[i]);
    }
    return true;
}

static bool
add_row(struct grouper *grouper, const struct profile_row *row)
{
    const struct report_group wanted = group_of_row(grouper, row);
    struct report_group *group;

    if (has_keys(grouper, BIT(REPORT_BY_SOURCE))) {
        return add_row_by_source(grouper, row);
    }
    group = widened_group(grouper, &wanted);
    if (group == NULL) {
        return false;
    }
    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        add_clamped(&hits_of(grouper->groups, group)[i], row->hits[i]);
    }
    return true;
}

/* Grouped only by source: sources without hits are groups too. */
static bool
group_sources(struct grouper *grouper)
{
    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        const struct report_group wanted = {.source = &grouper->profile->sources[i]};
        struct report_group *group = append_group(grouper, &wanted);

        if (group == NULL) {
            return false;
        }
        *hits_of(grouper->groups, group) = grouper->groups->selected[i];
    }
    return true;
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* Hits of different sources cannot be compared; their shares can. */
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

static int
compare_hits(const struct grouper *grouper, const struct report_group *a,
             const struct report_group *b)
{
    const uint64_t *a_hits = hits_of(grouper->groups, a);
    const uint64_t *b_hits = hits_of(grouper->groups, b);
    int order = 0;

    if (a->source != b->source) {
        return compare_shares(grouper, a, b);
    }
    for (size_t i = 0; order == 0 && i < grouper->width; i++) {
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

/* Add a row to its group if it passes the filters. */
static bool
take_row(struct grouper *grouper, const struct row_filter *filter,
         const struct profile_row *row)
{
    struct report_groups *groups = grouper->groups;
    const bool passes = row_filter_passes(filter, row);

    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        add_clamped(&groups->totals[i], row->hits[i]);
        if (passes) {
            add_clamped(&groups->selected[i], row->hits[i]);
        }
    }
    return !passes || grouper->keys == BIT(REPORT_BY_SOURCE) || add_row(grouper, row);
}

static void
sort_groups(struct grouper *grouper)
{
    if (grouper->groups->count > 1) {
        qsort_r(grouper->groups->groups, grouper->groups->count,
                sizeof(struct report_group), compare_groups, grouper);
    }
}

static bool
group_rows(struct grouper *grouper, const struct row_filter *filter)
{
    for (size_t i = 0; i < grouper->profile->row_count; i++) {
        if (!take_row(grouper, filter, &grouper->profile->rows[i])) {
            return false;
        }
    }
    if (grouper->keys == BIT(REPORT_BY_SOURCE)) {
        return group_sources(grouper);
    }
    sort_groups(grouper);
    return true;
}

static unsigned
key_bits(const struct report_keys *keys)
{
    unsigned bits = keys->count == 0 ? BIT(REPORT_BY_FUNCTION) : 0;

    for (size_t i = 0; i < keys->count; i++) {
        bits |= BIT(keys->list[i]);
    }
    return bits;
}

bool
report_group_rows(const struct profile *profile, const struct report_options *options,
                  struct report_groups *groups)
{
    const unsigned keys = key_bits(&options->keys);
    struct grouper grouper = {
        .profile = profile,
        .keys = keys,
        .groups = groups,
        .width = (keys & BIT(REPORT_BY_SOURCE)) != 0 ? 1 : profile->source_count,
    };
    struct row_filter filter = {.kinds = {NULL}};
    bool done;

    memset(groups, 0, sizeof(*groups));
    groups->profile = profile;
    groups->keys = keys;
    groups->filtered = options->filter_count > 0;
    groups->totals = calloc(profile->source_count + 1, sizeof(*groups->totals));
    groups->selected = calloc(profile->source_count + 1, sizeof(*groups->selected));
    done = groups->totals != NULL && groups->selected != NULL &&
           row_filter_init(&filter, profile, options) && group_rows(&grouper, &filter);
    row_filter_finish(&filter);
    hash_index_finish(&grouper.index);
    return done;
}

/* Names of the row for hits outside of all known mappings, of the row for hits in user
 * mode that were not counted, and of the row for hits elsewhere than in a region. */
static const struct profile_image no_image = {
    .path = "[no image]", .build_id = "", .named = true};
static const struct profile_function no_function = {
    .name = "[no image]", .system_name = "", .file = ""};
static const struct profile_image user_mode = {
    .path = "[user mode]", .build_id = "", .named = true};
static const struct profile_function user_function = {
    .name = "[user mode]", .system_name = "", .file = ""};
static const struct profile_image elsewhere = {
    .path = "[outside of the region]", .build_id = "", .named = true};
static const struct profile_function elsewhere_function = {
    .name = "[outside of the region]", .system_name = "", .file = ""};

/* Whether all outside hits are in user mode, which the recording left out. */
static bool
is_user_left_out(const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile->sources[i].outside > 0 && !profile->sources[i].user_left_out) {
            return false;
        }
    }
    return true;
}

/* Add a row for the outside hits of one source, or of all if it is NULL. */
static bool
add_outside_row(struct report_groups *groups, const struct profile_source *source)
{
    const struct profile *const profile = groups->profile;
    const bool user = is_user_left_out(profile);
    const bool region = report_is_region(profile);
    const struct profile_image *const image = user     ? &user_mode
                                              : region ? &elsewhere
                                                       : &no_image;
    const struct report_group wanted = {
        .function = user     ? &user_function
                    : region ? &elsewhere_function
                             : &no_function,
        .image = image,
        .process = report_groups_by(groups, REPORT_BY_PROCESS) ? image->path : "",
        .thread = "",
        .unit = "",
        .source = source};
    struct grouper grouper = {.profile = profile,
                              .groups = groups,
                              .width = source != NULL ? 1 : profile->source_count,
                              .capacity = groups->count};
    struct report_group *added = append_group(&grouper, &wanted);

    if (added == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        if (source == NULL) {
            hits_of(groups, added)[i] = profile->sources[i].outside;
        } else if (source == &profile->sources[i]) {
            *hits_of(groups, added) = profile->sources[i].outside;
        }
    }
    return true;
}

/* Grouped only by source, the outside hits are added to the source's row. */
static bool
add_to_source(struct report_groups *groups, const struct profile_source *source)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->groups[i].source == source) {
            add_clamped(hits_of(groups, &groups->groups[i]), source->outside);
            return true;
        }
    }
    return add_outside_row(groups, source);
}

static bool
add_outside_by_source(struct report_groups *groups)
{
    const struct profile *const profile = groups->profile;
    const bool only_source = groups->keys == BIT(REPORT_BY_SOURCE);

    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const source = &profile->sources[i];

        if (source->outside > 0 && !(only_source ? add_to_source(groups, source)
                                                 : add_outside_row(groups, source))) {
            return false;
        }
    }
    return true;
}

bool
report_groups_add_outside(struct report_groups *groups)
{
    const struct profile *const profile = groups->profile;
    const bool by_source = report_groups_by(groups, REPORT_BY_SOURCE);
    struct grouper grouper = {.profile = profile,
                              .groups = groups,
                              .width = by_source ? 1 : profile->source_count};
    bool outside = false;

    for (size_t i = 0; i < profile->source_count; i++) {
        outside = outside || profile->sources[i].outside > 0;
        add_clamped(&groups->totals[i], profile->sources[i].outside);
        if (!groups->filtered) {
            add_clamped(&groups->selected[i], profile->sources[i].outside);
        }
    }
    if (!outside || groups->filtered) {
        return true;
    }
    if (!(by_source ? add_outside_by_source(groups) : add_outside_row(groups, NULL))) {
        return false;
    }
    if (groups->keys != BIT(REPORT_BY_SOURCE)) {
        sort_groups(&grouper); /* shares have changed, too */
    }
    return true;
}

void
report_groups_finish(struct report_groups *groups)
{
    free(groups->groups);
    free(groups->totals);
    free(groups->selected);
    buffer_finish(&groups->hits);
}

bool
report_groups_by(const struct report_groups *groups, enum report_key key)
{
    return (groups->keys & BIT(key)) != 0;
}

uint64_t
report_group_hits(const struct report_groups *groups, const struct report_group *group,
                  size_t source)
{
    if (group->source == NULL) {
        return hits_of(groups, group)[source];
    }
    return group->source == &groups->profile->sources[source] ? *hits_of(groups, group)
                                                              : 0;
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
    return share_of(report_group_hits(groups, group, source), groups->totals[source]);
}

double
report_group_error(const struct report_groups *groups, const struct report_group *group,
                   size_t source)
{
    if (source >= groups->profile->source_count ||
        report_is_exact(&groups->profile->sources[source]) ||
        (groups->keys == BIT(REPORT_BY_SOURCE) && !groups->filtered)) {
        return 0; /* exact counts, or the share is 1 by definition */
    }
    return report_error(report_group_hits(groups, group, source),
                        groups->totals[source]);
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

void
report_image_name(const struct profile_image *image, struct buffer *out)
{
    const char *slash = strrchr(image->path, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : image->path;

    text_escape(out, name[0] != '\0' ? name : "[unknown]");
}

void
report_group_name(const struct report_group *group, struct buffer *out)
{
    if (group->function != NULL) {
        text_escape(out, group->function->name);
        return;
    }
    if (group->image != NULL) {
        report_image_name(group->image, out);
        buffer_print(out, "+0x%" PRIx64,
                     group->address - group->image->start + group->image->offset);
    }
}
