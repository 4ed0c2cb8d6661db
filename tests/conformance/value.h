/* SPDX-License-Identifier: MIT */
/*
 * value.h - values in tables: lists of alternatives, and arithmetic with names.
 *
 *   list  one or more of VALUE or FIRST..LAST, with commas between
 *   sum   product { (+|-) product }
 *   product  atom { (*|<<|>>) atom }
 *   atom  decimal or 0x number, BASE^POWER, or a name
 *
 * All arithmetic is modulo 2^64; shifts bind as * does, from left to right.
 */
#ifndef CONFORMANCE_VALUE_H
#define CONFORMANCE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VALUE_MOST_CHARS = 64 };

/* A name's value; false if there is none. */
typedef bool value_lookup(void *context, const char *name, uint64_t *value);

/* value_evaluate - a sum. False if it is none, or a name is unknown. */
bool value_evaluate(const char *text, value_lookup *lookup, void *context,
                    uint64_t *value);

/* value_alternatives - how many there are; 0: not a list. */
uint64_t value_alternatives(const char *list);

/* value_alternative - the index-th of them. */
void value_alternative(const char *list, uint64_t index, char text[VALUE_MOST_CHARS]);

#endif
