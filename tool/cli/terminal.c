/* SPDX-License-Identifier: MIT */
/* terminal.c - queries the terminal. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void
terminal_fit(FILE *out, struct report_options *options)
{
    const char *const no_color = getenv("NO_COLOR");
    const char *const terminal = getenv("TERM");
    struct winsize size;

    if (!isatty(fileno(out))) {
        return;
    }
    options->color = (no_color == NULL || no_color[0] == '\0') &&
                     (terminal == NULL || strcmp(terminal, "dumb") != 0);
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0) {
        options->width = size.ws_col;
    }
}
