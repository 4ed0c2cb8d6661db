/* SPDX-License-Identifier: MIT */
/*
 * paper.h - a canvas that keeps what is drawn, and ends the process if it breaks a rule
 * of draw.h: pieces are inside, never over one another, and of printable characters as
 * wide as said. For tests and fuzzing.
 */
#ifndef TESTS_SCREEN_PAPER_H
#define TESTS_SCREEN_PAPER_H

#include "view/screen/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct paper {
    int lines;
    int columns;
    wchar_t
        *cells; /* 0: nothing was drawn there; the second half of a wide one is WEOF */
    unsigned char *styles;
};

#define PAPER_CHECK(condition)                                        \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "paper: %s does not hold\n", #condition); \
            abort();                                                  \
        }                                                             \
    } while (0)

static inline void
paper_put(void *context, int line, int column, enum tui_style style,
          const wchar_t *text, int columns)
{
    const struct paper *const paper = context;
    int at = column;

    PAPER_CHECK(line >= 0 && line < paper->lines && column >= 0 && columns > 0);
    PAPER_CHECK(columns <= paper->columns - column);
    PAPER_CHECK((int)style >= 0 && style < TUI_STYLES);
    for (; *text != L'\0'; text++) {
        const int width = wcwidth(*text);

        PAPER_CHECK(width == 1 || width == 2);
        for (int i = 0; i < width; i++) {
            wchar_t *const cell = &paper->cells[line * paper->columns + at];

            PAPER_CHECK(at < column + columns && *cell == 0);
            *cell = i == 0 ? *text : (wchar_t)WEOF;
            paper->styles[line * paper->columns + at] = (unsigned char)style;
            at++;
        }
    }
    PAPER_CHECK(at == column + columns);
}

/* Draws; free it by paper_finish. */
static inline struct paper
paper_draw(const struct tui_screen *screen)
{
    const size_t cells = (size_t)screen->lines * (size_t)screen->columns;
    struct paper paper = {screen->lines, screen->columns,
                          calloc(cells, sizeof(wchar_t)), calloc(cells, 1)};
    const struct tui_canvas canvas = {.put = paper_put, .context = &paper};

    PAPER_CHECK(paper.cells != NULL && paper.styles != NULL);
    tui_draw(screen, &canvas);
    return paper;
}

static inline void
paper_finish(struct paper *paper)
{
    free(paper->cells);
    free(paper->styles);
}

/* A line without the blanks at its end, in a buffer that the next call uses again.
 * ASCII; the rest is '#'. */
static inline const char *
paper_line(const struct paper *paper, int line)
{
    static char text[TUI_COLUMNS_MAX + 1];
    int end = 0;

    for (int i = 0; i < paper->columns; i++) {
        const wchar_t cell = paper->cells[line * paper->columns + i];

        text[i] = (char)(cell == 0 ? ' ' : cell > 0 && cell < 0x7f ? cell : '#');
        end = text[i] == ' ' ? end : i + 1;
    }
    text[end] = '\0';
    return text;
}

/* Is text somewhere on the paper? */
static inline bool
paper_has(const struct paper *paper, const char *text)
{
    for (int i = 0; i < paper->lines; i++) {
        if (strstr(paper_line(paper, i), text) != NULL) {
            return true;
        }
    }
    return false;
}

#endif
