/* SPDX-License-Identifier: MIT */
/*
 * display.c - shortens names of C++ functions and distinguishes rows.
 *
 * Names are shortened as text: they were demangled by a process without rights, and its
 * result is the only input here. A name that is not understood stays whole.
 */
#include "profile/display.h"

#include "base/hash_index.h"
#include "base/path.h"
#include "base/text.h"
#include "profile/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- C++ names --- */

/* Return how many bytes of a demangled name, behind the word "operator", are the symbol
 * of an operator that could be taken for brackets: "()", "<<=" and so on. 0: another
 * symbol, a conversion, or a word such as new. */
static size_t
operator_bytes(const char *at)
{
    static const char *const symbols[] = {"()", "[]", "->*", "->", "<<=", "<=>", "<<",
                                          "<=", "<",  ">>=", ">>", ">=",  ">"};

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        const size_t size = strlen(symbols[i]);

        if (strncmp(at, symbols[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

static bool
is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static const char word_operator[] = "operator";

/* parts - of a demangled name: [name, parameters) is what is shown; a suffix such as
 * " [clone .constprop.0]" follows at suffix. */
struct parts {
    size_t name;
    size_t parameters;
    size_t suffix;
};

/* scan - a walk over a name; depth counts open brackets of all kinds. */
struct scan {
    const char *text;
    size_t at;
    size_t depth;
    /* Behind "operator " or the quotes of a literal's operator: blanks are those of a
     * type, or before new or a suffix. */
    bool conversion;
};

/* Pass over the word operator and a symbol that could be taken for brackets. Returns
 * false if the word is not there. */
static bool
pass_operator(struct scan *scan)
{
    const size_t size = sizeof(word_operator) - 1;
    const char *const at = scan->text + scan->at;
    size_t symbol;

    if (strncmp(at, word_operator, size) != 0 || is_word_byte(at[size]) ||
        (scan->at > 0 && is_word_byte(at[-1]))) {
        return false;
    }
    symbol = operator_bytes(at + size);
    scan->at += size + symbol;
    if (symbol > 0 && strncmp(at + size + symbol, " <", 2) == 0) {
        scan->at++; /* "operator< <int>" */
    } else if ((at[size] == ' ' || at[size] == '"') && scan->depth == 0) {
        scan->conversion = true;
    }
    return true;
}

/* Whether a blank stands before a qualifier of a method, and so in the middle of a
 * name, as in "f() const::{lambda()#1}". */
static bool
is_before_qualifier(const char *text, size_t at)
{
    return at > 0 && text[at - 1] == ')' &&
           (strncmp(text + at, " const", 6) == 0 ||
            strncmp(text + at, " volatile", 9) == 0 || text[at + 1] == '&');
}

/* Find the last parameter list outside of brackets, and the last blank before it.
 * Returns false if there is none, or brackets do not match. */
static bool
find_parts(const char *text, struct parts *parts)
{
    struct scan scan = {.text = text};
    size_t behind_blank = 0;

    parts->parameters = SIZE_MAX;
    while (text[scan.at] != '\0') {
        const char byte = text[scan.at];

        if (byte == 'o' && pass_operator(&scan)) {
            continue;
        }
        if (byte == '[' && scan.depth == 0 && scan.at > 0 && text[scan.at - 1] == ' ') {
            break; /* " [clone .cold]" */
        }
        if (byte == '(' && scan.depth == 0) {
            parts->parameters = scan.at;
            parts->name = behind_blank;
        } else if (byte == ' ' && scan.depth == 0 && !scan.conversion &&
                   !is_before_qualifier(text, scan.at)) {
            behind_blank = scan.at + 1;
        }
        if (byte == '(' || byte == '<' || byte == '[' || byte == '{') {
            scan.depth++;
        } else if (byte == ')' || byte == '>' || byte == ']' || byte == '}') {
            if (scan.depth-- == 0) {
                return false;
            }
        }
        scan.at++;
    }
    parts->suffix = scan.at;
    return scan.depth == 0 && parts->parameters != SIZE_MAX;
}

/* Whether the first size bytes of a name are no return type, but words for what the
 * compiler made, as in "vtable for X" and "virtual thunk to X". */
static bool
is_special(const char *text, size_t size)
{
    return (size >= 5 && strncmp(text + size - 5, " for ", 5) == 0) ||
           (size >= 4 && strncmp(text + size - 4, " to ", 4) == 0);
}

/* Whether a name ends with its parameters: between these and the suffix there may be
 * only qualifiers of methods. */
static bool
ends_in_parameters(const char *text, const struct parts *parts)
{
    size_t at = parts->parameters;
    size_t depth = 0;

    do {
        depth += text[at] == '(';
        depth -= text[at] == ')';
        at++;
    } while (depth > 0 && text[at] != '\0');
    for (; at < parts->suffix; at++) {
        if (text[at] != ' ' && text[at] != '&' && !is_word_byte(text[at])) {
            return false;
        }
    }
    return depth == 0;
}

/* Find the parts of the name of a C++ function. Returns false if it is none, or is not
 * understood. */
static bool
split(const struct profile_function *function, struct parts *parts)
{
    const char *const text = function->name;

    *parts = (struct parts){0};
    if (strncmp(function->system_name, "_Z", 2) != 0 ||
        strcmp(text, function->system_name) == 0 || !find_parts(text, parts) ||
        !ends_in_parameters(text, parts)) {
        return false;
    }
    if (parts->name > 0 && is_special(text, parts->name)) {
        parts->name = 0;
    }
    return parts->name < parts->parameters;
}

/* --- text --- */

static void
escape_part(struct buffer *out, const char *text, size_t size)
{
    char *const copy = strndup(text, size);

    if (copy == NULL) {
        out->failed = true;
        return;
    }
    text_escape(out, copy);
    free(copy);
}

/* Append the name of a function in short, or whole if it is not understood. */
static void
put_short(const struct profile_function *function, struct buffer *out)
{
    struct parts parts;

    if (split(function, &parts)) {
        escape_part(out, function->name + parts.name, parts.parameters - parts.name);
    } else {
        text_escape(out, function->name);
    }
}

void
display_image(const struct profile_image *image, struct buffer *out)
{
    const char *name = path_last_part(image->path);

    text_escape(out, name[0] != '\0' ? name : "[unknown]");
}

/* Append what stands for the name of a function without one. */
static void
put_nameless(const struct profile_function *function, const struct profile_image *image,
             struct buffer *out)
{
    if (!function->has_address) {
        buffer_append_text(out, "[no symbols] in ");
        display_image(image, out);
        return;
    }
    display_image(image, out);
    buffer_print(out, "!0x%" PRIx64, function->address);
}

static void
put_file(const struct profile_function *function, struct buffer *out)
{
    text_escape(out, path_file_name(identity_file(function)));
    if (function->start_line > 0) {
        buffer_print(out, ":%" PRIu32, function->start_line);
    }
}

/* Append where a function is defined, with its address if that is wanted. */
static void
put_definition(const struct profile_function *function, bool address,
               struct buffer *out)
{
    const bool has_file = identity_file(function)[0] != '\0';
    const bool has_address = address && function->has_address;

    if (!has_file && !has_address) {
        return;
    }
    buffer_append_text(out, " (");
    if (has_file) {
        put_file(function, out);
    }
    if (has_address) {
        buffer_print(out, "%s0x%" PRIx64, has_file ? ", " : "", function->address);
    }
    buffer_append_byte(out, ')');
}

void
display_function(const struct profile_function *function,
                 const struct profile_image *image, enum display_detail detail,
                 struct buffer *out)
{
    if (function->name[0] == '\0') {
        put_nameless(function, image, out);
        return;
    }
    if (detail == DISPLAY_SHORT || detail == DISPLAY_FILE ||
        detail == DISPLAY_ADDRESS) {
        put_short(function, out);
    } else {
        text_escape(out, function->name);
    }
    if (detail >= DISPLAY_FILE) {
        put_definition(
            function, detail == DISPLAY_ADDRESS || detail == DISPLAY_FULL_ADDRESS, out);
    }
}

/* --- shortening --- */

enum { ELLIPSIS_COLUMNS = 3 };
static const char ellipsis[] = "...";

/* Append text from which the middle of [start, end) is left out, so that it gets
 * shorter by excess characters or only the ellipsis is left of it. */
static void
put_cut(const char *text, size_t start, size_t end, size_t excess, struct buffer *out)
{
    char *const part = strndup(text + start, end - start);
    size_t columns;
    size_t kept;
    size_t head;

    if (part == NULL) {
        out->failed = true;
        return;
    }
    columns = text_columns(part);
    kept =
        columns > excess + ELLIPSIS_COLUMNS ? columns - excess - ELLIPSIS_COLUMNS : 0;
    head = (kept + 1) / 2;
    buffer_append(out, text, start);
    buffer_append(out, part, text_bytes_of_columns(part, head));
    buffer_append_text(out, ellipsis);
    buffer_append_text(out,
                       part + text_bytes_of_columns(part, columns - (kept - head)));
    buffer_append_text(out, text + end);
    free(part);
}

/* Find the longest text between brackets of a kind that is not inside of others of the
 * kind. "->" closes none. What follows a blank, as "(a.cc:10)", distinguishes
 * functions and stays. Returns false if the ellipsis would be no shorter. */
static bool
find_brackets(const char *text, char opening, char closing, size_t *start, size_t *end)
{
    struct scan scan = {.text = text};
    size_t open = 0;

    *start = *end = 0;
    while (text[scan.at] != '\0') {
        const char byte = text[scan.at];

        if (byte == 'o' && pass_operator(&scan)) {
            continue;
        }
        if (byte == opening && scan.depth++ == 0) {
            open = scan.at + 1;
        } else if (byte == closing && scan.depth > 0 && text[scan.at - 1] != '-' &&
                   --scan.depth == 0 && scan.at - open > *end - *start &&
                   (open < 2 || opening == '<' || text[open - 2] != ' ')) {
            *start = open;
            *end = scan.at;
        }
        scan.at++;
    }
    return *end - *start > ELLIPSIS_COLUMNS;
}

void
display_shorten(const char *text, size_t columns, struct buffer *out)
{
    char *shorter = strdup(text);
    size_t start;
    size_t end;

    while (shorter != NULL && text_columns(shorter) > columns) {
        const size_t excess = text_columns(shorter) - columns;
        struct buffer cut = {0};

        if (!find_brackets(shorter, '<', '>', &start, &end) &&
            !find_brackets(shorter, '(', ')', &start, &end)) {
            start = 0;
            end = strlen(shorter);
        }
        put_cut(shorter, start, end, excess, &cut);
        free(shorter);
        shorter = buffer_text(&cut) == NULL ? NULL : (char *)cut.data;
        if (shorter == NULL) {
            buffer_finish(&cut);
        } else if (start == 0) {
            break; /* the whole name was cut: it fits, or only the ellipsis is left */
        }
    }
    if (shorter == NULL) {
        out->failed = true;
    } else {
        buffer_append_text(out, shorter);
    }
    free(shorter);
}

bool
display_is_cut(const char *text, const char *name)
{
    const char *left_out = strstr(text, ellipsis);
    const size_t before = left_out != NULL ? (size_t)(left_out - text) : 0;

    if (left_out == NULL || strncmp(name, text, before) != 0) {
        return false;
    }
    name += before;
    for (text = left_out + ELLIPSIS_COLUMNS;
         (left_out = strstr(text, ellipsis)) != NULL;
         text = left_out + ELLIPSIS_COLUMNS) {
        const size_t size = (size_t)(left_out - text);
        const char *const at = memmem(name, strlen(name), text, size);

        if (at == NULL) {
            return false;
        }
        name = at + size;
    }
    return strlen(name) >= strlen(text) &&
           strcmp(name + strlen(name) - strlen(text), text) == 0;
}

/* --- distinguishing --- */

/* apart - the state while names are compared: one name for each function. */
struct apart {
    struct display_name *names;
    uint32_t *first; /* by function: index of its first name */
    size_t count;
    uint32_t *first_of; /* by name: number of its function, an index of first */
    struct buffer text; /* of all functions at their present details, with their NULs */
    size_t *starts;
    bool *alike;             /* another function reads the same */
    bool *full;              /* names are to be full */
    struct hash_index index; /* functions by identity */
};

/* Find the different functions of the names, by identity. */
static bool
find_functions(struct apart *apart, size_t name_count)
{
    for (size_t i = 0; i < name_count; i++) {
        const uint32_t hash = hash_mix(0, apart->names[i].identity);
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&apart->index, hash, &probe)) != HASH_INDEX_NONE &&
               apart->names[apart->first[at]].identity != apart->names[i].identity) {
        }
        if (at == HASH_INDEX_NONE) {
            at = (uint32_t)apart->count++;
            apart->first[at] = (uint32_t)i;
            apart->full[at] = apart->names[i].detail == DISPLAY_FULL;
            if (!hash_index_add(&apart->index, hash, at)) {
                return false;
            }
        }
        apart->first_of[i] = at;
    }
    return true;
}

/* Make the text of each function, with its image: what must differ. */
static bool
make_texts(struct apart *apart)
{
    apart->text.size = 0;
    for (size_t i = 0; i < apart->count; i++) {
        const struct display_name *const name = &apart->names[apart->first[i]];

        apart->starts[i] = apart->text.size;
        display_function(name->function, name->image, name->detail, &apart->text);
        buffer_append_byte(&apart->text, '\n');
        display_image(name->image, &apart->text);
        buffer_append_byte(&apart->text, '\0');
    }
    return !apart->text.failed;
}

bool
display_find_alike(const struct buffer *texts, const size_t *starts, size_t count,
                   bool *alike)
{
    struct hash_index index = {0};
    bool done = true;

    for (size_t i = 0; done && i < count; i++) {
        const char *const text = (const char *)texts->data + starts[i];
        const uint32_t hash = hash_bytes(text, strlen(text));
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&index, hash, &probe)) != HASH_INDEX_NONE &&
               strcmp((const char *)texts->data + starts[at], text) != 0) {
        }
        alike[i] = at != HASH_INDEX_NONE;
        if (at != HASH_INDEX_NONE) {
            alike[at] = true;
        } else {
            done = hash_index_add(&index, hash, (uint32_t)i);
        }
    }
    hash_index_finish(&index);
    return done;
}

