/* SPDX-License-Identifier: MIT */
/*
 * harmless.h - what every text that ntprof prints must be, whatever names it was made
 * of.
 */
#ifndef FUZZ_HARMLESS_H
#define FUZZ_HARMLESS_H

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A character that drives a terminal, turns the direction of writing, or ends a line
 * elsewhere? */
static inline int
is_harmful(wchar_t character)
{
    return (character < 0x20 && character != L'\n') ||
           (character >= 0x7f && character < 0xa0) || character == 0x061c ||
           character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* Aborts unless it is UTF-8 without such characters. */
static inline void
require_harmless(const char *text, size_t size)
{
    mbstate_t state;
    size_t taken;

    memset(&state, 0, sizeof(state));
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        abort();
    }
    for (size_t i = 0; i < size; i += taken) {
        wchar_t character;

        taken = mbrtowc(&character, text + i, size - i, &state);
        if (taken == 0 || taken > size - i || is_harmful(character)) {
            abort();
        }
    }
}

#endif
