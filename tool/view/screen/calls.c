/* SPDX-License-Identifier: MIT */
/* calls.c - callers and callees of a target, by the rule of reports. */
#include "view/screen/calls.h"

#include "profile/stack_ends.h"

#include <stdlib.h>

bool
tui_calls_find(struct tui_calls *calls, const struct profile *profile,
               const struct tui_target *target)
{
    const struct profile_image *image;

    *calls = (struct tui_calls){.profile = profile};
    if (!identities_find(profile, &calls->identities)) {
        return false;
    }
    calls->relation.chosen = calloc(calls->identities.count + 1, sizeof(bool));
    if (calls->relation.chosen == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < calls->identities.count; i++) {
        const struct profile_function *const function =
            identity_function(&calls->identities, i, &image);

        calls->relation.chosen[i] = tui_target_is(target, image, function);
    }
    return true;
}

void
tui_calls_finish(struct tui_calls *calls)
{
    relation_finish(&calls->relation);
    identities_finish(&calls->identities);
    *calls = (struct tui_calls){0};
}

struct tui_related
tui_calls_related(const struct tui_calls *calls, enum report_relation_kind kind,
                  const struct profile_row *row)
{
    const struct profile *const profile = calls->profile;
    struct relation relation = calls->relation;
    struct tui_related related = {0};
    struct stack_walk walk;

    relation.kind = kind;
    related.found = relation_find(&relation, profile, &calls->identities, row, &walk);
    if (related.found == RELATION_OUTERMOST) {
        related.end = profile_end_of(profile, row->stack);
    } else if (related.found == RELATION_FUNCTION && stack_walk_is_end(&walk)) {
        related.end = profile->calls[walk.call].end;
    } else if (related.found != RELATION_NONE) {
        const struct profile_row *const place =
            related.found == RELATION_ITSELF ? row : &walk.place;

        related.image = place->image;
        related.function = profile_outer_function(profile, place);
    }
    return related;
}
