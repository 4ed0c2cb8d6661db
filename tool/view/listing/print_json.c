/* SPDX-License-Identifier: MIT */
/* print_json.c - a listing for programs: docs/schema/annotate.schema.json. */
#include "view/listing/listingp.h"
#include "view/listing/print.h"

#include "base/buffer.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Output is flushed to the file when this many bytes are buffered. */
enum { FLUSH_BYTES = 64 * 1024 };

static void
put_string(struct buffer *json, const char *text)
{
    struct buffer escaped = {0};

    text_escape(&escaped, text);
    buffer_append_byte(json, '"');
    for (size_t i = 0; i < escaped.size; i++) {
        if (escaped.data[i] == '"' || escaped.data[i] == '\\') {
            buffer_append_byte(json, '\\');
        }
        buffer_append_byte(json, escaped.data[i]);
    }
    buffer_append_byte(json, '"');
    json->failed |= escaped.failed;
    buffer_finish(&escaped);
}

static void
put_member(struct buffer *json, const char *key, const char *text)
{
    buffer_print(json, "\"%s\":", key);
    put_string(json, text);
    buffer_append_byte(json, ',');
}

static void
put_number(struct buffer *json, const char *key, uint64_t number)
{
    buffer_print(json, "\"%s\":%" PRIu64 ",", key, number);
}

static void
put_address(struct buffer *json, const char *key, uint64_t address)
{
    buffer_print(json, "\"%s\":\"0x%" PRIx64 "\",", key, address);
}

static void
put_flag(struct buffer *json, const char *key, bool flag)
{
    buffer_print(json, "\"%s\":%s,", key, flag ? "true" : "false");
}

/* Remove the comma after the last member, and close the bracket. */
static void
put_end(struct buffer *json, char bracket)
{
    if (json->size > 0 && json->data[json->size - 1] == ',') {
        json->size--;
    }
    buffer_append_byte(json, (uint8_t)bracket);
}

/* Write a number for each source, or nothing if there are none. */
static void
put_hits(struct buffer *json, const char *key, const struct listing *listing, size_t at)
{
    if (at == LISTING_NO_HITS) {
        return;
    }
    buffer_print(json, "\"%s\":[", key);
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", listing->hits[at + i]);
    }
    put_end(json, ']');
    buffer_append_byte(json, ',');
}

static void
put_sources(struct buffer *json, const struct profile *profile,
            const struct listing *listing)
{
    buffer_append_text(json, "\"sources\":[");
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_append_byte(json, '{');
        put_member(json, "name", profile->sources[i].name);
        put_number(json, "hits", listing->own[i]);
        put_number(json, "inlined", listing->inlined[i]);
        put_number(json, "total", listing->totals[i]);
        put_end(json, '}');
        buffer_append_byte(json, ',');
    }
    put_end(json, ']');
    buffer_append_text(json, ",\n");
}

static void
put_target(struct buffer *json, const struct profile *profile,
           const struct listing_target *target)
{
    static const char *const kinds[] = {
        [LISTING_OF_FUNCTION] = "function",
        [LISTING_OF_LINE] = "line",
        [LISTING_OF_ADDRESS] = "address",
        [LISTING_OF_RANGE] = "range",
    };
    const struct profile_image *image =
        target->image == LISTING_NONE ? NULL : &profile->images[target->image];

    buffer_append_text(json, "\"target\":{");
    put_member(json, "kind", kinds[target->kind]);
    put_member(json, "image", image == NULL ? "" : image->path);
    put_member(json, "build_id", image == NULL ? "" : image->build_id);
    put_member(json, "function", target->name);
    put_member(json, "system_name", target->system_name);
    put_member(json, "file", target->file);
    put_number(json, "line", target->line);
    if (listing_is_by_address(target)) {
        put_address(json, "address", target->address);
    }
    if (target->kind == LISTING_OF_RANGE) {
        put_address(json, "end", target->end);
    }
    put_end(json, '}');
    buffer_append_text(json, ",\n");
}

static void
put_bucket(struct buffer *json, const struct profile *profile,
           const struct listing *listing, const struct listing_bucket *bucket)
{
    buffer_append_byte(json, '{');
    put_address(json, "start", bucket->start);
    put_address(json, "end", bucket->end);
    put_member(json, "image", profile->images[bucket->image].path);
    put_number(json, "instructions", bucket->instructions);
    if (bucket->first_line != LISTING_NONE) {
        put_number(json, "first_line", bucket->first_line);
        put_number(json, "last_line", bucket->last_line);
    }
    put_hits(json, "hits", listing, bucket->hits_at);
    put_end(json, '}');
    buffer_append_text(json, ",\n");
}

