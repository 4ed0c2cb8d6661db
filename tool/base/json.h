/* SPDX-License-Identifier: MIT */
/*
 * json.h - writes JSON to a buffer.
 *
 * Names are escaped as in every other output (text.h) before they get JSON's own
 * escapes, so that printing a decoded name is safe too. Each member ends with a comma;
 * json_end removes the last one.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buffer.h"

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

/* Append members; the key is as above. */
void json_put_text_member(struct buffer *json, const char *key, const char *text);
void json_put_number_member(struct buffer *json, const char *key, uint64_t number);
void json_put_bool_member(struct buffer *json, const char *key, bool value);

/* Append twelve significant digits; infinities and NaN become 0. */
void json_put_real_member(struct buffer *json, const char *key, double number);

/* End an object or array, and remove the comma after its last member. */
void json_end(struct buffer *json, char bracket);

#endif
