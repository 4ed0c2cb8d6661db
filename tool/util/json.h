/* SPDX-License-Identifier: MIT */
/*
 * json.h - JSON put together in a buffer.
 *
 * Names are escaped as in every other output (text.h) before JSON's own escapes, so
 * that printing a decoded one is harmless too. Each member ends with a comma, which
 * json_end takes back behind the last one.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include "util/buffer.h"

/* A string; NULL is "". */
void json_put_text(struct buffer *json, const char *text);

/* A string of text that is escaped (text.h) already. */
void json_put_escaped(struct buffer *json, const struct buffer *text);

/*
 * What stands between the quotes of a string.
 *
 *   text     in: escaped (text.h) already
 *   in_html  in: it is to stand in a page, where <, > and & must not
 */
void json_put_characters(struct buffer *json, const uint8_t *text, size_t size,
                         bool in_html);

/* "key": with the key as it is: it must need no escapes. */
void json_put_key(struct buffer *json, const char *key);

/* Members, with the key as above. */
void json_put_text_member(struct buffer *json, const char *key, const char *text);
void json_put_number_member(struct buffer *json, const char *key, uint64_t number);
void json_put_bool_member(struct buffer *json, const char *key, bool value);

/* Twelve digits; what is not finite is 0. */
void json_put_real_member(struct buffer *json, const char *key, double number);

/* Ends an object or array: the comma behind the last member goes. */
void json_end(struct buffer *json, char bracket);

#endif
