/* SPDX-License-Identifier: MIT */
/* display_none.c - the display of an ntprof built without curses: only a reason. */
#include "view/screen/display.h"

#include <stdio.h>

bool
tui_display_check(char *why, size_t size)
{
    snprintf(
        why, size,
        "ntprof was built without ncurses: install libncurses-dev and build it again");
    return false;
}

struct tui_display *
tui_display_open(char *why, size_t size)
{
    (void)tui_display_check(why, size);
    return NULL;
}

void
tui_display_close(struct tui_display *display)
{
    (void)display;
}

void
tui_display_leave(struct tui_display *display)
{
    (void)display;
}

void
tui_display_enter(struct tui_display *display)
{
    (void)display;
}

void
tui_display_ask_size(unsigned *lines, unsigned *columns)
{
    *lines = 0;
    *columns = 0;
}

void
tui_display_resize(struct tui_display *display, const struct tui_screen *screen)
{
    (void)display;
    (void)screen;
}

void
tui_display_draw(struct tui_display *display, const struct tui_screen *screen)
{
    (void)display;
    (void)screen;
}

bool
tui_display_key(struct tui_display *display, uint32_t *key)
{
    (void)display;
    (void)key;
    return false;
}
