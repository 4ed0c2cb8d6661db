/* SPDX-License-Identifier: MIT */
/*
 * stack_images.h - the images and mappings of one process, and its stacks walked as the
 * recorder walks them: for tests, which end on any failure.
 */
#ifndef TESTS_STACK_IMAGES_H
#define TESTS_STACK_IMAGES_H

#include "stacks/walk.h"

#include <stddef.h>
#include <stdint.h>

/* Prepare readers. Returns 0, or -1 if there can be none. */
int stack_images_init(void);
void stack_images_finish(void);

/* Add a mapping of code in place of what is mapped there: a file, "[vdso]", or code
 * without a file. */
void stack_images_map(uint64_t start, uint64_t end, uint64_t offset, const char *path);

/* Forget all mappings. Images stay known. */
void stack_images_unmap_all(void);

/* Return the mapping of an address, or NULL if there is none. */
const struct stack_mapping *stack_images_mapping(uint64_t address);

/* Return the path of an image, or "none". */
const char *stack_images_path(uint32_t image);

/* Walk a stack; the mappings of sample are filled in. */
void stack_images_walk(struct stack_sample *sample, struct stack_walked *walked);

/* Return how many times readers were asked for rows, and how many rows are known. */
unsigned long stack_images_rows_asked(void);
size_t stack_images_row_count(void);

#endif
