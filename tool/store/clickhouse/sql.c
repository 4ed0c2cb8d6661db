/* SPDX-License-Identifier: MIT */
/* sql.c - encodes texts as hexadecimal digits, and globs as regular expressions. */
#include "store/clickhouse/sql.h"

#include <stdbool.h>
#include <string.h>

/* Put an expression whose value is these bytes. */
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

/* Put a character of a regular expression that matches itself. All punctuation is
 * escaped, since it may have a meaning. Escapes with more characters (\x2a) are not
 * used: a server that searches for the constant parts of an expression does not
 * understand them. */
static void
put_literal(struct buffer *pattern, char byte)
{
    if (strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", byte) != NULL) {
        buffer_append_byte(pattern, '\\');
    }
    buffer_append_byte(pattern, (uint8_t)byte);
}

/* Return the length of the character class at glob, with its brackets; 0 if it has no
 * end. A ']' in the first place is a member. */
static size_t
class_length(const char *glob)
{
    const size_t negation = glob[1] == '^' ? 1 : 0;
    const size_t first = 1 + negation + (glob[1 + negation] == ']' ? 1 : 0);
    const char *const end = strchr(glob + first, ']');

    return end != NULL ? (size_t)(end - glob) + 1 : 0;
}

/* Put the character class of a glob, such as "[a-z]" or "[^a-z]", as one of a regular
 * expression. class: its length bytes, with the brackets. A '-' means a range unless it
 * is the first or last member. */
static void
put_character_class(struct buffer *pattern, const char *class, size_t length)
{
    size_t i = 1;

    buffer_append_text(pattern, "[");
    if (class[i] == '^') {
        buffer_append_text(pattern, "^");
        i++;
    }
    for (; i < length - 1; i++) {
        const bool range = class[i] == '-' && class[i + 1] != ']' &&
                           class[i - 1] != '[' && class[i - 1] != '^';

        if (range) {
            buffer_append_text(pattern, "-");
        } else {
            put_literal(pattern, class[i]);
        }
    }
    buffer_append_text(pattern, "]");
}

void
sql_make_pattern(struct buffer *pattern, const char *glob)
{
    buffer_append_text(pattern, "(?s)\\A");
    while (*glob != '\0') {
        const size_t length = *glob == '[' ? class_length(glob) : 0;

        if (length > 0) {
            put_character_class(pattern, glob, length);
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
