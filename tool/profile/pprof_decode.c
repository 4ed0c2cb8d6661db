/* SPDX-License-Identifier: MIT */
/*
 * pprof_decode.c - the bytes of a pprof file as a profile: ours exactly, foreign ones
 * as far as a flat profile goes (the leaf of each stack, with what it was inlined
 * into).
 *
 * The bytes are hostile. They are walked three times, since fields may come in any
 * order: tables of names first, then locations, then samples. An entry may be two bytes
 * in the file and much more in memory, so every entry is counted against memory_left as
 * it is decoded.
 */
#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"

#include "util/hash_index.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each sample has a value for each type, so types are the one table that could
 * multiply. */
enum { SAMPLE_TYPES_MAX = 1024 };

/* A column of values that belongs to no source, such as cpu/nanoseconds. */
#define COLUMN_IGNORED UINT32_MAX

/* What an index takes for an entry, and a row for the names of its process and thread
 * that it may bring. */
enum { ENTRY_BYTES = 24, ROW_NAMES_BYTES = 160 };

/* Thread names up to this long have their numbers behind them: what one sample makes
 * must not be much longer than the sample. */
enum { THREAD_NAME_MAX = 64 };

/* What a label tells, by its key. */
enum label_role {
    LABEL_NOT_ASKED,
    LABEL_OTHER,
    LABEL_IS_PROCESS,
    LABEL_IS_PID,
    LABEL_IS_THREAD,
    LABEL_IS_TID,
    LABEL_IS_CPU,
    LABEL_IS_BUCKET_BYTES,
};

/* A string of the table; made once however often it is used, or long ones would cost
 * too much. */
struct string_entry {
    struct protobuf_reader bytes;
    const char *interned; /* NULL until used */
    bool is_comment;      /* was read as a comment */
    uint8_t role;         /* as the key of a label */
};

struct value_type {
    uint64_t type, unit; /* strings */
};

struct mapping {
    uint64_t id, start, limit, offset, filename, build_id;
    bool named;
    uint32_t image;
};

struct function {
    uint64_t id, name, system_name, filename, start_line;
    uint32_t index;
};

struct location {
    uint64_t id, address;
    uint32_t image, function, line, caller;
};

/* One line of a location; the function is an index. */
struct line {
    uint32_t function, line;
};

struct label {
    uint64_t key, text, number;
};

/* One sample, but for its values. */
struct sample {
    uint64_t leaf;    /* location; 0: none */
    uint64_t process; /* string; 0: not told */
    uint64_t thread;  /* string; 0: not told */
    struct label pid; /* text or number; all 0: not told */
    struct label tid;
    uint32_t cpu_plus_1;
    bool has_callers;
};

struct decoder {
    struct profile *profile;
    struct pprof_error *error;
    struct protobuf_reader bytes;
    uint64_t memory_limit, memory_left; /* bytes, for all entries */
    /* Arrays in buffers, in the order of the file, then sorted by id. */
    struct buffer strings;   /* struct string_entry */
    struct buffer types;     /* struct value_type */
    struct buffer mappings;  /* struct mapping */
    struct buffer functions; /* struct function */
    struct buffer locations; /* struct location */
    struct buffer lines;     /* struct line: of one location, innermost first */
    struct buffer comments;  /* uint64_t: strings */
    struct buffer text;      /* one string, ended by NUL */
    struct buffer values;    /* uint64_t: of one sample */
    struct value_type period_type;
    uint64_t period, time_ns, duration_ns, samples;
    uint64_t default_type; /* string: the column to show first; 0: not told */
    uint64_t stacks;       /* samples with callers, which are left out */
    size_t clock_column;   /* its values are time, a hit each clock_period; or none */
    uint64_t clock_period;
    uint32_t column_source[SAMPLE_TYPES_MAX];
    uint64_t totals[SAMPLE_TYPES_MAX]; /* hits of each source */
    uint32_t no_image; /* for locations without mapping; HASH_INDEX_NONE until needed */
    bool ours;
};

#define COUNT(buffer, type) ((buffer).size / sizeof(type))

/* Always false, for return. */
__attribute__((format(printf, 2, 3))) static bool
fail(struct decoder *decoder, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(decoder->error->text, sizeof(decoder->error->text), format, arguments);
    va_end(arguments);
    return false;
}

static bool
fail_memory(struct decoder *decoder)
{
    return fail(decoder, "out of memory");
}

static bool
fail_broken(struct decoder *decoder, const char *what)
{
    return fail(decoder, "not a profile, or damaged: a %s does not fit its bytes",
                what);
}

/* Counts size bytes against the memory that decoding may take. */
static bool
take_memory(struct decoder *decoder, uint64_t size)
{
    if (size > decoder->memory_left) {
        return fail(decoder,
                    "it takes more memory than a file of its size may: %" PRIu64 " MiB",
                    decoder->memory_limit >> 20);
    }
    decoder->memory_left -= size;
    return true;
}

