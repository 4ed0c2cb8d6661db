/* SPDX-License-Identifier: MIT */
/* uses.c - marks the functions and frames of each row, with all callers. */
#include "profile/uses.h"

#include <assert.h>
#include <stdlib.h>

bool
profile_uses_init(struct profile_uses *uses, const struct profile *profile)
{
    uses->functions = calloc(FUNCTION_KINDS * profile->function_count, sizeof(bool));
    uses->frames = calloc(FUNCTION_KINDS * profile->frame_count, sizeof(bool));
    if (uses->functions == NULL || uses->frames == NULL) {
        return false;
    }
    for (size_t kind = 0; kind < FUNCTION_KINDS; kind++) {
        uses->functions[kind] = true;
        uses->frames[kind] = true;
    }
    return true;
}

void
profile_uses_finish(struct profile_uses *uses)
{
    free(uses->functions);
    free(uses->frames);
}

/* Mark a function, and the frames that it is inlined into. */
static void
mark(struct profile_uses *uses, const struct profile *profile, uint32_t function,
     uint32_t frame, unsigned kind)
{
    assert(function < profile->function_count && kind < FUNCTION_KINDS);
    uses->functions[FUNCTION_KINDS * function + kind] = true;
    for (uint32_t at = frame; at != 0 && !uses->frames[FUNCTION_KINDS * at + kind];
         at = profile->frames[at].caller) {
        assert(at < profile->frame_count && profile->frames[at].caller < at);
        uses->frames[FUNCTION_KINDS * at + kind] = true;
        uses->functions[FUNCTION_KINDS * profile->frames[at].function + kind] = true;
    }
}

void
profile_uses_mark(struct profile_uses *uses, const struct profile *profile,
                  const struct profile_row *row, unsigned kind)
{
    mark(uses, profile, row->function, row->caller, kind);
}

void
profile_uses_mark_call(struct profile_uses *uses, const struct profile *profile,
                       const struct profile_call *call, unsigned kind)
{
    mark(uses, profile, call->function, call->inlined, kind);
}

struct profile_function
profile_uses_function(const struct profile *profile, size_t index, unsigned kind)
{
    struct profile_function function = profile->functions[index];

    if (kind == FUNCTION_WITH_ADDRESS) {
        return function;
    }
    if (function.name[0] == '\0' && function.system_name[0] == '\0') {
        return profile->functions[0];
    }
    function.has_address = false;
    function.address = 0;
    return function;
}
