/* SPDX-License-Identifier: MIT */
/* pair.c - joins two profiles into one. */
#include "profile/pair.h"

#include "base/hash_index.h"
#include "profile/filter.h"
#include "profile/image_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of code without a name in a build that the other profile does not contain. */
#define NO_NAME "[no names]"

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
    uint32_t *images, *functions, *processes, *threads, *units, *columns;
};

static void
add_clamped(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) {
        *sum = UINT64_MAX;
    }
}

/* --- sources --- */

/* Add the column of one side of a source. */
static bool
add_column(struct profile *joined, const struct profile_source *source, unsigned side)
{
    static const char *const names[] = {"old ", "new "};
    struct profile_source column = *source;
    char *name = NULL;
    uint32_t index;
    bool done;

    if (asprintf(&name, "%s%s", names[side], source->name) < 0) {
        return false;
    }
    column.name = name;
    done = profile_add_source(joined, &column, &index);
    free(name);
    return done;
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
        if (!add_column(pair->joined, mine, PAIR_OLD) ||
            !add_column(pair->joined, other, PAIR_NEW)) {
            return false;
        }
        pair->sources[pair->source_count++] = (struct pair_source){{mine, other}, {0}};
    }
    return true;
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
    const char *name = image_file_name(image->path);

    return hash_mix(hash_bytes(image->build_id, strlen(image->build_id)),
                    hash_bytes(name, strlen(name)));
}

static bool
find_build(const struct profile *profile, const struct hash_index *builds,
           const struct profile_image *image)
{
    const uint32_t hash = hash_build(image);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(builds, hash, &probe)) != HASH_INDEX_NONE) {
        if (strcmp(profile->images[at].build_id, image->build_id) == 0 &&
            strcmp(image_file_name(profile->images[at].path),
                   image_file_name(image->path)) == 0) {
            return true;
        }
    }
    return false;
}

/* Find the images whose builds are in the other profile too. */
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
               : image_file_name(image->path);
}

