/* SPDX-License-Identifier: MIT */
/* pen.h - writes one line of a screen from left to right, cut at its end. Only
 * tool/view/screen includes it. */
#ifndef VIEW_SCREEN_PEN_H
#define VIEW_SCREEN_PEN_H

#include "view/screen/draw.h"

/* tui_pen - where the next text of a line goes. */
struct tui_pen {
    const struct tui_canvas *canvas;
    int line;
    int column; /* next column to write */
    int end;    /* first column that must not be written */
};

/*
 * tui_pen_text - write text, which may contain anything.
 *
 *   columns  0: as many as the text needs; otherwise the text is cut or padded to this
 *            width
 */
void tui_pen_text(struct tui_pen *pen, enum tui_style style, int columns,
                  const char *text);

/* tui_pen_function - write the name of a function, which is escaped already; it is
 * shortened in its middle if there is too little room. */
void tui_pen_function(struct tui_pen *pen, enum tui_style style, const char *text);

/* tui_pen_number - write short ASCII text at the right of this many columns. */
void tui_pen_number(struct tui_pen *pen, enum tui_style style, int columns,
                    const char *text);

/* tui_pen_print - write text that is formatted as by printf. */
__attribute__((format(printf, 3, 4))) void
tui_pen_print(struct tui_pen *pen, enum tui_style style, const char *format, ...);

/* tui_pen_fill - write blanks to the end of the line. */
void tui_pen_fill(struct tui_pen *pen, enum tui_style style);

#endif
