/* SPDX-License-Identifier: MIT */
/* diff_json.c - a difference for programs: docs/schema/diff.schema.json. */
#include "profile/difference_rows.h"
#include "profile/estimate.h"
#include "view/report/formats.h"

#include "base/json.h"

#include <inttypes.h>

/* Output is flushed to the file when this many bytes are buffered. */
enum { FLUSH_BYTES = 64 * 1024 };

static void
flush(FILE *out, struct buffer *json)
{
    if (!json->failed && json->size > 0) {
        fwrite(json->data, 1, json->size, out);
        json->size = 0;
    }
}

static void
put_profile(struct buffer *json, const char *key, const struct profile *profile)
{
    json_put_key(json, key);
    buffer_append_byte(json, '{');
    json_put_text_member(json, "command", profile->command);
    json_put_text_member(json, "hal", profile->hal);
    json_put_text_member(json, "gaps", profile->gaps);
    json_put_number_member(json, "time_ns", profile->time_ns);
    json_put_number_member(json, "duration_ns", profile->duration_ns);
    json_put_number_member(json, "bucket_bytes", profile->bucket_bytes);
    json_end(json, '}');
    buffer_append_text(json, ",\n");
}

/* List the sources that only the profile of this side has. */
static void
put_others(struct buffer *json, const char *key, const struct diff *diff, unsigned side)
{
    const struct profile *profile = diff->pair.sides[side];

    json_put_key(json, key);
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < profile->source_count; i++) {
        bool both = false;

        for (size_t at = 0; at < diff->source_count; at++) {
            both |= diff->sources[at].of->sides[side] == &profile->sources[i];
        }
        if (!both) {
            json_put_text(json, profile->sources[i].name);
            buffer_append_byte(json, ',');
        }
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
}

static void
put_head(struct buffer *json, const struct diff *diff)
{
    const struct report_keys *keys = &diff->options->report.keys;

    buffer_append_text(json, "{\"schema\":\"ntprof.diff\",\"version\":1,\n");
    put_profile(json, "old", diff->pair.sides[PAIR_OLD]);
    put_profile(json, "new", diff->pair.sides[PAIR_NEW]);
    json_put_bool_member(json, "normalized", diff->options->normalize);
    json_put_real_member(json, "level", DIFF_LEVEL);
    json_put_key(json, "by");
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < keys->count; i++) {
        json_put_text(json, report_key_name(keys->list[i]));
        buffer_append_byte(json, ',');
    }
    if (keys->count == 0) {
        json_put_text(json, report_key_name(REPORT_BY_FUNCTION));
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
    put_others(json, "only_old", diff, PAIR_OLD);
    put_others(json, "only_new", diff, PAIR_NEW);
    buffer_append_text(json, "\n\"sources\":[");
}

static void
put_numbers(struct buffer *json, const struct diff_row *row)
{
    json_put_number_member(json, "old_hits", row->hits[PAIR_OLD]);
    json_put_number_member(json, "new_hits", row->hits[PAIR_NEW]);
    json_put_real_member(json, "old", row->values[PAIR_OLD]);
    json_put_real_member(json, "new", row->values[PAIR_NEW]);
    json_put_real_member(json, "change", row->change);
    json_put_real_member(json, "error", row->error);
}

static void
put_row(struct buffer *json, const struct diff_row *row)
{
    const struct report_group *group = row->group;
    struct buffer name = {0};

    report_group_name(group, &name);
    buffer_append_text(json, "\n{");
    json_put_text_member(json, "kind", diff_row_kind(row));
    json_put_bool_member(json, "beyond_chance", row->beyond_chance);
    put_numbers(json, row);
    json_put_real_member(json, "chance", row->chance);
    json_put_key(json, "function");
    json_put_escaped(json, &name);
    buffer_append_byte(json, ',');
    json_put_text_member(json, "file",
                         group->function != NULL ? group->function->file : "");
    json_put_number_member(json, "line", group->line);
    json_put_text_member(json, "image", group->image != NULL ? group->image->path : "");
    if (group->has_address && group->address != 0) {
        buffer_print(json, "\"address\":\"0x%" PRIx64 "\",", group->address);
    } else {
        json_put_text_member(json, "address", "");
    }
    json_put_text_member(json, "process", group->process);
    json_put_text_member(json, "thread", group->thread);
    if (group->unit != NULL) {
        json_put_text_member(json, "unit", group->unit);
    }
    if (group->cpu_plus_1 > 0) {
        json_put_number_member(json, "cpu", group->cpu_plus_1 - 1);
    }
    json_end(json, '}');
    buffer_append_byte(json, ',');
    buffer_finish(&name);
}

static const char *
unit_of(const struct diff *diff, const struct diff_source *source)
{
    if (diff->options->normalize) {
        return "share";
    }
    if (!source->known) {
        return "hits";
    }
    return report_is_time(source->of->sides[PAIR_OLD]) ? "ns" : "events";
}

static void
put_source(FILE *out, struct buffer *json, const struct diff *diff,
           const struct diff_source *source)
{
    const size_t shown = diff_rows_shown(diff, source);

    buffer_append_text(json, "\n{");
    json_put_text_member(json, "name", diff_source_name(source));
    json_put_text_member(json, "unit", unit_of(diff, source));
    json_put_real_member(json, "old_interval",
                         source->known ? source->intervals[0] : 0);
    json_put_real_member(json, "new_interval",
                         source->known ? source->intervals[1] : 0);
    json_put_number_member(json, "old_total_hits", source->of->totals[PAIR_OLD]);
    json_put_number_member(json, "new_total_hits", source->of->totals[PAIR_NEW]);
    json_put_number_member(json, "row_count", source->row_count);
    json_put_number_member(json, "beyond_chance_count", source->beyond_count);
    json_put_key(json, "whole");
    buffer_append_byte(json, '{');
    put_numbers(json, &source->whole);
    json_put_real_member(json, "chance", source->whole.chance);
    json_end(json, '}');
    buffer_append_text(json, ",\"rest\":{");
    put_numbers(json, &source->rest);
    json_end(json, '}');
    buffer_append_text(json, ",\n\"rows\":[");
    for (size_t i = 0; i < shown; i++) {
        put_row(json, &source->rows[i]);
        if (json->size > FLUSH_BYTES && i + 1 < shown) {
            flush(out, json);
        }
    }
    json_end(json, ']');
    buffer_append_text(json, "},");
}

bool
diff_print_json(FILE *out, const struct diff *diff)
{
    struct buffer json = {0};
    bool done;

    put_head(&json, diff);
    for (size_t i = 0; i < diff->source_count; i++) {
        put_source(out, &json, diff, &diff->sources[i]);
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    done = !json.failed;
    flush(out, &json);
    buffer_finish(&json);
    return done;
}
