/* SPDX-License-Identifier: MIT */
/*
 * json.c - a report for programs: docs/schema/report.schema.json.
 */
#include "report/formats.h"
#include "report/honesty.h"

#include "util/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is printed is flushed to the file when it has grown to this. */
enum { FLUSH_BYTES = 64 * 1024 };

static void
put_source(struct buffer *json, const struct profile *profile,
           const struct profile_source *source)
{
    buffer_append_byte(json, '{');
    json_put_text_member(json, "name", source->name);
    json_put_text_member(json, "nt_name", source->nt_name);
    json_put_text_member(json, "unit", source->unit);
    json_put_number_member(json, "asked", source->asked);
    json_put_number_member(json, "granted", source->granted);
    buffer_print(json, "\"measured\":%.12g,",
                 isfinite(source->measured) ? source->measured : 0);
    json_put_number_member(json, "expected", source->expected);
    json_put_number_member(json, "taken", source->taken);
    json_put_number_member(json, "counted", source->counted);
    json_put_number_member(json, "outside", source->outside);
    json_put_number_member(json, "lost", source->lost);
    json_put_number_member(json, "throttled", source->throttled);
    json_put_number_member(json, "missed", source->missed);
    json_put_number_member(json, "unfinished", source->unfinished);
    json_put_number_member(json, "excluded", source->excluded);
    buffer_print(json, "\"kernel_included\":%s,",
                 source->kernel_included ? "true" : "false");
    buffer_print(json, "\"complete\":%s}",
                 report_is_complete(profile, source) ? "true" : "false");
}

static void
put_head(struct buffer *json, const struct profile *profile,
         const struct report_groups *groups, enum report_key key)
{
    buffer_append_text(json, "{\"schema\":\"ntprof.report\",\"version\":1,\n");
    json_put_text_member(json, "command", profile->command);
    json_put_text_member(json, "hal", profile->hal);
    json_put_text_member(json, "honesty", profile->honesty);
    json_put_text_member(json, "gaps", profile->gaps);
    json_put_number_member(json, "time_ns", profile->time_ns);
    json_put_number_member(json, "duration_ns", profile->duration_ns);
    json_put_number_member(json, "bucket_bytes", profile->bucket_bytes);
    json_put_text_member(json, "by", report_key_name(key));
    json_put_number_member(json, "row_count", groups->count);
    buffer_append_text(json, "\n\"sources\":[");
    for (size_t i = 0; i < profile->source_count; i++) {
        buffer_append_byte(json, '\n');
        put_source(json, profile, &profile->sources[i]);
        buffer_append_byte(json, ',');
    }
    json_end(json, ']');
    buffer_append_text(json, ",\n\"rows\":[");
}

static void
put_by_source(struct buffer *json, const struct profile *profile,
              const struct report_groups *groups, const struct report_group *group)
{
    buffer_append_text(json, "\"by_source\":{");
    for (size_t i = 0; i < profile->source_count; i++) {
        json_put_text(json, profile->sources[i].name);
        buffer_print(json, ":%" PRIu64 ",", report_group_hits(groups, group, i));
    }
    json_end(json, '}');
    buffer_append_byte(json, ',');
}

static void
put_row(struct buffer *json, const struct profile *profile,
        const struct report_groups *groups, const struct report_group *group)
{
    struct buffer name = {0};

    report_group_name(group, &name);
    buffer_append_text(json, "\n{");
    buffer_append_text(json, "\"function\":");
    json_put_escaped(json, &name);
    buffer_append_byte(json, ',');
    json_put_text_member(json, "system_name",
                         group->function != NULL ? group->function->system_name : "");
    json_put_text_member(json, "file",
                         group->function != NULL ? group->function->file : "");
    json_put_number_member(json, "line", group->line);
    json_put_text_member(json, "image", group->image != NULL ? group->image->path : "");
    json_put_text_member(json, "build_id",
                         group->image != NULL ? group->image->build_id : "");
    if (group->has_address) {
        buffer_print(json, "\"address\":\"0x%" PRIx64 "\",", group->address);
    } else {
        json_put_text_member(json, "address", "");
    }
    json_put_text_member(json, "process", group->process);
    if (group->source != NULL) {
        json_put_text_member(json, "source", group->source->name);
    }
    json_put_number_member(json, "hits",
                           report_group_main_hits(profile, groups, group));
    if (profile->source_count > 1 && group->source == NULL) {
        put_by_source(json, profile, groups, group);
    }
    buffer_print(json, "\"share\":%.6f},", report_group_share(profile, groups, group));
    buffer_finish(&name);
}

bool
report_print_json(FILE *out, const struct profile *profile,
                  const struct report_groups *groups,
                  const struct report_options *options)
{
    const size_t shown = report_rows_shown(options, groups->count);
    struct buffer json = {0};
    bool done;

    put_head(&json, profile, groups, options->key);
    for (size_t i = 0; i < shown; i++) {
        put_row(&json, profile, groups, &groups->groups[i]);
        if (json.size > FLUSH_BYTES && i + 1 < shown) {
            fwrite(json.data, 1, json.size, out);
            json.size = 0;
        }
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    done = !json.failed;
    if (done) {
        fwrite(json.data, 1, json.size, out);
    }
    buffer_finish(&json);
    return done;
}
