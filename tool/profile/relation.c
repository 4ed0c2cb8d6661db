/* SPDX-License-Identifier: MIT */
/* relation.c - finds callers and callees on stacks. */
#include "profile/relation.h"

#include "profile/match.h"

#include <stdlib.h>
#include <string.h>

/* Whether an image is skipped. Ends of stacks are in none. */
static bool
is_skipped(const struct report_relation *of, const struct profile_image *image,
           struct buffer *scratch)
{
    for (size_t i = 0; i < of->skipped_count; i++) {
        if (match_image(of->skipped[i], image, scratch)) {
            return true;
        }
    }
    return false;
}

bool
relation_init(struct relation *relation, const struct identities *identities,
              const struct report_relation *of, bool inlined)
{
    struct buffer scratch = {0};
    bool done;

    *relation = (struct relation){
        .kind = of->kind,
        .inlined = inlined,
        .chosen = calloc(identities->count + 1, sizeof(*relation->chosen)),
        .skipped = calloc(identities->count + 1, sizeof(*relation->skipped)),
    };
    done = relation->chosen != NULL && relation->skipped != NULL;
    for (uint32_t i = 0; done && i < identities->count; i++) {
        const struct profile_image *image;
        const struct profile_function *const function =
            identity_function(identities, i, &image);

        relation->chosen[i] =
            of->glob != NULL && match_function(of->glob, function, image, &scratch);
        relation->skipped[i] =
            !identity_is_end(identities, i) && is_skipped(of, image, &scratch);
        done = !scratch.failed;
    }
    buffer_finish(&scratch);
    return done;
}

void
relation_finish(struct relation *relation)
{
    free(relation->chosen);
    free(relation->skipped);
}

enum relation_found
relation_find(const struct relation *relation, const struct profile *profile,
              const struct identities *identities, const struct profile_row *row,
              struct stack_walk *walk)
{
    const bool callers = relation->kind == REPORT_CALLERS;
    struct stack_walk at =
        stack_walk_start(profile, identities, row, relation->inlined);
    bool chosen = false;
    bool found = false;  /* *walk is at the caller, or at the callee if there is one */
    bool passed = false; /* last is set: a function neither chosen nor skipped */
    struct stack_walk last = at; /* the outermost one so far that may be a callee */

    /* Outwards: each chosen function is outside of those before, so it starts anew. */
    while (stack_walk_next(&at)) {
        if (relation->chosen[at.number]) {
            chosen = true;
            found = !callers && passed;
            *walk = last;
        } else if (relation->skipped == NULL || !relation->skipped[at.number]) {
            if (callers && chosen && !found) {
                found = true;
                *walk = at;
            }
            passed = true;
            last = at;
        }
    }
    if (!chosen) {
        return RELATION_NONE;
    }
    return found ? RELATION_FUNCTION : callers ? RELATION_OUTERMOST : RELATION_ITSELF;
}
