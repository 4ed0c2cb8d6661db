/* SPDX-License-Identifier: MIT */
/*
 * number.h - parses numbers with units: 4k, 1.5ms, 997Hz.
 *
 * All functions accept only the whole text; false leaves *value unchanged. A fraction
 * is allowed if the result is whole. Signs and blanks are not. The locale has no
 * effect.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_HZ_MAX UINT64_MAX /* value of "max" */

/* 12, 12k, 3M, 1G (powers of 1000): rows, events. Also 0x1f. */
bool number_parse_count(const char *text, uint64_t *value);

/* 4, 4B, 4k, 4K, 4KiB, 1M, 1G (powers of 1024). Also 0x1000. */
bool number_parse_bytes(const char *text, uint64_t *value);

/* 250ns, 100us, 1ms, 1.5s, 2m, 1h: a unit is needed. */
bool number_parse_ns(const char *text, uint64_t *value);

/* The same, and seconds without a unit: 2s, 500ms, 10. */
bool number_parse_seconds(const char *text, uint64_t *value);

/* 997, 997Hz, 1k, 1kHz, 1.5kHz, 1M, 1MHz, max. */
bool number_parse_hz(const char *text, uint64_t *value);

#endif
