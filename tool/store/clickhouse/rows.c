/* SPDX-License-Identifier: MIT */
/* rows.c - see rows.h. */
#include "store/clickhouse/rows.h"

#include "store/engine.h"

#include <stdlib.h>
#include <string.h>

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
    TEXTS
};

struct taking {
    struct profile *profile;
    struct row_binary_reader *reader;
    struct buffer texts[TEXTS];
    /* Callers, innermost first. */
    struct profile_function functions[CALLERS_MAX];
    uint32_t lines[CALLERS_MAX];
    const char *why; /* NULL: nothing failed */
};

static bool
fail(struct taking *taking, const char *why)
{
    taking->why = taking->why != NULL ? taking->why : why;
    return false;
}

static bool
fail_memory(struct taking *taking)
{
    return fail(taking, "out of memory for what is selected");
}

static bool
fail_garbage(struct taking *taking)
{
    return fail(taking, "answers with what no server of ClickHouse does");
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

/* One of the arrays of texts; they have the same length. The profile keeps the texts.
 */
static bool
get_names(struct taking *taking, size_t *count, size_t member)
{
    const size_t length = row_binary_get_length(taking->reader);

    if (length > CALLERS_MAX || (member > 0 && length != *count)) {
        return fail_garbage(taking);
    }
    *count = length;
    for (size_t i = 0; i < length; i++) {
        struct profile_function *const function = &taking->functions[i];
        const char **const members[] = {&function->name, &function->system_name,
                                        &function->file};

        *members[member] = profile_string(taking->profile, get_text(taking, FUNCTION));
        if (*members[member] == NULL) {
            return fail_memory(taking);
        }
    }
    return !taking->reader->failed;
}

static bool
get_numbers(struct taking *taking, size_t count, bool start)
{
    if (row_binary_get_length(taking->reader) != count) {
        return fail_garbage(taking);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t line = get_line(taking);

        if (start) {
            taking->functions[i].start_line = line;
        } else {
            taking->lines[i] = line;
        }
    }
    return !taking->reader->failed;
}

/* Outermost first, as a frame's caller must be there before it. */
static bool
add_callers(struct taking *taking, size_t count, uint32_t *caller)
{
    *caller = 0;
    while (count > 0) {
        struct profile_frame frame = {.line = taking->lines[--count],
                                      .caller = *caller};
        const struct profile_function *const function = &taking->functions[count];

        if (function->name[0] == '\0' && function->system_name[0] == '\0') {
            continue;
        }
        if (!profile_add_function(taking->profile, function, &frame.function) ||
            !profile_add_frame(taking->profile, &frame, caller)) {
            return fail_memory(taking);
        }
    }
    return true;
}

static bool
get_callers(struct taking *taking, uint32_t *caller)
{
    size_t count = 0;

    return get_names(taking, &count, 0) && get_names(taking, &count, 1) &&
           get_names(taking, &count, 2) && get_numbers(taking, count, true) &&
           get_numbers(taking, count, false) && add_callers(taking, count, caller);
}

/* Read the names of a place: they may be wanting. */
static bool
get_names_of_place(struct taking *taking, struct profile_place *place)
{
    struct profile_function function;
    uint32_t caller;

    function.name = get_text(taking, FUNCTION);
    function.system_name = get_text(taking, SYSTEM_NAME);
    function.file = get_text(taking, SOURCE_FILE);
    function.start_line = get_line(taking);
    place->line = get_line(taking);
    if (taking->reader->failed) {
        return false;
    }
    if ((function.name[0] != '\0' || function.system_name[0] != '\0') &&
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

static bool
add_row(struct taking *taking, const struct profile_place *place, bool exact,
        const struct profile_source *source, uint64_t hits)
{
    struct profile_row *row;
    uint64_t *sum;

    if (hits == 0 || hits > INT64_MAX || source == NULL) {
        return fail(taking, "has rows without hits or without a source");
    }
    row = profile_row_at(taking->profile, place, exact);
    if (row == NULL) {
        return fail_memory(taking);
    }
    sum = &row->hits[source - taking->profile->sources];
    return !__builtin_add_overflow(*sum, hits, sum) ||
           fail(taking, "a sum of hits exceeds 64 bits");
}

static bool
take_row(struct taking *taking)
{
    struct profile *const profile = taking->profile;
    const struct profile_source *const source =
        profile_find_source(profile, get_text(taking, SOURCE));
    const char *const process = get_text(taking, PROCESS);
    const char *const unit = get_text(taking, UNIT);
    struct profile_place place = {0};
    struct profile_image image;
    bool exact;

    if (!get_image(taking, &image)) {
        return fail_garbage(taking);
    }
    place.address = row_binary_get(taking->reader, 8);
    exact = !store_is_build(&image);
    if (!get_names_of_place(taking, &place)) {
        return fail_garbage(taking);
    }
    if (!profile_add_image(profile, &image, &place.image) ||
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
            fail(taking, STORE_TOO_MANY_ROWS);
            break;
        }
    }
    why = taking->why;
    for (int i = 0; i < TEXTS; i++) {
        buffer_finish(&taking->texts[i]);
    }
    free(taking);
    return why;
}
