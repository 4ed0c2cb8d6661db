/* SPDX-License-Identifier: MIT */
/*
 * speedscope.c - speedscope's own JSON: one profile a source, each stack a sample with
 * its hits as weight.
 *
 * Source time is in nanoseconds, hits times interval, as long as JavaScript's numbers
 * hold that exactly; else, and for all others, the weights are hits.
 */
#include "view/export/export.h"
#include "view/export/stacks.h"

#include "base/json.h"

#include <inttypes.h>
#include <ntprof/ntprof.h>
#include <stdlib.h>
#include <string.h>

/* JavaScript's numbers hold whole numbers exactly up to here. */
#define NUMBER_MAX (UINT64_C(1) << 53)

struct writer {
    FILE *out;
    const struct profile *profile;
    struct export_stacks stacks;
    struct buffer json;
    struct buffer path;
};

/* Return a buffer that borrows the bytes of a name which is escaped already. */
static struct buffer
view(const char *name)
{
    return (struct buffer){.data = (uint8_t *)(uintptr_t)name, .size = strlen(name)};
}

static void
put_frame(struct writer *writer, uint32_t index)
{
    const struct export_frame *frame = &writer->stacks.frames[index];
    const struct buffer name = view(export_stacks_name(&writer->stacks, index));
    struct buffer *json = &writer->json;

    buffer_append_text(json, "\n{");
    json_put_escaped_member(json, "name", &name);
    if (frame->file[0] != '\0') {
        json_put_text_member(json, "file", frame->file);
    }
    if (frame->line > 0) {
        json_put_number_member(json, "line", frame->line);
    }
    json_end_member(json, '}');
    json_flush(json, writer->out);
}

static void
put_frames(struct writer *writer)
{
    json_begin(&writer->json, "shared", '{');
    json_begin(&writer->json, "frames", '[');
    for (uint32_t i = 0; i < writer->stacks.frame_count && !ferror(writer->out); i++) {
        put_frame(writer, i);
    }
    json_end(&writer->json, ']');
    json_end_member(&writer->json, '}');
    buffer_append_byte(&writer->json, '\n');
}

/* Put the frames in writer->path as an array. */
static void
put_path(struct writer *writer)
{
    const uint32_t *frames = (const uint32_t *)(const void *)writer->path.data;
    const size_t depth = writer->path.size / sizeof(*frames);

    buffer_append_byte(&writer->json, '[');
    for (size_t i = 0; i < depth; i++) {
        buffer_print(&writer->json, "%" PRIu32 ",", frames[i]);
    }
    json_end_member(&writer->json, ']');
    buffer_append_byte(&writer->json, '\n');
}

/* Put the stack of each node with hits as a sample. Returns false if memory ran out. */
static bool
put_samples(struct writer *writer, const uint64_t *hits)
{
    json_begin(&writer->json, "samples", '[');
    for (uint32_t i = 1; i < writer->stacks.node_count && !ferror(writer->out); i++) {
        if (hits[i] == 0) {
            continue;
        }
        if (!export_stacks_path(&writer->stacks, i, &writer->path)) {
            return false;
        }
        put_path(writer);
        json_flush(&writer->json, writer->out);
    }
    json_end_member(&writer->json, ']');
    buffer_append_byte(&writer->json, '\n');
    return true;
}

/* Put the weight of each sample, in the order of put_samples: its hits times factor. */
static void
put_weights(struct writer *writer, const uint64_t *hits, uint64_t factor)
{
    json_begin(&writer->json, "weights", '[');
    for (uint32_t i = 1; i < writer->stacks.node_count && !ferror(writer->out); i++) {
        if (hits[i] > 0) {
            buffer_print(&writer->json, "%" PRIu64 ",\n", hits[i] * factor);
            json_flush(&writer->json, writer->out);
        }
    }
    json_end(&writer->json, ']');
    json_end_member(&writer->json, '}');
}

/* Return the nanoseconds that a hit stands for; 0 if it stands for no time, or
 * JavaScript could not hold their sum. total: hits of the source. */
static uint64_t
hit_ns(const struct profile_source *source, uint64_t total)
{
    uint64_t ns;

    if (strcmp(source->unit, "100ns") != 0 ||
        __builtin_mul_overflow(source->granted, 100, &ns) ||
        __builtin_mul_overflow(ns, total, &total) || total > NUMBER_MAX) {
        return 0;
    }
    return ns;
}

/* Return speedscope's unit for values of another tool; "none" if it has none. */
static const char *
unit_of(const struct profile_source *source)
{
    return strcmp(source->unit, "bytes") == 0         ? "bytes"
           : strcmp(source->unit, "nanoseconds") == 0 ? "nanoseconds"
                                                      : "none";
}

static bool
put_profile(struct writer *writer, size_t index)
{
    const struct profile_source *source = &writer->profile->sources[index];
    uint64_t *hits = export_stacks_hits(&writer->stacks, writer->profile, index);
    struct buffer *json = &writer->json;
    uint64_t total = 0;
    uint64_t ns;
    bool done;

    if (hits == NULL) {
        return false;
    }
    for (size_t i = 0; i < writer->stacks.node_count; i++) {
        total += hits[i];
    }
    ns = hit_ns(source, total);
    buffer_append_text(json, "\n{\"type\":\"sampled\",");
    json_put_text_member(json, "name", source->name);
    json_put_text_member(json, "unit", ns > 0 ? "nanoseconds" : unit_of(source));
    json_put_number_member(json, "startValue", 0);
    json_put_number_member(json, "endValue", ns > 0 ? total * ns : total);
    buffer_append_byte(json, '\n');
    done = put_samples(writer, hits);
    if (done) {
        put_weights(writer, hits, ns > 0 ? ns : 1);
    }
    free(hits);
    return done;
}

static bool
put_all(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    struct buffer *json = &writer->json;

    if (!export_stacks_build(&writer->stacks, profile, /* places */ true)) {
        return false;
    }
    buffer_print(
        json,
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
        "\"activeProfileIndex\":0,\n\"exporter\":\"ntprof@%s\",",
        ntprof_version());
    json_put_text_member(json, "name", profile->command);
    put_frames(writer);
    json_begin(json, "profiles", '[');
    for (size_t i = 0; i < profile->source_count; i++) {
        if (!put_profile(writer, i)) {
            return false;
        }
    }
    json_end(json, ']');
    buffer_append_text(json, "}\n");
    return true;
}

bool
export_speedscope(FILE *out, const struct profile *profile,
                  const struct export_options *options,
                  struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile};
    bool done = put_all(&writer);

    (void)options;
    (void)messages;
    done = json_finish(&writer.json, out) && done;
    export_stacks_finish(&writer.stacks);
    buffer_finish(&writer.path);
    return done;
}
