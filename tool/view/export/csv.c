/* SPDX-License-Identifier: MIT */
/*
 * csv.c - every row and source with hits as a line, for spreadsheets and scripts. The
 * columns up to cpu are those of the report's CSV. Lines end with a newline alone.
 */
#include "view/export/export.h"
#include "view/export/names.h"

#include "base/text.h"

#include <inttypes.h>

/* One export: where to, and a text on its way. */
struct writer {
    FILE *out;
    const struct profile *profile;
    struct buffer text;
};

/* Writes the escaped text in writer->text as a field, and empties it. */
static void
put_field(struct writer *writer)
{
    text_make_field(&writer->text);
    if (!writer->text.failed && writer->text.size > 0) {
        fwrite(writer->text.data, 1, writer->text.size, writer->out);
    }
    writer->text.size = 0;
}

/* Writes a text as a field and the comma behind it. */
static void
put_text(struct writer *writer, const char *text)
{
    text_escape(&writer->text, text);
    put_field(writer);
    fputc(',', writer->out);
}

static void
put_place(struct writer *writer, const struct profile_row *row)
{
    const struct profile *profile = writer->profile;

    if (export_is_named(profile, row)) {
        put_text(writer, profile->functions[row->function].name);
        return;
    }
    export_place_name(profile, row, &writer->text);
    put_field(writer);
    fputc(',', writer->out);
}

/* What the code was inlined into, innermost first: names with " < " between them. */
static void
put_callers(struct writer *writer, const struct profile_row *row)
{
    const struct profile *profile = writer->profile;
    const struct profile_frame *frames = profile->frames;

    for (uint32_t at = row->caller; at != 0; at = frames[at].caller) {
        if (at != row->caller) {
            buffer_append_text(&writer->text, " < ");
        }
        text_escape(&writer->text, profile->functions[frames[at].function].name);
    }
    put_field(writer);
}

static void
put_line(struct writer *writer, const struct profile_row *row, size_t source,
         uint64_t total)
{
    const struct profile *profile = writer->profile;
    const struct profile_image *image = &profile->images[row->image];
    const struct profile_function *function = &profile->functions[row->function];
    FILE *out = writer->out;

    fprintf(out, "%" PRIu64 ",%.6f,", row->hits[source],
            (double)row->hits[source] / (double)total);
    put_text(writer, profile->sources[source].name);
    put_text(writer, image->path);
    put_text(writer, image->build_id);
    put_place(writer, row);
    put_text(writer, function->file);
    if (row->line > 0) {
        fprintf(out, "%" PRIu32, row->line);
    }
    fprintf(out, ",0x%" PRIx64 ",", row->address);
    put_text(writer, profile->processes[row->process]);
    put_text(writer, profile->threads[row->thread]);
    if (row->cpu_plus_1 > 0) {
        fprintf(out, "%" PRIu32, row->cpu_plus_1 - 1);
    }
    fprintf(out, ",0x%" PRIx64 ",", export_file_offset(profile, row));
    put_text(writer, function->system_name);
    put_callers(writer, row);
    fputc('\n', out);
}

static uint64_t
total_of(const struct profile *profile, size_t source)
{
    uint64_t total = 0;

    /* No overflow: export_write looked at it. */
    for (size_t i = 0; i < profile->row_count; i++) {
        total += profile->rows[i].hits[source];
    }
    return total;
}

static void
put_rows(struct writer *writer, size_t source)
{
    const struct profile *profile = writer->profile;
    const uint64_t total = total_of(profile, source);

    for (size_t i = 0; i < profile->row_count && !ferror(writer->out); i++) {
        if (profile->rows[i].hits[source] > 0) {
            put_line(writer, &profile->rows[i], source, total);
        }
    }
}

bool
export_csv(FILE *out, const struct profile *profile,
           const struct export_options *options, struct export_said *said)
{
    struct writer writer = {.out = out, .profile = profile};
    bool done;

    (void)options;
    (void)said;
    fputs("samples,share,source,module,build_id,function,file,line,address,process,"
          "thread,cpu,offset,system_name,inlined_into\n",
          out);
    for (size_t source = 0; source < profile->source_count; source++) {
        put_rows(&writer, source);
    }
    done = !writer.text.failed;
    buffer_finish(&writer.text);
    return done;
}
