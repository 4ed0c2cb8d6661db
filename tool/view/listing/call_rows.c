/* SPDX-License-Identifier: MIT */
/* call_rows.c - makes functions that only call others findable. */
#include "view/listing/listing.h"

bool
listing_add_calls(struct profile *profile)
{
    /* Only a profile with rows surely has the process 0 of the new ones. */
    const size_t count = profile->row_count > 0 ? profile->call_count : 0;

    for (size_t i = 1; i < count; i++) {
        const struct profile_call *const call = &profile->calls[i];
        const struct profile_place place = {
            .image = call->image,
            .address = call->address,
            .function = call->function,
            .line = call->line,
            .caller = call->inlined,
        };

        if (call->end == NULL &&
            profile_row_at(profile, &place, call->by_name) == NULL) {
            return false;
        }
    }
    return true;
}
