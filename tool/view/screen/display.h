/* SPDX-License-Identifier: MIT */
/*
 * display.h - shows screens on the terminal and reads keys, with curses. There is one
 * in a process.
 *
 * The size is read from the terminal on request; no signal is handled here.
 */
#ifndef VIEW_SCREEN_DISPLAY_H
#define VIEW_SCREEN_DISPLAY_H

#include "view/screen/screen.h"

struct tui_display;

/* tui_display_check - check that the terminal can show a screen. Returns false
 * with the reason in one line in why. It loads the module, so call it before
 * all other functions. */
bool tui_display_check(char *why, size_t size);

/* tui_display_open - take over standard input and output, which must be a terminal,
 * after a check that succeeded. Returns NULL with the reason in one line in why. */
struct tui_display *tui_display_open(char *why, size_t size);

/* tui_display_close - restore the terminal. NULL is allowed. */
void tui_display_close(struct tui_display *display);

/* tui_display_leave, tui_display_enter - give the terminal back for a while,
 * and take it again. */
void tui_display_leave(struct tui_display *display);
void tui_display_enter(struct tui_display *display);

/* tui_display_ask_size - read the terminal's size, which may be any, also 0
 * if it is unknown. */
void tui_display_ask_size(unsigned *lines, unsigned *columns);

/* tui_display_resize - give the display the screen's bounded size. */
void tui_display_resize(struct tui_display *display, const struct tui_screen *screen);

/* tui_display_draw - show the screen. */
void tui_display_draw(struct tui_display *display, const struct tui_screen *screen);

/* tui_display_key - read a pending key. Returns false if there is none. */
bool tui_display_key(struct tui_display *display, uint32_t *key);

#endif
