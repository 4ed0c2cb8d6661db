/* SPDX-License-Identifier: MIT */
/* decode_samples.c - the third walk: rows with their hits, and a note of what is left
 * out of foreign files. */
#include "profile/decoder.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- third walk: samples --- */

static bool
read_label(struct decoder *decoder, struct protobuf_reader bytes, struct label *label)
{
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == LABEL_KEY) {
            label->key = field.value;
        } else if (field.number == LABEL_STR) {
            label->text = field.value;
        } else if (field.number == LABEL_NUM) {
            label->number = field.value;
        }
    }
    return result == PROTOBUF_END || decoder_fail_broken(decoder, "label");
}

/* Return the role of a label by its key: ours, and those of perf_to_profile and common
 * agents. */
static enum label_role
find_role(const struct decoder *decoder, uint64_t key)
{
    static const struct {
        const char *key;
        enum label_role role;
    } roles[] = {
        {LABEL_PROCESS, LABEL_IS_PROCESS},
        {"comm", LABEL_IS_PROCESS},
        {"process_name", LABEL_IS_PROCESS},
        {LABEL_PID, LABEL_IS_PID},
        {"process_id", LABEL_IS_PID},
        {LABEL_UNIT, LABEL_IS_UNIT},
        {LABEL_THREAD, LABEL_IS_THREAD},
        {"thread_comm", LABEL_IS_THREAD},
        {"thread_name", LABEL_IS_THREAD},
        {"thread name", LABEL_IS_THREAD},
        {"tid", LABEL_IS_TID},
        {"thread_id", LABEL_IS_TID},
        {"thread id", LABEL_IS_TID},
        {"thread native id", LABEL_IS_TID},
        {LABEL_CPU, LABEL_IS_CPU},
        {LABEL_BUCKET_BYTES, LABEL_IS_BUCKET_BYTES},
        {LABEL_INTERVAL, LABEL_IS_INTERVAL},
        {LABEL_STACK, LABEL_IS_STACK},
    };

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (decoder_string_is(decoder, key, roles[i].key)) {
            return roles[i].role;
        }
    }
    return LABEL_OTHER;
}

/* Return what a label's key means to us. It is found out once for each text. */
static enum label_role
role_of(struct decoder *decoder, uint64_t key)
{
    struct string_entry *strings = (void *)decoder->strings.data;

    if (key >= COUNT(decoder->strings, *strings)) {
        return LABEL_OTHER;
    }
    if (strings[key].role == LABEL_NOT_ASKED) {
        strings[key].role = (uint8_t)find_role(decoder, key);
    }
    return (enum label_role)strings[key].role;
}

/* Return the value of a label that is a number or the text of one; UINT32_MAX if it is
 * neither, or too large. */
