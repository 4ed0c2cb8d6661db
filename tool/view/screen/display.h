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

/* Check that the terminal can show a screen. Returns false with the reason in one line
 * in why. */
bool tui_display_check(char *why, size_t size);

/* After a check that succeeded: take over standard input and output, which must be a
 * terminal. Returns NULL with the reason in one line in why. */
struct tui_display *tui_display_open(char *why, size_t size);

/* Restore the terminal. display may be NULL. */
void tui_display_close(struct tui_display *display);

/* Give the terminal back for a while (leave), and take it again (enter). */
void tui_display_leave(struct tui_display *display);
void tui_display_enter(struct tui_display *display);

/* Read the terminal's size, which may be any; then give the display the screen's
 * bounded size. */
void tui_display_ask_size(unsigned *lines, unsigned *columns);
void tui_display_resize(struct tui_display *display, const struct tui_screen *screen);

void tui_display_draw(struct tui_display *display, const struct tui_screen *screen);

/* Read a pending key. Returns false if there is none. */
bool tui_display_key(struct tui_display *display, uint32_t *key);

#endif
