/* SPDX-License-Identifier: MIT */
/* decode_tables.c - the first walk: tables of names, then sorted by id. */
#include "profile/decoder.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- first walk: tables --- */

static bool
read_value_type(struct decoder *decoder, struct protobuf_reader bytes,
                struct value_type *type)
{
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == VALUE_TYPE_TYPE) {
            type->type = field.value;
        } else if (field.number == VALUE_TYPE_UNIT) {
            type->unit = field.value;
        }
    }
    return result == PROTOBUF_END || decoder_fail_broken(decoder, "sample type");
}

static bool
read_sample_type(struct decoder *decoder, struct protobuf_reader bytes)
{
    struct value_type type = {0};

    if (COUNT(decoder->types, type) >= SAMPLE_TYPES_MAX) {
        return decoder_fail(decoder, "it has more than %d kinds of values a sample",
                            SAMPLE_TYPES_MAX);
    }
    return read_value_type(decoder, bytes, &type) &&
           decoder_append(decoder, &decoder->types, &type, sizeof(type));
}

static bool
read_mapping(struct decoder *decoder, struct protobuf_reader bytes)
{
    struct mapping mapping = {0};
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        switch (field.number) {
        case MAPPING_ID:
            mapping.id = field.value;
            break;
        case MAPPING_MEMORY_START:
            mapping.start = field.value;
            break;
        case MAPPING_MEMORY_LIMIT:
            mapping.limit = field.value;
            break;
        case MAPPING_FILE_OFFSET:
            mapping.offset = field.value;
            break;
        case MAPPING_FILENAME:
            mapping.filename = field.value;
            break;
        case MAPPING_BUILD_ID:
            mapping.build_id = field.value;
            break;
        case MAPPING_HAS_FUNCTIONS:
            mapping.named = field.value != 0;
            break;
        default:
            break;
        }
    }
    if (result != PROTOBUF_END) {
        return decoder_fail_broken(decoder, "mapping");
    }
    return decoder_append(decoder, &decoder->mappings, &mapping, sizeof(mapping));
}

static bool
read_function(struct decoder *decoder, struct protobuf_reader bytes)
{
    struct function function = {0};
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        switch (field.number) {
        case FUNCTION_ID:
            function.id = field.value;
            break;
        case FUNCTION_NAME:
            function.name = field.value;
            break;
        case FUNCTION_SYSTEM_NAME:
            function.system_name = field.value;
            break;
        case FUNCTION_FILENAME:
            function.filename = field.value;
            break;
        case FUNCTION_START_LINE:
            function.start_line = field.value;
            break;
        case FUNCTION_ADDRESS:
            function.has_address = true;
            function.address = field.value;
            break;
        case FUNCTION_DEFINITION:
            function.definition = field.value;
            break;
        default:
            break;
        }
    }
    if (result != PROTOBUF_END) {
        return decoder_fail_broken(decoder, "function");
    }
    return decoder_append(decoder, &decoder->functions, &function, sizeof(function));
}

static bool
read_comments(struct decoder *decoder, struct protobuf_field field)
{
    uint64_t number;

    while (protobuf_get_repeated(&field, &number)) {
        if (!decoder_append(decoder, &decoder->comments, &number, sizeof(number))) {
            return false;
        }
    }
    return true;
}

static bool
read_string(struct decoder *decoder, struct protobuf_reader bytes)
{
    const struct string_entry entry = {.bytes = bytes};

    return decoder_append(decoder, &decoder->strings, &entry, sizeof(entry));
}

static bool
read_time(struct decoder *decoder, uint64_t time_ns)
{
    if (decoder->time_ns != 0 && time_ns != 0) {
        return decoder_fail(decoder, "two profiles were appended to one file");
    }
    decoder->time_ns = time_ns;
    return true;
}

bool
decoder_read_table_field(struct decoder *decoder, const struct protobuf_field *field)
{
    switch (field->number) {
    case PROFILE_SAMPLE_TYPE:
        return read_sample_type(decoder, field->bytes);
    case PROFILE_MAPPING:
        return read_mapping(decoder, field->bytes);
    case PROFILE_FUNCTION:
        return read_function(decoder, field->bytes);
    case PROFILE_STRING_TABLE:
        return read_string(decoder, field->bytes);
    case PROFILE_TIME_NANOS:
        return read_time(decoder, field->value);
    case PROFILE_DURATION_NANOS:
        decoder->duration_ns = field->value;
        return true;
    case PROFILE_PERIOD_TYPE:
        return read_value_type(decoder, field->bytes, &decoder->period_type);
    case PROFILE_PERIOD:
        decoder->period = field->value;
        return true;
    case PROFILE_COMMENT:
        return read_comments(decoder, *field);
    case PROFILE_DROP_FRAMES:
        decoder->drop_frames = field->value;
        return true;
    case PROFILE_KEEP_FRAMES:
        decoder->keep_frames = field->value;
        return true;
    case PROFILE_DEFAULT_SAMPLE_TYPE:
        decoder->default_type = field->value;
        return true;
    default:
        return true;
    }
}

/* --- tables by id --- */

