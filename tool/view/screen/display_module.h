/* SPDX-License-Identifier: MIT */
/* display_module.h - the display as a module. Only tool/view/screen includes it. */
#ifndef VIEW_SCREEN_DISPLAY_MODULE_H
#define VIEW_SCREEN_DISPLAY_MODULE_H

#include "base/module.h"
#include "view/screen/display.h"

/* display_module - what the module consists of. Each member does what the function of
 * display.h with its name promises. */
struct display_module {
    bool (*check)(char *why, size_t size);
    struct tui_display *(*open)(char *why, size_t size);
    void (*close)(struct tui_display *display);
    void (*leave)(struct tui_display *display);
    void (*enter)(struct tui_display *display);
    void (*ask_size)(unsigned *lines, unsigned *columns);
    void (*resize)(struct tui_display *display, const struct tui_screen *screen);
    void (*draw)(struct tui_display *display, const struct tui_screen *screen);
    bool (*key)(struct tui_display *display, uint32_t *key);
};

#endif
