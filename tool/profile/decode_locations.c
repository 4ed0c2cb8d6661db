/* SPDX-License-Identifier: MIT */
/* decode_locations.c - the second walk: function, line and image of each location. */
#include "profile/decoder.h"

#include "base/text.h"

/* --- second walk: locations --- */

/* Read a line of a location, and append it to decoder->lines if it has a function. */
static bool
read_line(struct decoder *decoder, struct protobuf_reader bytes)
{
    struct line entry = {0};
    const struct function *function;
    struct protobuf_field field;
    enum protobuf_result result;
    uint64_t function_id = 0;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == LINE_FUNCTION_ID) {
            function_id = field.value;
        } else if (field.number == LINE_LINE) {
            entry.line = decoder_clamp_line(field.value);
        }
    }
    if (result != PROTOBUF_END) {
        return decoder_fail_broken(decoder, "line");
    }
    if (function_id == 0) {
        return true; /* 0: unknown */
    }
    function = decoder_find(decoder, &decoder->functions, sizeof(*function),
                            function_id, "function");
    if (function == NULL) {
        return false;
    }
    entry.function = function->index;
    entry.dropped = function->dropped;
    return decoder_append(decoder, &decoder->lines, &entry, sizeof(entry));
}

/* Leave out the lines just before the outermost one, which has the machine code, if
 * there are too many. */
static void
shorten_lines(struct decoder *decoder)
{
    struct line *const lines = (void *)decoder->lines.data;
    const size_t count = COUNT(decoder->lines, *lines);

    if (count > PROFILE_PLACE_FUNCTIONS_MAX) {
        lines[PROFILE_PLACE_FUNCTIONS_MAX - 1] = lines[count - 1];
        decoder->lines.size = PROFILE_PLACE_FUNCTIONS_MAX * sizeof(*lines);
        decoder->shortened++;
    }
}

/* Set the function, line, caller and number of functions of a location from
 * decoder->lines; of function 0 nothing is known. Frames are added to the profile with
 * the outermost first, since each refers to its caller. */
static bool
set_location_lines(struct decoder *decoder, struct location *location)
{
    const struct line *lines = (const void *)decoder->lines.data;
    size_t count = COUNT(decoder->lines, *lines);

    if (count == 0 || lines[0].function == 0) {
        return true;
    }
    location->function = lines[0].function;
    location->line = lines[0].line;
    location->functions = (uint32_t)count;
    for (; count > 1; count--) {
        const struct profile_frame frame = {.function = lines[count - 1].function,
                                            .line = lines[count - 1].line,
                                            .caller = location->caller};

        if (frame.function == 0) {
            continue;
        }
        if (!decoder_take_memory(decoder, ENTRY_BYTES + sizeof(frame))) {
            return false;
        }
        if (!profile_add_frame(decoder->profile, &frame, &location->caller)) {
            return decoder_fail_memory(decoder);
        }
    }
    return true;
}

bool
decoder_image_of(struct decoder *decoder, const struct location *location,
                 uint32_t *image)
{
    const struct profile_image none = {.path = "", .build_id = ""};

    if (location->image != HASH_INDEX_NONE) {
        *image = location->image;
        return true;
    }
    if (decoder->no_image == HASH_INDEX_NONE &&
        !profile_add_image(decoder->profile, &none, &decoder->no_image)) {
        return decoder_fail_memory(decoder);
    }
    *image = decoder->no_image;
    return true;
}

/* Set the image of a location, by the id of its mapping; 0: it has none. */
static bool
set_location_image(struct decoder *decoder, struct location *location,
                   uint64_t mapping_id)
{
    const struct mapping *mapping;

    if (mapping_id == 0) {
        location->image = HASH_INDEX_NONE;
        return true;
    }
    mapping = decoder_find(decoder, &decoder->mappings, sizeof(*mapping), mapping_id,
                           "mapping");
    if (mapping == NULL) {
        return false;
    }
    location->image = mapping->image;
    return true;
}

bool
decoder_read_location(struct decoder *decoder, const struct protobuf_field *outer)
{
    struct protobuf_reader bytes = outer->bytes;
    struct location location = {.functions = 1};
    struct protobuf_field field;
    enum protobuf_result result;
    uint64_t mapping_id = 0;

    if (outer->number != PROFILE_LOCATION) {
        return true;
    }
    decoder->lines.size = 0;
    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == LOCATION_ID) {
            location.id = field.value;
        } else if (field.number == LOCATION_MAPPING_ID) {
            mapping_id = field.value;
        } else if (field.number == LOCATION_ADDRESS) {
            location.address = field.value;
        } else if (field.number == LOCATION_LINE && !read_line(decoder, field.bytes)) {
            return false;
        }
    }
    if (result != PROTOBUF_END) {
        return decoder_fail_broken(decoder, "location");
    }
    decoder_drop_lines(decoder, &location);
    shorten_lines(decoder);
    return set_location_lines(decoder, &location) &&
           set_location_image(decoder, &location, mapping_id) &&
           decoder_append(decoder, &decoder->locations, &location, sizeof(location));
}
