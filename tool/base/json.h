/* SPDX-License-Identifier: MIT */
/*
 * json.h - writes JSON to a buffer, and on to a file.
 *
 * Names are escaped as in every other output (text.h) before they get JSON's own
 * escapes, so that printing a decoded name is safe too. Each member and element ends
 * with a comma, which a newline may follow; the end of what they are in removes the
 * last comma with its newline.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buffer.h"

#include <stdio.h>

/* Append a string; NULL is "". */
void json_put_text(struct buffer *json, const char *text);

/* Append a string whose text is escaped already (text.h). */
void json_put_escaped(struct buffer *json, const struct buffer *text);

/*
 * Append the characters between the quotes of a string.
 *
 *   text     in: escaped already (text.h)
 *   in_html  in: also escape <, > and &, which must not be in a page
 */
void json_put_characters(struct buffer *json, const uint8_t *text, size_t size,
                         bool in_html);

/* Append "key": without escaping the key, which must not need it. */
void json_put_key(struct buffer *json, const char *key);

/* Append the key and the bracket of an object or array. */
void json_begin(struct buffer *json, const char *key, char bracket);

/* Append members; the key is as above. */
void json_put_text_member(struct buffer *json, const char *key, const char *text);
void json_put_escaped_member(struct buffer *json, const char *key,
                             const struct buffer *text);
void json_put_number_member(struct buffer *json, const char *key, uint64_t number);
void json_put_bool_member(struct buffer *json, const char *key, bool value);

/* Append twelve significant digits; infinities and NaN become 0. */
void json_put_real_member(struct buffer *json, const char *key, double number);

/* Append an address as text, since JavaScript's numbers do not hold all. */
void json_put_address_member(struct buffer *json, const char *key, uint64_t address);

/* Append a string as an element of an array. */
void json_put_text_element(struct buffer *json, const char *text);

/* End an object or array, without a comma after it. */
void json_end(struct buffer *json, char bracket);

/* End an object or array that is a member or an element. */
void json_end_member(struct buffer *json, char bracket);

/* Write what is buffered if it is much, but for a comma that may have to be removed.
 * Nothing is written after a failure. */
void json_flush(struct buffer *json, FILE *out);

/* Write what is buffered, and finish the buffer. Returns false if memory ran out. */
bool json_finish(struct buffer *json, FILE *out);

#endif
