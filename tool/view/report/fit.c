/* SPDX-License-Identifier: MIT */
/* fit.c - widths of columns, on a terminal and elsewhere. */
#include "view/report/fit.h"

#include "base/hash_index.h"
#include "base/text.h"
#include "profile/display.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FUNCTION_LEAST = 20,
    NAME_LEAST = 12,
    FUNCTION_PAD_MAX = 60, /* if nothing is cut, longer names shift the next column */
    /* the same for other columns: one hostile name must not make all lines as long */
    OTHER_PAD_MAX = 100,
    ELLIPSIS = 3,
    FUNCTION_MOST = 120, /* of a function everywhere */
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

/* Settle the widths where the output is no terminal: columns are padded up to a limit,
 * and longer texts are whole. */
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

static size_t
function_columns(size_t width, int terminal)
{
    return terminal > 0 ? width : FUNCTION_MOST;
}

static void
print_function(FILE *out, size_t columns, const char *text)
{
    struct buffer shown = {0};

    display_shorten(text, columns, &shown);
    /* Without memory it is not shortened. */
    fputs(buffer_text(&shown) != NULL ? (const char *)shown.data : text, out);
    buffer_finish(&shown);
}

/* shown - the texts of rows, whole and cut to the width of the column, each with its
 * NUL. */
struct shown {
    struct buffer whole;
    struct buffer cut;
    size_t *whole_starts;    /* by row: where its text starts in whole */
    size_t *cut_starts;      /* the same in cut */
    uint32_t *same;          /* by row: the first row with the same whole text */
    struct hash_index index; /* rows, by the hash of their cut text */
};

static const char *
whole_text(const struct shown *shown, size_t row)
{
    return (const char *)shown->whole.data + shown->whole_starts[row];
}

static const char *
cut_text(const struct shown *shown, size_t row)
{
    return (const char *)shown->cut.data + shown->cut_starts[row];
}

static bool
add_text(struct shown *shown, size_t row, const char *text, size_t columns)
{
    shown->whole_starts[row] = shown->whole.size;
    shown->cut_starts[row] = shown->cut.size;
    buffer_append_text(&shown->whole, text);
    buffer_append_byte(&shown->whole, '\0');
    display_shorten(text, columns, &shown->cut);
    buffer_append_byte(&shown->cut, '\0');
    return !shown->whole.failed && !shown->cut.failed;
}

/* Compare the text of a row with those of the rows before it, and add it to the index.
 * If one is equal, set same. If one differs but would look equal when it is cut, mark
 * both rows in alike: neither may be cut. Returns false if memory runs out. */
static bool
compare_text(struct shown *shown, size_t row, bool *alike)
{
    const uint32_t hash =
        hash_bytes(cut_text(shown, row), strlen(cut_text(shown, row)));
    size_t probe = 0;
    uint32_t at;

    shown->same[row] = (uint32_t)row;
    while ((at = hash_index_find(&shown->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (strcmp(cut_text(shown, at), cut_text(shown, row)) != 0) {
            continue;
        }
        if (strcmp(whole_text(shown, at), whole_text(shown, row)) == 0) {
            shown->same[row] = at;
            return true;
        }
        /* This row need not be added: later rows with its text will meet the same row
         * in the index, and differ from that one, too. */
        alike[at] = alike[row] = true;
        return true;
    }
    return hash_index_add(&shown->index, hash, (uint32_t)row);
}

bool *
fit_find_alike(fit_text *text, void *context, size_t rows, size_t width, int terminal)
{
    const size_t columns = function_columns(width, terminal);
    bool *alike = calloc(rows + 1, sizeof(*alike));
    struct shown shown = {.whole_starts = calloc(rows + 1, sizeof(size_t)),
                          .cut_starts = calloc(rows + 1, sizeof(size_t)),
                          .same = calloc(rows + 1, sizeof(uint32_t))};
    bool done = alike != NULL && shown.whole_starts != NULL &&
                shown.cut_starts != NULL && shown.same != NULL;

    for (size_t i = 0; done && i < rows; i++) {
        const char *const whole = text(context, i);

        done = whole != NULL && add_text(&shown, i, whole, columns) &&
               compare_text(&shown, i, alike);
    }
    for (size_t i = 0; done && i < rows; i++) {
        alike[i] = alike[shown.same[i]];
    }
    free(shown.whole_starts);
    free(shown.cut_starts);
    free(shown.same);
    buffer_finish(&shown.whole);
    buffer_finish(&shown.cut);
    hash_index_finish(&shown.index);
    if (!done) {
        free(alike);
        return NULL;
    }
    return alike;
}

enum fit_kind
fit_kind_whole(enum fit_kind kind, bool whole)
{
    return whole && kind == FIT_FUNCTION ? FIT_ADDRESS : kind;
}

/* Print a text that is wider than width: of paths the end, of others the beginning. */
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
    if (kind == FIT_FUNCTION && columns > function_columns(width, terminal)) {
        print_function(out, function_columns(width, terminal), text);
    } else if (terminal > 0 && is_cut(kind) && columns > width) {
        print_cut(out, kind, width, text, columns);
    } else {
        fputs(text, out);
    }
    if (!last) {
        print_blanks(out, (kind == FIT_NUMBER ? 0 : padding) + FIT_GAP);
    }
}
