/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c - callgrind's format, which callgrind_annotate, KCachegrind and
 * QCachegrind read: for each function its addresses and lines with the hits of every
 * source. No calls: none were measured.
 *
 * Names are numbered: (1) with the name where it comes first, the number alone later.
 */
#include "view/export/export.h"
#include "view/export/names.h"

#include "base/string_set.h"
#include "base/text.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    FILE *out;
    const struct profile *profile;
    struct string_set objects, files, functions, events;
    struct buffer text;
    uint32_t *order; /* rows by image, function and address */
};

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_rows(const void *left, const void *right, void *rows)
{
    const struct profile_row *a =
        (const struct profile_row *)rows + *(const uint32_t *)left;
    const struct profile_row *b =
        (const struct profile_row *)rows + *(const uint32_t *)right;
    int order = compare_numbers(a->image, b->image);

    if (order == 0) {
        order = compare_numbers(a->function, b->function);
    }
    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->process, b->process);
    }
    return order;
}

static bool
sort_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    writer->order = calloc(profile->row_count + 1, sizeof(*writer->order));
    if (writer->order == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        writer->order[i] = (uint32_t)i;
    }
    if (profile->row_count > 1) {
        qsort_r(writer->order, profile->row_count, sizeof(*writer->order), compare_rows,
                profile->rows);
    }
    return true;
}

/* Writes KEY=NAME for the escaped text in writer->text. */
static void
put_name(struct writer *writer, const char *key, struct string_set *names)
{
    const size_t known = names->count;
    const char *text = buffer_text(&writer->text);
    const uint32_t number =
        text != NULL ? string_set_add(names, text, writer->text.size) : HASH_INDEX_NONE;

    if (number == HASH_INDEX_NONE) {
        writer->text.failed = true;
    } else if (number == known) {
        /* Readers skip blanks before a name, which must not be all of it. */
        fprintf(writer->out, "%s=(%" PRIu32 ") %s%s\n", key, number + 1,
                text[0] == ' ' ? "\\x20" : "", text[0] == ' ' ? text + 1 : text);
    } else {
        fprintf(writer->out, "%s=(%" PRIu32 ")\n", key, number + 1);
    }
}

static void
put_text_name(struct writer *writer, const char *key, struct string_set *names,
              const char *name)
{
    writer->text.size = 0;
    text_escape(&writer->text, name[0] != '\0' ? name : "???");
    put_name(writer, key, names);
}

/* The name of a source as readers of events take it: one word, no comma, not twice. */
static void
put_event(struct writer *writer, const char *name)
{
    struct buffer *text = &writer->text;
    const size_t known = writer->events.count;

    text->size = 0;
    for (; *name != '\0'; name++) {
        const bool plain = (*name >= 'a' && *name <= 'z') ||
                           (*name >= 'A' && *name <= 'Z') ||
                           (*name >= '0' && *name <= '9') || strchr("-_.", *name);

        buffer_append_byte(text, plain ? (uint8_t)*name : '_');
    }
    if (text->size == 0) {
        buffer_append_text(text, "source");
    }
    while (!text->failed && writer->events.count == known) {
        if (string_set_add(&writer->events, (const char *)text->data, text->size) ==
            HASH_INDEX_NONE) {
            text->failed = true;
        } else if (writer->events.count == known) {
            buffer_append_text(text, "_"); /* there is one already */
        }
    }
    fprintf(writer->out, " %.*s", (int)text->size, (const char *)text->data);
}

static void
put_sums(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    fputs("summary:", writer->out);
    for (size_t source = 0; source < profile->source_count; source++) {
        uint64_t sum = 0;

        for (size_t i = 0; i < profile->row_count; i++) {
            sum += profile->rows[i].hits[source]; /* export_write looked at it */
        }
        fprintf(writer->out, " %" PRIu64, sum);
    }
    fputs("\n", writer->out);
}

static void
put_head(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    fprintf(writer->out, "# callgrind format\nversion: 1\ncreator: ntprof-%s\n",
            ntprof_version());
    writer->text.size = 0;
    text_escape(&writer->text, profile->command != NULL ? profile->command : "");
    if (buffer_text(&writer->text) != NULL && writer->text.size > 0) {
        fprintf(writer->out, "cmd: %s\n", (const char *)writer->text.data);
    }
    fputs("desc: Counts: hits, at addresses alone; no calls\n"
          "positions: instr line\nevents:",
          writer->out);
    for (size_t i = 0; i < profile->source_count; i++) {
        put_event(writer, profile->sources[i].name);
    }
    if (profile->source_count == 0) {
        fputs(" none", writer->out);
    }
    fputc('\n', writer->out);
    put_sums(writer);
}

/* Are both in one function? Code without a name is a function for each address. */
static bool
same_function(const struct profile *profile, const struct profile_row *a,
              const struct profile_row *b)
{
    return a != NULL && a->image == b->image && a->function == b->function &&
           (export_is_named(profile, b) || a->address == b->address);
}

static void
put_function(struct writer *writer, const struct profile_row *row)
{
    const struct profile *profile = writer->profile;

    put_text_name(writer, "ob", &writer->objects, profile->images[row->image].path);
    put_text_name(writer, "fl", &writer->files, profile->functions[row->function].file);
    writer->text.size = 0;
    export_place_name(profile, row, &writer->text);
    put_name(writer, "fn", &writer->functions);
}

static void
put_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct profile_row *last = NULL;

    for (size_t i = 0; i < profile->row_count && !ferror(writer->out); i++) {
        const struct profile_row *row = &profile->rows[writer->order[i]];

        if (!export_has_hits(profile, row)) {
            continue;
        }
        if (!same_function(profile, last, row)) {
            put_function(writer, row);
        }
        fprintf(writer->out, "0x%" PRIx64 " %" PRIu32, row->address, row->line);
        for (size_t source = 0; source < profile->source_count; source++) {
            fprintf(writer->out, " %" PRIu64, row->hits[source]);
        }
        fputc('\n', writer->out);
        last = row;
    }
}

bool
export_callgrind(FILE *out, const struct profile *profile,
                 const struct export_options *options, struct export_said *said)
{
    struct writer writer = {.out = out, .profile = profile};
    bool done = sort_rows(&writer);

    (void)options;
    (void)said;
    if (done) {
        put_head(&writer);
        put_rows(&writer);
        done = !writer.text.failed;
    }
    string_set_finish(&writer.objects);
    string_set_finish(&writer.files);
    string_set_finish(&writer.functions);
    string_set_finish(&writer.events);
    buffer_finish(&writer.text);
    free(writer.order);
    return done;
}
