/* SPDX-License-Identifier: MIT */
/* pen.h - writes one line of a screen from left to right, cut at its end. For tool/tui
 * alone. */
#ifndef TUI_PEN_H
#define TUI_PEN_H

#include "tui/draw.h"

struct tui_pen {
    const struct tui_canvas *canvas;
    int line;
    int column; /* next one to write at */
    int end;    /* first one that may not be written at */
};

/*
 * Writes text, hostile as it may be, from the pen on.
 *
 *   columns  0: as many as the text takes; else it is cut or filled up with blanks to
 *            so many
 */
void tui_pen_text(struct tui_pen *pen, enum tui_style style, int columns,
                  const char *text);

/* The same right-aligned; for short text without anything unusual. */
void tui_pen_number(struct tui_pen *pen, enum tui_style style, int columns,
                    const char *text);

__attribute__((format(printf, 3, 4))) void
tui_pen_print(struct tui_pen *pen, enum tui_style style, const char *format, ...);

/* Blanks to the end of the line. */
void tui_pen_fill(struct tui_pen *pen, enum tui_style style);

#endif
