/* SPDX-License-Identifier: MIT */
/* html_listing.c - one listing for the page: its lines as short arrays. */
#include "view/export/html_data.h"

#include "base/json.h"
#include "base/string_set.h"

#include <inttypes.h>
#include <string.h>

/* Flags of a line. */
enum {
    LINE_UNCERTAIN = 1,
    LINE_HAS_CODE = 2,
    LINE_MISSING = 4,
    LINE_CHOSEN = 8,
    LINE_IN_BUCKET = 16,
};

static unsigned
line_flags(const struct listing_line *line)
{
    return (line->uncertain ? LINE_UNCERTAIN : 0u) |
           (line->has_code ? LINE_HAS_CODE : 0u) | (line->missing ? LINE_MISSING : 0u) |
           (line->chosen ? LINE_CHOSEN : 0u) |
           (line->bucket != LISTING_NONE ? LINE_IN_BUCKET : 0u);
}

static bool
has_place(const struct listing_line *line)
{
    return line->kind == LISTING_INSTRUCTION || line->kind == LISTING_BYTES ||
           line->kind == LISTING_BUCKET;
}

/* Put hits, shared hits and inlined hits of all sources as one array; 0: none. */
static void
put_line_hits(struct buffer *json, const struct listing *listing,
              const struct listing_line *line)
{
    if (line->hits_at == LISTING_NO_HITS) {
        buffer_append_text(json, "0");
        return;
    }
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", listing_line_hits(listing, line, i));
    }
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", listing_line_shared(listing, line, i));
    }
    for (size_t i = 0; i < listing->source_count; i++) {
        buffer_print(json, "%" PRIu64 ",", listing_line_inlined(listing, line, i));
    }
    json_end(json, ']');
}

/* Put the address and size of code, the first bytes of an instruction, and the address
 * that it jumps to or calls, if that is known. */
static void
put_code_place(struct buffer *json, const struct listing_line *line)
{
    const size_t known =
        line->size < sizeof(line->bytes) ? line->size : sizeof(line->bytes);

    buffer_print(json, ",\"%" PRIx64 "\",%" PRIu32 ",\"", line->address, line->size);
    for (size_t i = 0; line->kind != LISTING_BUCKET && i < known; i++) {
        buffer_print(json, "%02x", line->bytes[i]);
    }
    buffer_append_byte(json, '"');
    if (line->has_target) {
        buffer_print(json, ",\"%" PRIx64 "\"", line->target_address);
    }
}

/*
 * [kind, text, file, line, flags, bracket, jumps, hits, hidden lines that come first],
 * and of code behind it [address, size, bytes] and the address that it leads to.
 */
static void
put_line(struct buffer *json, const struct listing *listing,
         const struct listing_line *line, struct string_set *files, uint32_t hidden)
{
    const char *const file = line->file != NULL ? line->file : "";
    const uint32_t number = string_set_add(files, file, strlen(file));

    json->failed |= number == HASH_INDEX_NONE;
    buffer_print(json, "[%d,", (int)line->kind);
    html_put_text(json, line->text);
    buffer_print(json, ",%" PRIu32 ",%" PRIu32 ",%u,%d,%" PRIu32 ",", number,
                 line->line, line_flags(line), (int)line->bracket, line->jumps);
    put_line_hits(json, listing, line);
    buffer_print(json, ",%" PRIu32, hidden);
    if (has_place(line)) {
        put_code_place(json, line);
    }
    buffer_append_text(json, "],\n");
}

static void
put_notes(struct buffer *json, const struct listing *listing)
{
    json_begin(json, "notes", '[');
    for (size_t i = 0; i < listing->note_count; i++) {
        html_put_text(json, listing->notes[i].text);
        buffer_append_byte(json, ',');
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
}

static void
put_files(struct buffer *json, const struct string_set *files)
{
    json_begin(json, "files", '[');
    for (size_t i = 0; i < files->count; i++) {
        html_put_text(json, files->texts[i]);
        buffer_append_byte(json, ',');
    }
    json_end(json, ']');
    buffer_append_text(json, "}");
}

void
html_put_listing(struct buffer *json, const struct listing *listing)
{
    struct string_set files = {0};
    uint32_t hidden = 0;

    buffer_append_byte(json, '{');
    json_put_key(json, "title");
    html_put_text(json, listing->title);
    buffer_append_byte(json, ',');
    json_put_bool_member(json, "instructions", listing->has_instructions);
    json_put_bool_member(json, "outside", listing->outside);
    put_notes(json, listing);
    json_begin(json, "lines", '[');
    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *const line = &listing->lines[i];

        if (line->hidden) {
            hidden++;
            continue;
        }
        put_line(json, listing, line, &files, hidden);
        hidden = 0;
    }
    json_end_member(json, ']');
    buffer_print(json, "\"hidden\":%" PRIu32 ",\n", hidden);
    put_files(json, &files);
    string_set_finish(&files);
}