/* Compare two entries of a table by their id, with which all entries start. */
static int
compare_ids(const void *left, const void *right)
{
    uint64_t a;
    uint64_t b;

    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    return (a > b) - (a < b);
}

/* Whether a table is sorted by its ids. Most are, and sorting them would take a tenth
 * of the time for decoding. */
static bool
is_sorted(const struct buffer *table, size_t entry_size)
{
    const size_t count = table->size / entry_size;

    for (size_t i = 1; i < count; i++) {
        const uint8_t *entry = table->data + i * entry_size;

        if (compare_ids(entry - entry_size, entry) > 0) {
            return false;
        }
    }
    return true;
}

bool
decoder_sort(struct decoder *decoder, struct buffer *table, size_t entry_size,
             const char *what)
{
    const size_t count = table->size / entry_size;

    if (count == 0) {
        return true;
    }
    if (!is_sorted(table, entry_size)) {
        qsort(table->data, count, entry_size, compare_ids);
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t *entry = table->data + i * entry_size;
        uint64_t id;

        memcpy(&id, entry, sizeof(id));
        if (id == 0 || (i > 0 && compare_ids(entry - entry_size, entry) == 0)) {
            return decoder_fail(decoder, "damaged: %s id %" PRIu64 " is %s", what, id,
                                id == 0 ? "not allowed" : "there twice");
        }
    }
    return true;
}

/* Return the entry with this id, or NULL with the error set: also of id 0, as id - 1
 * wraps. what is the table's name in messages. */
const void *
decoder_find(struct decoder *decoder, const struct buffer *table, size_t entry_size,
             uint64_t id, const char *what)
{
    const size_t count = table->size / entry_size;
    const void *found = NULL;

    /* Nearly all writers number from 1 without gaps, so try that first. */
    if (id - 1 < count && compare_ids(table->data + (id - 1) * entry_size, &id) == 0) {
        return table->data + (id - 1) * entry_size;
    }
    if (count > 0) {
        found = bsearch(&id, table->data, count, entry_size, compare_ids);
    }
    if (found == NULL) {
        decoder_fail(decoder, "damaged: %s %" PRIu64 " is used and not there", what,
                     id);
    }
    return found;
}

bool
decoder_check_strings(struct decoder *decoder)
{
    if (decoder->strings.size == 0) {
        return decoder_fail(decoder, "not a profile: it has no string table");
    }
    return decoder_string_is(decoder, 0, "") ||
           decoder_fail(decoder,
                        "not a profile: its string table does not start with \"\"");
}

bool
decoder_add_mappings(struct decoder *decoder)
{
    struct mapping *mappings = (void *)decoder->mappings.data;

    if (!decoder_sort(decoder, &decoder->mappings, sizeof(*mappings), "mapping")) {
        return false;
    }
    for (size_t i = 0; i < COUNT(decoder->mappings, *mappings); i++) {
        struct profile_image image = {
            .path = decoder_string(decoder, mappings[i].filename),
            .build_id = decoder_string(decoder, mappings[i].build_id),
            .start = mappings[i].start,
            .limit = mappings[i].limit,
            .offset = mappings[i].offset,
            .named = mappings[i].named,
        };

        if (image.path == NULL || image.build_id == NULL) {
            return false;
        }
        if (!decoder_take_memory(decoder, ENTRY_BYTES + sizeof(image))) {
            return false;
        }
        if (!profile_add_image(decoder->profile, &image, &mappings[i].image)) {
            return decoder_fail_memory(decoder);
        }
    }
    return true;
}

uint32_t
decoder_clamp_line(uint64_t line)
{
    return line > INT32_MAX ? 0 : (uint32_t)line; /* also if it is negative */
}

bool
decoder_add_functions(struct decoder *decoder)
{
    struct function *functions = (void *)decoder->functions.data;

    if (!decoder_sort(decoder, &decoder->functions, sizeof(*functions), "function")) {
        return false;
    }
    for (size_t i = 0; i < COUNT(decoder->functions, *functions); i++) {
        struct profile_function function = {
            .name = decoder_string(decoder, functions[i].name),
            .system_name = decoder_string(decoder, functions[i].system_name),
            .file = decoder_string(decoder, functions[i].filename),
            .start_line = decoder_clamp_line(functions[i].start_line),
            .has_address = functions[i].has_address,
            .address = functions[i].address,
            .definition = decoder_string(decoder, functions[i].definition),
        };

        if (function.name == NULL || function.system_name == NULL ||
            function.file == NULL || function.definition == NULL) {
            return false;
        }
        if (decoder->ours && function.has_address && function.system_name[0] == '\0') {
            function.name = ""; /* the file has one for other readers */
        }
        /* Before it may get its system name, which pprof does not match. */
        if (!decoder_drop_function(decoder, function.name, &functions[i])) {
            return false;
        }
        if (function.name[0] == '\0' && !decoder->ours) {
            function.name = function.system_name;
        }
        if (!decoder_take_memory(decoder, ENTRY_BYTES + sizeof(function))) {
            return false;
        }
        if (!profile_add_function(decoder->profile, &function, &functions[i].index)) {
            return decoder_fail_memory(decoder);
        }
    }
    return true;
}