static bool
append(struct decoder *decoder, struct buffer *table, const void *entry, size_t size)
{
    if (!take_memory(decoder, size)) {
        return false;
    }
    buffer_append(table, entry, size);
    return !table->failed || fail_memory(decoder);
}

/* --- strings --- */

/* The string as it stands in the file, ended by NUL; NUL inside becomes \x00. Valid
 * until the next call. NULL with the error set if there is none. */
static char *
raw_string(struct decoder *decoder, uint64_t number)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const uint64_t count = COUNT(decoder->strings, *strings);
    const uint8_t *at;
    const uint8_t *limit;

    if (number >= count) {
        fail(decoder, "damaged: string %" PRIu64 " is used, the table ends at %" PRIu64,
             number, count);
        return NULL;
    }
    decoder->text.size = 0;
    at = strings[number].bytes.at;
    limit = strings[number].bytes.end;
    while (at < limit) {
        const uint8_t *zero = memchr(at, 0, (size_t)(limit - at));
        const uint8_t *end = zero != NULL ? zero : limit;

        buffer_append(&decoder->text, at, (size_t)(end - at));
        if (zero != NULL) {
            buffer_append_text(&decoder->text, "\\x00");
        }
        if (decoder->text.size > decoder->memory_left) {
            take_memory(decoder, decoder->text.size);
            return NULL;
        }
        at = end + (zero != NULL);
    }
    if (buffer_text(&decoder->text) == NULL) {
        fail_memory(decoder);
        return NULL;
    }
    return (char *)decoder->text.data;
}

/* The same, interned, with our escapes undone. */
static const char *
string(struct decoder *decoder, uint64_t number)
{
    struct string_entry *strings = (void *)decoder->strings.data;
    char *text;

    if (number < COUNT(decoder->strings, *strings) &&
        strings[number].interned != NULL) {
        return strings[number].interned;
    }
    text = raw_string(decoder, number);
    if (text == NULL || !take_memory(decoder, decoder->text.size)) {
        return NULL;
    }
    if (decoder->ours) {
        text_unescape(text);
    }
    strings[number].interned = profile_string(decoder->profile, text);
    if (strings[number].interned == NULL) {
        fail_memory(decoder);
    }
    return strings[number].interned;
}

/* Does the string begin with text, or with whole, is it text? */
static bool
string_begins(const struct decoder *decoder, uint64_t number, const char *text,
              bool whole)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const size_t length = strlen(text);
    size_t size;

    if (number >= COUNT(decoder->strings, *strings)) {
        return false;
    }
    size = (size_t)(strings[number].bytes.end - strings[number].bytes.at);
    return (whole ? size == length : size >= length) &&
           memcmp(strings[number].bytes.at, text, length) == 0;
}

static bool
string_is(const struct decoder *decoder, uint64_t number, const char *text)
{
    return string_begins(decoder, number, text, true);
}

/* Are both the same text, and there? Numbers of strings may differ for all that. */
static bool
string_equal(const struct decoder *decoder, uint64_t a, uint64_t b)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const uint64_t count = COUNT(decoder->strings, *strings);
    size_t size;

    if (a >= count || b >= count) {
        return false;
    }
    size = (size_t)(strings[a].bytes.end - strings[a].bytes.at);
    return size == (size_t)(strings[b].bytes.end - strings[b].bytes.at) &&
           memcmp(strings[a].bytes.at, strings[b].bytes.at, size) == 0;
}

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
    return result == PROTOBUF_END || fail_broken(decoder, "sample type");
}

static bool
read_sample_type(struct decoder *decoder, struct protobuf_reader bytes)
{
    struct value_type type = {0};

    if (COUNT(decoder->types, type) >= SAMPLE_TYPES_MAX) {
        return fail(decoder, "it has more than %d kinds of values a sample",
                    SAMPLE_TYPES_MAX);
    }
    return read_value_type(decoder, bytes, &type) &&
           append(decoder, &decoder->types, &type, sizeof(type));
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
        return fail_broken(decoder, "mapping");
    }
    return append(decoder, &decoder->mappings, &mapping, sizeof(mapping));
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
        default:
            break;
        }
    }
    if (result != PROTOBUF_END) {
        return fail_broken(decoder, "function");
    }
    return append(decoder, &decoder->functions, &function, sizeof(function));
}

static bool
read_comments(struct decoder *decoder, struct protobuf_field field)
{
    uint64_t number;

    while (protobuf_get_repeated(&field, &number)) {
        if (!append(decoder, &decoder->comments, &number, sizeof(number))) {
            return false;
        }
    }
    return true;
}

