/* SPDX-License-Identifier: MIT */
/*
 * callgrind.c - callgrind's format, which callgrind_annotate, KCachegrind and
 * QCachegrind read: for each function with machine code its addresses and lines with
 * the hits of every source; lines of what was inlined are in their files (fi, fe).
 * Where there are stacks, calls follow with the hits of what is called, in the place of
 * how often it was, which was not measured.
 *
 * Names are numbered: (1) with the name where it comes first, the number alone later.
 */
#include "view/export/callgrind_calls.h"
#include "view/export/export.h"
#include "view/export/function_names.h"
#include "view/export/names.h"

#include "base/arithmetic.h"
#include "base/string_set.h"
#include "base/text.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    FILE *out;
    const struct profile *profile;
    struct identities identities;
    struct display_name *names; /* by number of a function that has machine code */
    struct callgrind_calls calls;
    struct string_set objects, files, functions, events;
    struct buffer text;
    uint32_t *order; /* rows by image, function and address */
    uint64_t *hits;  /* by source: of the line at hand */
};

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
        order = compare_numbers(writer->identities.outer[left_row],
                                writer->identities.outer[right_row]);
    }
    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->process, b->process);
    }
    return order != 0 ? order : compare_numbers(a->stack, b->stack);
}

static bool
sort_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    writer->order = calloc(profile->row_count + 1, sizeof(*writer->order));
    writer->hits = calloc(profile->source_count + 1, sizeof(*writer->hits));
    if (writer->order == NULL || writer->hits == NULL) {
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
    fputs(writer->calls.count > 0
              ? "desc: Counts: hits; of calls those of what is called, calls were not "
                "counted\n"
              : "desc: Counts: hits, at addresses alone; no calls\n",
          writer->out);
    fputs("positions: instr line\nevents:", writer->out);
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
           writer->identities.outer[a - rows] == writer->identities.outer[b - rows];
}

/* Write the object, the file and the name of a function, with a letter in front of the
 * keys of one that is called. */
static void
put_function(struct writer *writer, uint32_t number, bool called)
{
    const struct display_name *const name = &writer->names[number];

    put_text_name(writer, called ? "cob" : "ob", &writer->objects, name->image->path);
    put_text_name(writer, called ? "cfi" : "fl", &writer->files,
                  identity_file(name->function));
    writer->text.size = 0;
    display_function(name->function, name->image, name->detail, &writer->text);
    put_name(writer, called ? "cfn" : "fn", &writer->functions);
}

/* Write the file of the next lines, which the code of a function is in, if it is not
 * that of the lines before. */
static void
put_file(struct writer *writer, uint32_t number, uint32_t function, const char **file)
{
    const char *const next = writer->profile->functions[function].file;
    const char *const own = identity_file(writer->names[number].function);

    if (next[0] != '\0' && strcmp(next, *file) != 0) {
        put_text_name(writer, strcmp(next, own) == 0 ? "fe" : "fi", &writer->files,
                      next);
        *file = next;
    }
}

static void
put_hits(struct writer *writer, uint64_t address, uint32_t line, const uint64_t *hits)
{
    fprintf(writer->out, "0x%" PRIx64 " %" PRIu32, address, line);
    for (size_t source = 0; source < writer->profile->source_count; source++) {
        fprintf(writer->out, " %" PRIu64, hits[source]);
    }
    fputc('\n', writer->out);
}

/* Whether two rows differ in their stacks, and in nothing that is written. Rows of a
 * profile without stacks stay apart. */
static bool
differs_in_stack(const struct writer *writer, const struct profile_row *a,
                 const struct profile_row *b)
{
    return a->stack != b->stack && same_function(writer, a, b) &&
           a->address == b->address && a->line == b->line &&
           a->function == b->function && a->process == b->process;
}

/* Set writer->hits to those of a row, and of the rows behind it that differ only in
 * their stacks. Returns the last one. */
static size_t
add_stacks(struct writer *writer, size_t first)
{
    const struct profile *const profile = writer->profile;
    const struct profile_row *row = &profile->rows[writer->order[first]];
    size_t last = first;

    memcpy(writer->hits, row->hits, profile->source_count * sizeof(*writer->hits));
    while (last + 1 < profile->row_count) {
        const struct profile_row *const next = &profile->rows[writer->order[last + 1]];

        if (!differs_in_stack(writer, row, next)) {
            break;
        }
        for (size_t i = 0; i < profile->source_count; i++) {
            writer->hits[i] += next->hits[i]; /* export_write looked at it */
        }
        row = next;
        last++;
    }
    return last;
}

static void
put_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct profile_row *last = NULL;
    const char *file = "";

    for (size_t i = 0; i < profile->row_count && !ferror(writer->out); i++) {
        const struct profile_row *row = &profile->rows[writer->order[i]];
        const uint32_t number = writer->identities.outer[writer->order[i]];

        if (!export_has_hits(profile, row)) {
            continue;
        }
        if (!same_function(writer, last, row)) {
            put_function(writer, number, /* called */ false);
            file = identity_file(writer->names[number].function);
        }
        put_file(writer, number, row->function, &file);
        i = add_stacks(writer, i);
        put_hits(writer, row->address, row->line, writer->hits);
        last = row;
    }
}

/* Write the calls of each function: functions that were there before go on. */
static void
put_calls(struct writer *writer)
{
    const char *file = "";
    uint32_t caller = IDENTITY_NONE;

    for (size_t i = 0; i < writer->calls.count && !ferror(writer->out); i++) {
        const struct callgrind_call *const call = &writer->calls.list[i];
        const struct profile_function *const called =
            writer->names[call->callee].function;
        const uint64_t *const hits = callgrind_call_hits(&writer->calls, call);

        if (call->caller != caller) {
            put_function(writer, call->caller, /* called */ false);
            file = identity_file(writer->names[call->caller].function);
            caller = call->caller;
        }
        put_file(writer, call->caller, call->function, &file);
        put_function(writer, call->callee, /* called */ true);
        fprintf(writer->out, "calls=%" PRIu64 " 0x%" PRIx64 " %" PRIu32 "\n", hits[0],
                called->address, called->start_line);
        put_hits(writer, call->address, call->line, hits);
    }
}

bool
export_callgrind(FILE *out, const struct profile *profile,
                 const struct export_options *options, struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile};
    bool done = identities_find(profile, &writer.identities) && sort_rows(&writer) &&
                callgrind_calls_find(profile, &writer.identities, &writer.calls);

    if (done) {
        writer.names = function_names_outer(profile, &writer.identities);
        done = writer.names != NULL;
    }
    (void)options;
    (void)messages;
    if (done) {
        put_head(&writer);
        put_rows(&writer);
        put_calls(&writer);
        done = !writer.text.failed;
    }
    identities_finish(&writer.identities);
    callgrind_calls_finish(&writer.calls);
    free(writer.names);
    string_set_finish(&writer.objects);
    string_set_finish(&writer.files);
    string_set_finish(&writer.functions);
    string_set_finish(&writer.events);
    buffer_finish(&writer.text);
    free(writer.order);
    free(writer.hits);
    return done;
}
