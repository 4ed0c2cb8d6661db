/* SPDX-License-Identifier: MIT */
/* decode_sources.c - the sources of hits: from our own comments, or from the columns of
 * foreign files. */
#include "profile/decoder.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- our comments --- */

/* Return the text after "key " in a comment, or NULL. */
static char *
text_after_key(char *comment, const char *key)
{
    const size_t length = strlen(key);

    if (strncmp(comment, key, length) != 0 || comment[length] != ' ') {
        return NULL;
    }
    return comment + length + 1;
}

/* Return whether ntprof wrote the file: one of its comments names ntprof's format. */
bool
decoder_is_ours(const struct decoder *decoder)
{
    const uint64_t *comments = (const void *)decoder->comments.data;

    for (size_t i = 0; i < COUNT(decoder->comments, *comments); i++) {
        if (decoder_string_starts_with(decoder, comments[i], COMMENT_FORMAT " ",
                                       false)) {
            return true;
        }
    }
    return false;
}

/* Keep the first of several texts: a file merged by other tools has the comments of
 * all. text, or NULL, is unescaped in place; *kept is a copy that the profile owns. */
bool
decoder_keep_text(struct decoder *decoder, char **kept, char *text)
{
    if (text == NULL || *kept != NULL) {
        return true;
    }
    text_unescape(text);
    *kept = strdup(text);
    return *kept != NULL || decoder_fail_memory(decoder);
}

static uint64_t
parse_number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* Read one word key=value of a source's comment. Texts of the source point into it. */
static void
read_source_word(struct profile_source *source, uint64_t *column, char *word)
{
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        {"column", column},
        {"asked", &source->asked},
        {"granted", &source->granted},
        {"expected", &source->expected},
        {"taken", &source->taken},
        {"counted", &source->counted},
        {"outside", &source->outside},
        {"outside_kernel", &source->outside_kernel},
        {"lost", &source->lost},
        {"throttled", &source->throttled},
        {"missed", &source->missed},
        {"unfinished", &source->unfinished},
        {"excluded", &source->excluded},
        {"stack_bytes", &source->stack_bytes},
        {"contexts", &source->contexts},
        {"contexts_max", &source->contexts_max},
    };
    char *value = strchr(word, '=');

    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    text_unescape(value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(word, numbers[i].key) == 0) {
            *numbers[i].number = parse_number(value);
        }
    }
    if (strcmp(word, "measured") == 0) {
        source->measured = strtod(value, NULL);
    } else if (strcmp(word, "kernel_included") == 0) {
        source->kernel_included = parse_number(value) != 0;
    } else if (strcmp(word, "user_left_out") == 0) {
        source->user_left_out = parse_number(value) != 0;
    } else if (strcmp(word, "nt_name") == 0) {
        source->nt_name = value;
    } else if (strcmp(word, "unit") == 0) {
        source->unit = value;
    }
}

bool
decoder_fail_sum(struct decoder *decoder, const char *what, uint32_t source)
{
    char shown[80];

    return decoder_fail(
        decoder, "the %s of source %s add up to more than a file holds", what,
        text_show(shown, sizeof(shown), decoder->profile->sources[source].name));
}

/* Add the statistics of a source that occurs again, as in files merged by other
 * tools. */
static bool
add_statistics(struct decoder *decoder, uint32_t source,
               const struct profile_source *more)
{
    return profile_source_add(&decoder->profile->sources[source], more) ||
           decoder_fail_sum(decoder, "statistics", source);
}

/* Add a source, unless a file may not have so many. */
static bool
add_source(struct decoder *decoder, const struct profile_source *source,
           uint32_t *index)
{
    if (!profile_add_source(decoder->profile, source, index)) {
        return decoder_fail_memory(decoder);
    }
    return decoder->profile->source_count <= PROFILE_SOURCES_MAX ||
           decoder_fail(decoder, "it has more than %d sources", PROFILE_SOURCES_MAX);
}

/* Give a source its column. Sources of one name share it if their intervals differ. */
static bool
set_column(struct decoder *decoder, uint64_t column, uint32_t source)
{
    const struct profile_source *const sources = decoder->profile->sources;
    const uint32_t first = decoder->column_source[column];

    if (first == COLUMN_IGNORED) {
        decoder->column_source[column] = source;
        return true;
    }
    if (sources[first].name != sources[source].name ||
        sources[first].unit != sources[source].unit || sources[first].granted == 0 ||
        sources[source].granted == 0) {
        return decoder_fail(decoder, "damaged: two sources share one column of values");
    }
    decoder->column_several[column] = true;
    return true;
}

