/* SPDX-License-Identifier: MIT */
/* said.c - see said.h. */
#include "view/export/messages.h"

#include <stdarg.h>
#include <string.h>

/* What was cut ends with a whole character. */
static void
end_at_character(char *text, size_t room, size_t wanted)
{
    size_t end = room - 1;

    if (wanted < room) {
        return;
    }
    while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80) {
        end--;
    }
    if (end > 0 && (unsigned char)text[end - 1] >= 0xc0) {
        end--;
    }
    text[end] = '\0';
}

bool
export_refuse(struct export_said *said, const struct export_options *options,
              const char *format, ...)
{
    const size_t length =
        (size_t)snprintf(said->error, sizeof(said->error), "%s: ", options->format);
    va_list list;
    int more;

    va_start(list, format);
    more = vsnprintf(said->error + length, sizeof(said->error) - length, format, list);
    va_end(list);
    end_at_character(said->error, sizeof(said->error), length + (size_t)more);
    return false;
}

void
export_note(struct export_said *said, const struct export_options *options,
            const char *format, ...)
{
    size_t length = strlen(said->note);
    va_list list;
    int more;

    length +=
        (size_t)snprintf(said->note + length, sizeof(said->note) - length, "%s%s",
                         length == 0 ? options->format : ";", length == 0 ? ": " : " ");
    if (length >= sizeof(said->note)) {
        return;
    }
    va_start(list, format);
    more = vsnprintf(said->note + length, sizeof(said->note) - length, format, list);
    va_end(list);
    end_at_character(said->note, sizeof(said->note), length + (size_t)more);
}
