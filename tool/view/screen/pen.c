/* SPDX-License-Identifier: MIT */
/*
 * pen.c - fits text of any content into a known number of columns.
 *
 * Only the first bytes of a text are read, as many as a line can need: a name may have
 * a megabyte.
 */
#include "view/screen/pen.h"

#include "base/text.h"
#include "profile/display.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes and wide characters that a line can need: a UTF-8 character
 * has at most 4 bytes. */
enum { TEXT_BYTES_MAX = 4 * TUI_COLUMNS_MAX, WIDE_MAX = TUI_COLUMNS_MAX + 1 };

/* Decode one character of valid UTF-8, and move *text behind it. */
static wchar_t
next_character(const unsigned char **text)
{
    const unsigned char first = *(*text)++;
    uint32_t character;
    int more;

    if (first < 0x80) {
        return (wchar_t)first;
    }
    more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    character = first & (0x3fu >> more);
    while (more-- > 0 && (**text & 0xc0) == 0x80) {
        character = character << 6 | (*(*text)++ & 0x3fu);
    }
    return (wchar_t)character;
}

/* Convert valid UTF-8 to wide characters that fit into room columns. Returns the
 * columns that they need. */
static int
to_wide(const char *text, wchar_t *wide, int room)
{
    const unsigned char *at = (const unsigned char *)text;
    int columns = 0;
    int count = 0;

    while (*at != '\0') {
        wchar_t character = next_character(&at);
        int width = wcwidth(character);

        if (width < 0) {
            character = L'?';
            width = 1;
        }
        if (width > room - columns) {
            break;
        }
        /* combining marks (width 0) are left out: any number of them could follow */
        if (width > 0) {
            wide[count++] = character;
            columns += width;
        }
    }
    wide[count] = L'\0';
    return columns;
}

static void
put(struct tui_pen *pen, enum tui_style style, const wchar_t *wide, int columns)
{
    if (columns > 0) {
        pen->canvas->put(pen->canvas->context, pen->line, pen->column, style, wide,
                         columns);
        pen->column += columns;
    }
}

static void
put_blanks(struct tui_pen *pen, enum tui_style style, int columns)
{
    wchar_t wide[WIDE_MAX];

    if (columns <= 0) {
        return;
    }
    wmemset(wide, L' ', (size_t)columns);
    wide[columns] = L'\0';
    put(pen, style, wide, columns);
}

/* Return how many of the wanted columns, 0 for all, the line has left. */
static int
columns_left(const struct tui_pen *pen, int columns)
{
    const int left = pen->end - pen->column;

    return columns == 0 || columns > left ? left : columns;
}

void
tui_pen_text(struct tui_pen *pen, enum tui_style style, int columns, const char *text)
{
    const int fits = columns_left(pen, columns);
    char head[TEXT_BYTES_MAX + 1];
    const size_t size = strnlen(text, TEXT_BYTES_MAX);
    struct buffer escaped = {0};
    wchar_t wide[WIDE_MAX];
    int taken = 0;

    if (fits <= 0) {
        return;
    }
    memcpy(head, text, size);
    head[size] = '\0';
    text_escape(&escaped, head);
    if (buffer_text(&escaped) != NULL) {
        taken = to_wide(buffer_text(&escaped), wide, fits);
        put(pen, style, wide, taken);
    }
    buffer_finish(&escaped);
    if (columns > 0) {
        put_blanks(pen, style, fits - taken);
    }
}

void
tui_pen_function(struct tui_pen *pen, enum tui_style style, const char *text)
{
    const int fits = columns_left(pen, 0);
    struct buffer shortened = {0};
    wchar_t wide[WIDE_MAX];

    if (fits <= 0) {
        return;
    }
    /* Longer names are cut: to shorten one can take its length squared. */
    if (strnlen(text, TEXT_BYTES_MAX) < TEXT_BYTES_MAX) {
        display_shorten(text, (size_t)fits, &shortened);
        text = buffer_text(&shortened) != NULL ? buffer_text(&shortened) : "";
    }
    put(pen, style, wide, to_wide(text, wide, fits));
    buffer_finish(&shortened);
}

void
tui_pen_number(struct tui_pen *pen, enum tui_style style, int columns, const char *text)
{
    const int size = (int)strnlen(text, TUI_COLUMNS_MAX);
    const int before = columns - size;
    const int left = pen->end - pen->column;

    put_blanks(pen, style, before < left ? before : left);
    tui_pen_text(pen, style, columns < size ? columns : size, text);
}

void
tui_pen_print(struct tui_pen *pen, enum tui_style style, const char *format, ...)
{
    char text[TUI_COLUMNS_MAX + 1];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tui_pen_text(pen, style, 0, text);
}

void
tui_pen_fill(struct tui_pen *pen, enum tui_style style)
{
    put_blanks(pen, style, pen->end - pen->column);
}