static bool
read_string(struct decoder *decoder, struct protobuf_reader bytes)
{
    const struct string_entry entry = {.bytes = bytes};

    return append(decoder, &decoder->strings, &entry, sizeof(entry));
}

static bool
read_time(struct decoder *decoder, uint64_t time_ns)
{
    if (decoder->time_ns != 0 && time_ns != 0) {
        return fail(decoder, "two profiles were appended to one file");
    }
    decoder->time_ns = time_ns;
    return true;
}

static bool
read_table_field(struct decoder *decoder, const struct protobuf_field *field)
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
    case PROFILE_DEFAULT_SAMPLE_TYPE:
        decoder->default_type = field->value;
        return true;
    default:
        return true;
    }
}

/* Calls handle with every field of the profile. */
static bool
walk(struct decoder *decoder,
     bool (*handle)(struct decoder *decoder, const struct protobuf_field *field))
{
    struct protobuf_reader bytes = decoder->bytes;
    struct protobuf_field field;
    enum protobuf_result result;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (!handle(decoder, &field)) {
            return false;
        }
    }
    return result == PROTOBUF_END ||
           fail(decoder, "not a profile, or truncated: field at byte %td does not fit",
                bytes.at - decoder->bytes.at);
}

/* --- tables by id --- */

/* All entries begin with their id. */
static int
compare_ids(const void *left, const void *right)
{
    uint64_t a;
    uint64_t b;

    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    return (a > b) - (a < b);
}

/* As most files are, and then sorting would be a tenth of the time. */
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

static bool
sort_table(struct decoder *decoder, struct buffer *table, size_t entry_size,
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
            return fail(decoder, "damaged: %s id %" PRIu64 " is %s", what, id,
                        id == 0 ? "not allowed" : "there twice");
        }
    }
    return true;
}

/* The entry with this id, or NULL with the error set. */
static const void *
find_entry(struct decoder *decoder, const struct buffer *table, size_t entry_size,
           uint64_t id, const char *what)
{
    const size_t count = table->size / entry_size;
    const void *found = NULL;

    /* Nearly every writer numbers from 1 without gaps. */
    if (id - 1 < count && compare_ids(table->data + (id - 1) * entry_size, &id) == 0) {
        return table->data + (id - 1) * entry_size;
    }
    if (count > 0) {
        found = bsearch(&id, table->data, count, entry_size, compare_ids);
    }
    if (found == NULL) {
        fail(decoder, "damaged: %s %" PRIu64 " is used and not there", what, id);
    }
    return found;
}

static bool
check_strings(struct decoder *decoder)
{
    if (decoder->strings.size == 0) {
        return fail(decoder, "not a profile: it has no string table");
    }
    return string_is(decoder, 0, "") ||
           fail(decoder, "not a profile: its string table does not begin with \"\"");
}

static bool
add_mappings(struct decoder *decoder)
{
    struct mapping *mappings = (void *)decoder->mappings.data;

    if (!sort_table(decoder, &decoder->mappings, sizeof(*mappings), "mapping")) {
        return false;
    }
    for (size_t i = 0; i < COUNT(decoder->mappings, *mappings); i++) {
        struct profile_image image = {
            .path = string(decoder, mappings[i].filename),
            .build_id = string(decoder, mappings[i].build_id),
            .start = mappings[i].start,
            .limit = mappings[i].limit,
            .offset = mappings[i].offset,
            .named = mappings[i].named,
        };

        if (image.path == NULL || image.build_id == NULL) {
            return false;
        }
        if (!take_memory(decoder, ENTRY_BYTES + sizeof(image))) {
            return false;
        }
        if (!profile_add_image(decoder->profile, &image, &mappings[i].image)) {
            return fail_memory(decoder);
        }
    }
    return true;
}

static uint32_t
clamp_line(uint64_t line)
{
    return line > INT32_MAX ? 0 : (uint32_t)line; /* negative ones too */
}

static bool
add_functions(struct decoder *decoder)
{
    struct function *functions = (void *)decoder->functions.data;

    if (!sort_table(decoder, &decoder->functions, sizeof(*functions), "function")) {
        return false;
    }
    for (size_t i = 0; i < COUNT(decoder->functions, *functions); i++) {
        struct profile_function function = {
            .name = string(decoder, functions[i].name),
            .system_name = string(decoder, functions[i].system_name),
            .file = string(decoder, functions[i].filename),
            .start_line = clamp_line(functions[i].start_line),
        };

        if (function.name == NULL || function.system_name == NULL ||
            function.file == NULL) {
            return false;
        }
        if (function.name[0] == '\0' && !decoder->ours) {
            function.name = function.system_name;
        }
        if (!take_memory(decoder, ENTRY_BYTES + sizeof(function))) {
            return false;
        }
        if (!profile_add_function(decoder->profile, &function, &functions[i].index)) {
            return fail_memory(decoder);
        }
    }
    return true;
}

