/* SPDX-License-Identifier: MIT */
/*
 * display.h - the terminal: shows screens and tells keys, by curses. One at a time in a
 * process.
 *
 * Sizes are asked of the terminal itself, when told to: nothing here handles a signal.
 */
#ifndef TUI_DISPLAY_H
#define TUI_DISPLAY_H

#include "tui/screen.h"

struct tui_display;

/* Could the terminal show a screen? False: why says why not, in one line. */
bool tui_display_check(char *why, size_t size);

/* Takes standard input and output, which are a terminal. NULL: why says why not, in one
 * line. */
struct tui_display *tui_display_open(char *why, size_t size);

/* Leaves the terminal as it was. NULL is allowed. */
void tui_display_close(struct tui_display *display);

/* Leaves the terminal for a while, and comes back. */
void tui_display_leave(struct tui_display *display);
void tui_display_enter(struct tui_display *display);

/* The terminal's size, which may be any; then the display has the screen's. */
void tui_display_ask_size(unsigned *lines, unsigned *columns);
void tui_display_resize(struct tui_display *display, const struct tui_screen *screen);

void tui_display_draw(struct tui_display *display, const struct tui_screen *screen);

/* The next key that is there already. False: none. */
bool tui_display_key(struct tui_display *display, uint32_t *key);

#endif
