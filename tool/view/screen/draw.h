/* SPDX-License-Identifier: MIT */
/*
 * draw.h - draws a screen as pieces of text, for any kind of display.
 *
 * Each piece is within the screen's lines and columns, and no two overlap. All
 * characters are printable and have a width in this locale; others are escaped or
 * become a question mark.
 */
#ifndef VIEW_SCREEN_DRAW_H
#define VIEW_SCREEN_DRAW_H

#include "view/screen/screen.h"

#include <wchar.h>

enum tui_style {
    TUI_PLAIN,
    TUI_TITLE,  /* the first line */
    TUI_HEADER, /* over columns */
    TUI_CHOSEN, /* at the cursor */
    TUI_HOT,    /* many hits */
    TUI_WARM,   /* some hits */
    TUI_FAINT,  /* secondary text, such as source between instructions */
    TUI_KEYS,   /* the last line */
    TUI_ALERT,  /* a message */
    TUI_STYLES
};

/* tui_canvas - where a screen is drawn. */
struct tui_canvas {
    /* Show text at this line; it occupies columns columns from column on. */
    void (*put)(void *context, int line, int column, enum tui_style style,
                const wchar_t *text, int columns);
    void *context;
};

/* tui_draw - draw the screen on a canvas that is blank. */
void tui_draw(const struct tui_screen *screen, const struct tui_canvas *canvas);

#endif
