/* SPDX-License-Identifier: MIT */
/*
 * rules.h - a cache of unwind rows, of fixed size, for all images.
 *
 * Addresses of an image are whatever the mappings of a walk give: the recorder's are
 * offsets in the file.
 *
 * A rule that is not in the cache is requested from the image by the cache's user, and
 * added. When there is no room, rows that were not looked up lately are removed.
 */
#ifndef STACKS_RULES_H
#define STACKS_RULES_H

#include "symbols/border/unwind.h"

/* Rows; with all that belongs to them, 64 bytes each, and 96 on arm64. */
enum { STACK_RULES_MAX = 1 << 15 };

struct stack_rules;

/* Create a cache. Returns NULL if memory runs out. */
struct stack_rules *stack_rules_create(void);
void stack_rules_delete(struct stack_rules *rules); /* NULL is allowed */

/* Return the rule of an address of an image, valid until rows are added or forgotten,
 * or NULL if it is not there. */
const struct sym_unwind_rule *stack_rules_find(struct stack_rules *rules,
                                               uint32_t image, uint64_t address);

/*
 * Add rows, in place of those that overlap them.
 *
 *   count  1 to SYM_UNWIND_ROWS_MAX
 *   rows   not empty, in order, not overlapping
 */
void stack_rules_add(struct stack_rules *rules, uint32_t image,
                     const struct sym_unwind_row *rows, size_t count);

/* Remove all rows of an image. */
void stack_rules_forget(struct stack_rules *rules, uint32_t image);

/* Return how many rows there are. */
size_t stack_rules_count(const struct stack_rules *rules);

#endif
