/* SPDX-License-Identifier: MIT */
/*
 * function_names.c - numbers and names functions.
 *
 * Functions that were inlined are distinguished among themselves: beside one with
 * machine code they always stand with what they are inlined in.
 */
#include "view/export/function_names.h"

#include "base/hash_index.h"

#include <stdlib.h>
#include <string.h>

/* naming - the names while they are made. */
struct naming {
    const struct profile *profile;
    struct function_names *names;
    enum display_detail least;
    uint32_t *numbers; /* by identity: number plus 1; 0: none yet */
    bool *inlined;     /* by number */
};

/* Return the number of the function with an identity, which gets one when its
 * first row is met. */
static uint32_t
number_of(struct naming *naming, uint32_t identity, const struct profile_row *row,
          uint32_t function, bool inlined)
{
    struct function_names *const names = naming->names;

    if (naming->numbers[identity] == 0) {
        names->items[names->count] = (struct display_name){
            .function = &naming->profile->functions[function],
            .image = &naming->profile->images[row->image],
            .identity = identity,
            .detail = naming->least,
        };
        naming->inlined[names->count] = inlined;
        naming->numbers[identity] = (uint32_t)++names->count;
    }
    return naming->numbers[identity] - 1;
}

static void
number_rows(struct naming *naming)
{
    const struct profile *const profile = naming->profile;
    struct function_names *const names = naming->names;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        names->outer[i] =
            number_of(naming, names->identities.outer[i], row,
                      profile_outer_function(profile, row), /* inlined */ false);
        names->inner[i] = names->outer[i];
        if (row->caller != 0) {
            names->inner[i] = number_of(naming, names->identities.inner[i], row,
                                        row->function, /* inlined */ true);
        }
    }
}

/* Raise the details of the names of one kind, inlined or not, so that they differ.
 * Returns false if memory runs out. */
static bool
tell_apart(struct naming *naming, bool inlined)
{
    struct function_names *const names = naming->names;
    struct display_name *const some = calloc(names->count + 1, sizeof(*some));
    size_t count = 0;
    bool done = some != NULL;

    for (size_t i = 0; done && i < names->count; i++) {
        if (naming->inlined[i] == inlined) {
            some[count++] = names->items[i];
        }
    }
    done = done && display_tell_apart(some, count);
    for (size_t i = names->count; done && i-- > 0;) {
        if (naming->inlined[i] == inlined) {
            names->items[i].detail = some[--count].detail;
        }
    }
    free(some);
    return done;
}

bool
function_names_find(const struct profile *profile, enum display_detail least,
                    struct function_names *names)
{
    /* A row is in at most two functions, the outer and the inner one; the numbers of
     * identities are below this too. */
    const size_t most = 2 * profile->row_count + 1;
    struct naming naming = {.profile = profile, .names = names, .least = least};
    bool done;

    *names = (struct function_names){
        .items = calloc(most, sizeof(*names->items)),
        .outer = calloc(most, sizeof(*names->outer)),
        .inner = calloc(most, sizeof(*names->inner)),
    };
    naming.numbers = calloc(most, sizeof(*naming.numbers));
    naming.inlined = calloc(most, sizeof(*naming.inlined));
    done = names->items != NULL && names->outer != NULL && names->inner != NULL &&
           naming.numbers != NULL && naming.inlined != NULL &&
           identities_find(profile, &names->identities);
    if (done) {
        number_rows(&naming);
        done = tell_apart(&naming, /* inlined */ false) &&
               tell_apart(&naming, /* inlined */ true);
    }
    free(naming.numbers);
    free(naming.inlined);
    return done;
}

void
function_names_finish(struct function_names *names)
{
    identities_finish(&names->identities);
    free(names->items);
    free(names->outer);
    free(names->inner);
}