/* --- second walk: locations --- */

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
            entry.line = clamp_line(field.value);
        }
    }
    if (result != PROTOBUF_END) {
        return fail_broken(decoder, "line");
    }
    if (function_id == 0) {
        return true; /* it says nothing */
    }
    function = find_entry(decoder, &decoder->functions, sizeof(*function), function_id,
                          "function");
    if (function == NULL) {
        return false;
    }
    entry.function = function->index;
    return append(decoder, &decoder->lines, &entry, sizeof(entry));
}

/* Frames come outermost first, since each names its caller. */
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
    for (; count > 1; count--) {
        const struct profile_frame frame = {.function = lines[count - 1].function,
                                            .line = lines[count - 1].line,
                                            .caller = location->caller};

        if (frame.function == 0) {
            continue;
        }
        if (!take_memory(decoder, ENTRY_BYTES + sizeof(frame))) {
            return false;
        }
        if (!profile_add_frame(decoder->profile, &frame, &location->caller)) {
            return fail_memory(decoder);
        }
    }
    return true;
}

/* The image for what has no mapping. */
static bool
need_no_image(struct decoder *decoder)
{
    const struct profile_image none = {.path = "", .build_id = ""};

    return decoder->no_image != HASH_INDEX_NONE ||
           profile_add_image(decoder->profile, &none, &decoder->no_image) ||
           fail_memory(decoder);
}

static bool
set_location_image(struct decoder *decoder, struct location *location,
                   uint64_t mapping_id)
{
    const struct mapping *mapping;

    if (mapping_id == 0) {
        if (!need_no_image(decoder)) {
            return false;
        }
        location->image = decoder->no_image;
        return true;
    }
    mapping = find_entry(decoder, &decoder->mappings, sizeof(*mapping), mapping_id,
                         "mapping");
    if (mapping == NULL) {
        return false;
    }
    location->image = mapping->image;
    return true;
}

static bool
read_location(struct decoder *decoder, const struct protobuf_field *outer)
{
    struct protobuf_reader bytes = outer->bytes;
    struct location location = {0};
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
        return fail_broken(decoder, "location");
    }
    return set_location_lines(decoder, &location) &&
           set_location_image(decoder, &location, mapping_id) &&
           append(decoder, &decoder->locations, &location, sizeof(location));
}

/* --- our comments --- */

/* What stands behind "key " in a comment, or NULL. */
static char *
behind_key(char *comment, const char *key)
{
    const size_t length = strlen(key);

    if (strncmp(comment, key, length) != 0 || comment[length] != ' ') {
        return NULL;
    }
    return comment + length + 1;
}

static bool
is_ours(const struct decoder *decoder)
{
    const uint64_t *comments = (const void *)decoder->comments.data;

    for (size_t i = 0; i < COUNT(decoder->comments, *comments); i++) {
        if (string_begins(decoder, comments[i], COMMENT_FORMAT " ", false)) {
            return true;
        }
    }
    return false;
}

/* Keeps the first text there is: a merged file has the comments of all. */
static bool
keep_text(struct decoder *decoder, char **kept, char *text)
{
    if (text == NULL || *kept != NULL) {
        return true;
    }
    text_unescape(text);
    *kept = strdup(text);
    return *kept != NULL || fail_memory(decoder);
}

static uint64_t
parse_number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* One word key=value of a source's comment. */
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
        {"lost", &source->lost},
        {"throttled", &source->throttled},
        {"missed", &source->missed},
        {"unfinished", &source->unfinished},
        {"excluded", &source->excluded},
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

static bool
fail_sum(struct decoder *decoder, const char *what, uint32_t source)
{
    char shown[80];

    return fail(
        decoder, "the %s of source %s add up to more than a file holds", what,
        text_show(shown, sizeof(shown), decoder->profile->sources[source].name));
}

/* The same source once more, in a merged file: its statistics are added up. */
static bool
add_statistics(struct decoder *decoder, uint32_t source,
               const struct profile_source *more)
{
    return profile_source_add(&decoder->profile->sources[source], more) ||
           fail_sum(decoder, "statistics", source);
}

/* Words: the name, then key=value. Keys that are not known are for later versions. */
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
        return fail(decoder, "damaged: a source without a name");
    }
    /* The words point into decoder->text, which must not change before they are
     * interned. */
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        read_source_word(&source, &column, word);
    }
    if (source.outside > source.taken) {
        return fail(decoder, "damaged: a source has more hits outside than taken");
    }
    text_unescape(name);
    source.name = name;
    if (column >= count) {
        return fail(decoder, "damaged: source %zu has no column of values", before);
    }
    if (!profile_add_source(decoder->profile, &source, &index)) {
        return fail_memory(decoder);
    }
    if (decoder->profile->source_count == before) {
        return add_statistics(decoder, index, &source);
    }
    if (decoder->column_source[column] != COLUMN_IGNORED) {
        return fail(decoder, "damaged: two sources share one column of values");
    }
    decoder->column_source[column] = index;
    return true;
}

