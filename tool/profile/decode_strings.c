/* SPDX-License-Identifier: MIT */
/* decode_strings.c - strings by number, each interned once even if used often. */
#include "profile/decoder.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- strings --- */

/* Return the string as it is in the file, terminated by NUL; a NUL inside becomes \x00.
 * It is valid until the next call. Returns NULL with the error set if there is none. */
char *
decoder_raw_string(struct decoder *decoder, uint64_t number)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const uint64_t count = COUNT(decoder->strings, *strings);
    const uint8_t *at;
    const uint8_t *limit;

    if (number >= count) {
        decoder_fail(decoder,
                     "damaged: string %" PRIu64 " is used, the table ends at %" PRIu64,
                     number, count);
        return NULL;
    }
    decoder->text.size = 0;
    at = strings[number].bytes.at;
    limit = strings[number].bytes.end;
    while (at < limit) {
        const uint8_t *zero = memchr(at, 0, (size_t)(limit - at));
        const uint8_t *end = zero != NULL ? zero : limit;

        buffer_append(&decoder->text, at, (size_t)(end - at));
        if (zero != NULL) {
            buffer_append_text(&decoder->text, "\\x00");
        }
        if (decoder->text.size > decoder->memory_left) {
            decoder_take_memory(decoder, decoder->text.size);
            return NULL;
        }
        at = end + (zero != NULL);
    }
    if (buffer_text(&decoder->text) == NULL) {
        decoder_fail_memory(decoder);
        return NULL;
    }
    return (char *)decoder->text.data;
}

/* Do the same, but intern the string and reverse our escaping. */
const char *
decoder_string(struct decoder *decoder, uint64_t number)
{
    struct string_entry *strings = (void *)decoder->strings.data;
    char *text;

    if (number < COUNT(decoder->strings, *strings) &&
        strings[number].interned != NULL) {
        return strings[number].interned;
    }
    text = decoder_raw_string(decoder, number);
    if (text == NULL || !decoder_take_memory(decoder, decoder->text.size)) {
        return NULL;
    }
    if (decoder->ours) {
        text_unescape(text);
    }
    strings[number].interned = profile_string(decoder->profile, text);
    if (strings[number].interned == NULL) {
        decoder_fail_memory(decoder);
    }
    return strings[number].interned;
}

/* Return whether the string starts with text or, with whole, equals it. */
bool
decoder_string_starts_with(const struct decoder *decoder, uint64_t number,
                           const char *text, bool whole)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const size_t length = strlen(text);
    size_t size;

    if (number >= COUNT(decoder->strings, *strings)) {
        return false;
    }
    size = (size_t)(strings[number].bytes.end - strings[number].bytes.at);
    return (whole ? size == length : size >= length) &&
           memcmp(strings[number].bytes.at, text, length) == 0;
}

bool
decoder_string_is(const struct decoder *decoder, uint64_t number, const char *text)
{
    return decoder_string_starts_with(decoder, number, text, true);
}

/* Return whether both strings exist and are equal. Equal strings may have different
 * numbers. */
bool
decoder_string_equal(const struct decoder *decoder, uint64_t a, uint64_t b)
{
    const struct string_entry *strings = (const void *)decoder->strings.data;
    const uint64_t count = COUNT(decoder->strings, *strings);
    size_t size;

    if (a >= count || b >= count) {
        return false;
    }
    size = (size_t)(strings[a].bytes.end - strings[a].bytes.at);
    return size == (size_t)(strings[b].bytes.end - strings[b].bytes.at) &&
           memcmp(strings[a].bytes.at, strings[b].bytes.at, size) == 0;
}
