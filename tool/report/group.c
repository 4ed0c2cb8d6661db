/* SPDX-License-Identifier: MIT */
/*
 * group.c - rows of a profile added up by a key. Strings of a profile are interned, so
 * names compare by pointer.
 */
#include "report/group.h"

#include "util/hash_index.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct grouper {
    const struct profile *profile;
    enum report_key key;
    struct report_groups *groups;
    size_t capacity;
    struct hash_index index;
};

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

/* The group that a row belongs to, without hits. */
static struct report_group
group_of_row(const struct grouper *grouper, const struct profile_row *row)
{
    const struct profile *profile = grouper->profile;
    const struct profile_function *function = &profile->functions[row->function];
    struct report_group group = {.image = &profile->images[row->image]};

    switch (grouper->key) {
    case REPORT_BY_FUNCTION:
    case REPORT_BY_ADDRESS:
    case REPORT_BY_LINE:
        group.function = is_named(function) ? function : NULL;
        group.address = row->address;
        group.has_address = true;
        group.line =
            grouper->key == REPORT_BY_FUNCTION ? function->start_line : row->line;
        break;
    case REPORT_BY_PROCESS:
        group.image = NULL;
        group.process = profile->processes[row->process];
        break;
    case REPORT_BY_IMAGE:
    case REPORT_BY_SOURCE:
        break;
    }
    return group;
}

static uint32_t
hash_group(const struct grouper *grouper, const struct report_group *group)
{
    uint32_t hash = hash_mix(0, pointer_bits(group->process));

    if (group->image != NULL) {
        hash = hash_mix(hash, pointer_bits(group->image->path));
        hash = hash_mix(hash, pointer_bits(group->image->build_id));
    }
    if (grouper->key == REPORT_BY_FUNCTION && group->function != NULL) {
        return hash_mix(hash, pointer_bits(group->function->name));
    }
    if (grouper->key == REPORT_BY_LINE && group->function != NULL) {
        hash = hash_mix(hash, pointer_bits(group->function->file));
        return hash_mix(hash, group->line);
    }
    return group->has_address ? hash_mix(hash, group->address) : hash;
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

static bool
same_group(const struct grouper *grouper, const struct report_group *a,
           const struct report_group *b)
{
    if (a->process != b->process || !same_image(a->image, b->image)) {
        return false;
    }
    if (grouper->key == REPORT_BY_FUNCTION) {
        return same_function(a->function, b->function) &&
               (a->function != NULL || a->address == b->address);
    }
    if (grouper->key == REPORT_BY_LINE && a->function != NULL && b->function != NULL) {
        return a->line == b->line && a->function->file == b->function->file &&
               same_function(a->function, b->function);
    }
    return !a->has_address || a->address == b->address;
}

static struct report_group *
append_group(struct grouper *grouper, const struct report_group *wanted)
{
    struct report_groups *groups = grouper->groups;
    const size_t hits_size = grouper->profile->source_count * sizeof(uint64_t);
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

static bool
add_row(struct grouper *grouper, const struct profile_row *row)
{
    const struct report_group wanted = group_of_row(grouper, row);
    struct report_group *group = find_or_append(grouper, &wanted);

    if (group == NULL) {
        return false;
    }
    if (wanted.address < group->address) {
        group->address = wanted.address;
    }
    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        add_clamped(&hits_of(grouper->groups, group)[i], row->hits[i]);
    }
    return true;
}

static bool
group_sources(struct grouper *grouper)
{
    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        const struct report_group wanted = {.source = &grouper->profile->sources[i]};
        struct report_group *group = append_group(grouper, &wanted);

        if (group == NULL) {
            return false;
        }
        hits_of(grouper->groups, group)[i] = grouper->groups->totals[i];
    }
    return true;
}

static int
compare_texts(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int
compare_groups(const void *left, const void *right, void *context)
{
    const struct grouper *grouper = context;
    const struct report_group *a = left;
    const struct report_group *b = right;
    const uint64_t *a_hits = hits_of(grouper->groups, a);
    const uint64_t *b_hits = hits_of(grouper->groups, b);
    int order = 0;

    for (size_t i = 0; i < grouper->profile->source_count; i++) {
        if (a_hits[i] != b_hits[i]) {
            return a_hits[i] > b_hits[i] ? -1 : 1;
        }
    }
    order = compare_texts(a->process, b->process);
    if (order == 0 && a->image != NULL && b->image != NULL) {
        order = compare_texts(a->image->path, b->image->path);
    }
    if (order == 0 && a->function != NULL && b->function != NULL) {
        order = compare_texts(a->function->name, b->function->name);
    }
    return order != 0 ? order : (a->address > b->address) - (a->address < b->address);
}

static bool
group_rows(struct grouper *grouper)
{
    for (size_t i = 0; i < grouper->profile->row_count; i++) {
        if (!add_row(grouper, &grouper->profile->rows[i])) {
            return false;
        }
    }
    if (grouper->groups->count > 1) {
        qsort_r(grouper->groups->groups, grouper->groups->count,
                sizeof(struct report_group), compare_groups, grouper);
    }
    return true;
}

bool
report_group_rows(const struct profile *profile, enum report_key key,
                  struct report_groups *groups)
{
    struct grouper grouper = {.profile = profile, .key = key, .groups = groups};
    bool done;

    memset(groups, 0, sizeof(*groups));
    groups->totals = calloc(profile->source_count + 1, sizeof(*groups->totals));
    if (groups->totals == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        for (size_t source = 0; source < profile->source_count; source++) {
            add_clamped(&groups->totals[source], profile->rows[i].hits[source]);
        }
    }
    done = key == REPORT_BY_SOURCE ? group_sources(&grouper) : group_rows(&grouper);
    hash_index_finish(&grouper.index);
    return done;
}

void
report_groups_finish(struct report_groups *groups)
{
    free(groups->groups);
    free(groups->totals);
    buffer_finish(&groups->hits);
}

uint64_t
report_group_hits(const struct report_groups *groups, const struct report_group *group,
                  size_t source)
{
    return hits_of(groups, group)[source];
}

uint64_t
report_group_main_hits(const struct profile *profile,
                       const struct report_groups *groups,
                       const struct report_group *group)
{
    if (profile->source_count == 0) {
        return 0;
    }
    return hits_of(groups,
                   group)[group->source != NULL ? group->source - profile->sources : 0];
}

double
report_group_share(const struct profile *profile, const struct report_groups *groups,
                   const struct report_group *group)
{
    double total = 0;

    if (group->source == NULL) {
        total = (double)groups->totals[0];
    } else {
        for (size_t i = 0; i < profile->source_count; i++) {
            total += (double)groups->totals[i];
        }
    }
    if (total <= 0) {
        return 0;
    }
    return (double)report_group_main_hits(profile, groups, group) / total;
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