static bool
read_comment(struct decoder *decoder, char *comment)
{
    char *source = behind_key(comment, COMMENT_SOURCE);
    char *bucket = behind_key(comment, COMMENT_BUCKET_BYTES);
    struct profile *profile = decoder->profile;

    if (source != NULL) {
        return read_source_comment(decoder, source);
    }
    if (bucket != NULL) {
        const uint64_t bytes = parse_number(bucket);

        profile->bucket_bytes = bytes > UINT32_MAX ? 0 : (uint32_t)bytes;
    }
    return keep_text(decoder, &profile->command,
                     behind_key(comment, COMMENT_COMMAND)) &&
           keep_text(decoder, &profile->hal, behind_key(comment, COMMENT_HAL)) &&
           keep_text(decoder, &profile->limits, behind_key(comment, COMMENT_LIMITS)) &&
           keep_text(decoder, &profile->gaps, behind_key(comment, COMMENT_GAPS));
}

static bool
read_our_comments(struct decoder *decoder)
{
    const uint64_t *comments = (const void *)decoder->comments.data;
    struct string_entry *strings = (void *)decoder->strings.data;

    for (size_t i = 0; i < COUNT(decoder->comments, *comments); i++) {
        char *text;

        if (comments[i] < COUNT(decoder->strings, *strings) &&
            strings[comments[i]].is_comment) {
            continue;
        }
        text = raw_string(decoder, comments[i]);
        if (text == NULL || !read_comment(decoder, text)) {
            return false;
        }
        strings[comments[i]].is_comment = true;
    }
    if (decoder->profile->source_count == 0 && decoder->types.size > 0) {
        return fail(decoder, "damaged: the comments name no source");
    }
    return true;
}

/* --- sources of foreign files --- */

static bool
has_count_column(const struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;

    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        if (string_is(decoder, types[i].unit, "count")) {
            return true;
        }
    }
    return false;
}

/* The period in nanoseconds if the file is of a sampled clock, else 0. */
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

    if (!string_is(decoder, decoder->period_type.type, COLUMN_CPU) &&
        !string_is(decoder, decoder->period_type.type, COLUMN_WALL)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (string_is(decoder, decoder->period_type.unit, units[i].unit) &&
            !__builtin_mul_overflow(decoder->period, units[i].ns, &period_ns) &&
            period_ns <= INT64_MAX) {
            return period_ns;
        }
    }
    return 0;
}

/* Does the column count the hits of a sampled clock? */
static bool
is_samples(const struct decoder *decoder, const struct value_type *type)
{
    return string_is(decoder, type->unit, "count") &&
           (string_is(decoder, type->type, COLUMN_SAMPLES) ||
            string_is(decoder, type->type, "sample"));
}

/* Is it the time itself, in the unit of the period? */
static bool
is_clock(const struct decoder *decoder, const struct value_type *type)
{
    return string_equal(decoder, type->type, decoder->period_type.type) &&
           string_equal(decoder, type->unit, decoder->period_type.unit) &&
           clock_period_ns(decoder) > 0;
}

static bool
add_foreign_source(struct decoder *decoder, size_t column)
{
    const struct value_type *type =
        (const struct value_type *)(const void *)decoder->types.data + column;
    const uint64_t period_ns = clock_period_ns(decoder);
    const size_t before = decoder->profile->source_count;
    struct profile_source source = {.nt_name = "", .unit = "events"};
    uint32_t index;

    if (decoder->column_source[column] != COLUMN_IGNORED) {
        return true;
    }
    if ((period_ns > 0 && is_samples(decoder, type)) ||
        column == decoder->clock_column) {
        source.name = string_is(decoder, decoder->period_type.type, COLUMN_WALL)
                          ? COLUMN_WALL
                          : "time";
        source.unit = UNIT_100NS;
        source.granted = period_ns / 100;
    } else {
        source.name = string(decoder, type->type);
    }
    if (source.name == NULL) {
        return false;
    }
    if (!profile_add_source(decoder->profile, &source, &index)) {
        return fail_memory(decoder);
    }
    /* Of two columns of one name the first is shown, not their sum. */
    if (decoder->profile->source_count > before) {
        decoder->column_source[column] = index;
    }
    return true;
}

/* Columns that count things are sources; if there are none, all are. The one that the
 * file wants to be shown comes first. */
