/* SPDX-License-Identifier: MIT */
/* json.c - writes JSON to a buffer, and on to a file. */
#include "base/json.h"

#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* json_flush writes when this many bytes are buffered. */
enum { FLUSH_BYTES = 64 * 1024 };

/* A comma and its newline, which json_end may remove. */
enum { KEPT_BYTES = 2 };

void
json_put_characters(struct buffer *json, const uint8_t *text, size_t size, bool in_html)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = text[i];

        if (byte == '"' || byte == '\\') {
            buffer_append(json, text + from, i - from);
            buffer_append_byte(json, '\\');
            from = i;
        } else if (in_html && (byte == '<' || byte == '>' || byte == '&')) {
            buffer_append(json, text + from, i - from);
            buffer_print(json, "\\u%04x", byte);
            from = i + 1;
        }
    }
    if (size > from) {
        buffer_append(json, text + from, size - from);
    }
}

void
json_put_escaped(struct buffer *json, const struct buffer *text)
{
    buffer_append_byte(json, '"');
    json_put_characters(json, text->data, text->size, /* in_html */ false);
    buffer_append_byte(json, '"');
    json->failed |= text->failed;
}

void
json_put_text(struct buffer *json, const char *text)
{
    struct buffer escaped = {0};

    text_escape(&escaped, text != NULL ? text : "");
    json_put_escaped(json, &escaped);
    buffer_finish(&escaped);
}

void
json_put_key(struct buffer *json, const char *key)
{
    assert(strpbrk(key, "\"\\") == NULL);
    buffer_print(json, "\"%s\":", key);
}

void
json_begin(struct buffer *json, const char *key, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    json_put_key(json, key);
    buffer_append_byte(json, (uint8_t)bracket);
}

void
json_put_text_element(struct buffer *json, const char *text)
{
    json_put_text(json, text);
    buffer_append_byte(json, ',');
}

void
json_put_text_member(struct buffer *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_text_element(json, text);
}

void
json_put_escaped_member(struct buffer *json, const char *key, const struct buffer *text)
{
    json_put_key(json, key);
    json_put_escaped(json, text);
    buffer_append_byte(json, ',');
}

void
json_put_number_member(struct buffer *json, const char *key, uint64_t number)
{
    buffer_print(json, "\"%s\":%" PRIu64 ",", key, number);
}

void
json_put_bool_member(struct buffer *json, const char *key, bool value)
{
    buffer_print(json, "\"%s\":%s,", key, value ? "true" : "false");
}

void
json_put_real_member(struct buffer *json, const char *key, double number)
{
    buffer_print(json, "\"%s\":%.12g,", key, isfinite(number) ? number : 0);
}

void
json_put_address_member(struct buffer *json, const char *key, uint64_t address)
{
    buffer_print(json, "\"%s\":\"0x%" PRIx64 "\",", key, address);
}

static bool
ends_with(const struct buffer *json, size_t from_end, char byte)
{
    return json->size >= from_end && json->data[json->size - from_end] == byte;
}

void
json_end(struct buffer *json, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    if (ends_with(json, 1, ',')) {
        json->size--;
    } else if (ends_with(json, 1, '\n') && ends_with(json, 2, ',')) {
        json->size -= 2;
    }
    buffer_append_byte(json, (uint8_t)bracket);
}

void
json_end_member(struct buffer *json, char bracket)
{
    json_end(json, bracket);
    buffer_append_byte(json, ',');
}

void
json_flush(struct buffer *json, FILE *out)
{
    if (json->size >= FLUSH_BYTES && !json->failed) {
        const size_t size = json->size - KEPT_BYTES;

        fwrite(json->data, 1, size, out);
        memcpy(json->data, json->data + size, KEPT_BYTES);
        json->size = KEPT_BYTES;
    }
}

bool
json_finish(struct buffer *json, FILE *out)
{
    const bool done = !json->failed;

    if (done && json->size > 0) {
        fwrite(json->data, 1, json->size, out);
    }
    buffer_finish(json);
    return done;
}
