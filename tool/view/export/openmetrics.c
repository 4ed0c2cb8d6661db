/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - what a monitoring system scrapes: hits of each source by function,
 * its statistics, its interval.
 *
 * The number of series is bounded: of each source the functions with most hits have one
 * each, all others share one, and the sum is all hits. A function is that of the
 * report, in each build of its image, so that a series means the same tomorrow.
 */
#include "view/export/export.h"
#include "view/export/names.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "base/openmetrics.h"
#include "profile/display.h"
#include "profile/identity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_OTHER "[other]"

/* series - a function in a build of its image. */
struct series {
    const struct profile_image *image;
    const struct profile_function *function;
    uint32_t identity; /* of the function: see identity.h */
    bool alike;        /* other series have its name, file and image */
};

struct writer {
    FILE *out;
    const struct profile *profile;
    size_t rows;
    struct identities identities;
    struct series *series; /* [0] is the one that others share */
    size_t count, capacity;
    uint32_t *series_of_row;
    struct hash_index index;
    uint64_t *hits; /* by series, of one source */
    uint32_t *order;
    struct buffer name; /* name of a function */
    struct buffer text; /* what is not written yet */
};

/* --- series --- */

static uint64_t
pointer_bits(const char *text)
{
    return (uint64_t)(uintptr_t)text;
}

static bool
append_series(struct writer *writer, const struct series *wanted)
{
    struct series *const grown =
        array_grow(writer->series, writer->count, &writer->capacity, sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    writer->series = grown;
    writer->series[writer->count++] = *wanted;
    return true;
}

static bool
same_image(const struct series *a, const struct series *b)
{
    return a->image->path == b->image->path && a->image->build_id == b->image->build_id;
}

/* Find or add the series of a function. Returns its index; HASH_INDEX_NONE
 * if memory runs out. */
static uint32_t
find_series(struct writer *writer, const struct series *wanted)
{
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(0, pointer_bits(wanted->image->path)),
                          pointer_bits(wanted->image->build_id)),
                 wanted->identity);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&writer->index, hash, &probe)) != HASH_INDEX_NONE) {
        const struct series *known = &writer->series[at];

        if (known->identity == wanted->identity && same_image(known, wanted)) {
            return at;
        }
    }
    if (!hash_index_add(&writer->index, hash, (uint32_t)writer->count) ||
        !append_series(writer, wanted)) {
        return HASH_INDEX_NONE;
    }
    return (uint32_t)writer->count - 1;
}

/* Return whether the labels of a function's series would be those of the shared one. */
static bool
is_other(const struct series *series)
{
    return series->image->path[0] == '\0' && series->image->build_id[0] == '\0' &&
           identity_file(series->function)[0] == '\0' &&
           strcmp(series->function->name, NAME_OTHER) == 0;
}

/* Find the series of each row; series 0 is the shared one. Returns false
 * if memory runs out. */
static bool
find_all_series(struct writer *writer)
{
    static const struct profile_image no_image = {.path = "", .build_id = ""};
    static const struct profile_function other_functions = {
        .name = NAME_OTHER, .system_name = NAME_OTHER, .file = "", .definition = ""};
    static const struct series other = {
        .image = &no_image, .function = &other_functions, .identity = UINT32_MAX};
    const struct profile *profile = writer->profile;

    writer->series_of_row = calloc(profile->row_count + 1, sizeof(uint32_t));
    if (writer->series_of_row == NULL || !append_series(writer, &other)) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct series wanted = {
            .image = &profile->images[row->image],
            .function = &profile->functions[profile_outer_function(profile, row)],
            .identity = writer->identities.outer[i],
        };
        const uint32_t at = is_other(&wanted) ? 0 : find_series(writer, &wanted);

        if (at == HASH_INDEX_NONE) {
            return false;
        }
        writer->series_of_row[i] = at;
    }
    return true;
}

/* Set alike of the series that would have the labels of another one. Returns false
 * if memory runs out. */