struct display_name *
function_names_outer(const struct profile *profile, const struct identities *identities)
{
    struct display_name *const names = calloc(identities->count + 1, sizeof(*names));
    struct display_name *const some = calloc(identities->count + 1, sizeof(*some));
    size_t count = 0;
    bool done = names != NULL && some != NULL;

    for (size_t i = 0; done && i < profile->row_count + profile->call_count; i++) {
        const uint32_t number = i < profile->row_count
                                    ? identities->outer[i]
                                    : identities->calls[i - profile->row_count];

        if (number != IDENTITY_NONE && names[number].function == NULL) {
            struct display_name *const name = &names[number];

            name->function = identity_function(identities, number, &name->image);
            name->identity = number;
            name->detail = DISPLAY_FULL;
            some[count++] = *name;
        }
    }
    done = done && display_tell_apart(some, count);
    for (size_t i = 0; done && i < count; i++) {
        names[some[i].identity].detail = some[i].detail;
    }
    free(some);
    if (!done) {
        free(names);
    }
    return done ? names : NULL;
}

/* --- short names --- */

/* Append a name and its NUL; with cut it is shortened. */
static void
put(const struct display_name *name, bool cut, struct buffer *out)
{
    struct buffer whole = {0};

    display_function(name->function, name->image, name->detail, &whole);
    if (buffer_text(&whole) == NULL) {
        out->failed = true;
    } else if (cut) {
        display_shorten(buffer_text(&whole), FUNCTION_NAME_COLUMNS, out);
    } else {
        buffer_append_text(out, buffer_text(&whole));
    }
    buffer_append_byte(out, '\0');
    buffer_finish(&whole);
}

bool
function_names_short(const struct function_names *names, struct buffer *out,
                     size_t *starts)
{
    bool *const alike = calloc(names->count + 1, sizeof(*alike));
    bool done = alike != NULL;

    for (int round = 0; done && round < 2; round++) {
        out->size = 0;
        for (size_t i = 0; i < names->count; i++) {
            starts[i] = out->size;
            put(&names->items[i], !alike[i], out);
        }
        done = !out->failed &&
               (round > 0 || display_find_alike(out, starts, names->count, alike));
    }
    free(alike);
    return done;
}

/* --- inlined functions, by index --- */

/* Set the identity of each name: the index of the first name with the same definition,
 * which is name, file and line. Returns false if memory runs out. */
static bool
find_definitions(struct display_name *names, size_t count)
{
    struct hash_index index = {0};
    bool done = true;

    for (size_t i = 0; done && i < count; i++) {
        const struct profile_function *const function = names[i].function;
        const char *const file = identity_file(function);
        const uint32_t hash =
            hash_mix(hash_mix(hash_mix(0, (uint64_t)(uintptr_t)function->name),
                              (uint64_t)(uintptr_t)file),
                     function->start_line);
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&index, hash, &probe)) != HASH_INDEX_NONE &&
               (names[at].function->name != function->name ||
                identity_file(names[at].function) != file ||
                names[at].function->start_line != function->start_line)) {
        }
        names[i].identity = at != HASH_INDEX_NONE ? at : (uint32_t)i;
        done = at != HASH_INDEX_NONE || hash_index_add(&index, hash, (uint32_t)i);
    }
    hash_index_finish(&index);
    return done;
}

/* Functions with an address keep their full names, as only functions that were inlined
 * are compared with each other. */
bool
function_names_inlined(const struct profile *profile, enum display_detail *details)
{
    static const struct profile_image any = {.path = "", .build_id = ""};
    struct display_name *const names = calloc(profile->function_count, sizeof(*names));
    size_t count = 0;
    bool done = names != NULL;

    for (size_t i = 0; done && i < profile->function_count; i++) {
        if (!profile->functions[i].has_address) {
            names[count++] = (struct display_name){.function = &profile->functions[i],
                                                   .image = &any,
                                                   .detail = DISPLAY_FULL};
        }
    }
    done = done && find_definitions(names, count) && display_tell_apart(names, count);
    for (size_t i = profile->function_count; done && i-- > 0;) {
        details[i] =
            profile->functions[i].has_address ? DISPLAY_FULL : names[--count].detail;
    }
    free(names);
    return done;
}
