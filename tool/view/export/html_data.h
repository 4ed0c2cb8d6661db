/* SPDX-License-Identifier: MIT */
/*
 * html_data.h - a profile and its listings as the page of export --format html reads
 * them: JSON that stands in script elements, with its large columns packed;
 * page/data.js reads it. Only tool/view/export includes it.
 *
 * A column is a base64 text of unsigned LEB128 numbers. Rows of the profile are sorted
 * by image, address and process, so that addresses are small steps. An image's rows are
 * cut into segments, each with a base address in hexadecimal: a row's offset from it is
 * below 2^53, which JavaScript's numbers hold exactly. Which function a row is of, and
 * what that is called, is decided here (function_names.h): a row has the numbers of the
 * outer and of the innermost one. Of a source only rows with hits
 * are written, as pairs of (rows passed over, hits).
 *
 * All texts are escaped (text.h), cut at HTML_TEXT_BYTES_MAX, and hold no '<', '>' or
 * '&' as such: no name can end the element that it stands in.
 */
#ifndef VIEW_EXPORT_HTML_DATA_H
#define VIEW_EXPORT_HTML_DATA_H

#include "base/buffer.h"
#include "profile/profile.h"
#include "view/export/function_names.h"
#include "view/listing/listing.h"

/* Longer names are cut, and say by how much. */
enum { HTML_TEXT_BYTES_MAX = 4096 };

/* A JSON string of hostile text; NULL is "". */
void html_put_text(struct buffer *json, const char *text);

/* The same of text that is escaped already. */
void html_put_escaped(struct buffer *json, const char *text);

/* One number of a column. */
void html_put_varint(struct buffer *column, uint64_t number);

/* A JSON string of packed bytes. */
void html_put_base64(struct buffer *json, const struct buffer *bytes);

/* A column as a member; it is emptied for the next. */
void html_put_column(struct buffer *json, const char *key, struct buffer *column);

/*
 * Append the profile as one JSON object. Returns false if memory ran out.
 *
 *   names    of its functions
 *   summary  the lines under a report, one text with newlines, escaped already
 */
bool html_put_profile(struct buffer *json, const struct profile *profile,
                      const struct function_names *names, const char *summary);

/* A listing as one JSON object; lines that listing_fold hid are left out and counted.
 */
void html_put_listing(struct buffer *json, const struct listing *listing);

#endif
