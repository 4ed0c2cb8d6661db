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

/* JavaScript holds whole numbers up to here. */
#define NUMBER_MAX (UINT64_C(1) << 53)

struct writer {
    FILE *out;
    const struct profile *profile;
    struct export_stacks stacks;
    struct buffer text;
    struct buffer path;
};

/* Sends what is in writer->text on, behind which it is empty. */
static void
send(struct writer *writer)
{
    if (writer->text.size > 0) {
        fwrite(writer->text.data, 1, writer->text.size, writer->out);
    }
    writer->text.size = 0;
}

/* Bytes of a name that is escaped already. */
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

    fputs("{\"name\":", writer->out);
    json_put_escaped(&writer->text, &name);
    send(writer);
    if (frame->file[0] != '\0') {
        fputs(",\"file\":", writer->out);
        json_put_text(&writer->text, frame->file);
        send(writer);
    }
    if (frame->line > 0) {
        fprintf(writer->out, ",\"line\":%" PRIu32, frame->line);
    }
    fputc('}', writer->out);
}

static void
put_frames(struct writer *writer)
{
    fputs("\"shared\":{\"frames\":[", writer->out);
    for (uint32_t i = 0; i < writer->stacks.frame_count && !ferror(writer->out); i++) {
        fputs(i == 0 ? "\n" : ",\n", writer->out);
        put_frame(writer, i);
    }
    fputs("]},\n", writer->out);
}

static void
put_path(struct writer *writer)
{
    const uint32_t *frames = (const uint32_t *)(const void *)writer->path.data;
    const size_t depth = writer->path.size / sizeof(*frames);

    for (size_t i = 0; i < depth; i++) {
        fprintf(writer->out, "%c%" PRIu32, i == 0 ? '[' : ',', frames[i]);
    }
    fputc(']', writer->out);
}

/* False: out of memory. */
static bool
put_samples(struct writer *writer, const uint64_t *hits)
{
    const char *separator = "";

    fputs("\"samples\":[", writer->out);
    for (uint32_t i = 1; i < writer->stacks.node_count && !ferror(writer->out); i++) {
        if (hits[i] == 0) {
            continue;
        }
        if (!export_stacks_path(&writer->stacks, i, &writer->path)) {
            return false;
        }
        fputs(separator, writer->out);
        put_path(writer);
        separator = ",\n";
    }
    fputs("],\n", writer->out);
    return true;
}

static void
put_weights(struct writer *writer, const uint64_t *hits, uint64_t factor)
{
    const char *separator = "";

    fputs("\"weights\":[", writer->out);
    for (uint32_t i = 1; i < writer->stacks.node_count && !ferror(writer->out); i++) {
        if (hits[i] > 0) {
            fprintf(writer->out, "%s%" PRIu64, separator, hits[i] * factor);
            separator = ",\n";
        }
    }
    fputs("]}", writer->out);
}

/* Nanoseconds of a hit; 0: there are none, or the sum would be too large. */
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

static bool
put_profile(struct writer *writer, size_t index)
{
    const struct profile_source *source = &writer->profile->sources[index];
    uint64_t *hits = export_stacks_hits(&writer->stacks, writer->profile, index);
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
    fputs("{\"type\":\"sampled\",", writer->out);
    json_put_text_member(&writer->text, "name", source->name);
    send(writer);
    fprintf(writer->out, "\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n",
            ns > 0 ? "nanoseconds" : "none", ns > 0 ? total * ns : total);
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

    if (!export_stacks_build(&writer->stacks, profile, true)) {
        return false;
    }
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
          "\"activeProfileIndex\":0,\n",
          writer->out);
    fprintf(writer->out, "\"exporter\":\"ntprof@%s\",", ntprof_version());
    json_put_text_member(&writer->text, "name", profile->command);
    send(writer);
    put_frames(writer);
    fputs("\"profiles\":[", writer->out);
    for (size_t i = 0; i < profile->source_count; i++) {
        fputs(i == 0 ? "\n" : ",\n", writer->out);
        if (!put_profile(writer, i)) {
            return false;
        }
    }
    fputs("]}\n", writer->out);
    return !writer->text.failed;
}

bool
export_speedscope(FILE *out, const struct profile *profile,
                  const struct export_options *options, struct export_said *said)
{
    struct writer writer = {.out = out, .profile = profile};
    const bool done = put_all(&writer);

    (void)options;
    (void)said;
    export_stacks_finish(&writer.stacks);
    buffer_finish(&writer.text);
    buffer_finish(&writer.path);
    return done;
}
