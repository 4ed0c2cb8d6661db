/* SPDX-License-Identifier: MIT */
/*
 * symbol_order.c - functions with hits, those first that have most hits for their size,
 * one on a line, for lld's --symbol-ordering-file.
 */
#include "view/export/export.h"

#include "base/string_set.h"
#include "view/export/linked_functions.h"
#include "view/export/messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* placed - a function, with what its hits per byte are computed from. */
struct placed {
    uint64_t hits;
    uint64_t size;
    uint64_t start;
    const char *name;
};

/* Compare functions: most hits per byte first, then by address. Products avoid
 * division; they need 128 bits. */
static int
compare_density(const void *left, const void *right)
{
    const struct placed *const a = left;
    const struct placed *const b = right;
    const wide one = (wide)a->hits * b->size;
    const wide other = (wide)b->hits * a->size;

    if (one != other) {
        return one > other ? -1 : 1;
    }
    return (a->start > b->start) - (a->start < b->start);
}

/* Write each name once: lld places local functions of one name together. A symbol
 * version at the end of a name is left out. Returns false if memory ran out. */
static bool
put_names(FILE *out, const struct placed *placed, size_t count)
{
    struct string_set names = {0};
    bool done = true;

    for (size_t i = 0; done && i < count && !ferror(out); i++) {
        const size_t size = strcspn(placed[i].name, "@");
        const size_t known = names.count;

        done = string_set_add(&names, placed[i].name, size) != HASH_INDEX_NONE;
        if (names.count > known) {
            fwrite(placed[i].name, 1, size, out);
            fputc('\n', out);
        }
    }
    string_set_finish(&names);
    return done;
}

/* Write the functions with hits in order. Returns false if memory runs out. */
static bool
put_functions(FILE *out, const struct linked_functions *functions)
{
    struct placed *const placed = calloc(functions->list.count, sizeof(*placed));
    size_t count = 0;
    bool done;

    if (placed == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < functions->list.count; i++) {
        const struct sym_symbol *const item = &functions->list.items[i];

        if (functions->hits[i] > 0) {
            placed[count++] = (struct placed){
                .hits = functions->hits[i],
                .size = linked_functions_end(functions, i) - item->start,
                .start = item->start,
                .name = item->name,
            };
        }
    }
    qsort(placed, count, sizeof(*placed), compare_density);
    done = put_names(out, placed, count);
    free(placed);
    return done;
}

/* Drop the hits of the linker's stubs, which the linker does not place by name. */
static void
drop_stubs(struct linked_functions *functions)
{
    for (size_t i = 0; i < functions->list.count; i++) {
        const char *const name = functions->list.items[i].name;
        const size_t length = strlen(name);

        if (name[0] == '@' || (length > 4 && strcmp(name + length - 4, "@plt") == 0)) {
            functions->unused += functions->hits[i];
            functions->hits[i] = 0;
        }
    }
}

bool
export_symbol_order(FILE *out, const struct profile *profile,
                    const struct export_options *options,
                    struct export_messages *messages)
{
    struct linked_functions functions = {.unused = 0};
    struct linked_code code;
    bool done =
        linked_code_take(&code, profile, options, LINKED_FILE_NEEDED, messages) &&
        linked_functions_take(&functions, &code, /* relocations */ false, options,
                              messages);

    if (done) {
        drop_stubs(&functions);
        done = linked_functions_check_names(&functions, &code, options, messages) &&
               put_functions(out, &functions);
    }
    linked_functions_finish(&functions);
    linked_code_finish(&code);
    return done;
}
