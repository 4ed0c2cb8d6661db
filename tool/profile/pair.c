/* SPDX-License-Identifier: MIT */
/* pair.c - joins two profiles into one. */
#include "profile/pair.h"

#include "base/arithmetic.h"
#include "base/hash_index.h"
#include "base/path.h"
#include "profile/filter.h"
#include "profile/group.h"
#include "profile/image_names.h"
#include "profile/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JIT code of any process: pids differ between runs. */
#define ANONYMOUS "[anon:"
#define ANY_ANONYMOUS "[anon]"

/* pair_side - a profile that is added to the pair; tables are by its own indexes. */
struct pair_side {
    struct pair *pair;
    const struct profile *profile;
    const struct profile *other;
    unsigned side;
    struct row_filter filter;
    /* the other profile has this build, so equal addresses mean equal code */
    bool *comparable;
    uint32_t *processes, *threads, *units, *columns;
    uint32_t *images, *functions, *calls; /* of the pair; calls only with stacks */
    uint32_t *frames;                     /* only with stacks */
    uint64_t *outside;                    /* counters as those of a row */
};

/* --- sources --- */

static const char *const side_names[] = {"old", "new"};

/* Add a column of one side, under a name that it shares with no other. */
static bool
add_column(struct profile *joined, const struct profile_source *source,
           const char *kind, const char *name)
{
    struct profile_source column = *source;
    char *full_name = NULL;
    uint32_t index;
    bool done;

    if (asprintf(&full_name, "%s %s", kind, name) < 0) {
        return false;
    }
    column.name = full_name;
    done = profile_add_source(joined, &column, &index);
    free(full_name);
    return done;
}

/* Add the columns of the parts of one side. */
static bool
add_parts_of(struct pair *pair, struct pair_source *source, unsigned side)
{
    const struct profile_source *const sum = source->sides[side];

    source->parts_at[side] = pair->joined->source_count;
    for (size_t i = 0; i < sum->part_count; i++) {
        char number[32];

        snprintf(number, sizeof(number), "%zu", pair->joined->source_count);
        if (!add_column(pair->joined, &sum->parts[i], "part", number)) {
            return false;
        }
    }
    return true;
}

static bool
add_parts(struct pair *pair)
{
    for (size_t i = 0; i < pair->source_count; i++) {
        if (!add_parts_of(pair, &pair->sources[i], PAIR_OLD) ||
            !add_parts_of(pair, &pair->sources[i], PAIR_NEW)) {
            return false;
        }
    }
    return true;
}

/* Add the sources that both profiles have, in the order of the old one. */
static bool
add_sources(struct pair *pair)
{
    const struct profile *old_profile = pair->sides[PAIR_OLD];

    pair->sources = calloc(old_profile->source_count + 1, sizeof(*pair->sources));
    if (pair->sources == NULL) {
        return false;
    }
    for (size_t i = 0; i < old_profile->source_count; i++) {
        const struct profile_source *mine = &old_profile->sources[i];
        const struct profile_source *other =
            profile_find_source(pair->sides[PAIR_NEW], mine->name);

        if (other == NULL || strcmp(mine->unit, other->unit) != 0) {
            continue;
        }
        if (!add_column(pair->joined, mine, side_names[PAIR_OLD], mine->name) ||
            !add_column(pair->joined, other, side_names[PAIR_NEW], mine->name)) {
            return false;
        }
        pair->sources[pair->source_count++] =
            (struct pair_source){.sides = {mine, other}};
    }
    return add_parts(pair);
}

/* --- images --- */

static bool
is_file(const struct profile_image *image)
{
    return image->path[0] != '\0' && image->path[0] != '[';
}

static uint32_t
hash_build(const struct profile_image *image)
{
    const char *name = path_file_name(image->path);

    return hash_mix(hash_bytes(image->build_id, strlen(image->build_id)),
                    hash_bytes(name, strlen(name)));
}

