/* SPDX-License-Identifier: MIT */
/*
 * source_text.h - the lines of a source file. Only tool/view/listing includes it.
 *
 * The file may be anything; it is refused if it is not regular, too large or not text.
 */
#ifndef VIEW_LISTING_SOURCE_TEXT_H
#define VIEW_LISTING_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger files are refused: they were generated, and are not meant to be read. */
#define SOURCE_TEXT_BYTES_MAX ((size_t)64 << 20)

/* The rest of a longer line is left out. */
#define SOURCE_TEXT_COLUMNS_MAX 4096

struct source_text {
    char *bytes;
    size_t size;
    uint32_t *starts; /* offset of each line, and behind the last one */
    uint32_t count;
    int64_t written_s; /* modification time in seconds since 1970 */
};

/* source_text_read - read a file. Returns 0, or a negative errno and an empty text:
 * -EINVAL if the file is not regular, -EFBIG if it is too large, -EILSEQ if it is not
 * text. */
int source_text_read(struct source_text *text, const char *path);
void source_text_finish(struct source_text *text);

/* source_text_line - return a line without its newline, at most SOURCE_TEXT_COLUMNS_MAX
 * bytes; NULL if there is none. Lines are counted from 1. */
const char *source_text_line(const struct source_text *text, uint32_t line,
                             size_t *size);

#endif
