/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c - callgrind's format, which callgrind_annotate, KCachegrind and
 * QCachegrind read: for each function with machine code its addresses and lines with
 * the hits of every source; lines of what was inlined are in their files (fi, fe). No
 * calls: none were measured.
 *
 * Names are numbered: (1) with the name where it comes first, the number alone later.
 */
#include "view/export/export.h"
#include "view/export/function_names.h"
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
    struct function_names names;
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
compare_rows(const void *left, const void *right, void *context)
{
    const struct writer *const writer = context;
    const uint32_t left_row = *(const uint32_t *)left;
    const uint32_t right_row = *(const uint32_t *)right;
    const struct profile_row *const a = &writer->profile->rows[left_row];
    const struct profile_row *const b = &writer->profile->rows[right_row];
    int order = compare_numbers(a->image, b->image);

    if (order == 0) {
        order = compare_numbers(writer->names.outer[left_row],
                                writer->names.outer[right_row]);
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
                writer);
    }
    return true;
}

/* Write KEY=NAME for the escaped text in writer->text; KEY=(NUMBER) alone if it
 * was written before. */
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
        /* Readers skip blanks in front of a name, so a blank at its start is escaped: a
         * name of blanks would be empty. */
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

/* Write the name of a source as readers of events want it: one word, without a comma,
 * and different from those before. */
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
            buffer_append_text(text, "_"); /* that name was written already */
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
            sum += profile->rows[i].hits[source]; /* cannot overflow: export_write has
                                                   * added up all hits */
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

/* Return whether two rows are of the same function; a may be NULL. */
static bool
same_function(const struct writer *writer, const struct profile_row *a,
              const struct profile_row *b)
{
    const struct profile_row *const rows = writer->profile->rows;

    return a != NULL && a->image == b->image &&
           writer->names.outer[a - rows] == writer->names.outer[b - rows];
}

static const char *
file_of_function(const struct writer *writer, const struct profile_row *row)
{
    const uint32_t number = writer->names.outer[row - writer->profile->rows];

    return identity_file(writer->names.items[number].function);
}

static void
put_function(struct writer *writer, const struct profile_row *row)
{
    const struct profile *profile = writer->profile;
    const struct display_name *const name =
        &writer->names.items[writer->names.outer[row - profile->rows]];

    put_text_name(writer, "ob", &writer->objects, profile->images[row->image].path);
    put_text_name(writer, "fl", &writer->files, file_of_function(writer, row));
    writer->text.size = 0;
    display_function(name->function, name->image, name->detail, &writer->text);
    put_name(writer, "fn", &writer->functions);
}

/* Write the file of the next lines, if it is not that of the lines before. */
static void
put_file(struct writer *writer, const struct profile_row *row, const char **file)
{
    const char *const next = writer->profile->functions[row->function].file;

    if (next[0] != '\0' && strcmp(next, *file) != 0) {
        const bool own = strcmp(next, file_of_function(writer, row)) == 0;

        put_text_name(writer, own ? "fe" : "fi", &writer->files, next);
        *file = next;
    }
}

static void
put_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct profile_row *last = NULL;
    const char *file = "";

    for (size_t i = 0; i < profile->row_count && !ferror(writer->out); i++) {
        const struct profile_row *row = &profile->rows[writer->order[i]];

        if (!export_has_hits(profile, row)) {
            continue;
        }
        if (!same_function(writer, last, row)) {
            put_function(writer, row);
            file = file_of_function(writer, row);
        }
        put_file(writer, row, &file);
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
                 const struct export_options *options, struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile};
    bool done =
        function_names_find(profile, DISPLAY_FULL, &writer.names) && sort_rows(&writer);

    (void)options;
    (void)messages;
    if (done) {
        put_head(&writer);
        put_rows(&writer);
        done = !writer.text.failed;
    }
    function_names_finish(&writer.names);
    string_set_finish(&writer.objects);
    string_set_finish(&writer.files);
    string_set_finish(&writer.functions);
    string_set_finish(&writer.events);
    buffer_finish(&writer.text);
    free(writer.order);
    return done;
}
