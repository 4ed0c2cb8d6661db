/* SPDX-License-Identifier: MIT */
/*
 * pprof_encode.c - encodes a profile as the bytes of a pprof file.
 *
 * Each bucket and each call is a location; each row and source with hits is a sample
 * with the location of its bucket and those of its calls. A stack that is not whole has
 * a location outermost that says so. Messages are built one at a time in
 * encoder.message and are compressed at once, so that memory is limited to the size of
 * the file and the string table. The buffers remember failures, which are checked at
 * the end.
 *
 * The id of an image is its index + 1, even if the order in the file differs (the main
 * program is first): the reader sorts by id and so restores the table. The id of a
 * function is its index; those of code without a name are behind these. Locations are
 * numbered in their order.
 */
#include "profile/display.h"
#include "profile/gzip.h"
#include "profile/join.h"
#include "profile/main_image.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/stack_ends.h"

#include "base/string_set.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* encoded_source - a source, as the file has it: of one interval. */
struct encoded_source {
    const struct profile_source *source;
    size_t hits;   /* which of a row's counters */
    size_t column; /* of values; sources of one name share it */
    size_t first;  /* index of the first one of its column */
    bool several;  /* other intervals have the same column */
};

struct encoder {
    const struct profile *profile;
    struct encoded_source *sources;
    size_t source_count;
    struct string_set strings;
    struct buffer text;    /* the current string, escaped */
    struct buffer part;    /* the current nested message */
    struct buffer message; /* the current field of the profile */
    struct buffer file;
    struct gzip_writer gzip;
    struct buffer nameless; /* uint64_t pairs: image, and function without a name */
    struct hash_index by_nameless;
    struct buffer places; /* struct located: the places of locations, each once */
    struct hash_index by_place;
    uint32_t *location_of_row; /* id */
    /* id; 0: no row needs it, or it is an end that is not shown */
    uint32_t *location_of_call;
    uint32_t *process_strings; /* by index of the process */
    uint32_t *unit_strings;
    uint32_t *thread_strings;
    uint32_t label_keys[PROFILE_LABELS_MAX];
    uint32_t label_values[PROFILE_LABELS_MAX];
    uint32_t *source_strings;
    size_t time_source; /* the first one with two columns; source_count: none */
    bool failed;
};

/* --- arithmetic --- */

/* Return the value, or the largest number that the format can hold. */
static uint64_t
as_int64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : value;
}

static uint64_t
multiply_int64(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : as_int64(product);
}

/* --- strings and messages --- */

/* Add encoder->text to the string table and clear it. Returns its number. */
static uint32_t
add_text(struct encoder *encoder)
{
    const char *text = buffer_text(&encoder->text);
    const uint32_t number =
        text != NULL ? string_set_add(&encoder->strings, text, encoder->text.size)
                     : HASH_INDEX_NONE;

    encoder->text.size = 0;
    if (number == HASH_INDEX_NONE) {
        encoder->failed = true;
        return 0;
    }
    return number;
}

static uint32_t
add_string(struct encoder *encoder, const char *text)
{
    if (text != NULL) {
        text_escape(&encoder->text, text);
    }
    return add_text(encoder);
}

/* Write encoder->message as a field of the profile. */
static void
put_message(struct encoder *encoder, uint32_t field)
{
    struct buffer *part = &encoder->part;

    part->size = 0;
    protobuf_put_varint(part, (uint64_t)field << 3 | PROTOBUF_BYTES);
    protobuf_put_varint(part, encoder->message.size);
    gzip_put(&encoder->gzip, part->data, part->size);
    gzip_put(&encoder->gzip, encoder->message.data, encoder->message.size);
    part->size = 0;
    encoder->message.size = 0;
}

static void
put_profile_number(struct encoder *encoder, uint32_t field, uint64_t value)
{
    struct buffer *part = &encoder->part;

    part->size = 0;
    protobuf_put_number(part, field, value);
    gzip_put(&encoder->gzip, part->data, part->size);
    part->size = 0;
}

/* --- sample types --- */

