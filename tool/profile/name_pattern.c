/* SPDX-License-Identifier: MIT */
/* name_pattern.c - translates Go's regular expressions into POSIX's extended ones. */
#include "profile/name_pattern.h"

#include "base/buffer.h"

#include <ctype.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* regcomp() recurses for each group, copies what is repeated, and takes memory by the
 * square of that. The expressions that pprof itself writes have 1 KiB and no counts. */
enum { LENGTH_MAX = 4 * 1024, EXPANDED_MAX = 16 * 1024, DEPTH_MAX = 50 };

/* Characters that have a meaning in an extended expression, and must be escaped. */
#define SPECIAL ".[]{}()*+?|^$\\"

struct translation {
    const char *at; /* what is left of the text */
    struct buffer out;
    unsigned depth;
    size_t expanded; /* its length times all counts of repetitions */
    bool ignore_case;
    const char *why; /* why it cannot be translated; NULL: no reason yet */
};

static bool
refuse_pattern(struct translation *to, const char *why)
{
    to->why = why;
    return false;
}

static void
put_literal(struct translation *to, char byte)
{
    if (strchr(SPECIAL, byte) != NULL) {
        buffer_append_byte(&to->out, '\\');
    }
    buffer_append_byte(&to->out, (uint8_t)byte);
}

/* --- classes: sets of bytes --- */

typedef bool byte_set[UINT8_MAX + 1];

/* Add the bytes of a class such as \d, or all others if the letter is a capital. */
static bool
add_escaped_class(byte_set set, char letter)
{
    const bool others = isupper((unsigned char)letter) != 0;
    const int kind = tolower((unsigned char)letter);

    if (strchr("dsw", kind) == NULL) {
        return false;
    }
    for (int byte = 1; byte <= UINT8_MAX; byte++) {
        const bool within = kind == 'd' ? byte >= '0' && byte <= '9'
                            : kind == 's'
                                ? strchr("\t\n\f\r ", byte) != NULL
                                : byte < 0x80 && (isalnum(byte) || byte == '_');

        set[byte] |= within != others;
    }
    return true;
}

/* Add those of [:name:]; *at is behind the colon. Returns false if there is none. */
static bool
add_named_class(byte_set set, const char **at)
{
    static const struct {
        const char *name;
        int (*has)(int byte);
    } classes[] = {
        {"alnum:]", isalnum}, {"alpha:]", isalpha}, {"blank:]", isblank},
        {"cntrl:]", iscntrl}, {"digit:]", isdigit}, {"graph:]", isgraph},
        {"lower:]", islower}, {"print:]", isprint}, {"punct:]", ispunct},
        {"space:]", isspace}, {"upper:]", isupper}, {"xdigit:]", isxdigit},
    };

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strncmp(*at, classes[i].name, strlen(classes[i].name)) == 0) {
            for (int byte = 1; byte < 0x80; byte++) {
                set[byte] |= classes[i].has(byte) != 0;
            }
            *at += strlen(classes[i].name);
            return true;
        }
    }
    return false;
}

/* Return the control character that a letter after a backslash stands for, or 0. */
static char
control_of(char letter)
{
    static const char letters[] = "tnrfva";
    static const char controls[] = "\t\n\r\f\v\a";
    const char *const found = strchr(letters, letter);

    return letter != '\0' && found != NULL ? controls[found - letters] : '\0';
}

/* Read one character of a class. Returns 0 if it is not one of ASCII, or an escape that
 * is not known. */
static unsigned char
read_member(struct translation *to)
{
    char byte = *to->at++;

    if (byte == '\\') {
        byte = *to->at;
        to->at += byte != '\0';
        byte = ispunct((unsigned char)byte) ? byte : control_of(byte);
    }
    return (unsigned char)byte < 0x80 ? (unsigned char)byte : 0;
}

/* Add one character, range or class to a set. */
static bool
read_members(struct translation *to, byte_set set)
{
    unsigned char first;
    unsigned char last;

    if (to->at[0] == '[' && to->at[1] == ':') {
        to->at += 2;
        return add_named_class(set, &to->at) ||
               refuse_pattern(to, "a class of unknown name");
    }
    if (to->at[0] == '\\' && to->at[1] != '\0' && add_escaped_class(set, to->at[1])) {
        to->at += 2;
        return true;
    }
    first = read_member(to);
    last = first;
    if (to->at[0] == '-' && to->at[1] != ']' && to->at[1] != '\0') {
        to->at++;
        last = read_member(to);
    }
    if (first == 0 || last < first) {
        return refuse_pattern(
            to, "a class with more than ASCII characters and their ranges");
    }
    for (unsigned byte = first; byte <= last; byte++) {
        set[byte] = true;
    }
    return true;
}

