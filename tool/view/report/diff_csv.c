/* SPDX-License-Identifier: MIT */
/*
 * diff_csv.c - a difference for spreadsheets and scripts: a header line, and a line for
 * each row of each source. Lines end with "\n".
 */
#include "view/report/difference.h"

#include "base/csv.h"

#include <inttypes.h>

static void
put_row(struct csv *csv, const struct diff_source *source, const struct diff_row *row)
{
    const struct report_group *group = row->group;

    csv_put_text(csv, diff_source_name(source));
    csv_print(csv, "%s,%d,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.6g",
              diff_row_kind(row), row->beyond_chance, row->hits[PAIR_OLD],
              row->hits[PAIR_NEW], row->values[PAIR_OLD], row->values[PAIR_NEW],
              row->change, row->error, row->chance);
    csv_put_text(csv, group->image != NULL ? group->image->path : "");
    report_group_name(group, DISPLAY_FULL, &csv->text);
    csv_put_field(csv);
    csv_put_text(csv, group->file);
    csv_put_number(csv, group->line, group->line > 0);
    csv_put_address(csv, group->address, group->has_address && group->address != 0);
    csv_put_text(csv, group->process);
    csv_put_text(csv, group->thread);
    csv_put_number(csv, group->cpu_plus_1 - 1, group->cpu_plus_1 > 0);
    csv_put_text(csv, group->unit);
    if (group->inner != NULL) {
        display_function(group->inner, group->image, DISPLAY_FULL, &csv->text);
    }
    csv_put_field(csv);
    if (row->total != NULL) {
        csv_print(csv, "%d,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.6g",
                  row->total->beyond_chance, row->total->hits[PAIR_OLD],
                  row->total->hits[PAIR_NEW], row->total->values[PAIR_OLD],
                  row->total->values[PAIR_NEW], row->total->change, row->total->error,
                  row->total->chance);
    }
    csv_end_line(csv);
}

bool
diff_print_csv(FILE *out, const struct diff *diff)
{
    struct csv csv = {.out = out};

    csv_print(&csv, "source,kind,beyond_chance,old_hits,new_hits,old,new,change,error,"
                    "chance,module,function,file,line,address,process,thread,cpu,unit,"
                    "innermost");
    if (diff->pair.stacks) {
        csv_print(&csv, "total_beyond_chance,total_old_hits,total_new_hits,total_old,"
                        "total_new,total_change,total_error,total_chance");
    }
    csv_end_line(&csv);
    for (size_t i = 0; i < diff->source_count; i++) {
        const struct diff_source *source = &diff->sources[i];
        const size_t shown = diff_rows_shown(diff, source);

        for (size_t row = 0; row < shown && !csv.text.failed; row++) {
            put_row(&csv, source, &source->rows[row]);
        }
    }
    return csv_finish(&csv);
}