/* Whether a profile, whose images are in builds, has an image of this name and
 * build-id. */
static bool
find_build(const struct profile *profile, const struct hash_index *builds,
           const struct profile_image *image)
{
    const uint32_t hash = hash_build(image);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(builds, hash, &probe)) != HASH_INDEX_NONE) {
        if (strcmp(profile->images[at].build_id, image->build_id) == 0 &&
            strcmp(path_file_name(profile->images[at].path),
                   path_file_name(image->path)) == 0) {
            return true;
        }
    }
    return false;
}

/* Find the images whose builds are in the other profile too. Returns false if memory
 * runs out. */
static bool
compare_builds(struct pair_side *side)
{
    struct hash_index builds = {0};
    bool done = true;

    for (size_t i = 0; done && i < side->other->image_count; i++) {
        const struct profile_image *image = &side->other->images[i];

        /* Add each build once: duplicates would lengthen its chain of probes. */
        done = find_build(side->other, &builds, image) ||
               hash_index_add(&builds, hash_build(image), (uint32_t)i);
    }
    for (size_t i = 0; done && i < side->profile->image_count; i++) {
        const struct profile_image *image = &side->profile->images[i];

        side->comparable[i] = is_file(image) && image->build_id[0] != '\0' &&
                              find_build(side->other, &builds, image);
    }
    hash_index_finish(&builds);
    return done;
}

/* Whether the profile has run-time addresses, as those of other tools; then file
 * offsets are used, which are the same in each run. */
static bool
has_run_addresses(const struct pair_side *side)
{
    return side->profile->bucket_bytes == 0;
}

/* Return the name under which an image of one side equals one of the other. */
static const char *
common_name(const struct image_names sides[PAIR_SIDES], unsigned side,
            const struct profile_image *image)
{
    if (strncmp(image->path, ANONYMOUS, strlen(ANONYMOUS)) == 0) {
        return ANY_ANONYMOUS;
    }
    if (!is_file(image)) {
        return image->path;
    }
    return image_names_have(&sides[PAIR_SIDES - 1 - side], image->path) &&
                   (image_names_share(&sides[PAIR_OLD], image->path) ||
                    image_names_share(&sides[PAIR_NEW], image->path))
               ? image->path
               : path_file_name(image->path);
}

/* Add the images of a side. Those whose addresses cannot be compared are those of a
 * build of their own. */
static bool
add_images(struct pair_side *side, const struct image_names names[PAIR_SIDES])
{
    static const char *const builds[PAIR_SIDES] = {"old", "new"};

    for (size_t i = 0; i < side->profile->image_count; i++) {
        const struct profile_image *from = &side->profile->images[i];
        struct profile_image image = {.path = common_name(names, side->side, from),
                                      .build_id = builds[side->side]};

        if (side->comparable[i]) {
            image.build_id = "";
        }
        if (side->comparable[i] && !has_run_addresses(side)) {
            image.start = from->start;
            image.offset = from->offset;
        }
        if (!profile_add_image(side->pair->joined, &image, &side->images[i])) {
            return false;
        }
    }
    return true;
}

/* Return at which address a place of one side is compared; 0: at none, as the two
 * builds differ. */
static uint64_t
address_of(const struct pair_side *side, uint32_t number, uint64_t address)
{
    const struct profile_image *image = &side->profile->images[number];

    if (!side->comparable[number]) {
        return 0;
    }
    return has_run_addresses(side)
               ? address - image->start + image->offset
               : profile_bucket_start(side->pair->joined, image, address);
}

/* --- names --- */

/* Add the functions of a side, without what differs between builds: folders and lines
 * of definitions, and mangled names of Rust. Of a mangled name its first letters stay:
 * they say that the name is demangled C++, which tables show shorter. Functions
 * without a name stay as they are. Without folder and line such a function could equal
 * entry 0, "no function", and a frame of entry 0 is refused. */
