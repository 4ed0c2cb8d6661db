/* SPDX-License-Identifier: MIT */
/*
 * csv.h - writes lines of CSV to a file. Lines end with "\n" alone.
 *
 * Texts are escaped as in every other output (text.h), and then made fields, quoted
 * where necessary. A failure is remembered: nothing more is written.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include "base/buffer.h"

#include <stdio.h>

/* csv - a file, and the field in the making; all zero but out at first. */
struct csv {
    FILE *out;
    struct buffer text; /* escaped already */
    bool begun;         /* the line has a field */
};

/* Write the field that is in csv->text, and empty it. */
void csv_put_field(struct csv *csv);

/* Write a text; NULL is an empty field. */
void csv_put_text(struct csv *csv, const char *text);

/* Write fields that need no escapes, with commas between them; as printf. */
__attribute__((format(printf, 2, 3))) void csv_print(struct csv *csv,
                                                     const char *format, ...);

/* Write a number, or an empty field if it is not known. */
void csv_put_number(struct csv *csv, uint64_t number, bool known);
void csv_put_address(struct csv *csv, uint64_t address, bool known);

void csv_end_line(struct csv *csv);

/* Free the buffer. Returns false if memory ran out while a field was made. */
bool csv_finish(struct csv *csv);

#endif