/* Read the name, then words key=value. Unknown keys belong to later versions. */
static bool
read_source_comment(struct decoder *decoder, char *line)
{
    const size_t count = COUNT(decoder->types, struct value_type);
    struct profile_source source = {.nt_name = "", .unit = "events"};
    const size_t before = decoder->profile->source_count;
    uint64_t column = UINT64_MAX;
    char *rest = NULL;
    char *name = strtok_r(line, " ", &rest);
    uint32_t index;

    if (name == NULL) {
        return decoder_fail(decoder, "damaged: a source without a name");
    }
    /* The words are in decoder->text, which must not change until they are interned. */
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        read_source_word(&source, &column, word);
    }
    if (source.outside > source.taken) {
        return decoder_fail(decoder,
                            "damaged: a source has more hits outside than taken");
    }
    if (source.outside_kernel > source.outside) {
        return decoder_fail(decoder, "damaged: a source has more hits outside in "
                                     "kernel mode than outside");
    }
    text_unescape(name);
    source.name = name;
    if (column >= count) {
        return decoder_fail(decoder, "damaged: source %zu has no column of values",
                            before);
    }
    if (!add_source(decoder, &source, &index)) {
        return false;
    }
    if (decoder->profile->source_count == before) {
        return add_statistics(decoder, index, &source);
    }
    return set_column(decoder, column, index);
}

/* Read a key, a blank and a value. Of a file that other tools merged, the first label
 * of a key counts, as does the first command line and the like. */
static bool
read_label_comment(struct decoder *decoder, char *key)
{
    struct profile *profile = decoder->profile;
    char *value = strchr(key, ' ');

    if (value == NULL) {
        return decoder_fail(decoder, "damaged: a label without a value");
    }
    *value++ = '\0';
    text_unescape(key);
    text_unescape(value);
    if (profile_label(profile, key) != NULL) {
        return true;
    }
    if (profile->label_count == PROFILE_LABELS_MAX) {
        return decoder_fail(decoder, "it has more than %d labels", PROFILE_LABELS_MAX);
    }
    return profile_set_label(profile, key, value) || decoder_fail_memory(decoder);
}

/* Read a comment, which is changed. Others belong to later versions, or other tools. */
static bool
read_comment(struct decoder *decoder, char *comment)
{
    char *source = text_after_key(comment, COMMENT_SOURCE);
    char *label = text_after_key(comment, COMMENT_LABEL);
    char *bucket = text_after_key(comment, COMMENT_BUCKET_BYTES);
    char *least = text_after_key(comment, COMMENT_BUCKET_LEAST);
    struct profile *profile = decoder->profile;

    if (source != NULL) {
        return read_source_comment(decoder, source);
    }
    if (label != NULL) {
        return read_label_comment(decoder, label);
    }
    if (bucket != NULL) {
        const uint64_t bytes = parse_number(bucket);

        profile->bucket_bytes = bytes > UINT32_MAX ? 0 : (uint32_t)bytes;
    }
    if (least != NULL) {
        const uint64_t bytes = parse_number(least);

        profile->bucket_least = bytes > UINT32_MAX ? 0 : (uint32_t)bytes;
    }
    return decoder_keep_text(decoder, &profile->command,
                             text_after_key(comment, COMMENT_COMMAND)) &&
           decoder_keep_text(decoder, &profile->hal,
                             text_after_key(comment, COMMENT_HAL)) &&
           decoder_keep_text(decoder, &profile->limits,
                             text_after_key(comment, COMMENT_LIMITS)) &&
           decoder_keep_text(decoder, &profile->gaps,
                             text_after_key(comment, COMMENT_GAPS));
}

/* Read all comments: the sources, labels and texts of the profile. A hostile file may
 * have millions of comments that are one long string, so each string is read once. */
bool
decoder_read_our_comments(struct decoder *decoder)
{
    const uint64_t *comments = (const void *)decoder->comments.data;
    struct string_entry *strings = (void *)decoder->strings.data;

    for (size_t i = 0; i < COUNT(decoder->comments, *comments); i++) {
        char *text;

        if (comments[i] < COUNT(decoder->strings, *strings) &&
            strings[comments[i]].is_comment) {
            continue;
        }
        text = decoder_raw_string(decoder, comments[i]);
        if (text == NULL || !read_comment(decoder, text)) {
            return false;
        }
        strings[comments[i]].is_comment = true;
    }
    if (decoder->profile->source_count == 0 && decoder->types.size > 0) {
        return decoder_fail(decoder, "damaged: the comments name no source");
    }
    return true;
}

/* --- sources of foreign files --- */

bool
decoder_has_count_column(const struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;

    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        if (decoder_string_is(decoder, types[i].unit, "count")) {
            return true;
        }
    }
    return false;
}

/* Return the period in nanoseconds if the file samples a clock, else 0. */
static uint64_t
clock_period_ns(const struct decoder *decoder)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {
        {"nanoseconds", 1},
        {"microseconds", 1000},
        {"milliseconds", 1000000},
        {"seconds", 1000000000},
    };
    uint64_t period_ns;

    if (!decoder_string_is(decoder, decoder->period_type.type, COLUMN_CPU) &&
        !decoder_string_is(decoder, decoder->period_type.type, COLUMN_WALL)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (decoder_string_is(decoder, decoder->period_type.unit, units[i].unit) &&
            !__builtin_mul_overflow(decoder->period, units[i].ns, &period_ns) &&
            period_ns <= INT64_MAX) {
            return period_ns;
        }
    }
    return 0;
}