static uint32_t
number_of(struct decoder *decoder, const struct label *label)
{
    uint64_t number = label->number;

    if (label->text != 0) {
        const char *text = decoder_raw_string(decoder, label->text);
        char *end = NULL;

        if (text == NULL || text[0] < '0' || text[0] > '9') {
            return UINT32_MAX;
        }
        number = strtoull(text, &end, 10);
        if (*end != '\0') {
            return UINT32_MAX;
        }
    }
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Return the id of a process, or 0 if the label is not one. */
static uint32_t
pid_of(struct decoder *decoder, const struct label *label)
{
    const uint32_t number = number_of(decoder, label);

    return number <= INT32_MAX ? number : 0;
}

/* Read a label of a sample, and set the member of the sample that it stands for. */
static bool
read_sample_label(struct decoder *decoder, struct protobuf_reader bytes,
                  struct sample *sample)
{
    struct profile *profile = decoder->profile;
    struct label label = {0};

    if (!read_label(decoder, bytes, &label)) {
        return false;
    }
    switch (role_of(decoder, label.key)) {
    case LABEL_IS_PROCESS:
        sample->process = label.text;
        break;
    case LABEL_IS_PID:
        sample->pid = label;
        break;
    case LABEL_IS_UNIT:
        sample->unit = label.text;
        break;
    case LABEL_IS_THREAD:
        if (label.text != 0) {
            sample->thread = label.text;
        } else {
            sample->tid = label;
        }
        break;
    case LABEL_IS_TID:
        sample->tid = label;
        break;
    case LABEL_IS_CPU:
        /* UINT32_MAX, which stands for no number, becomes 0: unknown. */
        sample->cpu_plus_1 = number_of(decoder, &label) + 1;
        break;
    case LABEL_IS_BUCKET_BYTES:
        if (profile->bucket_bytes == 0 && label.number <= UINT32_MAX) {
            profile->bucket_bytes = (uint32_t)label.number;
        }
        break;
    case LABEL_IS_INTERVAL:
        sample->interval = label.number;
        break;
    case LABEL_IS_STACK:
        sample->stack = decoder->ours ? label.text : 0;
        break;
    case LABEL_NOT_ASKED:
    case LABEL_OTHER:
        break;
    }
    return true;
}

/* Append a number to a buffer that each sample fills anew: it is charged for the most
 * that it ever had. */
static bool
append_reused(struct decoder *decoder, struct buffer *buffer, uint64_t number,
              size_t *most)
{
    if (buffer->size >= *most) {
        if (!decoder_take_memory(decoder, sizeof(number))) {
            return false;
        }
        *most += sizeof(number);
    }
    buffer_append(buffer, &number, sizeof(number));
    return !buffer->failed || decoder_fail_memory(decoder);
}

/* Read locations of a stack: all of them where frames may be dropped, otherwise enough
 * to see that it is deeper than the bound. */
static bool
read_stack(struct decoder *decoder, struct protobuf_field *field)
{
    /* The leaf, the calls that are kept, one call more, and what shows the end. */
    const size_t most = 1 + PROFILE_STACK_CALLS_MAX + 1 + 1;
    struct buffer *const stack = &decoder->stack;
    uint64_t location;

    while (protobuf_get_repeated(field, &location)) {
        if (decoder->drop.compiled) {
            if (!append_reused(decoder, stack, location, &decoder->stack_most)) {
                return false;
            }
        } else if (COUNT(*stack, location) < most) {
            buffer_append(stack, &location, sizeof(location));
        }
    }
    return !stack->failed || decoder_fail_memory(decoder);
}

/* Read a sample, with its values in decoder->values and its locations in
 * decoder->stack. */
static bool
read_sample_fields(struct decoder *decoder, struct protobuf_reader bytes,
                   struct sample *sample)
{
    struct protobuf_field field;
    enum protobuf_result result;
    uint64_t number;

    decoder->values.size = 0;
    decoder->stack.size = 0;
    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == SAMPLE_LOCATION_ID) {
            if (!read_stack(decoder, &field)) {
                return false;
            }
        } else if (field.number == SAMPLE_VALUE) {
            while (protobuf_get_repeated(&field, &number)) {
                if (!append_reused(decoder, &decoder->values, number,
                                   &decoder->values_most)) {
                    return false;
                }
            }
        } else if (field.number == SAMPLE_LABEL &&
                   !read_sample_label(decoder, field.bytes, sample)) {
            return false;
        }
    }
    if (decoder->stack.size > 0) {
        memcpy(&sample->leaf, decoder->stack.data, sizeof(sample->leaf));
        sample->callers = 1;
    }
    return result == PROTOBUF_END || decoder_fail_broken(decoder, "sample");
}

/* Format an id in out; "" if it is unknown or negative. Returns false if its string
 * does not exist. */
