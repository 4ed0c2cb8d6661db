/* SPDX-License-Identifier: MIT */
/*
 * json.c - a report for programs: docs/schema/report.schema.json.
 */
#include "profile/estimate.h"
#include "profile/filter.h"
#include "view/report/formats.h"
#include "view/report/summary.h"

#include "base/json.h"

#include <inttypes.h>

/* --- sources --- */

/* Put the statistics of a source. One of several intervals has no granted interval. */
static void
put_statistics(struct buffer *json, const struct profile_source *source)
{
    json_put_number_member(json, "asked", source->asked);
    json_put_number_member(json, "granted",
                           source->part_count > 0 ? 0 : source->granted);
    json_put_real_member(json, "measured", source->measured);
    json_put_number_member(json, "expected", source->expected);
    json_put_number_member(json, "taken", source->taken);
    json_put_number_member(json, "counted", source->counted);
    json_put_number_member(json, "outside", source->outside);
    json_put_number_member(json, "outside_kernel", source->outside_kernel);
    json_put_number_member(json, "lost", source->lost);
    json_put_number_member(json, "throttled", source->throttled);
    json_put_number_member(json, "missed", source->missed);
    json_put_number_member(json, "unfinished", source->unfinished);
    json_put_number_member(json, "excluded", source->excluded);
    if (source->contexts_max != 0) {
        json_put_number_member(json, "stack_bytes", source->stack_bytes);
        json_put_number_member(json, "contexts", source->contexts);
        json_put_number_member(json, "contexts_max", source->contexts_max);
    }
}

