/* SPDX-License-Identifier: MIT */
/*
 * json.c - all that a profile holds, for programs: docs/schema/profile.schema.json.
 *
 * The tables are as in memory (profile/profile.h), so indexes are those of their
 * entries, from 0.
 */
#include "view/export/export.h"

#include "base/json.h"
#include "profile/identity.h"

#include <inttypes.h>
#include <math.h>

struct writer {
    FILE *out;
    const struct profile *profile;
    struct buffer json;
};

/* End an entry of an array, and write what is there so far. */
static void
end_entry(struct writer *writer)
{
    json_end_member(&writer->json, '}');
    json_flush(&writer->json, writer->out);
}

static void
begin_array(struct writer *writer, const char *key)
{
    buffer_append_byte(&writer->json, '\n');
    json_begin(&writer->json, key, '[');
}

static void
put_head(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    struct buffer *json = &writer->json;

    buffer_append_text(json, "{\"schema\":\"ntprof.profile\",\"version\":1,\n");
    json_put_text_member(json, "command", profile->command);
    json_put_text_member(json, "hal", profile->hal);
    json_put_text_member(json, "limits", profile->limits);
    json_put_text_member(json, "gaps", profile->gaps);
    json_put_number_member(json, "time_ns", profile->time_ns);
    json_put_number_member(json, "duration_ns", profile->duration_ns);
    json_put_number_member(json, "bucket_bytes", profile->bucket_bytes);
}

static void
put_source(struct buffer *json, const struct profile_source *source)
{
    buffer_append_text(json, "\n{");
    json_put_text_member(json, "name", source->name);
    json_put_text_member(json, "nt_name", source->nt_name);
    json_put_text_member(json, "unit", source->unit);
    json_put_number_member(json, "asked", source->asked);
    json_put_number_member(json, "granted", source->granted);
    buffer_print(json, "\"measured\":%.17g,",
                 isfinite(source->measured) ? source->measured : 0);
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
    json_put_bool_member(json, "kernel_included", source->kernel_included);
    json_put_bool_member(json, "user_left_out", source->user_left_out);
}

static void
put_sources(struct writer *writer)
{
    begin_array(writer, "sources");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        put_source(&writer->json, &writer->profile->sources[i]);
        end_entry(writer);
    }
    json_end_member(&writer->json, ']');
}

static void
put_images(struct writer *writer)
{
    struct buffer *json = &writer->json;

    begin_array(writer, "images");
    for (size_t i = 0; i < writer->profile->image_count; i++) {
        const struct profile_image *image = &writer->profile->images[i];

        buffer_append_text(json, "\n{");
        json_put_text_member(json, "path", image->path);
        json_put_text_member(json, "build_id", image->build_id);
        json_put_address_member(json, "start", image->start);
        json_put_address_member(json, "limit", image->limit);
        json_put_address_member(json, "offset", image->offset);
        json_put_bool_member(json, "named", image->named);
        end_entry(writer);
    }
    json_end_member(&writer->json, ']');
}

static void
put_functions(struct writer *writer)
{
    struct buffer *json = &writer->json;

    begin_array(writer, "functions");
    for (size_t i = 0; i < writer->profile->function_count; i++) {
        const struct profile_function *function = &writer->profile->functions[i];

        buffer_append_text(json, "\n{");
        json_put_text_member(json, "name", function->name);
        json_put_text_member(json, "system_name", function->system_name);
        json_put_text_member(json, "file", function->file);
        json_put_number_member(json, "start_line", function->start_line);
        json_put_text_member(json, "definition", identity_file(function));
        if (function->has_address) {
            json_put_address_member(json, "address", function->address);
        }
        end_entry(writer);
    }
    json_end_member(&writer->json, ']');
}

static void
put_frames(struct writer *writer)
{
    begin_array(writer, "frames");
    for (size_t i = 0; i < writer->profile->frame_count; i++) {
        const struct profile_frame *frame = &writer->profile->frames[i];

        buffer_print(&writer->json,
                     "\n{\"function\":%" PRIu32 ",\"line\":%" PRIu32
                     ",\"caller\":%" PRIu32 ",",
                     frame->function, frame->line, frame->caller);
        end_entry(writer);
    }
    json_end_member(&writer->json, ']');
}

static void
put_names(struct writer *writer, const char *key, const char *const *names,
          size_t count)
{
    begin_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(&writer->json, '\n');
        json_put_text_element(&writer->json, names[i]);
        json_flush(&writer->json, writer->out);
    }
    json_end_member(&writer->json, ']');
}

static void
put_row(struct writer *writer, const struct profile_row *row)
{
    struct buffer *json = &writer->json;

    buffer_print(json,
                 "\n{\"image\":%" PRIu32 ",\"address\":\"0x%" PRIx64
                 "\",\"process\":%" PRIu32 ",\"function\":%" PRIu32 ",\"line\":%" PRIu32
                 ",\"caller\":%" PRIu32 ",\"outer\":%" PRIu32 ",",
                 row->image, row->address, row->process, row->function, row->line,
                 row->caller, profile_outer_function(writer->profile, row));
    if (row->thread != 0) {
        json_put_number_member(json, "thread", row->thread);
    }
    if (row->unit != 0) {
        json_put_number_member(json, "unit", row->unit);
    }
    if (row->pid != 0) {
        json_put_number_member(json, "pid", row->pid);
    }
    if (row->cpu_plus_1 != 0) {
        json_put_number_member(json, "cpu", row->cpu_plus_1 - 1);
    }
    buffer_append_text(json, "\"hits\":[");
    for (size_t i = 0; i < writer->profile->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", row->hits[i]);
    }
    json_end(json, ']');
    end_entry(writer);
}

static void
put_rows(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    begin_array(writer, "rows");
    for (size_t i = 0; i < profile->row_count && !ferror(writer->out); i++) {
        put_row(writer, &profile->rows[i]);
    }
    json_end(&writer->json, ']');
}

bool
export_json(FILE *out, const struct profile *profile,
            const struct export_options *options, struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile};

    (void)options;
    (void)messages;
    put_head(&writer);
    put_sources(&writer);
    put_images(&writer);
    put_functions(&writer);
    put_frames(&writer);
    put_names(&writer, "processes", profile->processes, profile->process_count);
    put_names(&writer, "threads", profile->threads, profile->thread_count);
    put_names(&writer, "units", profile->units, profile->unit_count);
    put_rows(&writer);
    buffer_append_text(&writer.json, "}\n");
    return json_finish(&writer.json, out);
}
