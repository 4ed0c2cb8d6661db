/* SPDX-License-Identifier: MIT */
/*
 * json.c - a report for programs: docs/schema/report.schema.json. Names are escaped as
 * in the table (text.h) before JSON's own escapes, so that printing a decoded one is
 * harmless too.
 */
#include "report/formats.h"
#include "report/honesty.h"

#include "util/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is printed is flushed to the file when it has grown to this. */
enum { FLUSH_BYTES = 64 * 1024 };

/* Text that is escaped already. */
static void
put_escaped(struct buffer *json, const struct buffer *text)
{
    buffer_append_byte(json, '"');
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] == '"' || text->data[i] == '\\') {
            buffer_append_byte(json, '\\');
        }
        buffer_append_byte(json, text->data[i]);
    }
    buffer_append_byte(json, '"');
    json->failed |= text->failed;
}

static void
put_string(struct buffer *json, const char *text)
{
    struct buffer escaped = {0};

    text_escape(&escaped, text != NULL ? text : "");
    put_escaped(json, &escaped);
    buffer_finish(&escaped);
}

static void
put_member_string(struct buffer *json, const char *key, const char *text)
{
    buffer_print(json, "\"%s\":", key);
    put_string(json, text);
    buffer_append_byte(json, ',');
}

static void
put_member_number(struct buffer *json, const char *key, uint64_t number)
{
    buffer_print(json, "\"%s\":%" PRIu64 ",", key, number);
}

/* Ends an object or array: the comma behind the last member goes. */
static void
put_end(struct buffer *json, char bracket)
{
    if (json->size > 0 && json->data[json->size - 1] == ',') {
        json->size--;
    }
    buffer_append_byte(json, (uint8_t)bracket);
}

static void
put_source(struct buffer *json, const struct profile *profile,
           const struct profile_source *source)
{
    buffer_append_byte(json, '{');
    put_member_string(json, "name", source->name);
    put_member_string(json, "nt_name", source->nt_name);
    put_member_string(json, "unit", source->unit);
    put_member_number(json, "asked", source->asked);
    put_member_number(json, "granted", source->granted);
    buffer_print(json, "\"measured\":%.12g,",
                 isfinite(source->measured) ? source->measured : 0);
    put_member_number(json, "expected", source->expected);
    put_member_number(json, "taken", source->taken);
    put_member_number(json, "counted", source->counted);
    put_member_number(json, "outside", source->outside);
    put_member_number(json, "lost", source->lost);
    put_member_number(json, "throttled", source->throttled);
    put_member_number(json, "missed", source->missed);
    put_member_number(json, "unfinished", source->unfinished);
    put_member_number(json, "excluded", source->excluded);
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
    put_member_string(json, "command", profile->command);
    put_member_string(json, "hal", profile->hal);
    put_member_string(json, "honesty", profile->honesty);
    put_member_string(json, "gaps", profile->gaps);
    put_member_number(json, "time_ns", profile->time_ns);
    put_member_number(json, "duration_ns", profile->duration_ns);
    put_member_number(json, "bucket_bytes", profile->bucket_bytes);
    put_member_string(json, "by", report_key_name(key));
    put_member_number(json, "row_count", groups->count);
    buffer_append_text(json, "\n\"sources\":[");
    for (size_t i = 0; i < profile->source_count; i++) {
        buffer_append_byte(json, '\n');
        put_source(json, profile, &profile->sources[i]);
        buffer_append_byte(json, ',');
    }
    put_end(json, ']');
    buffer_append_text(json, ",\n\"rows\":[");
}

static void
put_by_source(struct buffer *json, const struct profile *profile,
              const struct report_groups *groups, const struct report_group *group)
{
    buffer_append_text(json, "\"by_source\":{");
    for (size_t i = 0; i < profile->source_count; i++) {
        put_string(json, profile->sources[i].name);
        buffer_print(json, ":%" PRIu64 ",", report_group_hits(groups, group, i));
    }
    put_end(json, '}');
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
    put_escaped(json, &name);
    buffer_append_byte(json, ',');
    put_member_string(json, "system_name",
                      group->function != NULL ? group->function->system_name : "");
    put_member_string(json, "file",
                      group->function != NULL ? group->function->file : "");
    put_member_number(json, "line", group->line);
    put_member_string(json, "image", group->image != NULL ? group->image->path : "");
    put_member_string(json, "build_id",
                      group->image != NULL ? group->image->build_id : "");
    if (group->has_address) {
        buffer_print(json, "\"address\":\"0x%" PRIx64 "\",", group->address);
    } else {
        put_member_string(json, "address", "");
    }
    put_member_string(json, "process", group->process);
    if (group->source != NULL) {
        put_member_string(json, "source", group->source->name);
    }
    put_member_number(json, "hits", report_group_main_hits(profile, groups, group));
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
    put_end(&json, ']');
    buffer_append_text(&json, "}\n");
    done = !json.failed;
    if (done) {
        fwrite(json.data, 1, json.size, out);
    }
    buffer_finish(&json);
    return done;
}
