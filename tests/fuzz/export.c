/* SPDX-License-Identifier: MIT */
/*
 * export.c - hostile profile files in every form that they are exported to: text is
 * harmless, and the hits of folded stacks add up.
 *
 * The first byte chooses source, image and rows; the rest is a profile as in pprof.c.
 */
#include "harmless.h"

#include "profile/pprof.h"
#include "view/export/export.h"
#include "view/export/flames.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

static void
require_sum(const char *text, const struct profile *profile, size_t source)
{
    uint64_t expected = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        expected += profile->rows[i].hits[source];
    }
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        const char *blank = end;

        require(end != NULL);
        while (*blank != ' ') {
            require(--blank > text);
        }
        sum += strtoull(blank + 1, NULL, 10);
        text = end + 1;
    }
    require(sum == expected);
}

static void
export_as(const char *name, const struct profile *profile,
          const struct export_options *options)
{
    const struct export_format *format = export_format_find(name);
    struct export_messages messages;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool done;

    require(format != NULL && out != NULL);
    if (format->one_source && profile->source_count == 0) {
        fclose(out);
        free(text);
        return;
    }
    done = export_write(out, profile, format, options, &messages);
    require(fclose(out) == 0);
    require(done == (messages.error[0] == '\0'));
    require(strnlen(messages.error, sizeof(messages.error)) < sizeof(messages.error));
    require_harmless(messages.error, strlen(messages.error));
    require_harmless(messages.note, strlen(messages.note));
    if (done && strcmp(name, "pprof") != 0 && strcmp(name, "gmon") != 0 &&
        strcmp(name, "gcc-afdo") != 0) {
        require_harmless(text, size); /* of the others people read the text */
    }
    if (done && strcmp(name, "folded") == 0) {
        require_sum(text, profile, options->source);
    }
    free(text);
}

/* Read the flame graphs: a node has what those below it have, and the root all. */
static void
require_flames(struct flames *flames, const struct profile *profile,
               const struct profile *old)
{
    require(flames_read(flames, profile, old));
    for (size_t i = 0; i < flames->count; i++) {
        const struct flame *const tree = &flames->sources[i].tree;
        uint64_t sum = 0;
        bool exact = true;

        for (size_t node = 0; node < tree->count; node++) {
            require(node == 0 || tree->nodes[node].parent < node);
            require(tree->nodes[node].total[FLAME_NEW] <=
                    tree->nodes[tree->nodes[node].parent].total[FLAME_NEW]);
            exact = exact && !__builtin_add_overflow(
                                 sum, tree->nodes[node].self[FLAME_NEW], &sum);
        }
        require(!exact || sum == tree->nodes[0].total[FLAME_NEW]);
    }
}

static void
export_all(const struct profile *profile, uint8_t choice)
{
    struct flames flames = {0};
    struct export_options options = {
        .source = profile->source_count > 0 ? choice % profile->source_count : 0,
        .image = profile->image_count > 0 && (choice & 1) != 0
                     ? profile->images[choice % profile->image_count].path
                     : NULL,
        .rows = choice % 3,
    };
    char *names = strdup(export_format_names());
    char *rest = names;
    char *name;

    require(names != NULL);
    if (profile_has_stacks(profile)) {
        require_flames(&flames, profile, (choice & 2) != 0 ? profile : NULL);
        options.flames = &flames;
    }
    while ((name = strsep(&rest, ", ")) != NULL) {
        if (name[0] != '\0') {
            export_as(name, profile, &options);
        }
    }
    flames_finish(&flames);
    free(names);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_error error;
    struct profile *profile;

    if (size == 0) {
        return 0;
    }
    profile = pprof_decode(data + 1, size - 1, &error);
    if (profile != NULL) {
        export_all(profile, data[0]);
        profile_delete(profile);
    }
    return 0;
}
