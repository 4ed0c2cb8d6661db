/* SPDX-License-Identifier: MIT */
/* terminal.c - queries the terminal. */
#include "cli/terminal.h"
#include "base/message.h"
#include "base/progress.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
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
    options->color =
        (no_color == NULL || no_color[0] == '\0') && !progress_terminal_is_dumb();
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0) {
        options->width = size.ws_col;
    }
}

void
terminal_fit_listing(FILE *out, struct listing_print_options *options)
{
    struct report_options screen = {.width = 0};

    terminal_fit(out, &screen);
    options->color = screen.color;
    options->width = screen.width;
    options->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int
terminal_status(const char *command, bool done)
{
    return done || errno == EPIPE
               ? CMD_OK
               : cmd_fail(command, "cannot write to standard output: %s",
                          strerror(errno != 0 ? errno : ENOMEM));
}
