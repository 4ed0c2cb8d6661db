/* SPDX-License-Identifier: MIT */
/* print_json.c - a listing for programs: docs/schema/annotate.schema.json. */
#include "view/listing/listingp.h"
#include "view/listing/print.h"

#include "base/json.h"

#include <inttypes.h>
#include <string.h>

/* --- members of an item --- */

/* Put a number for each source as an array; nothing if at is LISTING_NO_HITS. */
static void
put_hits(struct buffer *json, const char *key, const struct listing *listing, size_t at)
{
    if (at == LISTING_NO_HITS) {
        return;
    }
    json_begin(json, key, '[');
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", listing->hits[at + i]);
    }
    json_end_member(json, ']');
}

static void
put_sources(struct buffer *json, const struct profile *profile,
            const struct listing *listing)
{
    json_begin(json, "sources", '[');
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_append_byte(json, '{');
        json_put_text_member(json, "name", profile->sources[i].name);
        json_put_number_member(json, "hits", listing->own[i]);
        json_put_number_member(json, "inlined", listing->inlined[i]);
        json_put_number_member(json, "total", listing->totals[i]);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
}

/* Put the function of a target. Code without a name is called as in tables. */
static void
put_function(struct buffer *json, const struct profile *profile,
             const struct listing_target *target)
{
    struct buffer name = {0};

    if (target->kind != LISTING_OF_FUNCTION || target->name[0] != '\0') {
        json_put_text_member(json, "function", target->name);
        return;
    }
    listing_target_name(profile, target, DISPLAY_FULL, &name);
    json_put_text_member(json, "function", buffer_text(&name));
    json->failed |= name.failed;
    buffer_finish(&name);
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

    const struct profile_function *function = &profile->functions[target->function];
    const bool of_function = target->kind == LISTING_OF_FUNCTION;

    json_begin(json, "target", '{');
    json_put_text_member(json, "kind", kinds[target->kind]);
    json_put_text_member(json, "image", image == NULL ? "" : image->path);
    json_put_text_member(json, "build_id", image == NULL ? "" : image->build_id);
    put_function(json, profile, target);
    json_put_text_member(json, "system_name", target->system_name);
    json_put_text_member(json, "file",
                         of_function ? identity_file(function) : target->file);
    json_put_number_member(json, "line",
                           of_function ? function->start_line : target->line);
    if (of_function) {
        json_put_bool_member(json, "inlined", target->inlined);
    }
    if (listing_is_by_address(target)) {
        json_put_address_member(json, "address", target->address);
    }
    if (target->kind == LISTING_OF_RANGE) {
        json_put_address_member(json, "end", target->end);
    }
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
}

/* --- items --- */

static void
put_bucket(struct buffer *json, const struct profile *profile,
           const struct listing *listing, const struct listing_bucket *bucket)
{
    buffer_append_byte(json, '{');
    json_put_address_member(json, "start", bucket->start);
    json_put_address_member(json, "end", bucket->end);
    json_put_text_member(json, "image", profile->images[bucket->image].path);
    json_put_number_member(json, "instructions", bucket->instructions);
    if (bucket->first_line != LISTING_NONE) {
        json_put_number_member(json, "first_line", bucket->first_line);
        json_put_number_member(json, "last_line", bucket->last_line);
    }
    put_hits(json, "hits", listing, bucket->hits_at);
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
}

static void
put_code(struct buffer *json, const struct listing_line *line)
{
    const size_t size =
        line->size < sizeof(line->bytes) ? line->size : sizeof(line->bytes);

    json_put_address_member(json, "address", line->address);
    json_put_number_member(json, "size", line->size);
    if (line->kind != LISTING_BUCKET) {
        buffer_append_text(json, "\"bytes\":\"");
        for (size_t i = 0; i < size; i++) {
            buffer_print(json, "%02x", line->bytes[i]);
        }
        buffer_append_text(json, "\",");
        json_put_bool_member(json, "uncertain", line->uncertain);
        json_put_number_member(json, "jumps_here", line->jumps);
    }
    if (line->bucket != LISTING_NONE) {
        json_put_number_member(json, "bucket", line->bucket);
    }
    if (line->has_target) {
        json_put_address_member(json, "target_address", line->target_address);
        json_put_bool_member(json, "call", line->is_call);
    }
    if (line->target != LISTING_NONE) {
        json_put_number_member(json, "target_line", line->target);
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
    json_put_text_member(json, "kind", kinds[line->kind]);
    json_put_text_member(json, "text", line->text);
    if (source || code) {
        json_put_text_member(json, "file", line->file);
        json_put_number_member(json, "line", line->line);
        json_put_bool_member(json, "chosen", line->chosen);
        put_hits(json, "hits", listing, line->hits_at);
        put_hits(json, "below", listing, line->below_at);
    }
    if (source) {
        json_put_bool_member(json, "has_code", line->has_code);
        json_put_bool_member(json, "missing", line->missing);
        put_hits(json, "shared", listing, line->shared_at);
        put_hits(json, "inlined", listing, line->inlined_at);
    }
    if (code) {
        json_put_text_member(json, "function", line->function);
        put_code(json, line);
    }
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
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
    json_put_text_member(json, "kind", kinds[note->kind]);
    json_put_text_member(json, "text", note->text);
    json_end_member(json, '}');
}

/* --- the listing --- */

bool
listing_print_json(FILE *out, const struct profile *profile,
                   const struct listing *listing)
{
    struct buffer json = {0};

    buffer_append_text(&json, "{\"schema\":\"ntprof.annotate\",\"version\":1,\n");
    json_put_text_member(&json, "title", listing->title);
    json_put_text_member(&json, "view",
                         listing->has_instructions   ? "instructions"
                         : listing->bucket_count > 0 ? "buckets"
                                                     : "source");
    json_put_number_member(&json, "bucket_bytes", profile->bucket_bytes);
    put_target(&json, profile, &listing->target);
    put_sources(&json, profile, listing);
    json_begin(&json, "notes", '[');
    for (size_t i = 0; i < listing->note_count; i++) {
        put_note(&json, &listing->notes[i]);
    }
    json_end(&json, ']');
    buffer_append_text(&json, ",\n\"buckets\":[\n");
    for (size_t i = 0; i < listing->bucket_count; i++) {
        put_bucket(&json, profile, listing, &listing->buckets[i]);
        json_flush(&json, out);
    }
    json_end(&json, ']');
    buffer_append_text(&json, ",\n\"lines\":[\n");
    for (size_t i = 0; i < listing->count && !ferror(out); i++) {
        put_line(&json, listing, &listing->lines[i]);
        json_flush(&json, out);
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    return json_finish(&json, out) && !ferror(out);
}
