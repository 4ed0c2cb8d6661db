/* SPDX-License-Identifier: MIT */
/* flames.c - reads the stacks of profiles into the trees of flame graphs. */
#include "view/export/flames.h"

#include "base/arithmetic.h"
#include "profile/call_tree.h"
#include "profile/display.h"
#include "profile/estimate.h"
#include "profile/join.h"
#include "profile/pair.h"
#include "view/export/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* side - the state while one profile is read. */
struct side {
    const struct profile *profile;
    enum flame_side which;
    struct identities identities;
    uint32_t *numbers;    /* by number: that in the trees */
    struct buffer texts;  /* of functions: name and name in full, each with its NUL */
    size_t *names, *full; /* by number: where they begin */
    const char **images;  /* by number; NULL: in none */
};

/* Append a name with its NUL. Returns where it begins. */
static size_t
put_name(struct buffer *texts, const struct display_name *name,
         enum display_detail detail)
{
    const size_t start = texts->size;

    display_function(name->function, name->image, detail, texts);
    buffer_append_byte(texts, '\0');
    return start;
}

static bool
side_begin(struct side *side, const struct profile *profile, enum flame_side which)
{
    size_t room;

    *side = (struct side){.profile = profile, .which = which};
    if (!identities_find(profile, &side->identities)) {
        return false;
    }
    room = (size_t)side->identities.count + 1;
    side->numbers = calloc(room, sizeof(*side->numbers));
    side->names = calloc(room, sizeof(*side->names));
    side->full = calloc(room, sizeof(*side->full));
    side->images = calloc(room, sizeof(*side->images));
    return side->numbers != NULL && side->names != NULL && side->full != NULL &&
           side->images != NULL;
}

/*
 * Set what a side's functions are numbered in the trees.
 *
 *   pair    both profiles, NULL: there is only one
 *   common  the functions of the pair, otherwise those of the side
 */
static void
number_functions(struct side *side, const struct pair *pair,
                 const struct identities *common)
{
    const struct profile *const profile = side->profile;
    const int of = side->which == FLAME_OLD ? PAIR_OLD : PAIR_NEW;

    for (uint32_t i = 0; i < side->identities.count; i++) {
        const struct profile_image *image;
        const struct profile_function *const function =
            identity_function(&side->identities, i, &image);
        uint32_t image_at, function_at;

        side->numbers[i] = i;
        if (identity_is_end(&side->identities, i)) {
            continue;
        }
        image_at = (uint32_t)(image - profile->images);
        function_at = (uint32_t)(function - profile->functions);
        side->numbers[i] = identity_number(
            common, pair != NULL ? pair->images[of][image_at] : image_at,
            pair != NULL ? pair->functions[of][function_at] : function_at,
            identity_is_inlined(&side->identities, i));
    }
    for (size_t i = 0; pair != NULL && i < profile->call_count; i++) {
        const uint32_t number = side->identities.calls[i];

        if (number != IDENTITY_NONE && profile->calls[i].end != NULL) {
            side->numbers[number] = common->calls[pair->calls[of][i]];
        }
    }
}

/* Number the functions of both sides as ntprof diff has them: by name and by the name
 * of the image's file, as two builds have little else in common. Returns false if
 * memory runs out. */
static bool
number_sides(struct side *sides)
{
    static const struct report_grouping by_function = {.filter_count = 0};
    struct identities common = {.count = 0};
    struct pair pair;
    bool done = pair_init(&pair, sides[FLAME_OLD].profile, sides[FLAME_NEW].profile,
                          &by_function);

    if (done) {
        done = identities_find(pair.joined, &common);
    }
    for (int i = 0; done && i < FLAME_SIDES; i++) {
        number_functions(&sides[i], &pair, &common);
    }
    identities_finish(&common);
    pair_finish(&pair);
    return done;
}

/* Name the functions of a side. next: has their details, and is moved behind them. */
static bool
put_names(struct side *side, const struct display_name **next)
{
    for (uint32_t i = 0; i < side->identities.count; i++) {
        const struct display_name *const name = (*next)++;

        side->images[i] = name->image->path[0] != '\0' ? name->image->path : NULL;
        side->names[i] = put_name(&side->texts, name, name->detail);
        side->full[i] =
            put_name(&side->texts, name,
                     name->detail > DISPLAY_FULL ? name->detail : DISPLAY_FULL);
    }
    return !side->texts.failed;
}

/* Name all functions: short, but each differently. */
static bool
name_functions(struct side *sides, int count)
{
    const size_t most = (size_t)sides[FLAME_NEW].identities.count +
                        (count > 1 ? sides[FLAME_OLD].identities.count : 0);
    struct display_name *const items = calloc(most + 1, sizeof(*items));
    const struct display_name *next = items;
    size_t used = 0;
    bool done = items != NULL;

    for (int side = 0; done && side < count; side++) {
        for (uint32_t i = 0; i < sides[side].identities.count; i++) {
            struct display_name *const name = &items[used++];

            name->function =
                identity_function(&sides[side].identities, i, &name->image);
            name->identity = sides[side].numbers[i];
        }
    }
    done = done && display_tell_apart(items, used);
    for (int side = 0; done && side < count; side++) {
        done = put_names(&sides[side], &next);
    }
    free(items);
    return done;
}

