/* SPDX-License-Identifier: MIT */
/* messages.c - formats errors and notes, cut at a whole character. */
#include "view/export/messages.h"

#include <stdarg.h>
#include <string.h>

/* If a text of wanted bytes was cut to its room, end it with a whole UTF-8
 * character. */
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
export_refuse(struct export_messages *messages, const struct export_options *options,
              const char *format, ...)
{
    const size_t length = (size_t)snprintf(messages->error, sizeof(messages->error),
                                           "%s: ", options->format);
    va_list list;
    int more;

    va_start(list, format);
    more = vsnprintf(messages->error + length, sizeof(messages->error) - length, format,
                     list);
    va_end(list);
    end_at_character(messages->error, sizeof(messages->error), length + (size_t)more);
    return false;
}

void
export_note(struct export_messages *messages, const struct export_options *options,
            const char *format, ...)
{
    size_t length = strlen(messages->note);
    va_list list;
    int more;

    length += (size_t)snprintf(messages->note + length, sizeof(messages->note) - length,
                               "%s%s", length == 0 ? options->format : ";",
                               length == 0 ? ": " : " ");
    if (length >= sizeof(messages->note)) {
        return;
    }
    va_start(list, format);
    more = vsnprintf(messages->note + length, sizeof(messages->note) - length, format,
                     list);
    va_end(list);
    end_at_character(messages->note, sizeof(messages->note), length + (size_t)more);
}