/* List the statistics of each interval, if there are several. */
static void
put_intervals(struct buffer *json, const struct profile_source *source)
{
    if (source->part_count == 0) {
        return;
    }
    json_begin(json, "intervals", '[');
    for (size_t i = 0; i < source->part_count; i++) {
        buffer_append_byte(json, '{');
        put_statistics(json, &source->parts[i]);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

/* Return the units (ns or events) that a hit represents: of several intervals, on
 * average. */
static double
per_hit(const struct profile_source *source, const struct report_count *total)
{
    const double interval = report_interval(source);

    return total->hits > 0 ? interval * (double)total->units / (double)total->hits
                           : interval;
}

/* Write the unit of the rows' ratios, such as per instruction. */
static void
put_source_ratio(struct buffer *json, const struct profile *profile, size_t source)
{
    struct report_ratio ratio;

    if (!report_ratio_find(profile, source, &ratio)) {
        return;
    }
    json_begin(json, "ratio", '{');
    json_put_number_member(json, "per", ratio.per);
    json_put_text_member(json, "of", profile->sources[ratio.denominator].name);
    json_end_member(json, '}');
}

static void
put_source(struct buffer *json, const struct report_groups *groups, size_t index)
{
    const struct profile *profile = groups->profile;
    const struct profile_source *source = &profile->sources[index];
    const struct report_count total = report_total(groups, index);

    buffer_append_byte(json, '{');
    json_put_text_member(json, "name", source->name);
    json_put_text_member(json, "nt_name", source->nt_name);
    json_put_text_member(json, "unit", source->unit);
    put_statistics(json, source);
    put_intervals(json, source);
    json_put_bool_member(json, "kernel_included", source->kernel_included);
    json_put_bool_member(json, "user_left_out", source->user_left_out);
    json_put_bool_member(json, "complete", report_is_complete(profile, source));
    json_put_number_member(json, "hits", total.hits);
    json_put_number_member(json, "selected", report_selected(groups, index).hits);
    json_put_real_member(json, "per_hit", per_hit(source, &total));
    json_put_text_member(json, "per_hit_unit", report_unit(source));
    put_source_ratio(json, profile, index);
    json_end_member(json, '}');
}

/* --- head --- */

/* "process,function" */
static void
put_keys(struct buffer *json, const struct report_keys *keys)
{
    const struct report_keys *const used = report_keys_used(keys);

    json_put_key(json, "by");
    buffer_append_byte(json, '"');
    for (size_t i = 0; i < used->count; i++) {
        buffer_append_text(json, i > 0 ? "," : "");
        buffer_append_text(json, report_key_name(used->list[i]));
    }
    buffer_append_text(json, "\",");
}

static void
put_filters(struct buffer *json, const struct report_options *options)
{
    if (options->by.filter_count == 0) {
        return;
    }
    json_begin(json, "filters", '[');
    for (size_t i = 0; i < options->by.filter_count; i++) {
        buffer_append_byte(json, '{');
        json_put_text_member(json, "of", filter_kind_name(options->by.filters[i].kind));
        json_put_text_member(json, "glob", options->by.filters[i].glob);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

void
report_put_relation(struct buffer *json, const struct report_relation *relation)
{
    if (relation->glob != NULL) {
        json_put_text_member(
            json, relation->kind == REPORT_CALLERS ? "callers_of" : "callees_of",
            relation->glob);
    } else if (relation->skipped_count == 0) {
        return;
    }
    json_begin(json, "skipped_images", '[');
    for (size_t i = 0; i < relation->skipped_count; i++) {
        json_put_text_element(json, relation->skipped[i]);
    }
    json_end_member(json, ']');
}

static void
put_head(struct buffer *json, const struct report_groups *groups,
         const struct report_options *options)
{
    const struct profile *profile = groups->profile;

    buffer_append_text(json, "{\"schema\":\"ntprof.report\",\"version\":2,\n");
    json_put_text_member(json, "command", profile->command);
    json_put_text_member(json, "hal", profile->hal);
    json_put_text_member(json, "limits", profile->limits);
    json_put_text_member(json, "gaps", profile->gaps);
    json_put_number_member(json, "time_ns", profile->time_ns);
    json_put_number_member(json, "duration_ns", profile->duration_ns);
    json_put_number_member(json, "bucket_bytes", profile->bucket_bytes);
    put_keys(json, &options->by.keys);
    put_filters(json, options);
    report_put_relation(json, &options->by.relation);
    json_put_number_member(json, "row_count", groups->count);
}

static void
put_sources(struct buffer *json, const struct report_groups *groups)
{
    const struct profile *profile = groups->profile;

    buffer_append_text(json, "\n\"sources\":[");
    for (size_t i = 0; i < profile->source_count; i++) {
        buffer_append_byte(json, '\n');
        put_source(json, groups, i);
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
    json_begin(json, "rows", '[');
}

/* --- by source --- */

/* Put what a row has of each source: count is of its hits or of its totals. */
static void
put_counts(struct buffer *json, const char *key, const struct report_groups *groups,
           const struct report_group *group,
           struct report_count (*count)(const struct report_groups *groups,
                                        const struct report_group *group,
                                        size_t source))
{
    const struct profile *profile = groups->profile;

    json_begin(json, key, '{');
    for (size_t i = 0; i < profile->source_count; i++) {
        json_put_text(json, profile->sources[i].name);
        buffer_print(json, ":%" PRIu64 ",", count(groups, group, i).hits);
    }
    json_end_member(json, '}');
}

static void
put_ratios(struct buffer *json, const struct report_groups *groups,
           const struct report_group *group)
{
    const struct profile *profile = groups->profile;

    json_begin(json, "ratios", '{');
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct report_count count = report_group_count(groups, group, i);
        struct report_count denominator;
        struct report_ratio ratio;
        double value;

        if (!report_ratio_find(profile, i, &ratio)) {
            continue;
        }
        denominator = report_group_count(groups, group, ratio.denominator);
        if (report_ratio_value(profile, &ratio, &count, &denominator, &value)) {
            json_put_text(json, profile->sources[i].name);
            buffer_print(json, ":%.6g,", value);
        }
    }
    json_end_member(json, '}');
}

/* --- rows --- */

static void
put_address(struct buffer *json, const char *key, uint64_t address, bool known)
{
    if (known) {
        json_put_address_member(json, key, address);
    } else {
        json_put_text_member(json, key, "");
    }
}

/* Put the innermost function, and where the function begins. */
static void
put_inner(struct buffer *json, const struct report_group *group)
{
    const struct profile_function *const function = group->function;
    struct buffer name = {0};

    if (group->inner != NULL) {
        display_function(group->inner, group->image, DISPLAY_FULL, &name);
    }
    json_put_escaped_member(json, "innermost", &name);
    buffer_finish(&name);
    json_put_text_member(json, "innermost_system_name",
                         group->inner != NULL ? group->inner->system_name : "");
    put_address(json, "function_address", function != NULL ? function->address : 0,
                function != NULL && function->has_address && !group->several_builds);
}

static void
put_place(struct buffer *json, const struct report_groups *groups,
          const struct report_group *group)
{
    const struct profile_function *function = group->function;
    const struct profile_image *image = group->image;
    struct buffer name = {0};

    report_group_name(group, DISPLAY_FULL, &name);
    json_put_escaped_member(json, "function", &name);
    buffer_finish(&name);
    json_put_text_member(json, "system_name",
                         function != NULL ? function->system_name : "");
    json_put_text_member(json, "file", group->file);
    json_put_number_member(json, "line", group->line);
    put_inner(json, group);
    json_put_text_member(json, "image", image != NULL ? image->path : "");
    json_put_text_member(json, "build_id",
                         image != NULL && !group->several_builds ? image->build_id
                                                                 : "");
    put_address(json, "address", group->address, group->has_address);
    if (report_groups_by(groups, REPORT_BY_BUCKET)) {
        const uint64_t end = report_group_bucket_end(groups, group);

        put_address(json, "bucket_end", end, end != 0);
    }
}

static void
put_who(struct buffer *json, const struct report_groups *groups,
        const struct report_group *group)
{
    json_put_text_member(json, "process", group->process);
    if (group->pid != 0) {
        json_put_number_member(json, "pid", group->pid);
    }
    if (report_groups_by(groups, REPORT_BY_THREAD)) {
        json_put_text_member(json, "thread", group->thread);
    }
    if (report_groups_by(groups, REPORT_BY_UNIT)) {
        json_put_text_member(json, "unit", group->unit);
    }
    if (group->cpu_plus_1 != 0) {
        json_put_number_member(json, "cpu", group->cpu_plus_1 - 1);
    }
    if (group->source != NULL) {
        json_put_text_member(json, "source", group->source->name);
    }
}

static void
put_numbers(struct buffer *json, const struct report_groups *groups,
            const struct report_group *group)
{
    const struct profile *profile = groups->profile;
    const size_t main = report_group_main_source(groups, group);
    const bool any = main < profile->source_count;
    const bool several = profile->source_count > 1 && group->source == NULL;
    const struct report_count count =
        any ? report_group_count(groups, group, main) : (struct report_count){0};

    json_put_number_member(json, "hits", count.hits);
    if (several) {
        put_counts(json, "by_source", groups, group, report_group_count);
        put_ratios(json, groups, group);
    }
    json_put_real_member(
        json, "estimate",
        any ? (double)count.units * report_interval(&profile->sources[main]) : 0);
    buffer_print(json, "\"share\":%.6f,", report_group_share(groups, group, main));
    buffer_print(json, "\"error\":%.6f,", report_group_error(groups, group, main));
    if (groups->has_totals && any) {
        json_put_number_member(json, "total",
                               report_group_total(groups, group, main).hits);
        buffer_print(json, "\"total_share\":%.6f,",
                     report_group_total_share(groups, group, main));
        if (several) {
            put_counts(json, "total_by_source", groups, group, report_group_total);
        }
    }
}

static void
put_row(struct buffer *json, const struct report_groups *groups,
        const struct report_group *group)
{
    buffer_append_text(json, "\n{");
    put_place(json, groups, group);
    put_who(json, groups, group);
    put_numbers(json, groups, group);
    json_end_member(json, '}');
}

/* --- the report --- */

bool
report_print_json(FILE *out, const struct report_groups *groups,
                  const struct report_options *options)
{
    const size_t shown = report_rows_shown(options, groups->count);
    struct buffer json = {0};

    put_head(&json, groups, options);
    if (options->print_members != NULL && !json.failed) {
        fwrite(json.data, 1, json.size, out);
        json.size = 0;
        json.failed = !options->print_members(out, options->members_context);
    }
    put_sources(&json, groups);
    for (size_t i = 0; i < shown; i++) {
        put_row(&json, groups, &groups->groups[i]);
        json_flush(&json, out);
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    return json_finish(&json, out);
}