static void
put_value_type(struct encoder *encoder, uint32_t field, const char *type,
               const char *unit)
{
    protobuf_put_number(&encoder->message, VALUE_TYPE_TYPE, add_string(encoder, type));
    protobuf_put_number(&encoder->message, VALUE_TYPE_UNIT, add_string(encoder, unit));
    put_message(encoder, field);
}

/* Whether a source is the first of its column. */
static bool
has_column(const struct encoder *encoder, size_t source)
{
    return encoder->sources[source].first == source;
}

/* Whether the samples of a source have a second value: nanoseconds beside hits. */
static bool
has_time_column(const struct encoder *encoder, size_t source)
{
    return encoder->sources[source].first == encoder->time_source;
}

static void
put_sample_types(struct encoder *encoder)
{
    for (size_t i = 0; i < encoder->source_count; i++) {
        if (!has_column(encoder, i)) {
            continue;
        }
        if (has_time_column(encoder, i)) {
            put_value_type(encoder, PROFILE_SAMPLE_TYPE, COLUMN_SAMPLES, "count");
            put_value_type(encoder, PROFILE_SAMPLE_TYPE,
                           column_of_clock(encoder->sources[i].source->name),
                           "nanoseconds");
        } else {
            const struct profile_source *const source = encoder->sources[i].source;
            /* Other units are those of values of other tools, such as bytes. */
            const bool counts = strcmp(source->unit, "events") == 0 ||
                                strcmp(source->unit, UNIT_100NS) == 0;

            put_value_type(encoder, PROFILE_SAMPLE_TYPE, source->name,
                           counts ? "count" : source->unit);
        }
    }
}

/* Put what a hit stands for, of which a file has one: that of the first source, whose
 * values readers show first. */
static void
put_period(struct encoder *encoder)
{
    const bool is_time = encoder->time_source == 0;
    const struct profile_source *first;
    const char *name;

    if (encoder->source_count == 0) {
        return;
    }
    first = encoder->sources[0].source;
    name = is_time ? column_of_clock(first->name) : first->name;
    put_value_type(encoder, PROFILE_PERIOD_TYPE, name,
                   is_time ? "nanoseconds" : "count");
    put_profile_number(encoder, PROFILE_PERIOD,
                       multiply_int64(first->granted, is_time ? 100 : 1));
    put_profile_number(encoder, PROFILE_DEFAULT_SAMPLE_TYPE, add_string(encoder, name));
}

/* --- samples --- */

static void
put_label_text(struct encoder *encoder, uint32_t key, uint32_t text)
{
    encoder->part.size = 0;
    protobuf_put_number(&encoder->part, LABEL_KEY, key);
    protobuf_put_number(&encoder->part, LABEL_STR, text);
    protobuf_put_bytes(&encoder->message, SAMPLE_LABEL, encoder->part.data,
                       encoder->part.size);
}

static void
put_label_number(struct encoder *encoder, const char *key, uint64_t number,
                 const char *unit)
{
    encoder->part.size = 0;
    protobuf_put_number(&encoder->part, LABEL_KEY, add_string(encoder, key));
    protobuf_put_number(&encoder->part, LABEL_NUM, as_int64(number));
    protobuf_put_number(&encoder->part, LABEL_NUM_UNIT, add_string(encoder, unit));
    protobuf_put_bytes(&encoder->message, SAMPLE_LABEL, encoder->part.data,
                       encoder->part.size);
}

/* Append the values of all columns, of which only those of source are not 0. */
static void
put_values(struct encoder *encoder, const struct profile_row *row, size_t source)
{
    const struct encoded_source *const encoded = &encoder->sources[source];

    encoder->part.size = 0;
    for (size_t i = 0; i < encoder->source_count; i++) {
        const uint64_t hits =
            i == encoded->first ? as_int64(row->hits[encoded->hits]) : 0;

        if (!has_column(encoder, i)) {
            continue;
        }
        protobuf_put_varint(&encoder->part, hits);
        if (has_time_column(encoder, i)) {
            const uint64_t interval_ns = multiply_int64(encoded->source->granted, 100);

            protobuf_put_varint(&encoder->part, multiply_int64(hits, interval_ns));
        }
    }
    protobuf_put_bytes(&encoder->message, SAMPLE_VALUE, encoder->part.data,
                       encoder->part.size);
}

