/* SPDX-License-Identifier: MIT */
/*
 * rules.h - a cache of unwind rows, of fixed size, for all images.
 *
 * What is not there is asked of the image, and added. Rows that nobody looks up go when
 * there is no room.
 */
#ifndef STACKS_RULES_H
#define STACKS_RULES_H

#include "symbols/border/unwind.h"

/* Rows; with all that belongs to them, 64 bytes each. */
enum { STACK_RULES_MAX = 1 << 15 };

struct stack_rules;

/* NULL: out of memory. */
struct stack_rules *stack_rules_create(void);
void stack_rules_delete(struct stack_rules *rules); /* NULL is allowed */

/* The rule of a link-time address of an image, until rows are added or forgotten. NULL:
 * it is not there. */
const struct sym_unwind_rule *stack_rules_find(struct stack_rules *rules,
                                               uint32_t image, uint64_t address);

/*
 * Adds rows. What was there of their addresses goes.
 *
 *   count  1 to SYM_UNWIND_ROWS_MAX
 *   rows   not empty, in order, not overlapping
 */
void stack_rules_add(struct stack_rules *rules, uint32_t image,
                     const struct sym_unwind_row *rows, size_t count);

/* Removes all rows of an image. */
void stack_rules_forget(struct stack_rules *rules, uint32_t image);

/* How many rows there are. */
size_t stack_rules_count(const struct stack_rules *rules);

#endif