static void
put_code(struct buffer *json, const struct listing_line *line)
{
    const size_t size =
        line->size < sizeof(line->bytes) ? line->size : sizeof(line->bytes);

    put_address(json, "address", line->address);
    put_number(json, "size", line->size);
    if (line->kind != LISTING_BUCKET) {
        buffer_append_text(json, "\"bytes\":\"");
        for (size_t i = 0; i < size; i++) {
            buffer_print(json, "%02x", line->bytes[i]);
        }
        buffer_append_text(json, "\",");
        put_flag(json, "uncertain", line->uncertain);
        put_number(json, "jumps_here", line->jumps);
    }
    if (line->bucket != LISTING_NONE) {
        put_number(json, "bucket", line->bucket);
    }
    if (line->has_target) {
        put_address(json, "target_address", line->target_address);
        put_flag(json, "call", line->is_call);
    }
    if (line->target != LISTING_NONE) {
        put_number(json, "target_line", line->target);
    }
}

static void
put_line(struct buffer *json, const struct listing *listing,
         const struct listing_line *line)
{
    static const char *const kinds[] = {
        [LISTING_HEADING] = "heading",
        [LISTING_SOURCE] = "source",
        [LISTING_INSTRUCTION] = "instruction",
        [LISTING_BYTES] = "bytes",
        [LISTING_BUCKET] = "bucket",
        [LISTING_PLACE] = "place",
        [LISTING_GAP] = "gap",
    };
    const bool source = line->kind == LISTING_SOURCE;
    const bool code = line->kind == LISTING_INSTRUCTION ||
                      line->kind == LISTING_BYTES || line->kind == LISTING_BUCKET;

    buffer_append_byte(json, '{');
    put_member(json, "kind", kinds[line->kind]);
    put_member(json, "text", line->text);
    if (source || code) {
        put_member(json, "file", line->file);
        put_number(json, "line", line->line);
        put_flag(json, "chosen", line->chosen);
        put_hits(json, "hits", listing, line->hits_at);
    }
    if (source) {
        put_flag(json, "has_code", line->has_code);
        put_flag(json, "missing", line->missing);
        put_hits(json, "shared", listing, line->shared_at);
        put_hits(json, "inlined", listing, line->inlined_at);
    }
    if (code) {
        put_member(json, "function", line->function);
        put_code(json, line);
    }
    put_end(json, '}');
    buffer_append_text(json, ",\n");
}

static void
put_note(struct buffer *json, const struct listing_note *note)
{
    static const char *const kinds[] = {
        [LISTING_NOTE_IMAGE] = "image",     [LISTING_NOTE_SOURCE] = "source",
        [LISTING_NOTE_DECODER] = "decoder", [LISTING_NOTE_NAMES] = "names",
        [LISTING_NOTE_BUCKETS] = "buckets",
    };

    buffer_append_byte(json, '{');
    put_member(json, "kind", kinds[note->kind]);
    put_member(json, "text", note->text);
    put_end(json, '}');
    buffer_append_byte(json, ',');
}

/* Write the buffer to the file if it is large, or at the end. Returns false if memory
 * runs out or writing fails. */
static bool
flush(FILE *out, struct buffer *json, bool end)
{
    if (json->failed) {
        return false;
    }
    if (end || json->size >= FLUSH_BYTES) {
        const size_t size = json->size;

        json->size = 0;
        return size == 0 || fwrite(json->data, 1, size, out) == size;
    }
    return true;
}

/* End a list of lines: remove ",\n" after the last one. */
static void
put_list_end(struct buffer *json, bool any)
{
    if (any && json->size >= 2) {
        json->size -= 2;
    }
    buffer_append_byte(json, ']');
}

static bool
print_all(FILE *out, const struct profile *profile, const struct listing *listing,
          struct buffer *json)
{
    buffer_append_text(json, "{\"schema\":\"ntprof.annotate\",\"version\":1,\n");
    put_member(json, "title", listing->title);
    put_member(json, "view",
               listing->has_instructions   ? "instructions"
               : listing->bucket_count > 0 ? "buckets"
                                           : "source");
    put_number(json, "bucket_bytes", profile->bucket_bytes);
    put_target(json, profile, &listing->target);
    put_sources(json, profile, listing);
    buffer_append_text(json, "\"notes\":[");
    for (size_t i = 0; i < listing->note_count; i++) {
        put_note(json, &listing->notes[i]);
    }
    put_end(json, ']');
    buffer_append_text(json, ",\n\"buckets\":[\n");
    for (size_t i = 0; i < listing->bucket_count; i++) {
        if (!flush(out, json, false)) {
            return false;
        }
        put_bucket(json, profile, listing, &listing->buckets[i]);
    }
    put_list_end(json, listing->bucket_count > 0);
    buffer_append_text(json, ",\n\"lines\":[\n");
    for (size_t i = 0; i < listing->count; i++) {
        if (!flush(out, json, false)) {
            return false;
        }
        put_line(json, listing, &listing->lines[i]);
    }
    put_list_end(json, listing->count > 0);
    buffer_append_text(json, "}\n");
    return flush(out, json, true);
}

bool
listing_print_json(FILE *out, const struct profile *profile,
                   const struct listing *listing)
{
    struct buffer json = {0};
    const bool done = print_all(out, profile, listing, &json);

    buffer_finish(&json);
    return done;
}