/* Append the labels of all rows, but not what identifies the recorder's start: nobody
 * groups by that. */
static void
put_common_labels(struct encoder *encoder)
{
    const struct profile *profile = encoder->profile;

    for (size_t i = 0; i < profile->label_count; i++) {
        if (strcmp(profile->labels[i].key, PROFILE_LABEL_EPOCH) != 0) {
            put_label_text(encoder, encoder->label_keys[i], encoder->label_values[i]);
        }
    }
}

/* Append the locations of a row, the innermost first. Returns the end of its stack; 0:
 * it has none. */
static uint32_t
put_stack(struct encoder *encoder, size_t row_index)
{
    const struct profile_call *const calls = encoder->profile->calls;
    uint32_t end = 0;

    encoder->part.size = 0;
    protobuf_put_varint(&encoder->part, encoder->location_of_row[row_index]);
    for (uint32_t at = encoder->profile->rows[row_index].stack; at != 0;
         at = calls[at].caller) {
        if (encoder->location_of_call[at] != 0) {
            protobuf_put_varint(&encoder->part, encoder->location_of_call[at]);
        }
        end = at;
    }
    protobuf_put_bytes(&encoder->message, SAMPLE_LOCATION_ID, encoder->part.data,
                       encoder->part.size);
    return end;
}

static void
put_sample(struct encoder *encoder, size_t row_index, size_t source)
{
    const struct profile *profile = encoder->profile;
    const struct profile_row *row = &profile->rows[row_index];
    const uint32_t end = put_stack(encoder, row_index);

    put_values(encoder, row, source);
    put_label_text(encoder, add_string(encoder, LABEL_SOURCE),
                   encoder->source_strings[source]);
    put_label_text(encoder, add_string(encoder, LABEL_PROCESS),
                   encoder->process_strings[row->process]);
    if (row->unit != 0) {
        put_label_text(encoder, add_string(encoder, LABEL_UNIT),
                       encoder->unit_strings[row->unit]);
    }
    if (row->thread != 0) {
        put_label_text(encoder, add_string(encoder, LABEL_THREAD),
                       encoder->thread_strings[row->thread]);
    }
    if (row->pid != 0) {
        put_label_number(encoder, LABEL_PID, row->pid, "");
    }
    if (row->cpu_plus_1 != 0) {
        put_label_number(encoder, LABEL_CPU, row->cpu_plus_1 - 1, "");
    }
    if (profile->bucket_bytes > 0) {
        put_label_number(encoder, LABEL_BUCKET_BYTES, profile->bucket_bytes, "bytes");
    }
    if (encoder->sources[source].several) {
        put_label_number(encoder, LABEL_INTERVAL,
                         encoder->sources[source].source->granted,
                         encoder->sources[source].source->unit);
    }
    if (end != 0) {
        put_label_text(encoder, add_string(encoder, LABEL_STACK),
                       add_string(encoder, profile->calls[end].end));
    }
    put_common_labels(encoder);
    put_message(encoder, PROFILE_SAMPLE);
}

/* Put a sample for each row and source with hits. A row without any has one with 0
 * hits, so that it is there when the file is read. */
static void
put_samples(struct encoder *encoder)
{
    const struct profile *profile = encoder->profile;

    for (size_t i = 0; i < profile->row_count && !encoder->file.failed; i++) {
        bool any = false;

        for (size_t source = 0; source < encoder->source_count; source++) {
            if (profile->rows[i].hits[encoder->sources[source].hits] > 0) {
                put_sample(encoder, i, source);
                any = true;
            }
        }
        if (!any) {
            put_sample(encoder, i, 0);
        }
    }
}

/* --- mappings --- */