static bool
add_foreign_sources(struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;
    const size_t count = COUNT(decoder->types, *types);
    const bool counts_only = has_count_column(decoder);

    for (size_t i = 0; i < 2 * count; i++) {
        const struct value_type *type = &types[i % count];

        if ((counts_only && !string_is(decoder, type->unit, "count")) ||
            (i < count && !string_equal(decoder, type->type, decoder->default_type))) {
            continue;
        }
        if (!add_foreign_source(decoder, i % count)) {
            return false;
        }
    }
    return true;
}

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
    return result == PROTOBUF_END || fail_broken(decoder, "label");
}

/* The keys that we write, and those of perf_to_profile and common agents. */
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
        {"pid", LABEL_IS_PID},
        {"process_id", LABEL_IS_PID},
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
    };

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (string_is(decoder, key, roles[i].key)) {
            return roles[i].role;
        }
    }
    return LABEL_OTHER;
}

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

/* The number of a processor, plus 1; 0 if the label names none. */
static uint32_t
cpu_of(struct decoder *decoder, const struct label *label)
{
    uint64_t number = label->number;

    if (label->text != 0) {
        const char *text = raw_string(decoder, label->text);
        char *end = NULL;

        if (text == NULL || text[0] < '0' || text[0] > '9') {
            return 0;
        }
        number = strtoull(text, &end, 10);
        if (*end != '\0') {
            return 0;
        }
    }
    return number < UINT32_MAX ? (uint32_t)number + 1 : 0;
}

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
        sample->cpu_plus_1 = cpu_of(decoder, &label);
        break;
    case LABEL_IS_BUCKET_BYTES:
        if (profile->bucket_bytes == 0 && label.number <= UINT32_MAX) {
            profile->bucket_bytes = (uint32_t)label.number;
        }
        break;
    case LABEL_NOT_ASKED:
    case LABEL_OTHER:
        break;
    }
    return true;
}

/* Keeps the leaf, which comes first. */
static void
read_stack(struct protobuf_field *field, struct sample *sample)
{
    uint64_t caller;

    if (sample->leaf == 0 && !protobuf_get_repeated(field, &sample->leaf)) {
        return;
    }
    sample->has_callers |= protobuf_get_repeated(field, &caller);
}

/* Reads a sample, and its values into decoder->values. */
static bool
read_sample_fields(struct decoder *decoder, struct protobuf_reader bytes,
                   struct sample *sample)
{
    struct protobuf_field field;
    enum protobuf_result result;
    uint64_t number;

    while ((result = protobuf_next(&bytes, &field)) == PROTOBUF_FIELD) {
        if (field.number == SAMPLE_LOCATION_ID) {
            read_stack(&field, sample);
        } else if (field.number == SAMPLE_VALUE) {
            while (protobuf_get_repeated(&field, &number)) {
                if (!append(decoder, &decoder->values, &number, sizeof(number))) {
                    return false;
                }
            }
        } else if (field.number == SAMPLE_LABEL &&
                   !read_sample_label(decoder, field.bytes, sample)) {
            return false;
        }
    }
    return result == PROTOBUF_END || fail_broken(decoder, "sample");
}

/* An id as text in out; "" if it is not told. False: the string is not there. */
static bool
show_id(struct decoder *decoder, const struct label *id, char *out, size_t size)
{
    const char *text = NULL;

    out[0] = '\0';
    if (id->text != 0) {
        text = string(decoder, id->text);
        if (text == NULL) {
            return false;
        }
        snprintf(out, size, "%s", text);
    } else if (id->key != 0 && id->number <= INT64_MAX) {
        snprintf(out, size, "%" PRIu64, id->number);
    }
    return true;
}

/* By name; if there is none, by number. */
static bool
add_process(struct decoder *decoder, const struct sample *sample, uint32_t *index)
{
    const char *name = string(decoder, sample->process);
    char id[THREAD_NAME_MAX];
    char shown[sizeof(id) + 8];

    if (name == NULL || !show_id(decoder, &sample->pid, id, sizeof(id))) {
        return false;
    }
    if (name[0] == '\0' && id[0] != '\0') {
        snprintf(shown, sizeof(shown), "pid %s", id);
        name = shown;
    }
    return profile_add_process(decoder->profile, name, index) || fail_memory(decoder);
}

/* "NAME (NUMBER)", or what there is of it. */
static bool
add_thread(struct decoder *decoder, const struct sample *sample, uint32_t *index)
{
    const char *name = string(decoder, sample->thread);
    char id[THREAD_NAME_MAX];
    char shown[sizeof(id) + THREAD_NAME_MAX + 8];

    if (name == NULL || !show_id(decoder, &sample->tid, id, sizeof(id))) {
        return false;
    }
    if (name[0] == '\0') {
        name = id;
    } else if (id[0] != '\0' && strlen(name) <= THREAD_NAME_MAX) {
        snprintf(shown, sizeof(shown), "%s (%s)", name, id);
        name = shown;
    }
    return profile_add_thread(decoder->profile, name, index) || fail_memory(decoder);
}

