/* SPDX-License-Identifier: MIT */
/*
 * csv.c - a report for spreadsheets and scripts: a header line, and a line for each row
 * and source with hits or a total. Lines end with "\n".
 */
#include "profile/estimate.h"
#include "view/report/formats.h"

#include "base/csv.h"

#include <inttypes.h>

/* Write the fields with names and addresses. */
static void
put_names(struct csv *csv, const struct report_groups *groups,
          const struct report_group *group, size_t source)
{
    const struct profile_image *image = group->image;

    csv_put_text(csv, groups->profile->sources[source].name);
    csv_put_text(csv, image != NULL ? image->path : "");
    csv_put_text(csv, image != NULL && !group->several_builds ? image->build_id : "");
    report_group_name(group, DISPLAY_FULL, &csv->text);
    csv_put_field(csv);
    csv_put_text(csv, group->file);
    csv_put_number(csv, group->line, group->line > 0);
    csv_put_address(csv, group->address, group->has_address);
    csv_put_text(csv, group->process);
    csv_put_text(csv, group->thread);
}

/* Write the fields that were added after the first version. */
static void
put_numbers(struct csv *csv, const struct report_groups *groups,
            const struct report_group *group, size_t source)
{
    const struct profile_source *shown = &groups->profile->sources[source];
    const uint64_t end = report_groups_by(groups, REPORT_BY_BUCKET)
                             ? report_group_bucket_end(groups, group)
                             : 0;
    const struct report_count count = report_group_count(groups, group, source);
    struct report_count denominator = {0};
    struct report_ratio ratio;
    double value;

    csv_put_number(csv, group->cpu_plus_1 - 1, group->cpu_plus_1 != 0);
    csv_put_address(csv, end, end != 0);
    csv_print(csv, "%.6f,%.12g", report_group_error(groups, group, source),
              (double)count.units * report_interval(shown));
    csv_put_text(csv, report_unit(shown));
    if (group->source == NULL && report_ratio_find(groups->profile, source, &ratio)) {
        denominator = report_group_count(groups, group, ratio.denominator);
    }
    if (denominator.hits > 0 &&
        report_ratio_value(groups->profile, &ratio, &count, &denominator, &value)) {
        csv_print(csv, "%.6g,%s", value, ratio.unit);
    } else {
        csv_print(csv, ",");
    }
}

/* Write the innermost function, where the function begins, the process id, and the
 * total. */
static void
put_inner(struct csv *csv, const struct report_groups *groups,
          const struct report_group *group, size_t source)
{
    const struct profile_function *const function = group->function;

    if (group->inner != NULL) {
        display_function(group->inner, group->image, DISPLAY_FULL, &csv->text);
    }
    csv_put_field(csv);
    csv_put_address(csv, function != NULL ? function->address : 0,
                    function != NULL && function->has_address &&
                        !group->several_builds);
    if (report_groups_by(groups, REPORT_BY_PID)) {
        csv_put_number(csv, group->pid, group->pid != 0);
    }
    if (groups->has_totals) {
        csv_print(csv, "%" PRIu64 ",%.6f",
                  report_group_total(groups, group, source).hits,
                  report_group_total_share(groups, group, source));
    }
}

static void
put_line(struct csv *csv, const struct report_groups *groups,
         const struct report_group *group, size_t source)
{
    csv_print(csv, "%" PRIu64 ",%.6f", report_group_hits(groups, group, source),
              report_group_share(groups, group, source));
    put_names(csv, groups, group, source);
    put_numbers(csv, groups, group, source);
    csv_put_text(csv, group->unit);
    put_inner(csv, groups, group, source);
    csv_end_line(csv);
}

bool
report_print_csv(FILE *out, const struct report_groups *groups,
                 const struct report_options *options)
{
    const size_t shown = report_rows_shown(options, groups->count);
    struct csv csv = {.out = out};

    csv_print(&csv, "samples,share,source,module,build_id,function,file,line,address,"
                    "process,thread,cpu,bucket_end,error,estimate,estimate_unit,ratio,"
                    "ratio_unit,unit,innermost,function_address");
    if (report_groups_by(groups, REPORT_BY_PID)) {
        csv_print(&csv, "pid");
    }
    if (groups->has_totals) {
        csv_print(&csv, "total,total_share");
    }
    csv_end_line(&csv);
    for (size_t i = 0; i < shown && !csv.text.failed; i++) {
        const struct report_group *group = &groups->groups[i];

        for (size_t source = 0; source < groups->profile->source_count; source++) {
            if (report_group_hits(groups, group, source) > 0 ||
                (groups->has_totals &&
                 report_group_total(groups, group, source).hits > 0)) {
                put_line(&csv, groups, group, source);
            }
        }
    }
    return csv_finish(&csv);
}
