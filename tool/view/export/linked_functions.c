/* SPDX-License-Identifier: MIT */
/* linked_functions.c - reads the list, finds the function of each bucket, and adds up
 * its hits. */
#include "view/export/linked_functions.h"

#include "base/buffer.h"
#include "base/text.h"
#include "view/export/messages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many functions are tried for a bucket. Few start inside of another one; a forged
 * list may have many. */
enum { INNER_FUNCTIONS_MAX = 64 };

uint64_t
linked_functions_end(const struct linked_functions *functions, uint32_t function)
{
    const struct sym_symbol_list *const list = &functions->list;
    const struct sym_symbol *const item = &list->items[function];
    size_t next = (size_t)function + 1;

    if (item->size > 0) {
        return item->size <= UINT64_MAX - item->start ? item->start + item->size
                                                      : UINT64_MAX;
    }
    while (next < list->count && list->items[next].start == item->start) {
        next++;
    }
    return next < list->count ? list->items[next].start : item->start + 1;
}

/* Return how many functions start below an address. */
static size_t
count_below(const struct sym_symbol_list *list, uint64_t address)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->items[middle].start < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Return the function that a bucket belongs to: of those that overlap it, the one that
 * begins last; of several that begin there, the first in the list, which is a global
 * one if there is one. LINKED_NO_FUNCTION: none overlaps it. */
static uint32_t
find_function(const struct linked_functions *functions, uint64_t address,
              uint64_t bytes)
{
    const struct sym_symbol_list *const list = &functions->list;
    const size_t below = count_below(list, address + bytes);

    for (size_t i = below; i > 0 && below - i < INNER_FUNCTIONS_MAX; i--) {
        size_t first = i - 1;

        if (linked_functions_end(functions, (uint32_t)first) <= address) {
            continue;
        }
        while (first > 0 && list->items[first - 1].start == list->items[first].start) {
            first--;
        }
        return (uint32_t)first;
    }
    return LINKED_NO_FUNCTION;
}

/* Read the list of functions. Returns false with the reason in messages->error, or
 * if memory runs out. */
static bool
read_list(struct linked_functions *functions, const struct linked_code *code,
          bool relocations, const struct export_options *options,
          struct export_messages *messages)
{
    char name[128];
    const int error = sym_symbol_list_read(sym_image_descriptor(code->file.image), 0,
                                           &functions->list);

    linked_code_name(code, name, sizeof(name));
    if (error != 0) {
        return error == -ENOMEM
                   ? false
                   : export_refuse(messages, options, "the symbols of %s: %s", name,
                                   strerror(-error));
    }
    if (functions->list.count == 0 || functions->list.count >= LINKED_NO_FUNCTION) {
        return export_refuse(messages, options,
                             "%s has no symbol table: link it without -s, and do not "
                             "strip it",
                             name);
    }
    if (relocations && !functions->list.relocations) {
        return export_refuse(messages, options,
                             "%s has no relocations: link it with -Wl,--emit-relocs",
                             name);
    }
    return true;
}

bool
linked_functions_take(struct linked_functions *functions,
                      const struct linked_code *code, bool relocations,
                      const struct export_options *options,
                      struct export_messages *messages)
{
    *functions = (struct linked_functions){.unused = 0};
    if (!read_list(functions, code, relocations, options, messages)) {
        return false;
    }
    functions->function_of = calloc(code->count, sizeof(*functions->function_of));
    functions->hits = calloc(functions->list.count, sizeof(*functions->hits));
    if (functions->function_of == NULL || functions->hits == NULL) {
        return false;
    }
    for (size_t i = 0; i < code->count; i++) {
        const struct linked_bucket *const bucket = &code->buckets[i];
        const uint32_t function =
            find_function(functions, bucket->address, code->bytes);

        functions->function_of[i] = function;
        if (function == LINKED_NO_FUNCTION) {
            functions->unused += bucket->hits;
        } else {
            functions->hits[function] += bucket->hits;
        }
    }
    return true;
}

/* Return whether a name can stand in a file of words: escaping leaves it as it is, and
 * it has neither blanks nor special characters. */
static bool
is_word(const char *name, const char *special, struct buffer *scratch)
{
    scratch->size = 0;
    text_escape_word(scratch, name);
    return buffer_text(scratch) != NULL && strcmp(buffer_text(scratch), name) == 0 &&
           strpbrk(name, special) == NULL;
}

bool
linked_functions_check_names(struct linked_functions *functions,
                             const struct linked_code *code,
                             const struct export_options *options,
                             struct export_messages *messages)
{
    struct buffer scratch = {0};
    char name[128];
    bool failed;

    for (size_t i = 0; i < functions->list.count; i++) {
        if (functions->hits[i] > 0 &&
            (!is_word(functions->list.items[i].name, "\\/#", &scratch) ||
             !is_word(functions->list.items[i].file, "\\", &scratch))) {
            functions->unused += functions->hits[i];
            functions->hits[i] = 0;
        }
    }
    failed = scratch.failed;
    buffer_finish(&scratch);
    if (failed) {
        return false;
    }
    if (functions->unused == code->hits) {
        return export_refuse(messages, options, "no hit of %s is in a function",
                             linked_code_name(code, name, sizeof(name)));
    }
    if (functions->unused > 0) {
        export_note(messages, options,
                    "%" PRIu64 " hit%s in no function that can be named %s left out",
                    functions->unused, functions->unused == 1 ? "" : "s",
                    functions->unused == 1 ? "is" : "are");
    }
    return true;
}

void
linked_functions_finish(struct linked_functions *functions)
{
    sym_symbol_list_finish(&functions->list);
    free(functions->function_of);
    free(functions->hits);
    *functions = (struct linked_functions){.unused = 0};
}