/* Put a set as a bracket expression, with ']', '^' and '-' at the positions where they
 * have no meaning. */
static bool
put_set(struct translation *to, const byte_set set)
{
    static const char last[] = "[^-";
    const size_t start = to->out.size;

    buffer_append_byte(&to->out, '[');
    if (set[']']) {
        buffer_append_byte(&to->out, ']');
    }
    for (int byte = 1; byte <= UINT8_MAX; byte++) {
        if (set[byte] && byte != ']' && strchr(last, byte) == NULL) {
            buffer_append_byte(&to->out, (uint8_t)byte);
        }
    }
    if (set['^'] && to->out.size == start + 1) {
        /* "[^" would be a negation; what may be beside it can stand first. */
        to->out.size = start;
        buffer_append_text(&to->out, set['['] && set['-'] ? "[[^-]"
                                     : set['[']           ? "[[^]"
                                     : set['-']           ? "[-^]"
                                                          : "\\^");
        return true;
    }
    for (const char *byte = last; *byte != '\0'; byte++) {
        if (set[(unsigned char)*byte]) {
            buffer_append_byte(&to->out, (uint8_t)*byte);
        }
    }
    if (to->out.size == start + 1) {
        return refuse_pattern(to, "a class without characters");
    }
    buffer_append_byte(&to->out, ']');
    return true;
}

/* Translate a class; to->at is behind its bracket. */
static bool
take_class(struct translation *to)
{
    const bool others = *to->at == '^';
    byte_set set = {false};

    to->at += others;
    do {
        if (*to->at == '\0') {
            return refuse_pattern(to, "a class without an end");
        }
        if (!read_members(to, set)) {
            return false;
        }
    } while (*to->at != ']');
    to->at++;
    for (int byte = 1; others && byte <= UINT8_MAX; byte++) {
        set[byte] = !set[byte];
    }
    return put_set(to, set);
}

/* --- all else --- */

/* Translate what is behind a backslash. */
static bool
take_escape(struct translation *to)
{
    const char byte = *to->at;
    byte_set set = {false};

    if (byte == '\0') {
        return refuse_pattern(to, "a backslash at the end");
    }
    to->at++;
    if (ispunct((unsigned char)byte)) {
        put_literal(to, byte);
        return true;
    }
    if (control_of(byte) != '\0') {
        put_literal(to, control_of(byte));
        return true;
    }
    if (byte == 'b' || byte == 'B') { /* POSIX has none, but regcomp() of glibc has */
        buffer_append_byte(&to->out, '\\');
        buffer_append_byte(&to->out, (uint8_t)byte);
        return true;
    }
    return add_escaped_class(set, byte)
               ? put_set(to, set)
               : refuse_pattern(to, "an escape that is not one of \\d \\s \\w \\b");
}

/* Translate what is behind an opening parenthesis. */
static bool
take_group(struct translation *to)
{
    if (++to->depth > DEPTH_MAX) {
        return refuse_pattern(to, "groups too deep in each other");
    }
    if (to->at[0] == '?') {
        const char *const name =
            strncmp(to->at, "?P<", 3) == 0 ? strchr(to->at, '>') : NULL;

        if (to->at[1] != ':' && name == NULL) {
            return refuse_pattern(to, "flags within it");
        }
        to->at = name != NULL ? name + 1 : to->at + 2;
    }
    buffer_append_byte(&to->out, '(');
    return true;
}

/* Translate a count of repetitions, or a brace that is none. */
static bool
take_count(struct translation *to)
{
    unsigned least = 0;
    unsigned most = 0;
    int size = 0; /* set by %n only if all before it is there */

    if (sscanf(to->at, "%4u,%4u}%n", &least, &most, &size) < 2 || size == 0) {
        if (sscanf(to->at, "%4u}%n", &least, &size) < 1 || size == 0) {
            sscanf(to->at, "%4u,}%n", &least, &size);
        }
        most = least;
    }
    if (size == 0 || !isdigit((unsigned char)*to->at)) {
        put_literal(to, '{');
        return true;
    }
    to->expanded *= most > 0 ? most : 1;
    if (most < least || to->expanded > EXPANDED_MAX) {
        return refuse_pattern(to, "too many repetitions");
    }
    buffer_append_byte(&to->out, '{');
    buffer_append(&to->out, to->at, (size_t)size);
    to->at += size;
    return true;
}

