/* SPDX-License-Identifier: MIT */
/*
 * loadable.c - fuzz target: the beginning of a forged program, by which ntprof run
 * chooses the preload object.
 */
#include "record/loadable.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only a script names an interpreter, which is part of the file. */
static void
check_interpreter(const uint8_t *data, size_t size, const char *interpreter)
{
    const size_t length = strlen(interpreter);

    if (length == 0) {
        return;
    }
    if (size < 2 || memcmp(data, "#!", 2) != 0 || length > size - 2 ||
        memmem(data, size, interpreter, length) == NULL) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char interpreter[LOADABLE_BYTES];
    uint8_t *bytes;

    size = size < LOADABLE_BYTES ? size : LOADABLE_BYTES;
    /* A copy of exactly this size, so that a sanitizer sees what is read beyond it. */
    bytes = calloc(1, size + (size == 0));
    if (bytes == NULL) {
        abort();
    }
    if (size != 0) {
        memcpy(bytes, data, size);
    }
    (void)loadable_reason(loadable_judge(bytes, size, interpreter));
    check_interpreter(bytes, size, interpreter);
    free(bytes);
    return 0;
}