static bool
show_id(struct decoder *decoder, const struct label *id, char *out, size_t size)
{
    const char *text = NULL;

    out[0] = '\0';
    if (id->text != 0) {
        text = decoder_string(decoder, id->text);
        if (text == NULL) {
            return false;
        }
        snprintf(out, size, "%s", text);
    } else if (id->key != 0 && id->number <= INT64_MAX) {
        snprintf(out, size, "%" PRIu64, id->number);
    }
    return true;
}

/* Add the process by name or, without a name, by number. */
static bool
add_process(struct decoder *decoder, const struct sample *sample, uint32_t *index)
{
    const char *name = decoder_string(decoder, sample->process);
    char id[THREAD_NAME_MAX];
    char shown[sizeof("pid ") + sizeof(id)];

    if (name == NULL || !show_id(decoder, &sample->pid, id, sizeof(id))) {
        return false;
    }
    if (name[0] == '\0' && id[0] != '\0') {
        snprintf(shown, sizeof(shown), "pid %s", id);
        name = shown;
    }
    return profile_add_process(decoder->profile, name, index) ||
           decoder_fail_memory(decoder);
}

static bool
add_unit(struct decoder *decoder, const struct sample *sample, uint32_t *index)
{
    const char *const name = decoder_string(decoder, sample->unit);

    return name != NULL && (profile_add_unit(decoder->profile, name, index) ||
                            decoder_fail_memory(decoder));
}

/* Add the thread as "NAME (NUMBER)", or with only one of them. */
static bool
add_thread(struct decoder *decoder, const struct sample *sample, uint32_t *index)
{
    const char *name = decoder_string(decoder, sample->thread);
    char id[THREAD_NAME_MAX];
    char shown[THREAD_NAME_MAX + sizeof(" ()") + sizeof(id)];

    if (name == NULL || !show_id(decoder, &sample->tid, id, sizeof(id))) {
        return false;
    }
    if (name[0] == '\0') {
        name = id;
    } else if (id[0] != '\0' && strlen(name) <= THREAD_NAME_MAX) {
        snprintf(shown, sizeof(shown), "%s (%s)", name, id);
        name = shown;
    }
    return profile_add_thread(decoder->profile, name, index) ||
           decoder_fail_memory(decoder);
}

/* Return the source of a column's value: of several intervals the sample says which.
 * Returns COLUMN_IGNORED with the error set if it does not. */
static uint32_t
source_of(struct decoder *decoder, size_t column, uint64_t interval)
{
    const uint32_t first = decoder->column_source[column];
    struct profile_source wanted = decoder->profile->sources[first];
    const struct profile_source *found;

    if (!decoder->column_several[column]) {
        return first;
    }
    wanted.granted = interval;
    found = profile_find_interval(decoder->profile, &wanted);
    if (found == NULL) {
        decoder_fail(decoder,
                     "sample %" PRIu64 " does not say which of several intervals its "
                     "hits are of; merge files by ntprof merge",
                     decoder->samples);
        return COLUMN_IGNORED;
    }
    return (uint32_t)(found - decoder->profile->sources);
}

/* Add a value of a column to a row. */
static bool
add_value(struct decoder *decoder, struct profile_row *row, size_t column,
          uint32_t source, uint64_t value)
{
    const uint64_t hits =
        column == decoder->clock_column ? value / decoder->clock_period : value;

    if (value > INT64_MAX) {
        return decoder_fail(decoder,
                            "sample %" PRIu64 " is negative: a difference of two "
                            "profiles cannot be shown",
                            decoder->samples);
    }
    if (hits > INT64_MAX - decoder->totals[source]) {
        return decoder_fail_sum(decoder, "hits", source);
    }
    decoder->totals[source] += hits;
    row->hits[source] += hits;
    return true;
}

/* Return the memory of a new row: of its own, of its counters, and of what a tree of
 * stacks needs for it (call_tree.c), since a sample could name locations with many
 * functions. */
