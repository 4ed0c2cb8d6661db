/* SPDX-License-Identifier: MIT */
/*
 * bolt.c - samples without branches for BOLT, in two forms.
 *
 * Pre-aggregated: "E EVENT", then "S ADDRESS COUNT" for each address; perf2bolt reads
 * it. fdata: "no_lbr EVENT", then "1 FUNCTION OFFSET COUNT"; llvm-bolt reads it. There
 * local functions are NAME/FILE/N, where N counts those of one name and file by their
 * addresses, or NAME/N if the file is unknown. Addresses and offsets are hexadecimal.
 * By the event "cycles" BOLT divides counts of blocks by their instructions.
 */
#include "view/export/export.h"

#include "base/hash_index.h"
#include "view/export/linked_functions.h"
#include "view/export/messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Return the address at which a bucket's hits are counted: its own or, if its function
 * starts later in the bucket, the start of that. */
static uint64_t
place_of(const struct linked_functions *functions, const struct linked_code *code,
         size_t bucket)
{
    const uint64_t start = functions->list.items[functions->function_of[bucket]].start;
    const uint64_t address = code->buckets[bucket].address;

    return start > address ? start : address;
}

/* Return whether a bucket is in a function whose hits were not dropped. */
static bool
is_counted(const struct linked_functions *functions, size_t bucket)
{
    const uint32_t function = functions->function_of[bucket];

    return function != LINKED_NO_FUNCTION && functions->hits[function] > 0;
}

/* Collect the hits of the image and its functions. Returns false as
 * linked_functions_take does; both must be finished in any case. */
static bool
take_functions(struct linked_code *code, struct linked_functions *functions,
               const struct profile *profile, const struct export_options *options,
               struct export_messages *messages)
{
    *functions = (struct linked_functions){.unused = 0};
    return linked_code_take(code, profile, options, LINKED_FILE_NEEDED, messages) &&
           linked_functions_take(functions, code, /* relocations */ true, options,
                                 messages) &&
           linked_functions_check_names(functions, code, options, messages);
}

bool
export_bolt(FILE *out, const struct profile *profile,
            const struct export_options *options, struct export_messages *messages)
{
    struct linked_functions functions;
    struct linked_code code;
    const bool done = take_functions(&code, &functions, profile, options, messages);

    if (done) {
        fputs("E cycles\n", out);
    }
    for (size_t i = 0; done && i < code.count && !ferror(out); i++) {
        if (is_counted(&functions, i)) {
            fprintf(out, "S %" PRIx64 " %" PRIu64 "\n", place_of(&functions, &code, i),
                    code.buckets[i].hits);
        }
    }
    linked_functions_finish(&functions);
    linked_code_finish(&code);
    return done;
}

/* --- fdata --- */

static bool
same_name(const struct sym_symbol *a, const struct sym_symbol *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* Return the first local function with the name and file of a function, which may be
 * this one; HASH_INDEX_NONE if memory runs out. */
static uint32_t
find_first(const struct sym_symbol_list *list, struct hash_index *index,
           uint32_t function)
{
    const struct sym_symbol *const item = &list->items[function];
    const uint32_t hash = hash_mix(hash_bytes(item->name, strlen(item->name)),
                                   hash_bytes(item->file, strlen(item->file)));
    size_t probe = 0;
    uint32_t found;

    while ((found = hash_index_find(index, hash, &probe)) != HASH_INDEX_NONE) {
        if (same_name(&list->items[found], item)) {
            return found;
        }
    }
    return hash_index_add(index, hash, function) ? function : HASH_INDEX_NONE;
}

/* Number the local functions of one name and file from 1 on, by address. Returns the
 * numbers by function, for free(); NULL if memory runs out. */
static uint32_t *
number_locals(const struct sym_symbol_list *list)
{
    uint32_t *const numbers = calloc(2 * list->count, sizeof(*numbers));
    /* Behind them: by first function of a name and file, how many were numbered. */
    uint32_t *const counts = numbers == NULL ? NULL : numbers + list->count;
    struct hash_index index = {0};
    bool done = numbers != NULL;

    for (uint32_t i = 0; done && i < list->count; i++) {
        if (list->items[i].local) {
            const uint32_t first = find_first(list, &index, i);

            done = first != HASH_INDEX_NONE;
            numbers[i] = done ? ++counts[first] : 0;
        }
    }
    hash_index_finish(&index);
    if (!done) {
        free(numbers);
        return NULL;
    }
    return numbers;
}

static void
put_name(FILE *out, const struct sym_symbol *item, uint32_t number)
{
    fputs(item->name, out);
    if (item->local && item->file[0] != '\0') {
        fprintf(out, "/%s", item->file);
    }
    if (item->local) {
        fprintf(out, "/%" PRIu32, number);
    }
}

static bool
put_fdata(FILE *out, const struct linked_functions *functions,
          const struct linked_code *code)
{
    uint32_t *const numbers = number_locals(&functions->list);

    if (numbers == NULL) {
        return false;
    }
    fputs("no_lbr cycles\n", out);
    for (size_t i = 0; i < code->count && !ferror(out); i++) {
        if (is_counted(functions, i)) {
            const uint32_t function = functions->function_of[i];
            const struct sym_symbol *const item = &functions->list.items[function];

            fputs("1 ", out);
            put_name(out, item, numbers[function]);
            fprintf(out, " %" PRIx64 " %" PRIu64 "\n",
                    place_of(functions, code, i) - item->start, code->buckets[i].hits);
        }
    }
    free(numbers);
    return true;
}

bool
export_bolt_fdata(FILE *out, const struct profile *profile,
                  const struct export_options *options,
                  struct export_messages *messages)
{
    struct linked_functions functions;
    struct linked_code code;
    const bool done = take_functions(&code, &functions, profile, options, messages) &&
                      put_fdata(out, &functions, &code);

    linked_functions_finish(&functions);
    linked_code_finish(&code);
    return done;
}
