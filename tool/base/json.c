/* SPDX-License-Identifier: MIT */
/* json.c - writes JSON to a buffer. */
#include "base/json.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>

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
    json_put_characters(json, text->data, text->size, false);
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
    buffer_print(json, "\"%s\":", key);
}

void
json_put_text_member(struct buffer *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_text(json, text);
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
json_end(struct buffer *json, char bracket)
{
    if (json->size > 0 && json->data[json->size - 1] == ',') {
        json->size--;
    }
    buffer_append_byte(json, (uint8_t)bracket);
}
