/* SPDX-License-Identifier: MIT */
/* sql.c - encodes texts, sets of them and patterns. */
#include "store/clickhouse/sql.h"

#include <stdbool.h>
#include <string.h>

static void
put_hexadecimal(struct buffer *sql, const void *bytes, size_t size)
{
    const uint8_t *const at = bytes;

    buffer_append_text(sql, "unhex('");
    for (size_t i = 0; i < size; i++) {
        buffer_print(sql, "%02X", at[i]);
    }
    buffer_append_text(sql, "')");
}

void
sql_put_text(struct buffer *sql, const char *text)
{
    put_hexadecimal(sql, text, strlen(text));
}

void
sql_put_prefix(struct buffer *sql, const char *column, const char *prefix)
{
    buffer_print(sql, "substring(%s, 1, %zu) = ", column, strlen(prefix));
    sql_put_text(sql, prefix);
}

/* ---- globs ---- */

/* Put a character of a pattern that stands for itself. All punctuation is escaped, as
 * it may have a meaning; of escapes, servers that look for fixed parts of a pattern
 * understand only those of one character. */
static void
put_literal(struct buffer *pattern, char byte)
{
    if (strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", byte) != NULL) {
        buffer_append_byte(pattern, '\\');
    }
    buffer_append_byte(pattern, (uint8_t)byte);
}

/* Return the length of a set that starts here; 0 if it has no end. A ']' that comes
 * first belongs to it. */
static size_t
set_length(const char *glob)
{
    const size_t negation = glob[1] == '^' ? 1 : 0;
    const size_t first = 1 + negation + (glob[1 + negation] == ']' ? 1 : 0);
    const char *const end = strchr(glob + first, ']');

    return end != NULL ? (size_t)(end - glob) + 1 : 0;
}

/* Put a set of a GLOB pattern, "[a-z]" or "[^a-z]", of length bytes. */
static void
put_set(struct buffer *pattern, const char *set, size_t length)
{
    size_t i = 1;

    buffer_append_text(pattern, "[");
    if (set[i] == '^') {
        buffer_append_text(pattern, "^");
        i++;
    }
    for (; i < length - 1; i++) {
        const bool range = set[i] == '-' && set[i + 1] != ']' && set[i - 1] != '[' &&
                           set[i - 1] != '^';

        if (range) {
            buffer_append_text(pattern, "-");
        } else {
            put_literal(pattern, set[i]);
        }
    }
    buffer_append_text(pattern, "]");
}

void
sql_make_pattern(struct buffer *pattern, const char *glob)
{
    buffer_append_text(pattern, "(?s)\\A");
    while (*glob != '\0') {
        const size_t length = *glob == '[' ? set_length(glob) : 0;

        if (length > 0) {
            put_set(pattern, glob, length);
            glob += length - 1;
        } else if (*glob == '*') {
            buffer_append_text(pattern, ".*");
        } else if (*glob == '?') {
            buffer_append_text(pattern, ".");
        } else {
            put_literal(pattern, *glob);
        }
        glob++;
    }
    buffer_append_text(pattern, "\\z");
}

void
sql_put_glob(struct buffer *sql, const char *column, const char *glob)
{
    struct buffer pattern = {0};

    buffer_print(sql, "match(%s, ", column);
    sql_make_pattern(&pattern, glob);
    put_hexadecimal(sql, pattern.data, pattern.size);
    buffer_append_text(sql, ")");
    sql->failed |= pattern.failed;
    buffer_finish(&pattern);
}
