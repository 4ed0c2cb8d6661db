/* SPDX-License-Identifier: MIT */
/* display.c - hands each operation to the module, which the first check loads. */
#include "view/screen/display_module.h"

static const struct display_module *module; /* loaded by tui_display_check */

bool
tui_display_check(char *why, size_t size)
{
    static const struct module needed = {.name = "display",
                                         .library = "ncurses",
                                         .package = "libncursesw6",
                                         .headers = "libncurses-dev"};

    module = module_load(&needed, why, size);
    return module != NULL && module->check(why, size);
}

struct tui_display *
tui_display_open(char *why, size_t size)
{
    return module->open(why, size);
}

void
tui_display_close(struct tui_display *display)
{
    module->close(display);
}

void
tui_display_leave(struct tui_display *display)
{
    module->leave(display);
}

void
tui_display_enter(struct tui_display *display)
{
    module->enter(display);
}

void
tui_display_ask_size(unsigned *lines, unsigned *columns)
{
    module->ask_size(lines, columns);
}

void
tui_display_resize(struct tui_display *display, const struct tui_screen *screen)
{
    module->resize(display, screen);
}

void
tui_display_draw(struct tui_display *display, const struct tui_screen *screen)
{
    module->draw(display, screen);
}

bool
tui_display_key(struct tui_display *display, uint32_t *key)
{
    return module->key(display, key);
}
