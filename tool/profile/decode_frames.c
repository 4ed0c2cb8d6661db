/* SPDX-License-Identifier: MIT */
/*
 * decode_frames.c - drop_frames and keep_frames, as pprof obeys them: a frame whose
 * whole name drop_frames matches and keep_frames does not is dropped, with all that it
 * called. So hits of an allocator become those of its caller. From the outermost on,
 * frames before the first one that does not match are kept, or a sample could lose all
 * of its frames.
 */
#include "profile/decoder.h"

#include <stdio.h>
#include <string.h>

/* Compile the expression in a string of the file; of string 0 there is none. If it is
 * refused, drop_why says so. Returns false with the error set if there is no such
 * string or memory runs out. */
static bool
compile(struct decoder *decoder, const char *field, uint64_t string,
        struct name_pattern *pattern)
{
    const char *text;
    char why[80];

    if (string == 0) {
        return true;
    }
    text = decoder_raw_string(decoder, string);
    if (text == NULL) {
        return false;
    }
    if (text[0] != '\0' && !name_pattern_compile(pattern, text, why, sizeof(why))) {
        snprintf(decoder->drop_why, sizeof(decoder->drop_why), "%s is not obeyed: %s",
                 field, why);
    }
    return true;
}

bool
decoder_compile_frames(struct decoder *decoder)
{
    if (!compile(decoder, "drop_frames", decoder->drop_frames, &decoder->drop) ||
        (decoder->drop.compiled &&
         !compile(decoder, "keep_frames", decoder->keep_frames, &decoder->keep))) {
        return false;
    }
    if (decoder->drop_why[0] != '\0') {
        /* Without what is to be kept, more would be dropped than the file asks for. */
        name_pattern_finish(&decoder->drop);
    }
    return true;
}

/* Return the length of a name without the arguments of a function. */
static size_t
length_without_arguments(const char *name)
{
    /* These have a parenthesis that begins no arguments. */
    static const char *const own[] = {"(anonymous namespace)", "operator()"};
    const char *at = name;

    while (*at != '\0') {
        size_t skip = 0;

        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
            if (strncmp(at, own[i], strlen(own[i])) == 0) {
                skip = strlen(own[i]);
            }
        }
        if (skip == 0 && *at == '(') {
            break;
        }
        at += skip > 0 ? skip : 1;
    }
    return (size_t)(at - name);
}

bool
decoder_drop_function(struct decoder *decoder, const char *name,
                      struct function *function)
{
    enum name_match match;

    if (!decoder->drop.compiled || name[0] == '\0') {
        return true;
    }
    /* PowerPC's first ABI has a dot before names. */
    name += name[0] == '.';
    decoder->text.size = 0;
    buffer_append(&decoder->text, name, length_without_arguments(name));
    name = buffer_text(&decoder->text);
    match =
        name != NULL ? name_pattern_match(&decoder->drop, name) : NAME_MATCH_NO_MEMORY;
    if (match == NAME_MATCHES) {
        const enum name_match kept = name_pattern_match(&decoder->keep, name);

        function->dropped = kept == NAME_DIFFERS;
        match = kept;
    }
    return match != NAME_MATCH_NO_MEMORY || decoder_fail_memory(decoder);
}

void
decoder_drop_lines(struct decoder *decoder, struct location *location)
{
    struct line *const lines = (void *)decoder->lines.data;
    const size_t count = COUNT(decoder->lines, *lines);
    size_t inner = count; /* lines to drop: an outermost one, and all inlined in it */

    /* The outermost is the last one. */
    while (inner > 0 && !lines[inner - 1].dropped) {
        inner--;
    }
    if (inner == 0) {
        return;
    }
    if (inner == count) {
        /* The lines stay: a stack that has no caller to keep keeps this location. */
        location->drop = DROP_ALL;
        return;
    }
    location->drop = DROP_INLINED;
    memmove(lines, lines + inner, (count - inner) * sizeof(*lines));
    decoder->lines.size = (count - inner) * sizeof(*lines);
}

bool
decoder_drop_frames(struct decoder *decoder, struct sample *sample)
{
    const uint64_t *const stack = (const void *)decoder->stack.data;
    const size_t count = COUNT(decoder->stack, *stack);
    bool caller_stays = false;
    size_t leaf = 0; /* index in stack of the innermost one that stays */

    /* From the outermost on, find the first one to drop that has a caller that stays;
     * with it goes all that it called. */
    for (size_t i = count; i > 0; i--) {
        const struct location *const location = decoder_find(
            decoder, &decoder->locations, sizeof(*location), stack[i - 1], "location");

        if (location == NULL) {
            return false;
        }
        if (location->drop == DROP_NOTHING) {
            caller_stays = true;
        } else if (caller_stays) {
            leaf = location->drop == DROP_ALL ? i : i - 1;
            decoder->dropped++;
            break;
        }
    }
    if (leaf < count) {
        sample->leaf = stack[leaf];
        sample->callers = leaf + 1;
    }
    return true;
}