static bool
find_alike(struct writer *writer)
{
    bool done = true;

    hash_index_clear(&writer->index);
    for (size_t i = 1; done && i < writer->count; i++) {
        struct series *const series = &writer->series[i];
        const char *const file = identity_file(series->function);
        const uint32_t hash =
            hash_mix(hash_mix(hash_mix(hash_mix(0, pointer_bits(series->image->path)),
                                       pointer_bits(series->image->build_id)),
                              pointer_bits(series->function->name)),
                     pointer_bits(file));
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&writer->index, hash, &probe)) !=
                   HASH_INDEX_NONE &&
               (!same_image(&writer->series[at], series) ||
                writer->series[at].function->name != series->function->name ||
                identity_file(writer->series[at].function) != file)) {
        }
        series->alike = at != HASH_INDEX_NONE;
        if (at != HASH_INDEX_NONE) {
            writer->series[at].alike = true;
        } else {
            done = hash_index_add(&writer->index, hash, (uint32_t)i);
        }
    }
    return done;
}

/* --- hits --- */

static int
compare_hits(const void *left, const void *right, void *hits)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const uint64_t *by_series = hits;

    if (by_series[a] != by_series[b]) {
        return by_series[a] > by_series[b] ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* Set hits, those of a source by series, and order: all series but the shared
 * one, most hits first. */
static void
rank(struct writer *writer, size_t source)
{
    const struct profile *profile = writer->profile;

    memset(writer->hits, 0, writer->count * sizeof(*writer->hits));
    for (size_t i = 0; i < profile->row_count; i++) {
        /* This cannot overflow: export_write has added up all hits. */
        writer->hits[writer->series_of_row[i]] += profile->rows[i].hits[source];
    }
    for (uint32_t i = 1; i < writer->count; i++) {
        writer->order[i - 1] = i;
    }
    qsort_r(writer->order, writer->count - 1, sizeof(*writer->order), compare_hits,
            writer->hits);
}

/* Write what is in writer->text, and empty it. */
static void
flush(struct writer *writer)
{
    if (!writer->text.failed && writer->text.size > 0) {
        fwrite(writer->text.data, 1, writer->text.size, writer->out);
        writer->text.size = 0;
    }
}

/* Put the label that distinguishes functions of one name, file and build: the address
 * or, without one, the system name. */
static void
put_place(struct writer *writer, const struct profile_function *function)
{
    if (function->name[0] == '\0') {
        return; /* the name is made of the address */
    }
    if (function->has_address) {
        buffer_print(&writer->text, ",address=\"0x%" PRIx64 "\"", function->address);
    } else {
        openmetrics_put_label(&writer->text, "system_name", function->system_name);
    }
}

static void
put_hits(struct writer *writer, size_t source, uint32_t at, uint64_t hits)
{
    const struct series *series = &writer->series[at];

    buffer_append_text(&writer->text, "ntprof_hits_total{");
    openmetrics_put_label(&writer->text, "source",
                          writer->profile->sources[source].name);
    openmetrics_put_label(&writer->text, "image", series->image->path);
    openmetrics_put_label(&writer->text, "build_id", series->image->build_id);
    writer->name.size = 0;
    display_function(series->function, series->image, DISPLAY_FULL, &writer->name);
    openmetrics_put_escaped_label(&writer->text, "function", &writer->name);
    openmetrics_put_label(&writer->text, "file", identity_file(series->function));
    if (series->alike) {
        put_place(writer, series->function);
    }
    buffer_print(&writer->text, "} %" PRIu64 "\n", hits);
    flush(writer);
}

/* Put the series of a source with most hits, and the sum of all others
 * as the shared one. */
static void
put_source_hits(struct writer *writer, size_t source)
{
    const size_t own = writer->rows == 0 ? SIZE_MAX : writer->rows;
    uint64_t others;

    rank(writer, source);
    others = writer->hits[0];
    for (size_t i = 0; i + 1 < writer->count && !ferror(writer->out); i++) {
        const uint64_t hits = writer->hits[writer->order[i]];

        if (i >= own) {
            others += hits;
        } else if (hits > 0) {
            put_hits(writer, source, writer->order[i], hits);
        }
    }
    put_hits(writer, source, 0, others);
}

static bool
put_all_hits(struct writer *writer)
{
    writer->hits = calloc(writer->count, sizeof(*writer->hits));
    writer->order = calloc(writer->count, sizeof(*writer->order));
    if (writer->hits == NULL || writer->order == NULL) {
        return false;
    }
    openmetrics_put_family(
        &writer->text, "ntprof_hits", "counter", "",
        "Hits by function; [other] has those of all that are not named here.");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        put_source_hits(writer, i);
    }
    return true;
}