static bool
add_functions(struct pair_side *side)
{
    for (size_t i = 0; i < side->profile->function_count; i++) {
        const struct profile_function *from = &side->profile->functions[i];
        const struct profile_function named = {
            .name = from->name,
            .system_name = strncmp(from->system_name, "_Z", 2) == 0 ? "_Z" : "",
            .file = path_file_name(from->file),
            .definition = path_file_name(from->definition),
            .has_address = from->has_address,
            .address = from->address,
        };

        if (!profile_add_function(side->pair->joined,
                                  from->name[0] != '\0' ? &named : from,
                                  &side->functions[i])) {
            return false;
        }
    }
    return true;
}

/* Add "NAME (NUMBER)" without the number, which differs between runs. */
static bool
add_thread(struct pair_side *side, const char *name, uint32_t *index)
{
    const char *open = strrchr(name, '(');
    char *bare;
    bool done;

    if (open == NULL || open - name < 2 || open[-1] != ' ' ||
        strspn(open + 1, "0123456789") == 0 ||
        strcmp(open + 1 + strspn(open + 1, "0123456789"), ")") != 0) {
        return profile_add_thread(side->pair->joined, name, index);
    }
    bare = strndup(name, (size_t)(open - name - 1));
    done = bare != NULL && profile_add_thread(side->pair->joined, bare, index);
    free(bare);
    return done;
}