/* Return the next detail; the same one if there is no more. If parameters do not
 * distinguish a name, they are left out again, unless names are to be full. */
static enum display_detail
next_detail(enum display_detail detail, bool full)
{
    switch (detail) {
    case DISPLAY_SHORT:
        return DISPLAY_FULL;
    case DISPLAY_FULL:
        return full ? DISPLAY_FULL_FILE : DISPLAY_FILE;
    case DISPLAY_FILE:
        return DISPLAY_ADDRESS;
    default:
        return DISPLAY_FULL_ADDRESS;
    }
}

/* Return whether any detail was raised. */
static bool
raise_details(struct apart *apart)
{
    bool raised = false;

    for (size_t i = 0; i < apart->count; i++) {
        struct display_name *const name = &apart->names[apart->first[i]];

        if (apart->alike[i] && name->detail != DISPLAY_FULL_ADDRESS) {
            name->detail = next_detail(name->detail, apart->full[i]);
            raised = true;
        }
    }
    return raised;
}

/* Raise the detail of functions whose texts are the same, until all differ or nothing
 * more is known of them. */
static bool
tell_apart(struct apart *apart, size_t name_count)
{
    if (!find_functions(apart, name_count)) {
        return false;
    }
    do {
        if (!make_texts(apart) || !display_find_alike(&apart->text, apart->starts,
                                                      apart->count, apart->alike)) {
            return false;
        }
    } while (raise_details(apart));
    for (size_t i = 0; i < name_count; i++) {
        apart->names[i].detail = apart->names[apart->first[apart->first_of[i]]].detail;
    }
    return true;
}

bool
display_tell_apart(struct display_name *names, size_t count)
{
    struct apart apart = {
        .names = names,
        .first = calloc(count + 1, sizeof(*apart.first)),
        .first_of = calloc(count + 1, sizeof(*apart.first_of)),
        .starts = calloc(count + 1, sizeof(*apart.starts)),
        .alike = calloc(count + 1, sizeof(*apart.alike)),
        .full = calloc(count + 1, sizeof(*apart.full)),
    };
    const bool done = apart.first != NULL && apart.first_of != NULL &&
                      apart.starts != NULL && apart.alike != NULL &&
                      apart.full != NULL && tell_apart(&apart, count);

    free(apart.first);
    free(apart.first_of);
    free(apart.starts);
    free(apart.alike);
    free(apart.full);
    buffer_finish(&apart.text);
    hash_index_finish(&apart.index);
    return done;
}
