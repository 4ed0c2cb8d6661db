/* SPDX-License-Identifier: MIT */
/* csv.c - writes lines of CSV to a file. */
#include "base/csv.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>

static void
begin_field(struct csv *csv)
{
    if (csv->begun) {
        fputc(',', csv->out);
    }
    csv->begun = true;
}

void
csv_put_field(struct csv *csv)
{
    text_make_field(&csv->text);
    if (!csv->text.failed) {
        begin_field(csv);
        fwrite(csv->text.data, 1, csv->text.size, csv->out);
    }
    csv->text.size = 0;
}

void
csv_put_text(struct csv *csv, const char *text)
{
    text_escape(&csv->text, text != NULL ? text : "");
    csv_put_field(csv);
}

void
csv_print(struct csv *csv, const char *format, ...)
{
    va_list arguments;

    if (csv->text.failed) {
        return;
    }
    begin_field(csv);
    va_start(arguments, format);
    vfprintf(csv->out, format, arguments);
    va_end(arguments);
}

void
csv_put_number(struct csv *csv, uint64_t number, bool known)
{
    if (known) {
        csv_print(csv, "%" PRIu64, number);
    } else {
        csv_put_text(csv, NULL);
    }
}

void
csv_put_address(struct csv *csv, uint64_t address, bool known)
{
    if (known) {
        csv_print(csv, "0x%" PRIx64, address);
    } else {
        csv_put_text(csv, NULL);
    }
}

void
csv_end_line(struct csv *csv)
{
    if (!csv->text.failed) {
        fputc('\n', csv->out);
    }
    csv->begun = false;
}

bool
csv_finish(struct csv *csv)
{
    const bool done = !csv->text.failed;

    buffer_finish(&csv->text);
    return done;
}
