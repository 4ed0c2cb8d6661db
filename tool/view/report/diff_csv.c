/* SPDX-License-Identifier: MIT */
/*
 * diff_csv.c - a difference for spreadsheets and scripts: a header line, and a line for
 * each row of each source. Lines end with "\n".
 */
#include "profile/difference_rows.h"

#include "base/text.h"

#include <inttypes.h>

/* Append the escaped text in scratch as a field, followed by a comma or the end of the
 * line, and clear scratch. */
static void
put_scratch(struct buffer *line, struct buffer *scratch, uint8_t end)
{
    text_make_field(scratch);
    line->failed |= scratch->failed;
    buffer_append(line, scratch->data, scratch->size);
    buffer_append_byte(line, end);
    scratch->size = 0;
}

static void
put_text(struct buffer *line, struct buffer *scratch, const char *text)
{
    text_escape(scratch, text != NULL ? text : "");
    put_scratch(line, scratch, ',');
}

static void
put_row(struct buffer *line, struct buffer *scratch, const struct diff_source *source,
        const struct diff_row *row)
{
    const struct report_group *group = row->group;

    put_text(line, scratch, diff_source_name(source));
    buffer_print(line, "%s,%d,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.6g,",
                 diff_row_kind(row), row->beyond_chance, row->hits[PAIR_OLD],
                 row->hits[PAIR_NEW], row->values[PAIR_OLD], row->values[PAIR_NEW],
                 row->change, row->error, row->chance);
    put_text(line, scratch, group->image != NULL ? group->image->path : "");
    report_group_name(group, scratch);
    put_scratch(line, scratch, ',');
    put_text(line, scratch, group->function != NULL ? group->function->file : "");
    if (group->line > 0) {
        buffer_print(line, "%" PRIu32, group->line);
    }
    buffer_append_byte(line, ',');
    if (group->has_address && group->address != 0) {
        buffer_print(line, "0x%" PRIx64, group->address);
    }
    buffer_append_byte(line, ',');
    put_text(line, scratch, group->process);
    put_text(line, scratch, group->thread);
    if (group->cpu_plus_1 > 0) {
        buffer_print(line, "%" PRIu32, group->cpu_plus_1 - 1);
    }
    buffer_append_byte(line, ',');
    text_escape(scratch, group->unit != NULL ? group->unit : "");
    put_scratch(line, scratch, '\n');
}

bool
diff_print_csv(FILE *out, const struct diff *diff)
{
    struct buffer line = {0};
    struct buffer scratch = {0};
    bool done;

    fputs("source,kind,beyond_chance,old_hits,new_hits,old,new,change,error,chance,"
          "module,"
          "function,file,line,address,process,thread,cpu,unit\n",
          out);
    for (size_t i = 0; i < diff->source_count; i++) {
        const struct diff_source *source = &diff->sources[i];
        const size_t shown = diff_rows_shown(diff, source);

        for (size_t row = 0; row < shown && !line.failed; row++) {
            line.size = 0;
            put_row(&line, &scratch, source, &source->rows[row]);
            if (!line.failed) {
                fwrite(line.data, 1, line.size, out);
            }
        }
    }
    done = !line.failed;
    buffer_finish(&scratch);
    buffer_finish(&line);
    return done;
}
