/* SPDX-License-Identifier: MIT */
/* rows.c - takes each column of a row, checks it, and adds the row to the profile. */
#include "store/clickhouse/rows.h"

#include "profile/image_join.h"
#include "store/engine.h"

#include <stdlib.h>
#include <string.h>

/* Most inlined calls of a place; more are no answer of a store of ntprof. */
enum { CALLERS_MAX = 1000 };

/* Texts of a row that are needed at the same time. */
enum {
    SOURCE,
    PROCESS,
    UNIT,
    PATH,
    BUILD_ID,
    FUNCTION,
    SYSTEM_NAME,
    SOURCE_FILE,
    DEFINITION,
    TEXTS
};

struct taking {
    struct profile *profile;
    struct image_join images;
    struct row_binary_reader *reader;
    struct buffer texts[TEXTS];
    /* Callers, innermost first. */
    struct profile_function functions[CALLERS_MAX];
    uint32_t lines[CALLERS_MAX];
    const char *why; /* NULL: nothing failed */
};

/* --- values --- */

/* Set why taking rows failed, unless it is set. Returns false. */
static bool
fail_rows(struct taking *taking, const char *why)
{
    taking->why = taking->why != NULL ? taking->why : why;
    return false;
}

static bool
fail_memory(struct taking *taking)
{
    return fail_rows(taking, "out of memory for what is selected");
}

static bool
fail_garbage(struct taking *taking)
{
    return fail_rows(taking, "answers with what no server of ClickHouse does");
}

static const char *
get_text(struct taking *taking, int text)
{
    return row_binary_get_text(taking->reader, &taking->texts[text]);
}

static uint32_t
get_line(struct taking *taking)
{
    return (uint32_t)row_binary_get(taking->reader, sizeof(uint32_t));
}

/* Read the columns of a row's image. Returns false if the bytes make no sense. */
static bool
get_image(struct taking *taking, struct profile_image *image)
{
    struct row_binary_reader *const reader = taking->reader;
    uint64_t bias;

    image->path = get_text(taking, PATH);
    image->build_id = get_text(taking, BUILD_ID);
    image->start = row_binary_get(reader, 8);
    image->limit = row_binary_get(reader, 8);
    bias = row_binary_get(reader, 8);
    image->offset = image->start - bias;
    image->named = row_binary_get(reader, 1) != 0;
    return !reader->failed;
}

/* Read the length of an array of callers' columns, and check that it is count, as all
 * of a row have the same length. since_3: the column was added in version 3 of the
 * tables, so a place that was sent before has an empty array there. Returns false with
 * the failure set. */
static bool
get_length(struct taking *taking, size_t count, bool since_3, size_t *length)
{
    *length = row_binary_get_length(taking->reader);
    return *length == count || (since_3 && *length == 0) || fail_garbage(taking);
}

/* --- arrays of callers --- */

enum { NAME_MEMBER, SYSTEM_NAME_MEMBER, FILE_MEMBER, DEFINITION_MEMBER };

/* Read the array of one member of all callers: member is NAME_MEMBER and so on. The
 * profile keeps the texts. */