static uint64_t
row_bytes(const struct decoder *decoder, const struct sample *sample)
{
    return ENTRY_BYTES + sizeof(struct profile_row) + ROW_NAMES_BYTES +
           decoder->profile->source_count * sizeof(uint64_t) +
           sample->functions * sizeof(uint32_t);
}

/* Add decoder->values to the row of place. */
static bool
add_values(struct decoder *decoder, const struct profile_place *place,
           const struct sample *sample)
{
    const uint64_t *values = (const void *)decoder->values.data;
    const size_t count = COUNT(decoder->values, *values);
    const size_t rows = decoder->profile->row_count;
    /* Names distinguish rows too: not all tools store addresses. */
    struct profile_row *row = profile_row_at(decoder->profile, place, /* exact */ true);

    if (row == NULL) {
        return decoder_fail_memory(decoder);
    }
    if (decoder->profile->row_count > rows &&
        !decoder_take_memory(decoder, row_bytes(decoder, sample))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t source;

        /* A sample has the interval of its hits, and 0 in columns without hits. */
        if (decoder->column_source[i] == COLUMN_IGNORED ||
            (values[i] == 0 && decoder->column_several[i])) {
            continue;
        }
        source = source_of(decoder, i, sample->interval);
        if (source == COLUMN_IGNORED ||
            !add_value(decoder, row, i, source, values[i])) {
            return false;
        }
    }
    return true;
}

/* Whether a sample has locations of calls beside that of its hits. */
static bool
has_callers(const struct decoder *decoder, const struct sample *sample)
{
    return COUNT(decoder->stack, uint64_t) > sample->callers;
}

/* Set *stack to that of a sample, whose leaf has these functions. Files of other tools
 * do not say how stacks end: with callers they are whole, and without any there is
 * none. */
static bool
add_stack(struct decoder *decoder, struct sample *sample, size_t leaf_functions,
          uint32_t *stack)
{
    const char *end = NULL;

    *stack = 0;
    if (decoder->flat) {
        return true;
    }
    if (sample->stack != 0) {
        end = decoder_string(decoder, sample->stack);
        if (end == NULL) {
            return false;
        }
    }
    if (end == NULL && !has_callers(decoder, sample)) {
        return true;
    }
    if (!decoder_add_stack(decoder, sample->callers, end, stack, &sample->functions)) {
        return false;
    }
    sample->functions += leaf_functions;
    return true;
}

/* Add a sample whose values were read. */
static bool
add_sample(struct decoder *decoder, struct sample *sample)
{
    static const struct location nowhere = {.image = HASH_INDEX_NONE, .functions = 1};
    const struct location *location = &nowhere;
    struct profile_place place;

    if (sample->leaf != 0) {
        location = decoder_find(decoder, &decoder->locations, sizeof(*location),
                                sample->leaf, "location");
        if (location == NULL) {
            return false;
        }
    }
    place = (struct profile_place){
        .address = location->address,
        .function = location->function,
        .line = location->line,
        .caller = location->caller,
        .cpu_plus_1 = sample->cpu_plus_1,
        .pid = pid_of(decoder, &sample->pid),
    };
    return decoder_image_of(decoder, location, &place.image) &&
           add_process(decoder, sample, &place.process) &&
           add_unit(decoder, sample, &place.unit) &&
           add_thread(decoder, sample, &place.thread) &&
           add_stack(decoder, sample, location->functions, &place.stack) &&
           add_values(decoder, &place, sample);
}

bool
decoder_read_sample(struct decoder *decoder, const struct protobuf_field *field)
{
    const size_t types = COUNT(decoder->types, struct value_type);
    struct sample sample = {0};

    if (field->number != PROFILE_SAMPLE) {
        return true;
    }
    decoder->samples++;
    if (!read_sample_fields(decoder, field->bytes, &sample) ||
        (decoder->drop.compiled && !decoder_drop_frames(decoder, &sample))) {
        return false;
    }
    if (COUNT(decoder->values, uint64_t) != types) {
        return decoder_fail(
            decoder, "damaged: sample %" PRIu64 " has %zu values for %zu sample types",
            decoder->samples, COUNT(decoder->values, uint64_t), types);
    }
    return add_sample(decoder, &sample);
}

