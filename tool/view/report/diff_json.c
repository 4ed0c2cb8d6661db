/* SPDX-License-Identifier: MIT */
/* diff_json.c - a difference for programs: docs/schema/diff.schema.json. */
#include "profile/estimate.h"
#include "view/report/difference.h"
#include "view/report/formats.h"

#include "base/json.h"

static void
put_profile(struct buffer *json, const char *key, const struct profile *profile)
{
    json_begin(json, key, '{');
    json_put_text_member(json, "command", profile->command);
    json_put_text_member(json, "hal", profile->hal);
    json_put_text_member(json, "gaps", profile->gaps);
    json_put_number_member(json, "time_ns", profile->time_ns);
    json_put_number_member(json, "duration_ns", profile->duration_ns);
    json_put_number_member(json, "bucket_bytes", profile->bucket_bytes);
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
}

/* List the sources that only the profile of this side has. */
static void
put_others(struct buffer *json, const char *key, const struct diff *diff, unsigned side)
{
    const struct profile *profile = diff->pair.sides[side];

    json_begin(json, key, '[');
    for (size_t i = 0; i < profile->source_count; i++) {
        bool both = false;

        for (size_t at = 0; at < diff->source_count; at++) {
            both |= diff->sources[at].of->sides[side] == &profile->sources[i];
        }
        if (!both) {
            json_put_text_element(json, profile->sources[i].name);
        }
    }
    json_end_member(json, ']');
}

static void
put_head(struct buffer *json, const struct diff *diff)
{
    const struct report_keys *keys = report_keys_used(&diff->options->by.keys);

    buffer_append_text(json, "{\"schema\":\"ntprof.diff\",\"version\":2,\n");
    put_profile(json, "old", diff->pair.sides[PAIR_OLD]);
    put_profile(json, "new", diff->pair.sides[PAIR_NEW]);
    json_put_bool_member(json, "normalized", diff->options->normalize);
    json_put_real_member(json, "level", DIFF_LEVEL);
    json_begin(json, "by", '[');
    for (size_t i = 0; i < keys->count; i++) {
        json_put_text_element(json, report_key_name(keys->list[i]));
    }
    json_end_member(json, ']');
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
    struct buffer inner = {0};

    report_group_name(group, DISPLAY_FULL, &name);
    if (group->inner != NULL) {
        display_function(group->inner, group->image, DISPLAY_FULL, &inner);
    }
    buffer_append_text(json, "\n{");
    json_put_text_member(json, "kind", diff_row_kind(row));
    json_put_bool_member(json, "beyond_chance", row->beyond_chance);
    put_numbers(json, row);
    json_put_real_member(json, "chance", row->chance);
    if (row->total != NULL) {
        json_begin(json, "total", '{');
        json_put_bool_member(json, "beyond_chance", row->total->beyond_chance);
        put_numbers(json, row->total);
        json_put_real_member(json, "chance", row->total->chance);
        json_end_member(json, '}');
    }
    json_put_escaped_member(json, "function", &name);
    json_put_escaped_member(json, "innermost", &inner);
    json_put_text_member(json, "file", group->file);
    json_put_number_member(json, "line", group->line);
    json_put_text_member(json, "image", group->image != NULL ? group->image->path : "");
    if (group->has_address && group->address != 0) {
        json_put_address_member(json, "address", group->address);
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
    json_end_member(json, '}');
    buffer_finish(&name);
    buffer_finish(&inner);
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
    return report_unit(source->of->sides[PAIR_OLD]);
}

/* Return the units (ns or events) that a hit represents: of several intervals, on
 * average; 0 if unknown. */
static double
value_of_hit(const struct diff_source *source, unsigned side)
{
    const double hits = (double)source->of->total_hits[side];

    if (!source->known) {
        return 0;
    }
    return hits > 0
               ? source->intervals[side] * ((double)source->of->totals[side] / hits)
               : source->intervals[side];
}

static void
put_source(FILE *out, struct buffer *json, const struct diff *diff,
           const struct diff_source *source)
{
    const size_t shown = diff_rows_shown(diff, source);

    buffer_append_text(json, "\n{");
    json_put_text_member(json, "name", diff_source_name(source));
    json_put_text_member(json, "unit", unit_of(diff, source));
    json_put_real_member(json, "old_interval", value_of_hit(source, PAIR_OLD));
    json_put_real_member(json, "new_interval", value_of_hit(source, PAIR_NEW));
    json_put_number_member(json, "old_total_hits", source->of->total_hits[PAIR_OLD]);
    json_put_number_member(json, "new_total_hits", source->of->total_hits[PAIR_NEW]);
    json_put_number_member(json, "row_count", source->row_count);
    json_put_number_member(json, "beyond_chance_count", source->beyond_count);
    if (source->totals != NULL) {
        json_put_number_member(json, "total_beyond_chance_count",
                               source->total_beyond_count);
        json_put_real_member(json, "old_unknown_share",
                             diff_unknown_share(source, PAIR_OLD));
        json_put_real_member(json, "new_unknown_share",
                             diff_unknown_share(source, PAIR_NEW));
    }
    json_begin(json, "whole", '{');
    put_numbers(json, &source->whole);
    json_put_real_member(json, "chance", source->whole.chance);
    json_end_member(json, '}');
    json_begin(json, "rest", '{');
    put_numbers(json, &source->rest);
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
    json_begin(json, "rows", '[');
    for (size_t i = 0; i < shown; i++) {
        put_row(json, &source->rows[i]);
        json_flush(json, out);
    }
    json_end(json, ']');
    json_end_member(json, '}');
}

bool
diff_print_json(FILE *out, const struct diff *diff)
{
    struct buffer json = {0};

    put_head(&json, diff);
    for (size_t i = 0; i < diff->source_count; i++) {
        put_source(out, &json, diff, &diff->sources[i]);
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    return json_finish(&json, out);
}
