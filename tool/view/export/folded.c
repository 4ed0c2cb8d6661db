/* SPDX-License-Identifier: MIT */
/*
 * folded.c - folded stacks, what flame graphs are made of: a line for each stack, its
 * frames from the process to the innermost function with a semicolon between them, a
 * blank, the hits.
 *
 * A semicolon in a name is written as \x3b, by the rule of all other escapes.
 */
#include "view/export/export.h"
#include "view/export/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Write a name, with its semicolons escaped. */
static void
put_frame(FILE *out, const char *name)
{
    for (;;) {
        const size_t plain = strcspn(name, ";");

        fwrite(name, 1, plain, out);
        if (name[plain] == '\0') {
            return;
        }
        fputs("\\x3b", out);
        name += plain + 1;
    }
}

static void
put_stack(FILE *out, const struct export_stacks *stacks, const struct buffer *path,
          uint64_t hits)
{
    const uint32_t *frames = (const uint32_t *)(const void *)path->data;
    const size_t depth = path->size / sizeof(*frames);

    for (size_t i = 0; i < depth; i++) {
        if (i > 0) {
            fputc(';', out);
        }
        put_frame(out, export_stacks_name(stacks, frames[i]));
    }
    fprintf(out, " %" PRIu64 "\n", hits);
}

static bool
put_stacks(FILE *out, const struct export_stacks *stacks, const uint64_t *hits)
{
    struct buffer path = {0};
    bool done = true;

    for (uint32_t i = 1; done && i < stacks->node_count && !ferror(out); i++) {
        if (hits[i] > 0) {
            done = export_stacks_path(stacks, i, &path);
            if (done) {
                put_stack(out, stacks, &path, hits[i]);
            }
        }
    }
    buffer_finish(&path);
    return done;
}

bool
export_folded(FILE *out, const struct profile *profile,
              const struct export_options *options, struct export_messages *messages)
{
    struct export_stacks stacks = {0};
    uint64_t *hits = NULL;
    bool done = false;

    (void)messages;
    if (export_stacks_build(&stacks, profile, /* places */ false)) {
        hits = export_stacks_hits(&stacks, profile, options->source);
        done = hits != NULL && put_stacks(out, &stacks, hits);
    }
    free(hits);
    export_stacks_finish(&stacks);
    return done;
}
