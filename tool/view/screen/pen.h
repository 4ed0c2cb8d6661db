/* SPDX-License-Identifier: MIT */
/* pen.h - writes one line of a screen from left to right, cut at its end. Only
 * tool/view/screen includes it. */
#ifndef VIEW_SCREEN_PEN_H
#define VIEW_SCREEN_PEN_H

#include "view/screen/draw.h"

struct tui_pen {
    const struct tui_canvas *canvas;
    int line;
    int column; /* next column to write */
    int end;    /* first column that must not be written */
};

/*
 * Write text, which may contain anything.
 *
 *   columns  0: as many as the text needs; otherwise the text is cut or padded to this
 *            width
 */
void tui_pen_text(struct tui_pen *pen, enum tui_style style, int columns,
                  const char *text);

/* Write the name of a function, which is escaped already, shortened in its middle if
 * there is too little room. */
void tui_pen_function(struct tui_pen *pen, enum tui_style style, const char *text);

/* Write short ASCII text right-aligned. */
void tui_pen_number(struct tui_pen *pen, enum tui_style style, int columns,
                    const char *text);

__attribute__((format(printf, 3, 4))) void
tui_pen_print(struct tui_pen *pen, enum tui_style style, const char *format, ...);

/* Write blanks to the end of the line. */
void tui_pen_fill(struct tui_pen *pen, enum tui_style style);

#endif