static void
put_mapping(struct encoder *encoder, size_t index)
{
    const struct profile_image *image = &encoder->profile->images[index];
    struct buffer *out = &encoder->message;

    protobuf_put_number(out, MAPPING_ID, index + 1);
    protobuf_put_number(out, MAPPING_MEMORY_START, image->start);
    protobuf_put_number(out, MAPPING_MEMORY_LIMIT, image->limit);
    protobuf_put_number(out, MAPPING_FILE_OFFSET, image->offset);
    protobuf_put_number(out, MAPPING_FILENAME, add_string(encoder, image->path));
    protobuf_put_number(out, MAPPING_BUILD_ID, add_string(encoder, image->build_id));
    /* All four: otherwise pprof would look for the file and replace the names. */
    protobuf_put_number(out, MAPPING_HAS_FUNCTIONS, image->named);
    protobuf_put_number(out, MAPPING_HAS_FILENAMES, image->named);
    protobuf_put_number(out, MAPPING_HAS_LINE_NUMBERS, image->named);
    protobuf_put_number(out, MAPPING_HAS_INLINE_FRAMES, image->named);
    put_message(encoder, PROFILE_MAPPING);
}

static void
put_mappings(struct encoder *encoder)
{
    const struct profile *profile = encoder->profile;
    size_t first;

    if (profile->image_count == 0) {
        return;
    }
    if (!main_image_find(profile, &first)) {
        encoder->failed = true;
        return;
    }
    put_mapping(encoder, first);
    for (size_t i = 0; i < profile->image_count; i++) {
        if (i != first) {
            put_mapping(encoder, i);
        }
    }
}

/* --- locations --- */

/* located - what a location is of: a row's bucket, a call, or an end of stacks. */
struct located {
    bool is_end; /* it has no image */
    uint32_t image, function, line, inlined;
    uint64_t address;
};

static struct located
located_row(const struct profile_row *row)
{
    return (struct located){.image = row->image,
                            .function = row->function,
                            .line = row->line,
                            .inlined = row->caller,
                            .address = row->address};
}

static struct located
located_call(const struct profile_call *call)
{
    return (struct located){.is_end = call->end != NULL,
                            .image = call->image,
                            .function = call->function,
                            .line = call->line,
                            .inlined = call->inlined,
                            .address = call->address};
}

static int
compare_located(const struct located *a, const struct located *b)
{
    if (a->is_end != b->is_end) {
        return a->is_end ? 1 : -1;
    }
    if (a->image != b->image) {
        return a->image < b->image ? -1 : 1;
    }
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    if (a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (a->inlined > b->inlined) - (a->inlined < b->inlined);
}

static int
compare_locations(const void *left, const void *right, void *places)
{
    const struct located *const a = places;

    return compare_located(&a[*(const uint32_t *)left], &a[*(const uint32_t *)right]);
}

/*
 * Return the id of a function of an image. One without a name is written once for each
 * image: other readers need a name, which has that of the image in it. ntprof's reader
 * ignores that name.
 */
static uint64_t
function_id(struct encoder *encoder, uint32_t image, uint32_t number)
{
    const struct profile_function *const function =
        &encoder->profile->functions[number];
    const uint64_t key[2] = {image, number};
    const uint32_t hash = hash_mix(hash_mix(0, image), number);
    size_t probe = 0;
    uint32_t at;

    if (function->name[0] != '\0') {
        return number;
    }
    while ((at = hash_index_find(&encoder->by_nameless, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (memcmp(encoder->nameless.data + at * sizeof(key), key, sizeof(key)) == 0) {
            return encoder->profile->function_count + at;
        }
    }
    at = (uint32_t)(encoder->nameless.size / sizeof(key));
    buffer_append(&encoder->nameless, key, sizeof(key));
    if (encoder->nameless.failed || !hash_index_add(&encoder->by_nameless, hash, at)) {
        encoder->failed = true;
    }
    return encoder->profile->function_count + at;
}

static void
put_line(struct encoder *encoder, uint64_t function, uint32_t line)
{
    encoder->part.size = 0;
    protobuf_put_number(&encoder->part, LINE_FUNCTION_ID, function);
    protobuf_put_number(&encoder->part, LINE_LINE, line);
    protobuf_put_bytes(&encoder->message, LOCATION_LINE, encoder->part.data,
                       encoder->part.size);
}

static void
put_location(struct encoder *encoder, const struct located *located, uint64_t id)
{
    const struct profile_frame *frames = encoder->profile->frames;
    struct buffer *out = &encoder->message;

    protobuf_put_number(out, LOCATION_ID, id);
    if (!located->is_end) {
        protobuf_put_number(out, LOCATION_MAPPING_ID, (uint64_t)located->image + 1);
    }
    protobuf_put_number(out, LOCATION_ADDRESS, located->address);
    if (located->function != 0) {
        put_line(encoder, function_id(encoder, located->image, located->function),
                 located->line);
    }
    for (uint32_t at = located->inlined; at != 0; at = frames[at].caller) {
        put_line(encoder, function_id(encoder, located->image, frames[at].function),
                 frames[at].line);
    }
    put_message(encoder, PROFILE_LOCATION);
}

/* Return the number of a place plus 1, which gets one when it is first met; 0 if memory
 * runs out. */
static uint32_t
number_place(struct encoder *encoder, const struct located *place)
{
    const struct located *const places = (const void *)encoder->places.data;
    const size_t count = encoder->places.size / sizeof(*places);
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(place->is_end, place->address),
                          (uint64_t)place->image << 32 | place->function),
                 (uint64_t)place->line << 32 | place->inlined);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&encoder->by_place, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (compare_located(&places[at], place) == 0) {
            return at + 1;
        }
    }
    /* Ids have 32 bits. */
    if (count >= UINT32_MAX - 1 ||
        !hash_index_add(&encoder->by_place, hash, (uint32_t)count)) {
        return 0;
    }
    buffer_append(&encoder->places, place, sizeof(*place));
    return encoder->places.failed ? 0 : (uint32_t)count + 1;
}