/* What a sample without a stack is counted at. */
static const struct location *
nowhere(struct decoder *decoder, struct location *location)
{
    if (!need_no_image(decoder)) {
        return NULL;
    }
    memset(location, 0, sizeof(*location));
    location->image = decoder->no_image;
    return location;
}

/* Adds a value of column to row. */
static bool
add_value(struct decoder *decoder, struct profile_row *row, size_t column,
          uint64_t value)
{
    const uint32_t source = decoder->column_source[column];
    const uint64_t hits =
        column == decoder->clock_column ? value / decoder->clock_period : value;

    if (value > INT64_MAX) {
        return fail(decoder,
                    "sample %" PRIu64 " is negative: a difference of two "
                    "profiles cannot be shown",
                    decoder->samples);
    }
    if (hits > INT64_MAX - decoder->totals[source]) {
        return fail_sum(decoder, "hits", source);
    }
    decoder->totals[source] += hits;
    row->hits[source] += hits;
    return true;
}

/* Adds decoder->values at place. */
static bool
add_values(struct decoder *decoder, const struct profile_place *place)
{
    const uint64_t *values = (const void *)decoder->values.data;
    const size_t count = COUNT(decoder->values, *values);
    const size_t rows = decoder->profile->row_count;
    /* What is called differently is another place: not all tools know addresses. */
    struct profile_row *row = profile_row_at(decoder->profile, place, true);

    if (row == NULL) {
        return fail_memory(decoder);
    }
    if (decoder->profile->row_count > rows &&
        !take_memory(decoder, ENTRY_BYTES + sizeof(*row) + ROW_NAMES_BYTES)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (decoder->column_source[i] != COLUMN_IGNORED &&
            !add_value(decoder, row, i, values[i])) {
            return false;
        }
    }
    return true;
}

/* Adds the sample, whose values are read. */
static bool
add_sample(struct decoder *decoder, const struct sample *sample)
{
    const struct location *location;
    struct location none;
    struct profile_place place;

    location = sample->leaf != 0
                   ? find_entry(decoder, &decoder->locations, sizeof(*location),
                                sample->leaf, "location")
                   : nowhere(decoder, &none);
    if (location == NULL) {
        return false;
    }
    place = (struct profile_place){
        .image = location->image,
        .address = location->address,
        .function = location->function,
        .line = location->line,
        .caller = location->caller,
        .cpu_plus_1 = sample->cpu_plus_1,
    };
    return add_process(decoder, sample, &place.process) &&
           add_thread(decoder, sample, &place.thread) && add_values(decoder, &place);
}

static bool
read_sample(struct decoder *decoder, const struct protobuf_field *field)
{
    const size_t types = COUNT(decoder->types, struct value_type);
    struct sample sample = {0};

    if (field->number != PROFILE_SAMPLE) {
        return true;
    }
    decoder->samples++;
    decoder->values.size = 0;
    if (!read_sample_fields(decoder, field->bytes, &sample)) {
        return false;
    }
    if (COUNT(decoder->values, uint64_t) != types) {
        return fail(decoder,
                    "damaged: sample %" PRIu64 " has %zu values for %zu sample types",
                    decoder->samples, COUNT(decoder->values, uint64_t), types);
    }
    decoder->stacks += sample.has_callers;
    return add_sample(decoder, &sample);
}

/* --- samples that tell time instead of hits --- */

/* Takes clock_column for no clock if a value of it is no multiple of the period. */
static bool
check_clock(struct decoder *decoder, const struct protobuf_field *field)
{
    const uint64_t *values;
    struct sample sample = {0};

    if (field->number != PROFILE_SAMPLE || decoder->clock_column == SIZE_MAX) {
        return true;
    }
    decoder->values.size = 0;
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

/* Without a column of hits, hits are told by the time that each stands for. */
static bool
find_clock(struct decoder *decoder)
{
    const struct value_type *types = (const void *)decoder->types.data;

    if (has_count_column(decoder)) {
        return true;
    }
    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        if (is_clock(decoder, &types[i])) {
            decoder->clock_column = i;
            decoder->clock_period = decoder->period;
            return walk(decoder, check_clock);
        }
    }
    return true;
}

/* --- what is left out of foreign files --- */

static void
put_columns_left_out(struct decoder *decoder, struct buffer *note)
{
    const struct value_type *types = (const void *)decoder->types.data;
    const char *before = note->size > 0 ? "; values left out: " : "values left out: ";

    for (size_t i = 0; i < COUNT(decoder->types, *types); i++) {
        const char *name = NULL;

        if (decoder->column_source[i] == COLUMN_IGNORED &&
            !is_clock(decoder, &types[i])) {
            name = string(decoder, types[i].type);
        }
        if (name != NULL) {
            buffer_append_text(note, before);
            buffer_append_text(note, name);
            before = ", ";
        }
    }
}