static bool
add_names(struct pair_side *side)
{
    for (size_t i = 0; i < side->profile->process_count; i++) {
        if (!profile_add_process(side->pair->joined, side->profile->processes[i],
                                 &side->processes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < side->profile->thread_count; i++) {
        if (!add_thread(side, side->profile->threads[i], &side->threads[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < side->profile->unit_count; i++) {
        if (!profile_add_unit(side->pair->joined, side->profile->units[i],
                              &side->units[i])) {
            return false;
        }
    }
    return add_functions(side);
}

/* --- stacks --- */

/* Add what code is inlined into. Callers are before what they call. */
static bool
add_frames(struct pair_side *side)
{
    for (size_t i = 1; i < side->profile->frame_count; i++) {
        const struct profile_frame *const from = &side->profile->frames[i];
        const struct profile_frame frame = {.function = side->functions[from->function],
                                            .line = from->line,
                                            .caller = side->frames[from->caller]};

        if (!profile_add_frame(side->pair->joined, &frame, &side->frames[i])) {
            return false;
        }
    }
    return true;
}

static bool
add_calls(struct pair_side *side)
{
    for (size_t i = 1; i < side->profile->call_count; i++) {
        const struct profile_call *const from = &side->profile->calls[i];
        struct profile_call call = {.end = from->end};

        if (from->end == NULL) {
            call = (struct profile_call){
                .image = side->images[from->image],
                .address = address_of(side, from->image, from->address),
                .function = side->functions[from->function],
                .line = from->line,
                .inlined = side->frames[from->inlined],
                .caller = side->calls[from->caller],
                .by_name = true,
            };
        }
        if (!profile_add_call(side->pair->joined, &call, &side->calls[i])) {
            return false;
        }
    }
    return true;
}

static bool
add_stacks(struct pair_side *side)
{
    return !side->pair->stacks || (add_frames(side) && add_calls(side));
}

/* --- rows --- */

/* Set the innermost function and, if that was inlined, what it is inlined into: without
 * stacks only the outermost one. */
static bool
set_functions(const struct pair_side *side, const struct profile_row *row,
              struct profile_place *place)
{
    const struct profile_frame frame = {
        .function = side->functions[profile_outer_function(side->profile, row)]};

    place->function = side->functions[row->function];
    if (side->pair->stacks) {
        place->caller = side->frames[row->caller];
        return true;
    }
    return row->caller == 0 ||
           profile_add_frame(side->pair->joined, &frame, &place->caller);
}

/* Find the keys of the row of the joined profile to which a row of one side is added.
 * Returns false if memory runs out. */
static bool
joined_place(const struct pair_side *side, const struct profile_row *row,
             struct profile_place *place)
{
    *place = (struct profile_place){
        .image = side->images[row->image],
        .process = side->processes[row->process],
        .thread = side->threads[row->thread],
        .unit = side->units[row->unit],
        .cpu_plus_1 = row->cpu_plus_1,
        .line = row->line,
        .address = address_of(side, row->image, row->address),
        .stack = side->pair->stacks ? side->calls[row->stack] : 0,
    };
    return set_functions(side, row, place);
}

/* Add a row's counters to the totals of a source. */
static void
add_total(struct pair_side *side, size_t number, const uint64_t *counters)
{
    struct pair_source *const source = &side->pair->sources[number];
    const struct profile_source *const of = source->sides[side->side];
    const uint32_t column = side->columns[number];

    add_clamped(&source->totals[side->side], counters[column]);
    add_clamped(&source->total_hits[side->side], profile_hits(of, column, counters));
    source->variances[side->side] += profile_variance(of, column, counters);
}

/* Add a row's counters of a source to those of a row of the pair. */
static void
add_counters(const struct pair_side *side, size_t number, const uint64_t *from,
             uint64_t *to)
{
    const struct pair_source *const source = &side->pair->sources[number];
    const struct profile_source *const of = source->sides[side->side];

    add_clamped(&to[PAIR_SIDES * number + side->side], from[side->columns[number]]);
    for (size_t k = 0; k < of->part_count; k++) {
        add_clamped(&to[source->parts_at[side->side] + k], from[of->first_part + k]);
    }
}

/* Add a row to the totals of its side and, if it passes the filters, to the joined
 * profile. Returns false if memory runs out. */
static bool
add_row(struct pair_side *side, const struct profile_row *row)
{
    const bool passes = row_filter_passes(&side->filter, row);
    struct profile_row *joined = NULL;
    struct profile_place place;

    if (passes) {
        joined = joined_place(side, row, &place)
                     ? profile_row_at(side->pair->joined, &place, /* exact */ true)
                     : NULL;
        if (joined == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < side->pair->source_count; i++) {
        add_total(side, i, row->hits);
        if (passes) {
            add_counters(side, i, row->hits, joined->hits);
        }
    }
    return true;
}

static bool
add_rows(struct pair_side *side)
{
    /* Shares are of all hits, including those in no row. */
    profile_set_outside(side->profile, PROFILE_OUTSIDE_ALL, side->outside);
    for (size_t i = 0; i < side->pair->source_count; i++) {
        add_total(side, i, side->outside);
    }
    for (size_t i = 0; i < side->profile->row_count; i++) {
        if (!add_row(side, &side->profile->rows[i])) {
            return false;
        }
    }
    return !row_filter_failed(&side->filter);
}

/* --- public functions --- */

static bool
side_init(struct pair_side *side, const struct report_grouping *grouping)
{
    const struct profile *profile = side->profile;

    side->comparable = calloc(profile->image_count + 1, sizeof(*side->comparable));
    side->processes = calloc(profile->process_count + 1, sizeof(*side->processes));
    side->threads = calloc(profile->thread_count + 1, sizeof(*side->threads));
    side->units = calloc(profile->unit_count + 1, sizeof(*side->units));
    side->columns = calloc(side->pair->source_count + 1, sizeof(*side->columns));
    side->outside = calloc(profile_width(profile) + 1, sizeof(*side->outside));
    side->frames = calloc(profile->frame_count + 1, sizeof(*side->frames));
    side->images = calloc(profile->image_count + 1, sizeof(*side->images));
    side->functions = calloc(profile->function_count + 1, sizeof(*side->functions));
    side->calls = calloc(profile->call_count + 1, sizeof(*side->calls));
    side->pair->images[side->side] = side->images;
    side->pair->functions[side->side] = side->functions;
    side->pair->calls[side->side] = side->calls;
    if (side->comparable == NULL || side->images == NULL || side->functions == NULL ||
        side->processes == NULL || side->threads == NULL || side->units == NULL ||
        side->columns == NULL || side->outside == NULL || side->frames == NULL ||
        side->calls == NULL) {
        return false;
    }
    for (size_t i = 0; i < side->pair->source_count; i++) {
        side->columns[i] =
            (uint32_t)(side->pair->sources[i].sides[side->side] - profile->sources);
    }
    return row_filter_init(&side->filter, profile, grouping);
}

static void
side_finish(struct pair_side *side)
{
    row_filter_finish(&side->filter);
    free(side->comparable);
    free(side->processes);
    free(side->threads);
    free(side->units);
    free(side->columns);
    free(side->outside);
    free(side->frames);
}

/* Add the rows of one side that pass to the joined profile. */
static bool
add_side(struct pair *pair, unsigned number, const struct image_names names[PAIR_SIDES],
         const struct report_grouping *grouping)
{
    struct pair_side side = {
        .pair = pair,
        .profile = pair->sides[number],
        .other = pair->sides[PAIR_SIDES - 1 - number],
        .side = number,
    };
    const bool done = side_init(&side, grouping) && compare_builds(&side) &&
                      add_images(&side, names) && add_names(&side) &&
                      add_stacks(&side) && add_rows(&side);

    side_finish(&side);
    return done;
}

static bool
add_sides(struct pair *pair, const struct report_grouping *grouping)
{
    struct image_names names[PAIR_SIDES] = {0};
    const bool done = image_names_init(&names[PAIR_OLD], pair->sides[PAIR_OLD]) &&
                      image_names_init(&names[PAIR_NEW], pair->sides[PAIR_NEW]) &&
                      add_side(pair, PAIR_OLD, names, grouping) &&
                      add_side(pair, PAIR_NEW, names, grouping);

    image_names_finish(&names[PAIR_OLD]);
    image_names_finish(&names[PAIR_NEW]);
    return done;
}

/* Choose the width of rows by address: that of the widest bucket of both, if there are
 * several. */
static void
set_bucket(struct pair *pair)
{
    const struct profile *const old_profile = pair->sides[PAIR_OLD];
    const struct profile *const new_profile = pair->sides[PAIR_NEW];
    const uint32_t old_bytes = old_profile->bucket_bytes;
    const uint32_t new_bytes = new_profile->bucket_bytes;

    if (old_bytes != 0 && new_bytes != 0 &&
        (old_bytes != new_bytes || old_profile->bucket_least != 0 ||
         new_profile->bucket_least != 0)) {
        pair->joined->bucket_bytes = old_bytes > new_bytes ? old_bytes : new_bytes;
        pair->joined->bucket_least = 1; /* not 0: there are several */
    }
}

bool
pair_init(struct pair *pair, const struct profile *old_profile,
          const struct profile *new_profile, const struct report_grouping *grouping)
{
    memset(pair, 0, sizeof(*pair));
    pair->sides[PAIR_OLD] = old_profile;
    pair->sides[PAIR_NEW] = new_profile;
    pair->stacks = grouping->filter_count == 0 &&
                   report_shows_totals(old_profile, grouping) &&
                   report_shows_totals(new_profile, grouping);
    pair->joined = profile_new();
    if (pair->joined != NULL) {
        set_bucket(pair);
    }
    return pair->joined != NULL && add_sources(pair) && add_sides(pair, grouping);
}

void
pair_finish(struct pair *pair)
{
    profile_delete(pair->joined);
    free(pair->sources);
    for (int side = 0; side < PAIR_SIDES; side++) {
        free(pair->images[side]);
        free(pair->functions[side]);
        free(pair->calls[side]);
    }
}
