/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - what a monitoring system scrapes: hits of each source by function,
 * its statistics, its interval.
 *
 * The number of series is bounded: of each source the functions with most hits have one
 * each, all others share one, and the sum is all hits. Code without a name is one
 * function an image, so that a series means the same tomorrow.
 */
#include "view/export/export.h"
#include "view/export/names.h"

#include "base/hash_index.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_OTHER "[other]"

/* A series: functions that have the same labels. */
struct series {
    const char *path; /* of the image; interned, as all here */
    const char *build_id;
    const char *function; /* "": code without a name */
};

struct writer {
    FILE *out;
    const struct profile *profile;
    size_t rows;
    struct series *series; /* [0] is the one that others share */
    size_t count, capacity;
    uint32_t *series_of_row;
    struct hash_index index;
    uint64_t *hits; /* by series, of one source */
    uint32_t *order;
    struct buffer text;
};

/* --- series --- */

static uint64_t
bits(const char *text)
{
    return (uint64_t)(uintptr_t)text;
}

static bool
append_series(struct writer *writer, const struct series *wanted)
{
    if (writer->count == writer->capacity) {
        const size_t capacity = writer->capacity > 0 ? writer->capacity * 2 : 64;
        struct series *grown =
            reallocarray(writer->series, capacity, sizeof(*writer->series));

        if (grown == NULL) {
            return false;
        }
        writer->series = grown;
        writer->capacity = capacity;
    }
    writer->series[writer->count++] = *wanted;
    return true;
}

/* The series of these labels, added if it is new. HASH_INDEX_NONE: out of memory. */
static uint32_t
find_series(struct writer *writer, const struct series *wanted)
{
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(0, bits(wanted->path)), bits(wanted->build_id)),
                 bits(wanted->function));
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&writer->index, hash, &probe)) != HASH_INDEX_NONE) {
        const struct series *known = &writer->series[at];

        if (known->path == wanted->path && known->build_id == wanted->build_id &&
            known->function == wanted->function) {
            return at;
        }
    }
    if (!hash_index_add(&writer->index, hash, (uint32_t)writer->count) ||
        !append_series(writer, wanted)) {
        return HASH_INDEX_NONE;
    }
    return (uint32_t)writer->count - 1;
}

/* Would the series' labels be those of the one that others share? */
static bool
is_other(const struct series *series)
{
    return series->path[0] == '\0' && series->build_id[0] == '\0' &&
           strcmp(series->function, NAME_OTHER) == 0;
}

static bool
find_all_series(struct writer *writer)
{
    static const struct series other = {
        .path = "", .build_id = "", .function = NAME_OTHER};
    const struct profile *profile = writer->profile;

    writer->series_of_row = calloc(profile->row_count + 1, sizeof(uint32_t));
    if (writer->series_of_row == NULL || !append_series(writer, &other)) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct profile_image *image = &profile->images[row->image];
        const struct series wanted = {
            .path = image->path,
            .build_id = image->build_id,
            .function = profile->functions[row->function].name,
        };
        const uint32_t at = is_other(&wanted) ? 0 : find_series(writer, &wanted);

        if (at == HASH_INDEX_NONE) {
            return false;
        }
        writer->series_of_row[i] = at;
    }
    return true;
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

/* Fills hits of a source, and order: all series but the shared one, most hits first. */
static void
rank(struct writer *writer, size_t source)
{
    const struct profile *profile = writer->profile;

    memset(writer->hits, 0, writer->count * sizeof(*writer->hits));
    for (size_t i = 0; i < profile->row_count; i++) {
        /* No overflow: export_write added all of them up. */
        writer->hits[writer->series_of_row[i]] += profile->rows[i].hits[source];
    }
    for (uint32_t i = 1; i < writer->count; i++) {
        writer->order[i - 1] = i;
    }
    qsort_r(writer->order, writer->count - 1, sizeof(*writer->order), compare_hits,
            writer->hits);
}

/* Writes ,KEY="TEXT" with the value escaped as in the report, then as labels are. */
static void
put_label(struct writer *writer, const char *separator, const char *key,
          const char *text)
{
    struct buffer *escaped = &writer->text;

    escaped->size = 0;
    text_escape(escaped, text);
    fprintf(writer->out, "%s%s=\"", separator, key);
    for (size_t i = 0; i < escaped->size; i++) {
        if (escaped->data[i] == '"' || escaped->data[i] == '\\') {
            fputc('\\', writer->out);
        }
        fputc(escaped->data[i], writer->out);
    }
    fputc('"', writer->out);
}