static bool
get_names(struct taking *taking, size_t count, int member)
{
    size_t length;

    if (!get_length(taking, count, member == DEFINITION_MEMBER, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        struct profile_function *const function = &taking->functions[i];
        const char **const members[] = {&function->name, &function->system_name,
                                        &function->file, &function->definition};

        *members[member] = profile_string(taking->profile, get_text(taking, FUNCTION));
        if (*members[member] == NULL) {
            return fail_memory(taking);
        }
    }
    return !taking->reader->failed;
}

/* Read the array of the callers' names, which is the first, so that its length is the
 * number of callers. */
static bool
get_first_names(struct taking *taking, size_t *count)
{
    struct row_binary_reader peeked = *taking->reader;

    *count = row_binary_get_length(&peeked);
    if (*count > CALLERS_MAX) {
        return fail_garbage(taking);
    }
    memset(taking->functions, 0, *count * sizeof(taking->functions[0]));
    return get_names(taking, *count, NAME_MEMBER);
}

/* Read the array of lines at which the callers begin. */
static bool
get_start_lines(struct taking *taking, size_t count)
{
    size_t length;

    if (!get_length(taking, count, /* since_3 */ false, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        taking->functions[i].start_line = get_line(taking);
    }
    return !taking->reader->failed;
}

/* Read the two arrays about the callers' addresses: which have one, and the
 * addresses. */
static bool
get_addresses(struct taking *taking, size_t count)
{
    size_t length;

    if (!get_length(taking, count, /* since_3 */ true, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        taking->functions[i].has_address = row_binary_get(taking->reader, 1) != 0;
    }
    if (!get_length(taking, count, /* since_3 */ true, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        taking->functions[i].address = row_binary_get(taking->reader, 8);
    }
    return !taking->reader->failed;
}

/* Read the array of lines at which each caller calls. */
static bool
get_lines(struct taking *taking, size_t count)
{
    size_t length;

    if (!get_length(taking, count, /* since_3 */ false, &length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        taking->lines[i] = get_line(taking);
    }
    return !taking->reader->failed;
}

/* --- callers --- */

/* Return whether a function is known: by its name, or without a name by its bounds. A
 * caller that is not is left out. */
static bool
is_function(const struct profile_function *function)
{
    return function->name[0] != '\0' || function->system_name[0] != '\0' ||
           function->has_address;
}

/* Add the frames that a row was inlined into; *caller is the innermost one, 0 without
 * any. They are added from the outermost on, as a frame's caller must be in the profile
 * before it. */
static bool
add_callers(struct taking *taking, size_t count, uint32_t *caller)
{
    *caller = 0;
    while (count > 0) {
        struct profile_frame frame = {.line = taking->lines[--count],
                                      .caller = *caller};
        const struct profile_function *const function = &taking->functions[count];

        if (!is_function(function)) {
            continue;
        }
        if (!profile_add_function(taking->profile, function, &frame.function) ||
            !profile_add_frame(taking->profile, &frame, caller)) {
            return fail_memory(taking);
        }
    }
    return true;
}

/* Read all arrays of callers, and add them as frames; *caller is the innermost. */
static bool
get_callers(struct taking *taking, uint32_t *caller)
{
    size_t count = 0;

    return get_first_names(taking, &count) &&
           get_names(taking, count, SYSTEM_NAME_MEMBER) &&
           get_names(taking, count, FILE_MEMBER) &&
           get_names(taking, count, DEFINITION_MEMBER) &&
           get_start_lines(taking, count) && get_addresses(taking, count) &&
           get_lines(taking, count) && add_callers(taking, count, caller);
}

/* Read the names of a place, which may be missing. Returns false with the failure set,
 * or after bytes that make no sense. */
static bool
get_names_of_place(struct taking *taking, struct profile_place *place)
{
    struct profile_function function = {0};
    uint32_t caller;

    function.name = get_text(taking, FUNCTION);
    function.system_name = get_text(taking, SYSTEM_NAME);
    function.file = get_text(taking, SOURCE_FILE);
    function.definition = get_text(taking, DEFINITION);
    function.start_line = get_line(taking);
    function.has_address = row_binary_get(taking->reader, 1) != 0;
    function.address = row_binary_get(taking->reader, 8);
    place->line = get_line(taking);
    if (taking->reader->failed) {
        return false;
    }
    if (is_function(&function) &&
        !profile_add_function(taking->profile, &function, &place->function)) {
        return fail_memory(taking);
    }
    if (!get_callers(taking, &caller)) {
        return false;
    }
    place->line = place->function != 0 ? place->line : 0;
    place->caller = place->function != 0 ? caller : 0;
    return true;
}

/* --- rows --- */

/* Add hits of a source to the profile's row of a place. exact: functions distinguish
 * places of one address (profile_row_at). */
static bool
add_row(struct taking *taking, const struct profile_place *place, bool exact,
        const struct profile_source *source, uint64_t hits)
{
    struct profile_row *row;
    uint64_t *sum;

    if (hits == 0 || hits > INT64_MAX || source == NULL) {
        return fail_rows(taking, "has rows without hits or without a source");
    }
    row = profile_row_at(taking->profile, place, exact);
    if (row == NULL) {
        return fail_memory(taking);
    }
    sum = &row->hits[source - taking->profile->sources];
    return !__builtin_add_overflow(*sum, hits, sum) ||
           fail_rows(taking, "a sum of hits exceeds 64 bits");
}

/* Read one row of the answer and add it. Returns false with the failure set. */
static bool
take_row(struct taking *taking)
{
    struct profile *const profile = taking->profile;
    const char *const name = get_text(taking, SOURCE);
    const struct profile_source *const source =
        store_find_source(profile, name, row_binary_get(taking->reader, 8));
    const char *const process = get_text(taking, PROCESS);
    const char *const unit = get_text(taking, UNIT);
    struct profile_place place = {0};
    struct profile_image image;
    uint64_t shift;
    bool exact;

    if (!get_image(taking, &image)) {
        return fail_garbage(taking);
    }
    place.address = row_binary_get(taking->reader, 8);
    exact = !image_join_is_build(&image);
    if (!get_names_of_place(taking, &place)) {
        return fail_garbage(taking);
    }
    if (!image_join_add(&taking->images, profile, &image, &place.image, &shift) ||
        !profile_add_process(profile, process, &place.process) ||
        !profile_add_unit(profile, unit, &place.unit)) {
        return fail_memory(taking);
    }
    return add_row(taking, &place, exact, source, row_binary_get(taking->reader, 8));
}

uint64_t
rows_answer_max(const struct profile *profile, size_t rows_max)
{
    return (uint64_t)rows_max * profile->source_count;
}

const char *
rows_take(struct profile *profile, size_t rows_max, struct row_binary_reader *reader)
{
    struct taking *const taking = calloc(1, sizeof(*taking));
    const uint64_t answer_max = rows_answer_max(profile, rows_max);
    uint64_t count = 0;
    const char *why;

    if (taking == NULL) {
        return "out of memory for what is selected";
    }
    taking->profile = profile;
    taking->reader = reader;
    while (row_binary_more(reader) && take_row(taking)) {
        count++;
        if (rows_max != 0 && (profile->row_count > rows_max || count > answer_max)) {
            fail_rows(taking, STORE_TOO_MANY_ROWS);
            break;
        }
    }
    why = taking->why;
    image_join_finish(&taking->images);
    for (int i = 0; i < TEXTS; i++) {
        buffer_finish(&taking->texts[i]);
    }
    free(taking);
    return why;
}
