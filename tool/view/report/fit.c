/* SPDX-License-Identifier: MIT */
/* fit.c - widths of columns, on a terminal and elsewhere. */
#include "view/report/fit.h"

#include "base/text.h"

#include <assert.h>

enum {
    FUNCTION_LEAST = 20,
    NAME_LEAST = 12,
    FUNCTION_PAD_MAX = 60, /* if nothing is cut, longer names shift the next column */
    OTHER_PAD_MAX = 100,   /* the same for other columns, so that one hostile name */
    ELLIPSIS = 3,          /* does not make every line as long as itself */
};

static bool
is_cut(enum fit_kind kind)
{
    return kind >= FIT_FUNCTION;
}

static size_t
least_of(enum fit_kind kind)
{
    return kind == FIT_FUNCTION ? FUNCTION_LEAST : NAME_LEAST;
}

static size_t
at_most(size_t width, size_t limit)
{
    return width < limit ? width : limit;
}

void
fit_add(struct fit *fit, enum fit_kind kind, size_t *width)
{
    if (!is_cut(kind)) {
        *width = at_most(*width, OTHER_PAD_MAX);
        fit->fixed += *width + FIT_GAP;
        return;
    }
    assert(fit->count < FIT_COLUMNS_MAX);
    fit->widths[fit->count] = width;
    fit->kinds[fit->count++] = kind;
}

/* Return the widest column of names that can shrink, or count if none can. */
static size_t
find_widest(const struct fit *fit)
{
    size_t widest = fit->count;

    for (size_t i = 0; i < fit->count; i++) {
        if (*fit->widths[i] > least_of(fit->kinds[i]) &&
            (widest == fit->count || *fit->widths[i] > *fit->widths[widest])) {
            widest = i;
        }
    }
    return widest;
}

static void
settle_on_paper(struct fit *fit)
{
    for (size_t i = 0; i < fit->count; i++) {
        *fit->widths[i] =
            at_most(*fit->widths[i],
                    fit->kinds[i] == FIT_FUNCTION ? FUNCTION_PAD_MAX : OTHER_PAD_MAX);
    }
}

void
fit_settle(struct fit *fit, int terminal)
{
    const size_t room = terminal > 0 ? (size_t)terminal : 0;
    size_t taken = fit->fixed;
    size_t widest;

    if (terminal <= 0) {
        settle_on_paper(fit);
        return;
    }
    for (size_t i = 0; i < fit->count; i++) {
        /* Cap the widths first, so that the loop below takes few steps. */
        *fit->widths[i] =
            at_most(*fit->widths[i], room > OTHER_PAD_MAX ? room : OTHER_PAD_MAX);
        taken += *fit->widths[i] + FIT_GAP;
    }
    /* The last column has no gap after it. */
    while (taken > room + FIT_GAP && (widest = find_widest(fit)) < fit->count) {
        --*fit->widths[widest];
        taken--;
    }
}

static void
print_blanks(FILE *out, size_t count)
{
    while (count-- > 0) {
        fputc(' ', out);
    }
}

static void
print_cut(FILE *out, enum fit_kind kind, size_t width, const char *text, size_t columns)
{
    const size_t left = width - ELLIPSIS;

    if (kind == FIT_PATH) {
        fprintf(out, "...%s", text + text_bytes_of_columns(text, columns - left));
    } else {
        fprintf(out, "%.*s...", (int)text_bytes_of_columns(text, left), text);
    }
}

void
fit_print(FILE *out, enum fit_kind kind, size_t width, int terminal, const char *text,
          bool last)
{
    const size_t columns = text_columns(text);
    const size_t padding = width > columns ? width - columns : 0;

    if (kind == FIT_NUMBER) {
        print_blanks(out, padding);
    }
    if (terminal > 0 && is_cut(kind) && columns > width) {
        print_cut(out, kind, width, text, columns);
    } else {
        fputs(text, out);
    }
    if (!last) {
        print_blanks(out, (kind == FIT_NUMBER ? 0 : padding) + FIT_GAP);
    }
}