static void
put_hits(struct writer *writer, size_t source, uint32_t at, uint64_t hits)
{
    const struct series *series = &writer->series[at];

    fputs("ntprof_hits_total{", writer->out);
    put_label(writer, "", "source", writer->profile->sources[source].name);
    put_label(writer, ",", "image", series->path);
    put_label(writer, ",", "build_id", series->build_id);
    put_label(writer, ",", "function", series->function);
    fprintf(writer->out, "} %" PRIu64 "\n", hits);
}

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

static void
put_family(struct writer *writer, const char *name, const char *type, const char *unit,
           const char *help)
{
    fprintf(writer->out, "# TYPE %s %s\n", name, type);
    if (unit != NULL) {
        fprintf(writer->out, "# UNIT %s %s\n", name, unit);
    }
    fprintf(writer->out, "# HELP %s %s\n", name, help);
}

static bool
put_all_hits(struct writer *writer)
{
    writer->hits = calloc(writer->count, sizeof(*writer->hits));
    writer->order = calloc(writer->count, sizeof(*writer->order));
    if (writer->hits == NULL || writer->order == NULL) {
        return false;
    }
    put_family(writer, "ntprof_hits", "counter", NULL,
               "Hits by function; [other] has those of all that are not named here.");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        put_source_hits(writer, i);
    }
    return true;
}

/* --- statistics and intervals --- */

static void
put_book(struct writer *writer, const struct profile_source *source, const char *book,
         uint64_t hits)
{
    fputs("ntprof_book_hits_total{", writer->out);
    put_label(writer, "", "source", source->name);
    put_label(writer, ",", "book", book);
    fprintf(writer->out, "} %" PRIu64 "\n", hits);
}

static void
put_statistics(struct writer *writer)
{
    put_family(writer, "ntprof_book_hits", "counter", NULL,
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

/* The intervals of the sources that have this unit. */
static void
put_intervals(struct writer *writer, const char *family, const char *unit, bool time)
{
    const double scale = time ? 1e-7 : 1;

    put_family(writer, family, "gauge", unit, "Interval between hits.");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        const struct profile_source *source = &writer->profile->sources[i];
        const double measured = isfinite(source->measured) ? source->measured : 0;

        if (is_time(source) == time) {
            fprintf(writer->out, "%s{", family);
            put_label(writer, "", "source", source->name);
            fprintf(writer->out, ",kind=\"granted\"} %.17g\n",
                    (double)source->granted * scale);
            fprintf(writer->out, "%s{", family);
            put_label(writer, "", "source", source->name);
            fprintf(writer->out, ",kind=\"measured\"} %.17g\n", measured * scale);
        }
    }
}

static void
put_seconds(struct writer *writer, const char *family, const char *help, uint64_t ns)
{
    const uint64_t ns_per_s = UINT64_C(1000000000);

    put_family(writer, family, "gauge", "seconds", help);
    fprintf(writer->out, "%s %" PRIu64 ".%09" PRIu64 "\n", family, ns / ns_per_s,
            ns % ns_per_s);
}

bool
export_openmetrics(FILE *out, const struct profile *profile,
                   const struct export_options *options, struct export_said *said)
{
    struct writer writer = {.out = out, .profile = profile, .rows = options->rows};
    bool done = find_all_series(&writer) && put_all_hits(&writer);

    (void)said;
    if (done) {
        put_statistics(&writer);
        put_intervals(&writer, "ntprof_interval_seconds", "seconds", true);
        put_intervals(&writer, "ntprof_interval_events", "events", false);
        put_seconds(&writer, "ntprof_start_time_seconds",
                    "When the profile began, since 1970-01-01 UTC.", profile->time_ns);
        put_seconds(&writer, "ntprof_duration_seconds", "How long it took.",
                    profile->duration_ns);
        fputs("# EOF\n", out);
        done = !writer.text.failed;
    }
    hash_index_finish(&writer.index);
    buffer_finish(&writer.text);
    free(writer.series);
    free(writer.series_of_row);
    free(writer.hits);
    free(writer.order);
    return done;
}
