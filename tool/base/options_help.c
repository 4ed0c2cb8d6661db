/* SPDX-License-Identifier: MIT */
/* options_help.c - lays out the help of a command: an option a line, its text in a
 * column, as wide as a terminal of old. */
#include "base/options.h"

#include <string.h>

enum {
    LINE_COLUMNS = 80,
    TEXT_COLUMN = 27,
    GAP = 3, /* between an option that reaches into the column of texts and its text */
    NAME_BYTES = 120,
};

/* Print words that start in a column, in lines that start in TEXT_COLUMN. */
static void
print_text(FILE *out, const char *text, int column)
{
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");

        fprintf(out, "%.*s", length, text);
        column += length;
        text += length + (int)strspn(text + length, " ");
        if (*text == '\0') {
            break;
        }
        if (column + 1 + (int)strcspn(text, " ") > LINE_COLUMNS) {
            fprintf(out, "\n%*s", TEXT_COLUMN, "");
            column = TEXT_COLUMN;
        } else {
            fputc(' ', out);
            column++;
        }
    }
    fputc('\n', out);
}

static void
print_option(FILE *out, const struct options_row *row)
{
    const char letter[] = {'-', row->letter, ',', '\0'};
    const bool blank = row->value != NULL && !options_value_is_optional(row);
    char name[NAME_BYTES];
    int column;

    snprintf(name, sizeof(name), "  %3s --%s%s%s", row->letter != 0 ? letter : "",
             row->name, blank ? " " : "", row->value != NULL ? row->value : "");
    column = (int)strlen(name);
    column = column + 2 <= TEXT_COLUMN ? TEXT_COLUMN : column + GAP;
    fprintf(out, "%-*s", column, name);
    print_text(out, row->help, column);
}

void
options_print_help(FILE *out, const struct options_syntax *syntax)
{
    const struct options_syntax *const shown =
        syntax->shown != NULL ? syntax->shown : syntax;
    struct options_cursor cursor = {0};
    const struct options_row *row;

    fputs(shown->help, out);
    fputs(shown->groups[0].rows != NULL ? "\n" : "", out);
    while ((row = options_next(shown, &cursor)) != NULL) {
        if (row->name != NULL) {
            print_option(out, row);
        } else {
            fprintf(out, "\n%s%s", row->help, row->help[0] != '\0' ? "\n" : "");
        }
    }
    if (shown->help_end != NULL) {
        fprintf(out, "\n%s", shown->help_end);
    }
}