/* --- samples with time instead of hits --- */

/* A handler of decoder_walk: set clock_column to SIZE_MAX, none, if its value in a
 * sample is not a multiple of the period. */
static bool
check_clock(struct decoder *decoder, const struct protobuf_field *field)
{
    const uint64_t *values;
    struct sample sample = {0};

    if (field->number != PROFILE_SAMPLE || decoder->clock_column == SIZE_MAX) {
        return true;
    }
    if (!read_sample_fields(decoder, field->bytes, &sample)) {
        return false;
    }
    values = (const void *)decoder->values.data;
    if (decoder->clock_column < COUNT(decoder->values, *values) &&
        values[decoder->clock_column] % decoder->clock_period != 0) {
        decoder->clock_column = SIZE_MAX;
    }
    return true;
}

/* If there is no column of hits, find one of time from which hits can be computed. A
 * column that the user chooses is shown as it is. */
bool
decoder_find_clock(struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;

    if (decoder->value != NULL || decoder_has_count_column(decoder)) {
        return true;
    }
    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        if (decoder_is_clock(decoder, &types[i])) {
            decoder->clock_column = i;
            decoder->clock_period = decoder->period;
            return decoder_walk(decoder, check_clock);
        }
    }
    return true;
}

/* --- what is left out --- */

/* Append the columns that are no source, but not the time of the sampled clock: the
 * hits stand for it. */
static void
put_columns_left_out(struct decoder *decoder, struct buffer *note)
{
    const struct value_type *types = (const void *)decoder->types.data;
    const char *before = note->size > 0 ? "; values left out, which --value shows: "
                                        : "values left out, which --value shows: ";

    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        const char *name = NULL;

        if (decoder->column_source[i] == COLUMN_IGNORED &&
            !decoder_is_clock(decoder, &types[i])) {
            name = decoder_string(decoder, types[i].type);
        }
        if (name != NULL) {
            buffer_append_text(note, before);
            buffer_append_text(note, name);
            before = ", ";
        }
    }
}

static void
put_frames_left_out(const struct decoder *decoder, struct buffer *note)
{
    const char *const before = note->size > 0 ? "; " : "";

    if (decoder->drop_why[0] != '\0') {
        buffer_print(note, "%s%s", before, decoder->drop_why);
    } else if (decoder->dropped > 0) {
        buffer_print(note,
                     "%sframes that the file's drop_frames matches left out: %" PRIu64
                     " of %" PRIu64 " samples had some",
                     before, decoder->dropped, decoder->samples);
    }
}

static void
put_lines_left_out(const struct decoder *decoder, struct buffer *note)
{
    if (decoder->shortened > 0) {
        buffer_print(note,
                     "%sof more than %d functions inlined at one place some were left "
                     "out, at %" PRIu64 " of %zu places",
                     note->size > 0 ? "; " : "", PROFILE_PLACE_FUNCTIONS_MAX,
                     decoder->shortened, COUNT(decoder->locations, struct location));
    }
}

/* Store what is left out of a file as the profile's gaps, which reports show and
 * writers keep: those of ours are in the file. */
bool
decoder_note_left_out(struct decoder *decoder)
{
    struct buffer note = {0};

    if (decoder->ours) {
        buffer_append_text(&note, decoder->profile->gaps);
    } else {
        put_frames_left_out(decoder, &note);
        put_columns_left_out(decoder, &note);
    }
    put_lines_left_out(decoder, &note);
    if (buffer_text(&note) == NULL) {
        buffer_finish(&note);
        return decoder_fail_memory(decoder);
    }
    free(decoder->profile->gaps);
    decoder->profile->gaps = (char *)note.data;
    return true;
}