static bool
add_images(struct pair_side *side, const struct image_names names[PAIR_SIDES])
{
    for (size_t i = 0; i < side->profile->image_count; i++) {
        const struct profile_image *from = &side->profile->images[i];
        struct profile_image image = {.path = common_name(names, side->side, from),
                                      .build_id = ""};

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

static uint64_t
address_of(const struct pair_side *side, const struct profile_row *row)
{
    const struct profile_image *image = &side->profile->images[row->image];

    if (!side->comparable[row->image]) {
        return 0;
    }
    return has_run_addresses(side) ? row->address - image->start + image->offset
                                   : row->address;
}

/* --- names --- */

static bool
add_functions(struct pair_side *side)
{
    for (size_t i = 0; i < side->profile->function_count; i++) {
        const struct profile_function *from = &side->profile->functions[i];
        const struct profile_function function = {
            .name = from->name, .system_name = "", .file = image_file_name(from->file)};

        if (!profile_add_function(side->pair->joined, &function, &side->functions[i])) {
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

/* --- rows --- */

static bool
place_of(const struct pair_side *side, const struct profile_row *row,
         struct profile_place *place)
{
    const struct profile_function no_name = {
        .name = NO_NAME, .system_name = "", .file = ""};

    *place = (struct profile_place){
        .image = side->images[row->image],
        .process = side->processes[row->process],
        .thread = side->threads[row->thread],
        .unit = side->units[row->unit],
        .cpu_plus_1 = row->cpu_plus_1,
        .function = side->functions[row->function],
        .line = row->line,
        .address = address_of(side, row),
    };
    return side->profile->functions[row->function].name[0] != '\0' ||
           side->comparable[row->image] ||
           profile_add_function(side->pair->joined, &no_name, &place->function);
}

static bool
add_row(struct pair_side *side, const struct profile_row *row)
{
    const bool passes = row_filter_passes(&side->filter, row);
    struct profile_row *joined = NULL;
    struct profile_place place;

    if (passes) {
        joined = place_of(side, row, &place)
                     ? profile_row_at(side->pair->joined, &place, true)
                     : NULL;
        if (joined == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < side->pair->source_count; i++) {
        const uint64_t hits = row->hits[side->columns[i]];

        add_clamped(&side->pair->sources[i].totals[side->side], hits);
        if (passes) {
            add_clamped(&joined->hits[PAIR_SIDES * i + side->side], hits);
        }
    }
    return true;
}

static bool
add_rows(struct pair_side *side)
{
    /* Shares are of all hits, including those in no row. */
    for (size_t i = 0; i < side->pair->source_count; i++) {
        add_clamped(&side->pair->sources[i].totals[side->side],
                    side->profile->sources[side->columns[i]].outside);
    }
    for (size_t i = 0; i < side->profile->row_count; i++) {
        if (!add_row(side, &side->profile->rows[i])) {
            return false;
        }
    }
    return true;
}

/* --- public functions --- */

static bool
side_init(struct pair_side *side, const struct report_options *options)
{
    const struct profile *profile = side->profile;

    side->comparable = calloc(profile->image_count + 1, sizeof(*side->comparable));
    side->images = calloc(profile->image_count + 1, sizeof(*side->images));
    side->functions = calloc(profile->function_count + 1, sizeof(*side->functions));
    side->processes = calloc(profile->process_count + 1, sizeof(*side->processes));
    side->threads = calloc(profile->thread_count + 1, sizeof(*side->threads));
    side->units = calloc(profile->unit_count + 1, sizeof(*side->units));
    side->columns = calloc(side->pair->source_count + 1, sizeof(*side->columns));
    if (side->comparable == NULL || side->images == NULL || side->functions == NULL ||
        side->processes == NULL || side->threads == NULL || side->units == NULL ||
        side->columns == NULL) {
        return false;
    }
    for (size_t i = 0; i < side->pair->source_count; i++) {
        side->columns[i] =
            (uint32_t)(side->pair->sources[i].sides[side->side] - profile->sources);
    }
    return row_filter_init(&side->filter, profile, options);
}

static void
side_finish(struct pair_side *side)
{
    row_filter_finish(&side->filter);
    free(side->comparable);
    free(side->images);
    free(side->functions);
    free(side->processes);
    free(side->threads);
    free(side->units);
    free(side->columns);
}

static bool
add_side(struct pair *pair, unsigned number, const struct image_names names[PAIR_SIDES],
         const struct report_options *options)
{
    struct pair_side side = {
        .pair = pair,
        .profile = pair->sides[number],
        .other = pair->sides[PAIR_SIDES - 1 - number],
        .side = number,
    };
    const bool done = side_init(&side, options) && compare_builds(&side) &&
                      add_images(&side, names) && add_names(&side) && add_rows(&side);

    side_finish(&side);
    return done;
}

static bool
add_sides(struct pair *pair, const struct report_options *options)
{
    struct image_names names[PAIR_SIDES] = {0};
    const bool done = image_names_init(&names[PAIR_OLD], pair->sides[PAIR_OLD]) &&
                      image_names_init(&names[PAIR_NEW], pair->sides[PAIR_NEW]) &&
                      add_side(pair, PAIR_OLD, names, options) &&
                      add_side(pair, PAIR_NEW, names, options);

    image_names_finish(&names[PAIR_OLD]);
    image_names_finish(&names[PAIR_NEW]);
    return done;
}

bool
pair_init(struct pair *pair, const struct profile *old_profile,
          const struct profile *new_profile, const struct report_options *options)
{
    memset(pair, 0, sizeof(*pair));
    pair->sides[PAIR_OLD] = old_profile;
    pair->sides[PAIR_NEW] = new_profile;
    pair->joined = profile_new();
    return pair->joined != NULL && add_sources(pair) && add_sides(pair, options);
}

void
pair_finish(struct pair *pair)
{
    profile_delete(pair->joined);
    free(pair->sources);
}
