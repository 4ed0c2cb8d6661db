/* SPDX-License-Identifier: MIT */
/* terminal.c - asks the terminal. */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

void
terminal_fit(FILE *out, struct report_options *options)
{
    const char *const no_color = getenv("NO_COLOR");
    struct winsize size;

    if (!isatty(fileno(out))) {
        return;
    }
    options->color = no_color == NULL || no_color[0] == '\0';
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0) {
        options->width = size.ws_col;
    }
}
