/* SPDX-License-Identifier: MIT */
/*
 * text.h - escapes names from outside, and reverses that.
 *
 * Escaped text is valid UTF-8 without control characters, marks that change the
 * direction of writing, line separators and other characters that show nothing of
 * themselves. Each byte of what is not allowed becomes \xNN (lower case). A backslash
 * that would look like the start of such an escape becomes \x5c; any other stays, so
 * that nearly every name is its own escaped form.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

/* Append the escaped form of text to out. */
void text_escape(struct buffer *out, const char *text);

/* Do the same, and escape blanks too: the result is one word. */
void text_escape_word(struct buffer *out, const char *text);

/*
 * Turn escaped text into a field of CSV: quoted as in RFC 4180 where necessary. The
 * first byte of what a spreadsheet would interpret as a formula is escaped.
 */
void text_make_field(struct buffer *text);

/* Reverse both kinds of escaping in place. Returns the new length. An escaped NUL stays
 * escaped. */
size_t text_unescape(char *text);

/* Return the number of characters (code points) of valid UTF-8. */
size_t text_columns(const char *text);

/* Return the number of bytes in the first columns characters of valid UTF-8. */
size_t text_bytes_of_columns(const char *text, size_t columns);

/* Return whether the first length bytes of text end with end, and have more before
 * it. */
bool text_ends_with(const char *text, size_t length, const char *end);

/* Copy text to out for a message: without the secrets of a URL (secret.h), escaped, and
 * cut after a whole character to size - 1 bytes; '' if it is empty. Returns out. */
const char *text_show(char *out, size_t size, const char *text);

/* Return what an errno means, and for limits of the machine what would help. */
const char *text_errno(int error);

#endif
