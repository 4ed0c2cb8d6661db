/* SPDX-License-Identifier: MIT */
/*
 * text.h - names from hostile places made harmless, and back.
 *
 * Escaped text is valid UTF-8 without control characters, marks that turn the direction
 * of writing, and line separators. Each byte of what is not allowed becomes \xNN (lower
 * case). A backslash that would read as the start of such an escape becomes \x5c; any
 * other stays as it is, so that nearly every name is its own escaped form.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include "util/buffer.h"

/* Escaped form of text, appended to out. */
void text_escape(struct buffer *out, const char *text);

/* The same with blanks escaped too: a word for a line of words. */
void text_escape_word(struct buffer *out, const char *text);

/*
 * Makes all of text, escaped already, a field of CSV: quoted as in RFC 4180 where it
 * must be. The first byte of what a spreadsheet would take for a formula is escaped.
 */
void text_make_field(struct buffer *text);

/* Undoes either, in place; gives the new length. A NUL that an escape names stays
 * escaped. */
size_t text_unescape(char *text);

/* Characters (code points) of valid UTF-8. */
size_t text_columns(const char *text);

/* Bytes of valid UTF-8 that its first columns characters take. */
size_t text_bytes_of_columns(const char *text, size_t columns);

/* A copy of text escaped for a message, cut at size - 1 bytes at a character; gives
 * out. */
const char *text_show(char *out, size_t size, const char *text);

#endif
