/* SPDX-License-Identifier: MIT */
/*
 * draw.h - a screen as pieces of text at their places, for whatever shows them.
 *
 * Each piece is within the screen's lines and columns, none is over another, and all of
 * its characters are printable and have a width in this locale: what is not is shown
 * escaped or as a question mark.
 */
#ifndef TUI_DRAW_H
#define TUI_DRAW_H

#include "tui/screen.h"

#include <wchar.h>

enum tui_style {
    TUI_PLAIN,
    TUI_TITLE,  /* the first line */
    TUI_HEADER, /* over columns */
    TUI_CHOSEN, /* at the cursor */
    TUI_HOT,    /* many hits */
    TUI_WARM,   /* some */
    TUI_FAINT,  /* what is beside the point, such as source between instructions */
    TUI_KEYS,   /* the last line */
    TUI_ALERT,  /* a message */
    TUI_STYLES
};

struct tui_canvas {
    /* text takes columns columns from column on. */
    void (*put)(void *context, int line, int column, enum tui_style style,
                const wchar_t *text, int columns);
    void *context;
};

/* The canvas is blank before. */
void tui_draw(const struct tui_screen *screen, const struct tui_canvas *canvas);

#endif