/* --- statistics and intervals --- */

/* Put a source's hits of one kind of its statistics. */
static void
put_book(struct writer *writer, const struct profile_source *source, const char *book,
         uint64_t hits)
{
    buffer_append_text(&writer->text, "ntprof_book_hits_total{");
    openmetrics_put_label(&writer->text, "source", source->name);
    openmetrics_put_label(&writer->text, "book", book);
    buffer_print(&writer->text, "} %" PRIu64 "\n", hits);
}

static void
put_statistics(struct writer *writer)
{
    openmetrics_put_family(
        &writer->text, "ntprof_book_hits", "counter", "",
        "Hits by what became of them; taken is counted and outside, expected is "
        "taken and all the others.");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        const struct profile_source *source = &writer->profile->sources[i];

        put_book(writer, source, "expected", source->expected);
        put_book(writer, source, "taken", source->taken);
        put_book(writer, source, "counted", source->counted);
        put_book(writer, source, "outside", source->outside);
        put_book(writer, source, "lost", source->lost);
        put_book(writer, source, "throttled", source->throttled);
        put_book(writer, source, "missed", source->missed);
        put_book(writer, source, "unfinished", source->unfinished);
        put_book(writer, source, "excluded", source->excluded);
    }
}

static bool
is_time(const struct profile_source *source)
{
    return strcmp(source->unit, "100ns") == 0;
}

/* Put the intervals of the sources of time, or of all others. */
static void
put_intervals(struct writer *writer, const char *family, const char *unit, bool time)
{
    const double scale = time ? 1e-7 : 1;

    openmetrics_put_family(&writer->text, family, "gauge", unit,
                           "Interval between hits.");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        const struct profile_source *source = &writer->profile->sources[i];
        const double measured = isfinite(source->measured) ? source->measured : 0;

        if (is_time(source) == time) {
            buffer_print(&writer->text, "%s{", family);
            openmetrics_put_label(&writer->text, "source", source->name);
            buffer_print(&writer->text, ",kind=\"granted\"} %.17g\n",
                         (double)source->granted * scale);
            buffer_print(&writer->text, "%s{", family);
            openmetrics_put_label(&writer->text, "source", source->name);
            buffer_print(&writer->text, ",kind=\"measured\"} %.17g\n",
                         measured * scale);
        }
    }
}

static void
put_seconds(struct writer *writer, const char *family, const char *help, uint64_t ns)
{
    const uint64_t ns_per_s = UINT64_C(1000000000);

    openmetrics_put_family(&writer->text, family, "gauge", "seconds", help);
    buffer_print(&writer->text, "%s %" PRIu64 ".%09" PRIu64 "\n", family, ns / ns_per_s,
                 ns % ns_per_s);
}

bool
export_openmetrics(FILE *out, const struct profile *profile,
                   const struct export_options *options,
                   struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile, .rows = options->rows};
    bool done = identities_find(profile, &writer.identities) &&
                find_all_series(&writer) && find_alike(&writer) &&
                put_all_hits(&writer);

    (void)messages;
    if (done) {
        put_statistics(&writer);
        put_intervals(&writer, "ntprof_interval_seconds", "seconds", /* time */ true);
        put_intervals(&writer, "ntprof_interval_events", "events", /* time */ false);
        put_seconds(&writer, "ntprof_start_time_seconds",
                    "When the profile began, since 1970-01-01 UTC.", profile->time_ns);
        put_seconds(&writer, "ntprof_duration_seconds", "How long it took.",
                    profile->duration_ns);
        buffer_append_text(&writer.text, "# EOF\n");
        flush(&writer);
        done = !writer.text.failed;
    }
    identities_finish(&writer.identities);
    hash_index_finish(&writer.index);
    buffer_finish(&writer.name);
    buffer_finish(&writer.text);
    free(writer.series);
    free(writer.series_of_row);
    free(writer.hits);
    free(writer.order);
    return done;
}