/* Set location_of_row and location_of_call to the numbers of places plus 1: rows of
 * several processes share a place, and so do calls of several callers. Calls that are
 * on no stack have none. Returns false if memory runs out. */
static bool
number_places(struct encoder *encoder)
{
    const struct profile *const profile = encoder->profile;
    uint32_t *const numbers = encoder->location_of_call;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct located place = located_row(&profile->rows[i]);

        encoder->location_of_row[i] = number_place(encoder, &place);
        if (encoder->location_of_row[i] == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        /* Behind a call that has a number, all have. */
        for (uint32_t at = profile->rows[i].stack; at != 0 && numbers[at] == 0;
             at = profile->calls[at].caller) {
            const struct profile_call *const call = &profile->calls[at];
            const struct located place = located_call(call);

            if (call->end != NULL && !profile_end_is_shown(call->end)) {
                break;
            }
            numbers[at] = number_place(encoder, &place);
            if (numbers[at] == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Write the locations in order, and turn numbers of places into ids. */
static void
put_locations(struct encoder *encoder)
{
    const struct profile *const profile = encoder->profile;
    const bool numbered = number_places(encoder);
    struct located *const places = (void *)encoder->places.data;
    const size_t count = encoder->places.size / sizeof(*places);
    uint32_t *const order = calloc(count + 1, sizeof(*order));
    uint32_t *const ids = calloc(count + 1, sizeof(*ids)); /* of numbers plus 1 */

    if (!numbered || order == NULL || ids == NULL) {
        encoder->failed = true;
        free(order);
        free(ids);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    if (count > 0) {
        qsort_r(order, count, sizeof(*order), compare_locations, places);
    }
    for (uint32_t i = 0; i < count; i++) {
        ids[order[i] + 1] = i + 1;
        put_location(encoder, &places[order[i]], i + 1);
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        encoder->location_of_row[i] = ids[encoder->location_of_row[i]];
    }
    for (size_t i = 0; i < profile->call_count; i++) {
        encoder->location_of_call[i] = ids[encoder->location_of_call[i]];
    }
    free(order);
    free(ids);
}

/* --- functions --- */

/* Put a function. name: number of its text in the string table; of a function without a
 * name that of the text which is displayed for it. */
static void
put_function(struct encoder *encoder, const struct profile_function *function,
             uint64_t id, uint32_t name)
{
    struct buffer *const out = &encoder->message;

    protobuf_put_number(out, FUNCTION_ID, id);
    protobuf_put_number(out, FUNCTION_NAME, name);
    protobuf_put_number(out, FUNCTION_SYSTEM_NAME,
                        add_string(encoder, function->system_name));
    protobuf_put_number(out, FUNCTION_FILENAME, add_string(encoder, function->file));
    protobuf_put_number(out, FUNCTION_START_LINE, function->start_line);
    if (function->has_address) {
        protobuf_put_varint(out, (uint64_t)FUNCTION_ADDRESS << 3 | PROTOBUF_VARINT);
        protobuf_put_varint(out, function->address);
    }
    if (function->definition[0] != '\0') {
        protobuf_put_number(out, FUNCTION_DEFINITION,
                            add_string(encoder, function->definition));
    }
    put_message(encoder, PROFILE_FUNCTION);
}

/* Write the functions that have no name. */
static void
put_nameless(struct encoder *encoder)
{
    const struct profile *const profile = encoder->profile;
    uint64_t key[2];

    for (size_t i = 0; i < encoder->nameless.size / sizeof(key); i++) {
        const struct profile_function *function;

        memcpy(key, encoder->nameless.data + i * sizeof(key), sizeof(key));
        function = &profile->functions[key[1]];
        display_function(function, &profile->images[key[0]], DISPLAY_FULL,
                         &encoder->text);
        put_function(encoder, function, profile->function_count + i, add_text(encoder));
    }
}

static void
put_functions(struct encoder *encoder)
{
    /* Index 0 is "nothing known" and is not written; the ids of the others are their
     * index. */
    for (size_t i = 1; i < encoder->profile->function_count; i++) {
        const struct profile_function *function = &encoder->profile->functions[i];

        if (function->name[0] != '\0') {
            put_function(encoder, function, i, add_string(encoder, function->name));
        }
    }
}

/* --- comments --- */

/* Write encoder->text as a comment. */
static void
put_comment(struct encoder *encoder)
{
    put_profile_number(encoder, PROFILE_COMMENT, add_text(encoder));
}

static void
put_comment_text(struct encoder *encoder, const char *key, const char *text)
{
    buffer_print(&encoder->text, "%s ", key);
    text_escape(&encoder->text, text != NULL ? text : "");
    put_comment(encoder);
}

/* Append words about the stacks of a source: what was recorded of them, and of each end
 * its hits and name. These add up to counted. */
static void
put_stack_words(struct encoder *encoder, const struct encoded_source *encoded)
{
    const struct profile_source *const source = encoded->source;
    struct buffer *line = &encoder->text;
    struct stack_ends ends;
    bool has_stacks;

    if (!stack_ends_find(encoder->profile, encoded->hits, &ends)) {
        encoder->failed = true;
    }
    /* Events have none, beside time that has. */
    has_stacks = ends.count > 1 || (ends.count == 1 &&
                                    strcmp(ends.list[0].name, PROFILE_STACK_NONE) != 0);
    if (source->contexts_max != 0) {
        buffer_print(line, " stack_bytes=%" PRIu64 " contexts=%" PRIu64,
                     source->stack_bytes, source->contexts);
        buffer_print(line, " contexts_max=%" PRIu64, source->contexts_max);
    }
    for (size_t i = 0; has_stacks && i < ends.count; i++) {
        buffer_print(line, " stack_end=%" PRIu64 ":", ends.list[i].hits);
        text_escape_word(line, ends.list[i].name);
    }
    stack_ends_finish(&ends);
}

/* Write the comment that describes a source: words key=value. Its column is that of the
 * sample type with the hits. */
static void
put_comment_source(struct encoder *encoder, const struct encoded_source *encoded)
{
    const struct profile_source *const source = encoded->source;
    struct buffer *line = &encoder->text;

    buffer_print(line, "%s ", COMMENT_SOURCE);
    text_escape_word(line, source->name);
    buffer_append_text(line, " nt_name=");
    text_escape_word(line, source->nt_name);
    buffer_append_text(line, " unit=");
    text_escape_word(line, source->unit);
    buffer_print(line, " column=%zu kernel_included=%d user_left_out=%d",
                 encoded->column, source->kernel_included, source->user_left_out);
    buffer_print(line, " asked=%" PRIu64 " granted=%" PRIu64 " measured=%.17g",
                 source->asked, source->granted, source->measured);
    buffer_print(line, " expected=%" PRIu64 " taken=%" PRIu64 " counted=%" PRIu64,
                 source->expected, source->taken, source->counted);
    buffer_print(line, " outside=%" PRIu64 " lost=%" PRIu64 " throttled=%" PRIu64,
                 source->outside, source->lost, source->throttled);
    buffer_print(line, " outside_kernel=%" PRIu64, source->outside_kernel);
    buffer_print(line, " missed=%" PRIu64 " unfinished=%" PRIu64 " excluded=%" PRIu64,
                 source->missed, source->unfinished, source->excluded);
    if (profile_has_stacks(encoder->profile)) {
        put_stack_words(encoder, encoded);
    }
    put_comment(encoder);
}

static void
put_comment_label(struct encoder *encoder, const struct profile_label *label)
{
    struct buffer *line = &encoder->text;

    buffer_print(line, "%s ", COMMENT_LABEL);
    text_escape_word(line, label->key);
    buffer_append_text(line, " ");
    text_escape(line, label->value);
    put_comment(encoder);
}

static void
put_comments(struct encoder *encoder)
{
    const struct profile *profile = encoder->profile;

    buffer_append_text(&encoder->text,
                       profile_has_stacks(profile) ? COMMENT_STACKS : COMMENT_FLAT);
    put_comment(encoder);
    buffer_print(&encoder->text, "%s 1", COMMENT_FORMAT);
    put_comment(encoder);
    put_comment_text(encoder, COMMENT_COMMAND, profile->command);
    put_comment_text(encoder, COMMENT_HAL, profile->hal);
    put_comment_text(encoder, COMMENT_LIMITS, profile->limits);
    put_comment_text(encoder, COMMENT_GAPS, profile->gaps);
    buffer_print(&encoder->text, "%s %" PRIu32, COMMENT_BUCKET_BYTES,
                 profile->bucket_bytes);
    put_comment(encoder);
    if (profile->bucket_least != 0) {
        buffer_print(&encoder->text, "%s %" PRIu32, COMMENT_BUCKET_LEAST,
                     profile->bucket_least);
        put_comment(encoder);
    }
    for (size_t i = 0; i < profile->label_count; i++) {
        put_comment_label(encoder, &profile->labels[i]);
    }
    for (size_t i = 0; i < encoder->source_count; i++) {
        put_comment_source(encoder, &encoder->sources[i]);
    }
}

/* --- the message --- */

/* Write the string table last, when it is complete. */
static void
put_strings(struct encoder *encoder)
{
    for (size_t i = 0; i < encoder->strings.count; i++) {
        buffer_append_text(&encoder->message, encoder->strings.texts[i]);
        put_message(encoder, PROFILE_STRING_TABLE);
    }
}

static void
put_all(struct encoder *encoder)
{
    const struct profile *profile = encoder->profile;

    add_string(encoder, ""); /* number 0 by definition */
    for (size_t i = 0; i < encoder->source_count; i++) {
        encoder->source_strings[i] =
            add_string(encoder, encoder->sources[i].source->name);
    }
    for (size_t i = 0; i < profile->process_count; i++) {
        encoder->process_strings[i] = add_string(encoder, profile->processes[i]);
    }
    for (size_t i = 0; i < profile->unit_count; i++) {
        encoder->unit_strings[i] = add_string(encoder, profile->units[i]);
    }
    for (size_t i = 0; i < profile->thread_count; i++) {
        encoder->thread_strings[i] = add_string(encoder, profile->threads[i]);
    }
    for (size_t i = 0; i < profile->label_count; i++) {
        encoder->label_keys[i] = add_string(encoder, profile->labels[i].key);
        encoder->label_values[i] = add_string(encoder, profile->labels[i].value);
    }
    put_sample_types(encoder);
    put_mappings(encoder);
    put_functions(encoder);
    put_locations(encoder);
    put_nameless(encoder);
    put_samples(encoder);
    put_comments(encoder);
    put_profile_number(encoder, PROFILE_TIME_NANOS, as_int64(profile->time_ns));
    put_profile_number(encoder, PROFILE_DURATION_NANOS, as_int64(profile->duration_ns));
    put_period(encoder);
    put_strings(encoder);
}

/* --- numbers of sources --- */

/* List a source of one interval. */
static void
list_source(struct encoder *encoder, const struct profile_source *source, size_t hits)
{
    encoder->sources[encoder->source_count++] =
        (struct encoded_source){.source = source, .hits = hits};
}

/* Find the first source of each column, and number the columns: source time has two. */
static void
number_columns(struct encoder *encoder)
{
    size_t column = 0;

    for (size_t i = 0; i < encoder->source_count; i++) {
        struct encoded_source *const encoded = &encoder->sources[i];
        size_t first = 0;

        while (encoder->sources[first].source->name != encoded->source->name ||
               encoder->sources[first].source->unit != encoded->source->unit) {
            first++;
        }
        encoded->first = first;
        encoded->column = first < i ? encoder->sources[first].column : column++;
        if (first < i) {
            encoded->several = true;
            encoder->sources[first].several = true;
        } else if (encoder->time_source == encoder->source_count &&
                   strcmp(encoded->source->unit, UNIT_100NS) == 0) {
            encoder->time_source = i;
            column++;
        }
    }
}

/* List the sources as the file has them: a sum of several intervals by its parts. */
static bool
list_sources(struct encoder *encoder)
{
    const struct profile *const profile = encoder->profile;

    encoder->sources = calloc(profile_width(profile) + 1, sizeof(*encoder->sources));
    if (encoder->sources == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *const source = &profile->sources[i];

        if (source->part_count == 0) {
            list_source(encoder, source, i);
        }
        for (size_t k = 0; k < source->part_count; k++) {
            list_source(encoder, &source->parts[k], source->first_part + k);
        }
    }
    encoder->time_source = encoder->source_count; /* none, until it is found */
    number_columns(encoder);
    return true;
}

/* --- what callers use --- */

static bool
encoder_init(struct encoder *encoder, const struct profile *profile)
{
    *encoder = (struct encoder){.profile = profile};
    if (!list_sources(encoder)) {
        return false;
    }
    encoder->location_of_row = calloc(profile->row_count + 1, sizeof(uint32_t));
    encoder->location_of_call = calloc(profile->call_count, sizeof(uint32_t));
    encoder->process_strings = calloc(profile->process_count + 1, sizeof(uint32_t));
    encoder->unit_strings = calloc(profile->unit_count + 1, sizeof(uint32_t));
    encoder->thread_strings = calloc(profile->thread_count + 1, sizeof(uint32_t));
    encoder->source_strings = calloc(encoder->source_count + 1, sizeof(uint32_t));
    return encoder->location_of_row != NULL && encoder->location_of_call != NULL &&
           encoder->process_strings != NULL && encoder->unit_strings != NULL &&
           encoder->thread_strings != NULL && encoder->source_strings != NULL;
}

static void
encoder_finish(struct encoder *encoder)
{
    string_set_finish(&encoder->strings);
    buffer_finish(&encoder->text);
    buffer_finish(&encoder->part);
    buffer_finish(&encoder->message);
    buffer_finish(&encoder->file);
    buffer_finish(&encoder->nameless);
    hash_index_finish(&encoder->by_nameless);
    buffer_finish(&encoder->places);
    hash_index_finish(&encoder->by_place);
    free(encoder->location_of_row);
    free(encoder->location_of_call);
    free(encoder->process_strings);
    free(encoder->unit_strings);
    free(encoder->thread_strings);
    free(encoder->source_strings);
    free(encoder->sources);
}

bool
pprof_encode(const struct profile *profile, void **bytes, size_t *size)
{
    struct encoder encoder;
    bool done = false;

    if (encoder_init(&encoder, profile) && gzip_begin(&encoder.gzip, &encoder.file)) {
        put_all(&encoder);
        done = gzip_end(&encoder.gzip) && !encoder.failed && !encoder.text.failed &&
               !encoder.part.failed && !encoder.message.failed;
    }
    if (done) {
        *bytes = encoder.file.data;
        *size = encoder.file.size;
        memset(&encoder.file, 0, sizeof(encoder.file));
    }
    encoder_finish(&encoder);
    return done;
}
