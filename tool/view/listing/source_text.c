/* SPDX-License-Identifier: MIT */
/* source_text.c - reads a source file, and finds its lines. */
#include "view/listing/source_text.h"

#include "base/open_regular.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read up to size bytes; fewer if the file was shortened meanwhile. Returns 0 or a
 * negative errno. */
static int
read_whole(int fd, char *bytes, size_t size, size_t *read_bytes)
{
    *read_bytes = 0;
    while (*read_bytes < size) {
        const ssize_t got = read(fd, bytes + *read_bytes, size - *read_bytes);

        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        *read_bytes += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static int
read_fd(struct source_text *text, int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    if (status.st_size < 0 || (uint64_t)status.st_size > SOURCE_TEXT_BYTES_MAX) {
        return -EFBIG;
    }
    text->written_s = status.st_mtim.tv_sec;
    text->bytes = malloc((size_t)status.st_size + 1);
    if (text->bytes == NULL) {
        return -ENOMEM;
    }
    return read_whole(fd, text->bytes, (size_t)status.st_size, &text->size);
}

/* Find the start of each line. Returns 0 or a negative errno: -EILSEQ if there is a
 * NUL, which text does not have. */
static int
find_lines(struct source_text *text)
{
    size_t count = 1;

    if (memchr(text->bytes, '\0', text->size) != NULL) {
        return -EILSEQ;
    }
    for (size_t i = 0; i < text->size; i++) {
        count += text->bytes[i] == '\n';
    }
    text->starts = calloc(count + 1, sizeof(*text->starts));
    if (text->starts == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < text->size; i++) {
        if (text->bytes[i] == '\n') {
            text->starts[++text->count] = (uint32_t)(i + 1);
        }
    }
    /* Text after the last newline is a line if it is not empty. */
    if (text->starts[text->count] < text->size) {
        /* as if a newline ended it */
        text->starts[++text->count] = (uint32_t)text->size + 1;
    }
    return 0;
}

int
source_text_read(struct source_text *text, const char *path)
{
    const int fd = sym_open_regular("", path);
    int error;

    *text = (struct source_text){.bytes = NULL};
    if (fd < 0) {
        return fd;
    }
    error = read_fd(text, fd);
    close(fd);
    if (error == 0) {
        error = find_lines(text);
    }
    if (error != 0) {
        source_text_finish(text);
    }
    return error;
}

void
source_text_finish(struct source_text *text)
{
    free(text->bytes);
    free(text->starts);
    *text = (struct source_text){.bytes = NULL};
}

const char *
source_text_line(const struct source_text *text, uint32_t line, size_t *size)
{
    const char *bytes;

    if (line == 0 || line > text->count) {
        return NULL;
    }
    bytes = text->bytes + text->starts[line - 1];
    *size = text->starts[line] - text->starts[line - 1] - 1;
    if (*size > 0 && bytes[*size - 1] == '\r') {
        --*size;
    }
    *size = *size < SOURCE_TEXT_COLUMNS_MAX ? *size : SOURCE_TEXT_COLUMNS_MAX;
    return bytes;
}