static void
side_finish(struct side *side)
{
    identities_finish(&side->identities);
    buffer_finish(&side->texts);
    free(side->numbers);
    free(side->names);
    free(side->full);
    free(side->images);
}

/* Add the nodes of one profile. at has room for the numbers that they get. */
static bool
add_nodes(struct flame *flame, const struct side *side, const struct call_tree *tree,
          uint32_t *at)
{
    const char *const texts = (const char *)side->texts.data;

    flame->nodes[0].self[side->which] += tree->nodes[0].self;
    at[0] = 0;
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_tree_node *const node = &tree->nodes[i];
        const struct flame_function function = {
            .number = side->numbers[node->number],
            .name = &texts[side->names[node->number]],
            .full = &texts[side->full[node->number]],
            .image = side->images[node->number],
        };

        if (!flame_add(flame, at[node->parent], &function, side->which, node->self,
                       &at[i])) {
            return false;
        }
    }
    return true;
}

/* Add what a profile has of a source. */
static bool
add_source(struct flames_source *into, const struct side *side, size_t source)
{
    const struct call_tree_options options = {.source = source, .inlined = true};
    const uint64_t outside =
        profile_outside(side->profile, &side->profile->sources[source]);
    struct call_tree tree = {0};
    uint32_t *at = NULL;
    bool done = call_tree_build(&tree, side->profile, &side->identities, &options);

    if (done) {
        at = calloc(tree.count, sizeof(*at));
        done = at != NULL && add_nodes(&into->tree, side, &tree, at);
        into->all[side->which] = tree.hits;
        add_clamped(&into->all[side->which], outside);
        into->counted[side->which] = (double)into->all[side->which] /
                                     profile_units_of_hit(side->profile, source);
    }
    free(at);
    call_tree_finish(&tree);
    return done;
}

/* Find the source of an older profile that is the same one. Returns NULL if it has
 * none. */
static const struct profile_source *
same_source(const struct profile *old, const struct profile_source *source)
{
    for (size_t i = 0; i < old->source_count; i++) {
        if (strcmp(old->sources[i].name, source->name) == 0 &&
            strcmp(old->sources[i].unit, source->unit) == 0) {
            return &old->sources[i];
        }
    }
    return NULL;
}

/* Add the stacks of one profile to the trees of the sources that it has. */
static bool
add_side(struct flames *flames, const struct side *side, const struct profile *profile)
{
    for (size_t i = 0; i < flames->count; i++) {
        struct flames_source *const into = &flames->sources[i];
        const struct profile_source *const source =
            same_source(side->profile, &profile->sources[i]);

        if (source == NULL) {
            continue;
        }
        into->exact =
            (side->which == FLAME_NEW || into->exact) && report_is_exact(source);
        if (!add_source(into, side, (size_t)(source - side->profile->sources))) {
            return false;
        }
    }
    return true;
}

bool
flames_read(struct flames *flames, const struct profile *profile,
            const struct profile *old)
{
    const struct profile *const profiles[FLAME_SIDES] = {profile, old};
    const int count = old != NULL ? FLAME_SIDES : 1;
    struct side sides[FLAME_SIDES] = {{.profile = NULL}};
    bool done;

    *flames = (struct flames){.count = profile->source_count, .compared = old != NULL};
    flames->sources = calloc(flames->count + 1, sizeof(*flames->sources));
    done = flames->sources != NULL;
    for (size_t i = 0; done && i < flames->count; i++) {
        done = flame_begin(&flames->sources[i].tree, &flames->frames);
    }
    for (int side = 0; done && side < count; side++) {
        done = side_begin(&sides[side], profiles[side], (enum flame_side)side);
    }
    if (done && old != NULL) {
        done = number_sides(sides);
    } else if (done) {
        number_functions(&sides[FLAME_NEW], NULL, &sides[FLAME_NEW].identities);
    }
    done = done && name_functions(sides, count);
    for (int side = 0; done && side < count; side++) {
        done = add_side(flames, &sides[side], profile);
    }
    for (int side = 0; side < count; side++) {
        side_finish(&sides[side]);
    }
    for (size_t i = 0; done && i < flames->count; i++) {
        done = flame_sort(&flames->sources[i].tree);
    }
    return done;
}

void
flames_finish(struct flames *flames)
{
    for (size_t i = 0; flames->sources != NULL && i < flames->count; i++) {
        flame_finish(&flames->sources[i].tree);
    }
    free(flames->sources);
    flame_frames_finish(&flames->frames);
    *flames = (struct flames){.count = 0};
}

bool
flames_change(const struct flames_source *source, const struct flame_node *node,
              double *change, double *error)
{
    double share[FLAME_SIDES] = {0};
    double variance = 0;

    for (int side = 0; side < FLAME_SIDES; side++) {
        if (source->all[side] > 0) {
            share[side] = (double)node->total[side] / (double)source->all[side];
            variance += share[side] * (1 - share[side]) / source->counted[side];
        }
    }
    *change = share[FLAME_NEW] - share[FLAME_OLD];
    *error = source->exact ? 0 : REPORT_DEVIATIONS_95 * sqrt(variance);
    return fabs(*change) > *error;
}
