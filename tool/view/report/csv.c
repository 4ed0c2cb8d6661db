/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a report for spreadsheets and scripts: a header line, and a line for each row
 * and source with hits. Lines end with "\n".
 */
#include "profile/estimate.h"
#include "view/report/formats.h"

#include "base/text.h"

#include <inttypes.h>

/* Write the scratch text as a field, followed by a comma or the end of the line.
 * Returns false if memory runs out. */
static bool
put_scratch(FILE *out, struct buffer *scratch, char end)
{
    text_make_field(scratch);
    if (buffer_text(scratch) == NULL) {
        return false;
    }
    fwrite(scratch->data, 1, scratch->size, out);
    fputc(end, out);
    return true;
}

/* Escape and write a field. Returns false if memory runs out. */
static bool
put_text(FILE *out, struct buffer *scratch, const char *text)
{
    scratch->size = 0;
    text_escape(scratch, text != NULL ? text : "");
    return put_scratch(out, scratch, ',');
}

static bool
put_name(FILE *out, struct buffer *scratch, const struct report_group *group)
{
    scratch->size = 0;
    report_group_name(group, scratch);
    return put_scratch(out, scratch, ',');
}

/* Write the fields with names and addresses. */
static bool
put_names(FILE *out, struct buffer *scratch, const struct report_groups *groups,
          const struct report_group *group, size_t source)
{
    const struct profile_image *image = group->image;
    const struct profile_function *function = group->function;

    if (!put_text(out, scratch, groups->profile->sources[source].name) ||
        !put_text(out, scratch, image != NULL ? image->path : "") ||
        !put_text(out, scratch, image != NULL ? image->build_id : "") ||
        !put_name(out, scratch, group) ||
        !put_text(out, scratch, function != NULL ? function->file : "")) {
        return false;
    }
    if (group->line > 0) {
        fprintf(out, "%" PRIu32, group->line);
    }
    fputc(',', out);
    if (group->has_address) {
        fprintf(out, "0x%" PRIx64, group->address);
    }
    fputc(',', out);
    return put_text(out, scratch, group->process) &&
           put_text(out, scratch, group->thread);
}

/* Write the fields that were added after the first version. */
static void
put_numbers(FILE *out, const struct report_groups *groups,
            const struct report_group *group, size_t source)
{
    const struct profile_source *shown = &groups->profile->sources[source];
    const uint64_t end = report_groups_by(groups, REPORT_BY_BUCKET)
                             ? report_group_bucket_end(groups, group)
                             : 0;
    struct report_ratio ratio;
    double value;

    if (group->cpu_plus_1 != 0) {
        fprintf(out, "%" PRIu32, group->cpu_plus_1 - 1);
    }
    fputc(',', out);
    if (end != 0) {
        fprintf(out, "0x%" PRIx64, end);
    }
    fprintf(out, ",%.6f,%.12g,%s,", report_group_error(groups, group, source),
            (double)report_group_hits(groups, group, source) * report_interval(shown),
            report_is_time(shown) ? "ns" : "events");
    if (group->source == NULL && report_ratio_find(groups->profile, source, &ratio) &&
        report_ratio_value(
            groups->profile, &ratio, report_group_hits(groups, group, source),
            report_group_hits(groups, group, ratio.denominator), &value)) {
        fprintf(out, "%.6g,%s", value, ratio.unit);
    } else {
        fputc(',', out);
    }
}

static bool
put_record(FILE *out, struct buffer *scratch, const struct report_groups *groups,
           const struct report_group *group, size_t source)
{
    fprintf(out, "%" PRIu64 ",%.6f,", report_group_hits(groups, group, source),
            report_group_share(groups, group, source));
    if (!put_names(out, scratch, groups, group, source)) {
        return false;
    }
    put_numbers(out, groups, group, source);
    fputc(',', out);
    scratch->size = 0;
    text_escape(scratch, group->unit != NULL ? group->unit : "");
    return put_scratch(out, scratch, '\n');
}

bool
report_print_csv(FILE *out, const struct report_groups *groups,
                 const struct report_options *options)
{
    const size_t shown = report_rows_shown(options, groups->count);
    struct buffer scratch = {0};
    bool done = true;

    fputs("samples,share,source,module,build_id,function,file,line,address,process,"
          "thread,cpu,bucket_end,error,estimate,estimate_unit,ratio,ratio_unit,"
          "unit\n",
          out);
    for (size_t i = 0; done && i < shown; i++) {
        const struct report_group *group = &groups->groups[i];

        for (size_t source = 0; done && source < groups->profile->source_count;
             source++) {
            if (report_group_hits(groups, group, source) > 0) {
                done = put_record(out, &scratch, groups, group, source);
            }
        }
    }
    buffer_finish(&scratch);
    return done;
}
