/* SPDX-License-Identifier: MIT */
/* flames.c - reads the stacks of profiles into the trees of flame graphs. */
#include "view/export/flames.h"

#include "base/arithmetic.h"
#include "profile/call_tree.h"
#include "profile/display.h"
#include "profile/estimate.h"
#include "profile/join.h"
#include "view/export/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* side - the state while one profile is read. */
struct side {
    const struct profile *profile;
    enum flame_side which;
    struct identities identities;
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

/* Name all functions: short, but each differently. */
static bool
name_functions(struct side *side)
{
    const size_t count = side->identities.count;
    struct display_name *const items = calloc(count + 1, sizeof(*items));
    bool done;

    side->names = calloc(count + 1, sizeof(*side->names));
    side->full = calloc(count + 1, sizeof(*side->full));
    side->images = calloc(count + 1, sizeof(*side->images));
    if (items == NULL || side->names == NULL || side->full == NULL ||
        side->images == NULL) {
        free(items);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i].function = identity_function(&side->identities, i, &items[i].image);
        items[i].identity = i;
        side->images[i] = items[i].image->path[0] != '\0' ? items[i].image->path : NULL;
    }
    done = display_tell_apart(items, count);
    for (size_t i = 0; done && i < count; i++) {
        side->names[i] = put_name(&side->texts, &items[i], items[i].detail);
        side->full[i] =
            put_name(&side->texts, &items[i],
                     items[i].detail > DISPLAY_FULL ? items[i].detail : DISPLAY_FULL);
    }
    free(items);
    return done && !side->texts.failed;
}

static bool
side_begin(struct side *side, const struct profile *profile, enum flame_side which)
{
    *side = (struct side){.profile = profile, .which = which};
    return identities_find(profile, &side->identities) && name_functions(side);
}

static void
side_finish(struct side *side)
{
    identities_finish(&side->identities);
    buffer_finish(&side->texts);
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
    const struct profile *const sides[FLAME_SIDES] = {profile, old};
    bool done;

    *flames = (struct flames){.count = profile->source_count, .compared = old != NULL};
    flames->sources = calloc(flames->count + 1, sizeof(*flames->sources));
    done = flames->sources != NULL;
    for (size_t i = 0; done && i < flames->count; i++) {
        done = flame_begin(&flames->sources[i].tree, &flames->frames);
    }
    for (int which = 0; done && which < FLAME_SIDES; which++) {
        struct side side;

        if (sides[which] != NULL) {
            done = side_begin(&side, sides[which], (enum flame_side)which) &&
                   add_side(flames, &side, profile);
            side_finish(&side);
        }
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