/* Whether the column counts the hits of a sampled clock. */
static bool
is_samples(const struct decoder *decoder, const struct value_type *type)
{
    return decoder_string_is(decoder, type->unit, "count") &&
           (decoder_string_is(decoder, type->type, COLUMN_SAMPLES) ||
            decoder_string_is(decoder, type->type, "sample"));
}

/* Return whether the column is the time itself, in the unit of the period. */
bool
decoder_is_clock(const struct decoder *decoder, const struct value_type *type)
{
    return decoder_string_equal(decoder, type->type, decoder->period_type.type) &&
           decoder_string_equal(decoder, type->unit, decoder->period_type.unit) &&
           clock_period_ns(decoder) > 0;
}

/* Give a source of values that count nothing, such as bytes, their unit. They are sums:
 * each stands for itself (granted 1), and nothing is left to chance. A unit that is
 * called as ours of time would make it time. */
static bool
set_unit(struct decoder *decoder, const struct value_type *type,
         struct profile_source *source)
{
    const char *const unit = decoder_string(decoder, type->unit);

    if (unit == NULL) {
        return false;
    }
    if (unit[0] != '\0' && strcmp(unit, "count") != 0 &&
        strcmp(unit, UNIT_100NS) != 0) {
        source->unit = unit;
        source->granted = 1;
    }
    return true;
}

/* Make a source of a column of a foreign file, if it has none yet. Hits of a sampled
 * clock, which the column counts or which are computed from its time, are those of
 * source "time" or, if the clock runs while the program waits, "wall". */
static bool
add_foreign_source(struct decoder *decoder, size_t column)
{
    const struct value_type *type =
        (const struct value_type *)(const void *)decoder->types.data + column;
    const uint64_t period_ns = clock_period_ns(decoder);
    struct profile_source source = {.nt_name = "", .unit = "events"};
    uint32_t index;

    if (decoder->column_source[column] != COLUMN_IGNORED) {
        return true;
    }
    if ((period_ns > 0 && is_samples(decoder, type)) ||
        column == decoder->clock_column) { /* its value is time */
        source.name = decoder_string_is(decoder, decoder->period_type.type, COLUMN_WALL)
                          ? COLUMN_WALL
                          : "time";
        source.unit = UNIT_100NS;
        source.granted = period_ns / 100;
    } else {
        source.name = decoder_string(decoder, type->type);
        if (!set_unit(decoder, type, &source)) {
            return false;
        }
    }
    if (source.name == NULL) {
        return false;
    }
    /* Of two columns with one name only the first is used, not their sum. */
    if (profile_find_source(decoder->profile, source.name) != NULL) {
        return true;
    }
    if (!add_source(decoder, &source, &index)) {
        return false;
    }
    decoder->column_source[column] = index;
    return true;
}

/* Return whether a text is NAME or NAME/UNIT. */
static bool
is_value(const char *text, const char *name, const char *unit)
{
    const size_t length = strlen(name);

    return strncmp(text, name, length) == 0 &&
           (text[length] == '\0' ||
            (text[length] == '/' && strcmp(text + length + 1, unit) == 0));
}

/* Report that no column has the name in decoder->value; list has those that exist. */
static bool
fail_value(struct decoder *decoder, struct buffer *list)
{
    char shown[80];
    const char *const had = buffer_text(list);

    return had == NULL
               ? decoder_fail_memory(decoder)
               : decoder_fail(decoder, "--value %s: it has no such value; it has %s",
                              text_show(shown, sizeof(shown), decoder->value), had);
}

/* Add the column that decoder->value names. */
static bool
add_value_source(struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;
    struct buffer list = {0};
    bool done = true;
    bool found = false;

    for (size_t i = 0; done && !found && i < COUNT(decoder->types, *types); i++) {
        const char *const name = decoder_string(decoder, types[i].type);
        const char *const unit = decoder_string(decoder, types[i].unit);

        done = name != NULL && unit != NULL;
        found = done && is_value(decoder->value, name, unit);
        if (done) {
            buffer_append_text(&list, i > 0 ? ", " : "");
            text_escape(&list, name);
            buffer_append_text(&list, " (");
            text_escape(&list, unit);
            buffer_append_text(&list, ")");
        }
        if (found) {
            done = add_foreign_source(decoder, i);
        }
    }
    if (done && !found) {
        done = fail_value(decoder, &list);
    }
    buffer_finish(&list);
    return done;
}

/* Add the columns that count as sources, or all columns if none does. The file's
 * default column comes first. */
bool
decoder_add_foreign_sources(struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;
    const size_t count = COUNT(decoder->types, *types);
    const bool counts_only = decoder_has_count_column(decoder);

    if (decoder->value != NULL) {
        return add_value_source(decoder);
    }
    /* The first round adds the default column, the second those that are not added. */
    for (size_t i = 0; i < 2 * count; i++) {
        const struct value_type *type = &types[i % count];

        if ((counts_only && !decoder_string_is(decoder, type->unit, "count")) ||
            (i < count &&
             !decoder_string_equal(decoder, type->type, decoder->default_type))) {
            continue;
        }
        if (!add_foreign_source(decoder, i % count)) {
            return false;
        }
    }
    return true;
}
