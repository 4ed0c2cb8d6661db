/* SPDX-License-Identifier: MIT */
/* text.c - decodes UTF-8 strictly, and escapes each byte that is not shown as it is. */
#include "base/text.h"

#include "base/secret.h"

#include <errno.h>
#include <string.h>

static bool
is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Decode the sequence at text, which ends with NUL. Returns its length, or 0 if it is
 * not UTF-8. */
static size_t
decode(const uint8_t *text, uint32_t *character)
{
    const uint8_t first = text[0];
    const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value = first;

    if (first >= 0x80 && (first < 0xc2 || first > 0xf4)) {
        return 0;
    }
    if (length > 1) {
        value = first & (0x7fu >> length);
    }
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text[i])) {
            return 0;
        }
        value = value << 6 | (text[i] & 0x3fu);
    }
    if (value < least[length] || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000)) {
        return 0;
    }
    *character = value;
    return length;
}

/*
 * Characters that show nothing of themselves: control characters, C1 ones acting on
 * some terminals too; Unicode 15's class Cf, of which many change the direction of
 * writing; its default ignorable characters, such as zero widths, fillers, variation
 * selectors and tags, which make two names look the same; separators of lines; the
 * Braille blank.
 */
static const struct {
    uint32_t first;
    uint32_t last;
} invisible[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
    {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

static bool
is_harmless(uint32_t character)
{
    for (size_t i = 0; i < sizeof(invisible) / sizeof(invisible[0]); i++) {
        if (character <= invisible[i].last) {
            return character < invisible[i].first;
        }
    }
    return true;
}

static int
hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Return the byte that the escape at text represents, or -1 if there is no escape. */
static int
escape_value(const char *text)
{
    if (text[0] != '\\' || text[1] != 'x' || hex_value(text[2]) < 0 ||
        hex_value(text[3]) < 0) {
        return -1;
    }
    return hex_value(text[2]) * 16 + hex_value(text[3]);
}

/* Return the number of leading bytes that need no escape. This fast path is all that
 * most names need. */
static size_t
plain_length(const char *text, bool blanks)
{
    const char least = blanks ? '!' : ' ';
    size_t length = 0;

    while (text[length] >= least && text[length] < 0x7f && text[length] != '\\') {
        length++;
    }
    return length;
}

/* Append the escaped form of text to out; with blanks, blanks are escaped too. So is
 * the backslash of what reads like an escape already. */
static void
escape(struct buffer *out, const char *text, bool blanks)
{
    for (;;) {
        const size_t plain = plain_length(text, blanks);
        uint32_t character = 0;
        size_t length; /* of a character; 0: the next byte begins none */
        size_t size;

        buffer_append(out, text, plain);
        text += plain;
        if (*text == '\0') {
            break;
        }
        length = decode((const uint8_t *)text, &character);
        size = length > 0 ? length : 1;

        if (length > 0 && is_harmless(character) && escape_value(text) < 0 &&
            !(blanks && character == ' ')) {
            buffer_append(out, text, size);
        } else {
            for (size_t i = 0; i < size; i++) {
                buffer_print(out, "\\x%02x", (unsigned)(uint8_t)text[i]);
            }
        }
        text += size;
    }
}

void
text_escape(struct buffer *out, const char *text)
{
    escape(out, text, false);
}

void
text_escape_word(struct buffer *out, const char *text)
{
    escape(out, text, true);
}

static bool
is_formula(char first)
{
    return first == '=' || first == '+' || first == '-' || first == '@';
}

void
text_make_field(struct buffer *text)
{
    const char *from = buffer_text(text);
    struct buffer field = {0};
    bool quoted;

    if (from == NULL) {
        return; /* the buffer remembers the failure */
    }
    quoted = strpbrk(from, "\",") != NULL;
    if (!quoted && !is_formula(*from)) {
        return; /* unchanged, as nearly all names are */
    }
    buffer_append_text(&field, quoted ? "\"" : "");
    if (is_formula(*from)) {
        buffer_print(&field, "\\x%02x", (unsigned)(uint8_t)*from++);
    }
    for (; *from != '\0'; from++) {
        if (*from == '"') {
            buffer_append_byte(&field, '"');
        }
        buffer_append_byte(&field, (uint8_t)*from);
    }
    buffer_append_text(&field, quoted ? "\"" : "");
    buffer_finish(text);
    *text = field;
}

size_t
text_unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        const int value = escape_value(from);

        if (value > 0) {
            *to++ = (char)value;
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

size_t
text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++) {
        columns += !is_continuation((uint8_t)*text);
    }
    return columns;
}

size_t
text_bytes_of_columns(const char *text, size_t columns)
{
    size_t at = 0;

    for (; text[at] != '\0'; at++) {
        if (!is_continuation((uint8_t)text[at]) && columns-- == 0) {
            break;
        }
    }
    return at;
}

bool
text_ends_with(const char *text, size_t length, const char *end)
{
    const size_t size = strlen(end);

    return length > size && memcmp(text + length - size, end, size) == 0;
}

const char *
text_show(char *out, size_t size, const char *text)
{
    struct buffer redacted = {0};
    struct buffer escaped = {0};
    size_t length;

    secret_redact(&redacted, text[0] != '\0' ? text : "''");
    if (buffer_text(&redacted) != NULL) {
        text_escape(&escaped, (const char *)redacted.data);
    }
    buffer_finish(&redacted);
    if (buffer_text(&escaped) == NULL) {
        escaped.size = 0;
    }
    length = escaped.size;
    if (length >= size) {
        length = size - 1;
        while (length > 0 && is_continuation(escaped.data[length])) {
            length--;
        }
    }
    if (length > 0) {
        memcpy(out, escaped.data, length);
    }
    out[length] = '\0';
    buffer_finish(&escaped);
    return out;
}

const char *
text_errno(int error)
{
    switch (error) {
    case EAGAIN:
        return "too many processes or threads; raise RLIMIT_NPROC (ulimit -u) or the "
               "control group's pids.max";
    case EMFILE:
        return "too many open files; raise RLIMIT_NOFILE (ulimit -n)";
    case ENOMEM:
        return "out of memory; raise RLIMIT_AS (ulimit -v) or the control group's "
               "limit";
    case EROFS:
        return "the file system is read-only; name a file elsewhere";
    default:
        return strerror(error);
    }
}
