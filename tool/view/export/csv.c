/* SPDX-License-Identifier: MIT */
/*
 * csv.c - every row and source with hits as a line, for spreadsheets and scripts. The
 * columns up to cpu are those of the report's CSV. Lines end with a newline alone.
 */
#include "view/export/export.h"
#include "view/export/names.h"

#include "base/csv.h"
#include "profile/display.h"

#include <inttypes.h>

/* writer - what an export needs. */
struct writer {
    struct csv csv;
    const struct profile *profile;
    bool pids;  /* any row has a process id */
    bool units; /* any row has a unit */
};

static void
put_function(struct writer *writer, const struct profile_row *row,
             const struct profile_function *function)
{
    display_function(function, &writer->profile->images[row->image], DISPLAY_FULL,
                     &writer->csv.text);
    csv_put_field(&writer->csv);
}

/* Put the innermost function, and the address of the outer one. */
static void
put_inner(struct writer *writer, const struct profile_row *row,
          const struct profile_function *outer)
{
    const struct profile_function *const inner =
        row->caller != 0 ? &writer->profile->functions[row->function] : outer;

    put_function(writer, row, inner);
    csv_put_text(&writer->csv, inner->system_name);
    csv_put_address(&writer->csv, outer->address, outer->has_address);
}

/* Put what a row's code was inlined into, innermost first, with " < " between names. */
static void
put_callers(struct writer *writer, const struct profile_row *row)
{
    const struct profile *profile = writer->profile;
    const struct profile_frame *frames = profile->frames;

    for (uint32_t at = row->caller; at != 0; at = frames[at].caller) {
        if (at != row->caller) {
            buffer_append_text(&writer->csv.text, " < ");
        }
        display_function(&profile->functions[frames[at].function],
                         &profile->images[row->image], DISPLAY_FULL, &writer->csv.text);
    }
    csv_put_field(&writer->csv);
}

static void
put_line(struct writer *writer, const struct profile_row *row, size_t source,
         uint64_t total)
{
    const struct profile *profile = writer->profile;
    const struct profile_image *image = &profile->images[row->image];
    const struct profile_function *outer =
        &profile->functions[profile_outer_function(profile, row)];
    struct csv *csv = &writer->csv;

    csv_print(csv, "%" PRIu64 ",%.6f", row->hits[source],
              (double)row->hits[source] / (double)total);
    csv_put_text(csv, profile->sources[source].name);
    csv_put_text(csv, image->path);
    csv_put_text(csv, image->build_id);
    put_function(writer, row, outer);
    csv_put_text(csv, profile->functions[row->function].file);
    csv_put_number(csv, row->line, row->line > 0);
    csv_put_address(csv, row->address, /* known */ true);
    csv_put_text(csv, profile->processes[row->process]);
    csv_put_text(csv, profile->threads[row->thread]);
    csv_put_number(csv, row->cpu_plus_1 - 1, row->cpu_plus_1 > 0);
    csv_put_address(csv, export_file_offset(profile, row), /* known */ true);
    csv_put_text(csv, outer->system_name);
    put_callers(writer, row);
    put_inner(writer, row, outer);
    if (writer->pids) {
        csv_put_number(csv, row->pid, row->pid != 0);
    }
    if (writer->units) {
        csv_put_text(csv, profile->units[row->unit]);
    }
    csv_end_line(csv);
}

static uint64_t
total_of(const struct profile *profile, size_t source)
{
    uint64_t total = 0;

    /* This cannot overflow: export_write has added up all hits. */
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

    for (size_t i = 0; i < profile->row_count && !ferror(writer->csv.out); i++) {
        if (profile->rows[i].hits[source] > 0) {
            put_line(writer, &profile->rows[i], source, total);
        }
    }
}

bool
export_csv(FILE *out, const struct profile *profile,
           const struct export_options *options, struct export_messages *messages)
{
    struct writer writer = {.csv = {.out = out}, .profile = profile};

    (void)options;
    (void)messages;
    for (size_t i = 0; i < profile->row_count; i++) {
        writer.pids = writer.pids || profile->rows[i].pid != 0;
        writer.units = writer.units || profile->rows[i].unit != 0;
    }
    csv_print(&writer.csv,
              "samples,share,source,module,build_id,function,file,line,address,process,"
              "thread,cpu,offset,system_name,inlined_into,innermost,"
              "innermost_system_name,function_address");
    if (writer.pids) {
        csv_print(&writer.csv, "pid");
    }
    if (writer.units) {
        csv_print(&writer.csv, "unit");
    }
    csv_end_line(&writer.csv);
    for (size_t source = 0; source < profile->source_count; source++) {
        put_rows(&writer, source);
    }
    return csv_finish(&writer.csv);
}
