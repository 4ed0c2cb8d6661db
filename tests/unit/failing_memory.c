/* SPDX-License-Identifier: MIT */
/* failing_memory.c - wraps the functions that allocate. */
#include "failing_memory.h"

#include <stdbool.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

size_t fail_at;
size_t made;

static bool
fails(void)
{
    return ++made == fail_at;
}

void *
__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

void *
__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(memory, count, size);
}
