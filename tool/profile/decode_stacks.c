/* SPDX-License-Identifier: MIT */
/* decode_stacks.c - the calls of a sample, from its second location on. */
#include "profile/decoder.h"

#include "profile/stack_ends.h"

#include <string.h>

/* Return whether a location only shows this end of stacks to readers of other tools,
 * and is no call. */
static bool
shows_end(const struct decoder *decoder, const struct location *location,
          const char *end)
{
    return location->image == HASH_INDEX_NONE && location->function != 0 &&
           strcmp(decoder->profile->functions[location->function].name, end) == 0;
}

static const struct location *
location_at(struct decoder *decoder, size_t index)
{
    const uint64_t *const stack = (const void *)decoder->stack.data;

    return decoder_find(decoder, &decoder->locations, sizeof(struct location),
                        stack[index], "location");
}

/* Add a call or an end, and count what is new of it. */
static bool
add_call(struct decoder *decoder, const struct profile_call *call, uint32_t *index)
{
    struct profile *const profile = decoder->profile;
    const size_t calls = profile->call_count;
    const size_t functions = profile->function_count;

    if (!profile_add_call(profile, call, index)) {
        return decoder_fail_memory(decoder);
    }
    return decoder_take_memory(
        decoder, (profile->call_count - calls) * (ENTRY_BYTES + sizeof(*call)) +
                     (profile->function_count - functions) *
                         (ENTRY_BYTES + sizeof(struct profile_function)));
}

/* Add the call of a location. *index: in, that of its caller; out, its own. */
static bool
add_location(struct decoder *decoder, const struct location *location, uint32_t *index)
{
    struct profile_call call = {
        .address = location->address,
        .function = location->function,
        .line = location->line,
        .inlined = location->caller,
        .caller = *index,
        .by_name = true,
    };

    return decoder_image_of(decoder, location, &call.image) &&
           add_call(decoder, &call, index);
}

/* Shorten *count to the calls of a stack that have no more than
 * PROFILE_STACK_FUNCTIONS_MAX functions, and count these in *functions. Returns false
 * if a location does not exist. */
static bool
bound_functions(struct decoder *decoder, size_t skipped, size_t *count,
                size_t *functions)
{
    *functions = 0;
    for (size_t i = skipped; i < *count; i++) {
        const struct location *const location = location_at(decoder, i);

        if (location == NULL) {
            return false;
        }
        if (location->functions > PROFILE_STACK_FUNCTIONS_MAX - *functions) {
            *count = i;
        } else {
            *functions += location->functions;
        }
    }
    return true;
}

bool
decoder_add_stack(struct decoder *decoder, size_t skipped, const char *end,
                  uint32_t *index, size_t *functions)
{
    struct profile_call outermost = {.end = end};
    size_t count = COUNT(decoder->stack, uint64_t);
    size_t bounded;

    if (end == NULL) {
        outermost.end = PROFILE_STACK_WHOLE;
    } else if (count > skipped && profile_end_is_shown(end)) {
        const struct location *const location = location_at(decoder, count - 1);

        if (location == NULL) {
            return false;
        }
        if (shows_end(decoder, location, end)) {
            count--;
        }
    }
    if (count > skipped + PROFILE_STACK_CALLS_MAX) {
        count = skipped + PROFILE_STACK_CALLS_MAX;
        outermost.end = PROFILE_STACK_DEEP;
    }
    bounded = count;
    if (!bound_functions(decoder, skipped, &bounded, functions)) {
        return false;
    }
    if (bounded < count) {
        count = bounded;
        outermost.end = PROFILE_STACK_LARGE;
    }
    if (!add_call(decoder, &outermost, index)) {
        return false;
    }
    for (; count > skipped; count--) {
        const struct location *const location = location_at(decoder, count - 1);

        if (location == NULL || !add_location(decoder, location, index)) {
            return false;
        }
    }
    return true;
}