/* Readers show it, and writers keep it, as what is not in the profile. */
static bool
note_left_out(struct decoder *decoder)
{
    struct buffer note = {0};

    if (decoder->ours) {
        return true;
    }
    if (decoder->stacks > 0) {
        buffer_print(&note,
                     "callers left out, as hits count where they were: %" PRIu64
                     " of %" PRIu64 " samples had some",
                     decoder->stacks, decoder->samples);
    }
    put_columns_left_out(decoder, &note);
    if (buffer_text(&note) == NULL) {
        buffer_finish(&note);
        return fail_memory(decoder);
    }
    free(decoder->profile->gaps);
    decoder->profile->gaps = (char *)note.data;
    return true;
}

/* --- all of it --- */

static bool
fill_texts(struct decoder *decoder)
{
    char nothing[] = "";
    struct profile *profile = decoder->profile;

    return keep_text(decoder, &profile->command, nothing) &&
           keep_text(decoder, &profile->hal, nothing) &&
           keep_text(decoder, &profile->limits, nothing) &&
           keep_text(decoder, &profile->gaps, nothing);
}

static bool
decode(struct decoder *decoder)
{
    if (!walk(decoder, read_table_field) || !check_strings(decoder)) {
        return false;
    }
    if (decoder->types.size == 0) {
        return fail(decoder, "not a profile: it has no sample types");
    }
    decoder->ours = is_ours(decoder);
    decoder->profile->time_ns = decoder->time_ns;
    decoder->profile->duration_ns = decoder->duration_ns;
    return (decoder->ours ? read_our_comments(decoder)
                          : find_clock(decoder) && add_foreign_sources(decoder)) &&
           fill_texts(decoder) && add_mappings(decoder) && add_functions(decoder) &&
           walk(decoder, read_location) &&
           sort_table(decoder, &decoder->locations, sizeof(struct location),
                      "location") &&
           walk(decoder, read_sample) && note_left_out(decoder);
}

static void
decoder_finish(struct decoder *decoder)
{
    buffer_finish(&decoder->strings);
    buffer_finish(&decoder->types);
    buffer_finish(&decoder->mappings);
    buffer_finish(&decoder->functions);
    buffer_finish(&decoder->locations);
    buffer_finish(&decoder->lines);
    buffer_finish(&decoder->comments);
    buffer_finish(&decoder->text);
    buffer_finish(&decoder->values);
}

static uint64_t
memory_for(size_t file_size)
{
    const uint64_t limit = PPROF_MEMORY_BASE + (uint64_t)file_size * PPROF_MEMORY_RATIO;

    return limit < PPROF_MEMORY_MAX ? limit : PPROF_MEMORY_MAX;
}

/* From bytes that are not compressed, at most memory_limit of them. */
static struct profile *
decode_plain(const uint8_t *bytes, size_t size, uint64_t memory_limit,
             struct pprof_error *error)
{
    struct decoder decoder = {
        .error = error,
        .bytes = {bytes, bytes + size},
        .memory_limit = memory_limit,
        .memory_left = memory_limit - size,
        .no_image = HASH_INDEX_NONE,
        .clock_column = SIZE_MAX,
    };

    for (size_t i = 0; i < SAMPLE_TYPES_MAX; i++) {
        decoder.column_source[i] = COLUMN_IGNORED;
    }
    decoder.profile = profile_new();
    if (decoder.profile == NULL) {
        fail_memory(&decoder);
    } else if (!decode(&decoder)) {
        profile_delete(decoder.profile);
        decoder.profile = NULL;
    }
    decoder_finish(&decoder);
    return decoder.profile;
}

struct profile *
pprof_decode(const void *bytes, size_t size, struct pprof_error *error)
{
    const uint64_t memory_limit = memory_for(size);
    struct profile *profile = NULL;
    struct buffer expanded = {0};
    const char *why;

    if (size == 0) {
        snprintf(error->text, sizeof(error->text), "not a profile: it is empty");
        return NULL;
    }
    if (!gzip_is(bytes, size)) {
        return decode_plain(bytes, size, memory_limit, error);
    }
    why = gzip_expand(bytes, size, memory_limit, &expanded);
    if (why == NULL && expanded.size == 0) {
        why = "not a profile: it is empty";
    }
    if (why != NULL) {
        snprintf(error->text, sizeof(error->text), "%s", why);
    } else {
        profile = decode_plain(expanded.data, expanded.size, memory_limit, error);
    }
    buffer_finish(&expanded);
    return profile;
}
