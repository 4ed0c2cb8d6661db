/* SPDX-License-Identifier: MIT */
/*
 * source_text.h - a source file as lines. For tool/annotate alone.
 *
 * The file may be anything: what is no regular file, too large or no text is refused.
 */
#ifndef ANNOTATE_SOURCE_TEXT_H
#define ANNOTATE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger sources are generated, and nobody reads them. */
#define SOURCE_TEXT_BYTES_MAX ((size_t)64 << 20)

/* Of a longer line the end is left out. */
#define SOURCE_TEXT_COLUMNS_MAX 4096

struct source_text {
    char *bytes;
    size_t size;
    uint32_t *starts; /* of each line, and behind the last */
    uint32_t count;
    int64_t written_s; /* when the file was, in seconds since 1970 */
};

/* All zero is an empty text. 0, or a negative errno: -EINVAL if it is no regular file,
 * -EFBIG, -EILSEQ if it is no text. */
int source_text_read(struct source_text *text, const char *path);
void source_text_finish(struct source_text *text);

/* Lines begin at 1. The text without its newline, at most SOURCE_TEXT_COLUMNS_MAX bytes
 * of it; NULL if there is no such line. */
const char *source_text_line(const struct source_text *text, uint32_t line,
                             size_t *size);

#endif