/* Translate the next character or construct of the pattern. Returns false if it is
 * refused. */
static bool
take_one(struct translation *to)
{
    const char byte = *to->at++;

    switch (byte) {
    case '\\':
        return take_escape(to);
    case '[':
        return take_class(to);
    case '(':
        return take_group(to);
    case ')':
        to->depth -= to->depth > 0;
        break;
    case '{':
        if (!take_count(to)) {
            return false;
        }
        to->at += *to->at == '?' && to->at[-1] == '}';
        return true;
    case '*':
    case '+':
    case '?':
        /* Go's "*?" prefers few repetitions, "*" many: a whole name matches both. */
        to->at += *to->at == '?';
        break;
    case ']':
    case '}':
        put_literal(to, byte);
        return true;
    default:
        break;
    }
    buffer_append_byte(&to->out, (uint8_t)byte);
    return true;
}

/* Translate a pattern in Go's syntax to a POSIX expression that whole names match.
 * Returns false if it is refused. */
static bool
translate(struct translation *to, const char *text)
{
    to->at = text;
    to->expanded = strlen(text);
    if (to->expanded > LENGTH_MAX) {
        return refuse_pattern(to, "more than 4 KiB");
    }
    if (strncmp(text, "(?i)", 4) == 0) {
        to->ignore_case = true;
        to->at += 4;
    }
    buffer_append_text(&to->out, "^(");
    while (*to->at != '\0') {
        if (!take_one(to)) {
            return false;
        }
    }
    buffer_append_text(&to->out, ")$");
    return buffer_text(&to->out) != NULL || refuse_pattern(to, "out of memory");
}

/* Have this thread use the C locale, since names are bytes whatever the locale is. Sets
 * *bytes to it, and returns the previous locale, both for restore_locale. */
static locale_t
use_c_locale(locale_t *bytes)
{
    *bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *bytes != (locale_t)0 ? uselocale(*bytes) : (locale_t)0;
}

/* Undo use_c_locale. */
static void
restore_locale(locale_t before, locale_t bytes)
{
    if (bytes != (locale_t)0) {
        uselocale(before);
        freelocale(bytes);
    }
}

/* Compile the translated expression. Returns false with the reason in why. */
static bool
compile(struct name_pattern *pattern, const struct translation *from, char *why,
        size_t why_size)
{
    const int flags = REG_EXTENDED | REG_NOSUB | (from->ignore_case ? REG_ICASE : 0);
    locale_t bytes;
    const locale_t before = use_c_locale(&bytes);
    const int failure = regcomp(&pattern->regex, (const char *)from->out.data, flags);

    if (failure != 0) {
        regerror(failure, &pattern->regex, why, why_size);
    }
    restore_locale(before, bytes);
    pattern->compiled = failure == 0;
    return pattern->compiled;
}

bool
name_pattern_compile(struct name_pattern *pattern, const char *text, char *why,
                     size_t why_size)
{
    struct translation to = {.at = text};
    bool done = translate(&to, text);

    *pattern = (struct name_pattern){.compiled = false};
    if (!done) {
        snprintf(why, why_size, "%s", to.why);
    } else {
        done = compile(pattern, &to, why, why_size);
    }
    buffer_finish(&to.out);
    return done;
}

enum name_match
name_pattern_match(const struct name_pattern *pattern, const char *name)
{
    int failure;

    if (!pattern->compiled) {
        return NAME_DIFFERS;
    }
    failure = regexec(&pattern->regex, name, 0, NULL, 0);
    return failure == 0            ? NAME_MATCHES
           : failure == REG_ESPACE ? NAME_MATCH_NO_MEMORY
                                   : NAME_DIFFERS;
}

void
name_pattern_finish(struct name_pattern *pattern)
{
    if (pattern->compiled) {
        regfree(&pattern->regex);
    }
    pattern->compiled = false;
}
