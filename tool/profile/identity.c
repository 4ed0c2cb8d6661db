/* SPDX-License-Identifier: MIT */
/*
 * identity.c - numbers the functions of a profile.
 *
 * First each row gets the part that it is in: a function in one build of an image. Then
 * parts of different builds are joined. Strings of a profile are interned, so they are
 * compared by pointer.
 */
#include "profile/identity.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "base/path.h"
#include "profile/stack_ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum part_kind {
    PART_NAMELESS, /* all code of the build without name and bounds */
    PART_PLACED,   /* by address */
    PART_NAMED,    /* by name and file */
    PART_INLINED,  /* by definition */
    PART_END       /* of stacks, by name: build is 0, and it has no file */
};

/* How parts of different builds are joined: by name and, where that is ambiguous, by
 * name and file. */
enum join_level { JOIN_NAME, JOIN_FILE, JOIN_LEVELS };

/* part - a function in one build. */
struct part {
    enum part_kind kind;
    uint32_t build;
    const struct profile_function *function; /* an entry of it */
    uint32_t joined[JOIN_LEVELS];            /* numbers of the function in joined */
};

/* joined - parts of different builds that are one function. */
struct joined {
    uint32_t part;  /* the first one */
    bool ambiguous; /* a build has several */
    bool several_builds;
};

/* identity_finder - all parts of a profile. */
struct identity_finder {
    const struct profile *profile;
    uint32_t *builds; /* by image: index of the first image of the same build */
    struct part *parts;
    uint32_t *numbers; /* by part: that of its function */
    size_t part_count;
    size_t part_room;
    struct hash_index by_part;
    struct joined *joined[JOIN_LEVELS];
    size_t joined_count;         /* of the level at hand */
    struct hash_index by_joined; /* of the level at hand */
};

const char *
identity_file(const struct profile_function *function)
{
    return function->definition[0] != '\0' ? function->definition : function->file;
}

static uint32_t
hash_pointer(uint32_t hash, const void *pointer)
{
    return hash_mix(hash, (uint64_t)(uintptr_t)pointer);
}

/* --- builds --- */

/* Number the builds of images: an image may be mapped in several places. */
static bool
number_builds(struct identity_finder *finder)
{
    const struct profile_image *const images = finder->profile->images;
    struct hash_index index = {0};
    bool done = true;

    for (size_t i = 0; done && i < finder->profile->image_count; i++) {
        const uint32_t hash =
            hash_pointer(hash_pointer(0, images[i].path), images[i].build_id);
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&index, hash, &probe)) != HASH_INDEX_NONE &&
               (images[at].path != images[i].path ||
                images[at].build_id != images[i].build_id)) {
        }
        finder->builds[i] = at != HASH_INDEX_NONE ? at : (uint32_t)i;
        done = at != HASH_INDEX_NONE || hash_index_add(&index, hash, (uint32_t)i);
    }
    hash_index_finish(&index);
    return done;
}

/* --- parts --- */

/* Return the part that a function is in a build of an image. */
static struct part
part_of(const struct identity_finder *finder, uint32_t image, uint32_t function,
        bool inlined)
{
    struct part part = {.kind = PART_NAMELESS,
                        .build = finder->builds[image],
                        .function = &finder->profile->functions[function]};

    if (inlined) {
        part.kind = PART_INLINED;
    } else if (part.function->has_address) {
        part.kind = PART_PLACED;
    } else if (part.function->name[0] != '\0') {
        part.kind = PART_NAMED;
    }
    return part;
}

static uint32_t
hash_part(const struct part *part)
{
    const struct profile_function *const function = part->function;
    uint32_t hash = hash_mix(hash_mix(0, part->build), part->kind);

    if (part->kind == PART_PLACED) {
        return hash_mix(hash, function->address);
    }
    if (part->kind == PART_NAMELESS) {
        return hash;
    }
    hash = hash_pointer(hash_pointer(hash, function->name), function->system_name);
    hash = hash_pointer(hash, identity_file(function));
    return part->kind == PART_INLINED ? hash_mix(hash, function->start_line) : hash;
}

/* Whether both are one function of one build, by what its kind says. */
static bool
is_same_part(const struct part *a, const struct part *b)
{
    if (a->kind != b->kind || a->build != b->build) {
        return false;
    }
    if (a->kind == PART_PLACED) {
        return a->function->address == b->function->address;
    }
    return a->kind == PART_NAMELESS ||
           (a->function->name == b->function->name &&
            a->function->system_name == b->function->system_name &&
            identity_file(a->function) == identity_file(b->function) &&
            (a->kind != PART_INLINED ||
             a->function->start_line == b->function->start_line));
}

/* Find a part. Returns IDENTITY_NONE if there is none. */
static uint32_t
find_part(const struct identity_finder *finder, const struct part *part)
{
    const uint32_t hash = hash_part(part);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&finder->by_part, hash, &probe)) != HASH_INDEX_NONE &&
           !is_same_part(&finder->parts[at], part)) {
    }
    return at;
}

/* Find or add a part. Returns false if memory runs out. */
static bool
add_part(struct identity_finder *finder, struct part part, uint32_t *found)
{
    struct part *larger;

    *found = find_part(finder, &part);
    if (*found != IDENTITY_NONE) {
        return true;
    }
    larger = array_grow(finder->parts, finder->part_count, &finder->part_room,
                        sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    finder->parts = larger;
    *found = (uint32_t)finder->part_count;
    finder->parts[finder->part_count++] = part;
    return hash_index_add(&finder->by_part, hash_part(&part), *found);
}

/* Find the part of each row's outer function and, if its code was inlined, of its inner
 * one. */
static bool
find_parts_of_rows(struct identity_finder *finder, struct identities *identities)
{
    const struct profile *const profile = finder->profile;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const uint32_t outer = profile_outer_function(profile, row);

        if (!add_part(finder, part_of(finder, row->image, outer, /* inlined */ false),
                      &identities->outer[i])) {
            return false;
        }
        identities->inner[i] = identities->outer[i];
        if (row->caller != 0 &&
            !add_part(finder,
                      part_of(finder, row->image, row->function, /* inlined */ true),
                      &identities->inner[i])) {
            return false;
        }
    }
    return true;
}

/* Find the parts of code and of all that it is inlined into.
 *
 *   inlined  index of the frame that function is inlined into, or 0
 *   outer    out: the part of the outermost function */
static bool
find_parts_of_code(struct identity_finder *finder, uint32_t image, uint32_t function,
                   uint32_t inlined, uint32_t *outer)
{
    const struct profile_frame *const frames = finder->profile->frames;

    for (uint32_t at = inlined; at != 0; at = frames[at].caller) {
        if (!add_part(finder, part_of(finder, image, function, /* inlined */ true),
                      outer)) {
            return false;
        }
        function = frames[at].function;
    }
    return add_part(finder, part_of(finder, image, function, /* inlined */ false),
                    outer);
}

/* Find the parts of calls, and those between the inner and the outer function of a row,
 * which are asked for only where there are stacks. */
static bool
find_parts_of_stacks(struct identity_finder *finder, struct identities *identities)
{
    const struct profile *const profile = finder->profile;
    bool done = true;

    for (size_t i = 0; done && profile_has_stacks(profile) && i < profile->row_count;
         i++) {
        const struct profile_row *const row = &profile->rows[i];
        uint32_t outer;

        done =
            find_parts_of_code(finder, row->image, row->function, row->caller, &outer);
    }
    for (size_t i = 0; done && i < profile->call_count; i++) {
        const struct profile_call *const call = &profile->calls[i];
        const struct part end = {.kind = PART_END,
                                 .function = &profile->functions[call->function]};

        identities->calls[i] = IDENTITY_NONE;
        if (call->end != NULL && profile_end_is_shown(call->end)) {
            done = add_part(finder, end, &identities->calls[i]);
        } else if (call->end == NULL && i > 0) {
            done = find_parts_of_code(finder, call->image, call->function,
                                      call->inlined, &identities->calls[i]);
        }
    }
    return done;
}

/* --- functions of several builds --- */

static const char *
path_of(const struct identity_finder *finder, const struct part *part)
{
    return part->kind != PART_END ? finder->profile->images[part->build].path : "";
}

/* Return whether both are machine code, inlined, or ends. */
static bool
are_of_one_sort(const struct part *a, const struct part *b)
{
    return (a->kind == PART_INLINED) == (b->kind == PART_INLINED) &&
           (a->kind == PART_END) == (b->kind == PART_END);
}

static bool
has_name(const struct part *part)
{
    return part->kind != PART_NAMELESS && part->function->name[0] != '\0';
}

/* Return the last part of the path of a part's file: folders of builds differ. */
static const char *
file_name(const struct part *part)
{
    return path_file_name(identity_file(part->function));
}

static uint32_t
hash_joined(const struct identity_finder *finder, const struct part *part,
            enum join_level level)
{
    uint32_t hash = hash_mix(0, part->kind == PART_INLINED);

    hash = hash_pointer(hash, path_of(finder, part));
    if (part->kind == PART_NAMELESS) {
        return hash;
    }
    if (!has_name(part)) {
        /* Without a name it is joined with nothing: keep it apart here too. */
        return hash_pointer(hash_mix(hash, part->build), part->function);
    }
    hash = hash_pointer(hash, part->function->name);
    return level == JOIN_NAME
               ? hash
               : hash_mix(hash, hash_bytes(file_name(part), strlen(file_name(part))));
}

/* Whether parts of different builds are one function. */
static bool
is_joined(const struct identity_finder *finder, const struct part *a,
          const struct part *b, enum join_level level)
{
    if (!are_of_one_sort(a, b) || path_of(finder, a) != path_of(finder, b)) {
        return false;
    }
    if (!has_name(a) || !has_name(b)) {
        return a->kind == PART_NAMELESS && b->kind == PART_NAMELESS;
    }
    return a->function->name == b->function->name &&
           (level == JOIN_NAME || strcmp(file_name(a), file_name(b)) == 0);
}

/* Join a part with the first one that is the same at this level. Returns false if
 * memory runs out. */
static bool
join_part(struct identity_finder *finder, uint32_t number, enum join_level level)
{
    struct part *const part = &finder->parts[number];
    struct joined *const joined = finder->joined[level];
    const uint32_t hash = hash_joined(finder, part, level);
    uint32_t *const found = &part->joined[level];
    size_t probe = 0;

    while ((*found = hash_index_find(&finder->by_joined, hash, &probe)) !=
           HASH_INDEX_NONE) {
        const struct part *const first = &finder->parts[joined[*found].part];

        if (is_joined(finder, first, part, level)) {
            joined[*found].several_builds |= first->build != part->build;
            return true;
        }
    }
    *found = (uint32_t)finder->joined_count++;
    joined[*found] = (struct joined){.part = number};
    return hash_index_add(&finder->by_joined, hash, *found);
}

/* Mark functions of which a build has several. A part with an address and one without
 * are one: they come from recordings that know more and less. */
static bool
find_ambiguous(struct identity_finder *finder, enum join_level level)
{
    struct hash_index builds = {0}; /* parts, by function, build and kind */
    bool done = true;

    for (size_t i = 0; done && i < finder->part_count; i++) {
        const struct part *const part = &finder->parts[i];
        const uint32_t joined = part->joined[level];
        const uint32_t hash =
            hash_mix(hash_mix(hash_mix(0, joined), part->build), part->kind);
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&builds, hash, &probe)) != HASH_INDEX_NONE &&
               (finder->parts[at].joined[level] != joined ||
                finder->parts[at].build != part->build ||
                finder->parts[at].kind != part->kind)) {
        }
        if (at != HASH_INDEX_NONE) {
            finder->joined[level][joined].ambiguous = true;
        } else {
            done = hash_index_add(&builds, hash, (uint32_t)i);
        }
    }
    hash_index_finish(&builds);
    return done;
}

/* Join all parts at a level, and find out which of the joined ones are ambiguous. */
static bool
join_level(struct identity_finder *finder, enum join_level level)
{
    finder->joined[level] =
        calloc(finder->part_count + 1, sizeof(*finder->joined[level]));
    finder->joined_count = 0;
    hash_index_clear(&finder->by_joined);
    for (size_t i = 0; i < finder->part_count; i++) {
        if (finder->joined[level] == NULL || !join_part(finder, (uint32_t)i, level)) {
            return false;
        }
    }
    return finder->joined[level] != NULL && find_ambiguous(finder, level);
}

/* Return the number of the function of a part: that of the first part of it. Of two
 * functions of one name and file in several builds nothing else is known, so they are
 * one. */
static uint32_t
number_of(const struct identity_finder *finder, uint32_t number)
{
    const struct part *const part = &finder->parts[number];
    const struct joined *const by_name =
        &finder->joined[JOIN_NAME][part->joined[JOIN_NAME]];
    const struct joined *const by_file =
        &finder->joined[JOIN_FILE][part->joined[JOIN_FILE]];

    if (!by_name->ambiguous) {
        return by_name->part;
    }
    return by_file->ambiguous && !by_file->several_builds ? number : by_file->part;
}

static void
renumber(const struct identity_finder *finder, uint32_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i] != IDENTITY_NONE) {
            parts[i] = finder->numbers[parts[i]];
        }
    }
}

static bool
join_parts(struct identity_finder *finder, struct identities *identities)
{
    if (!join_level(finder, JOIN_NAME) || !join_level(finder, JOIN_FILE)) {
        return false;
    }
    finder->numbers = calloc(finder->part_count + 1, sizeof(*finder->numbers));
    if (finder->numbers == NULL) {
        return false;
    }
    for (size_t i = 0; i < finder->part_count; i++) {
        finder->numbers[i] = number_of(finder, (uint32_t)i);
    }
    renumber(finder, identities->outer, finder->profile->row_count);
    renumber(finder, identities->inner, finder->profile->row_count);
    renumber(finder, identities->calls, finder->profile->call_count);
    identities->count = (uint32_t)finder->part_count;
    return true;
}

/* Free what is needed only to find functions. */
static void
finish_joined(struct identity_finder *finder)
{
    for (int level = 0; level < JOIN_LEVELS; level++) {
        free(finder->joined[level]);
        finder->joined[level] = NULL;
    }
    hash_index_finish(&finder->by_joined);
}

bool
identities_find(const struct profile *profile, struct identities *identities)
{
    struct identity_finder *const finder = calloc(1, sizeof(*finder));
    bool done;

    *identities = (struct identities){
        .outer = calloc(profile->row_count + 1, sizeof(*identities->outer)),
        .inner = calloc(profile->row_count + 1, sizeof(*identities->inner)),
        .calls = calloc(profile->call_count + 1, sizeof(*identities->calls)),
        .finder = finder,
    };
    if (finder == NULL) {
        return false;
    }
    finder->profile = profile;
    finder->builds = calloc(profile->image_count + 1, sizeof(*finder->builds));
    done = identities->outer != NULL && identities->inner != NULL &&
           identities->calls != NULL && finder->builds != NULL &&
           number_builds(finder) && find_parts_of_rows(finder, identities) &&
           find_parts_of_stacks(finder, identities) && join_parts(finder, identities);
    finish_joined(finder);
    return done;
}

void
identities_finish(struct identities *identities)
{
    struct identity_finder *const finder = identities->finder;

    if (finder != NULL) {
        free(finder->builds);
        free(finder->parts);
        free(finder->numbers);
        hash_index_finish(&finder->by_part);
        free(finder);
    }
    free(identities->outer);
    free(identities->inner);
    free(identities->calls);
}

uint32_t
identity_number(const struct identities *identities, uint32_t image, uint32_t function,
                bool inlined)
{
    const struct part part = part_of(identities->finder, image, function, inlined);
    const uint32_t found = find_part(identities->finder, &part);

    assert(found != IDENTITY_NONE);
    return identities->finder->numbers[found];
}

const struct profile_image identity_stack_image = {
    .path = "[stack]", .build_id = "", .named = true};

const struct profile_function *
identity_function(const struct identities *identities, uint32_t number,
                  const struct profile_image **image)
{
    const struct part *const part = &identities->finder->parts[number];

    assert(number < identities->count);
    *image = part->kind != PART_END ? &identities->finder->profile->images[part->build]
                                    : &identity_stack_image;
    return part->function;
}

bool
identity_is_inlined(const struct identities *identities, uint32_t number)
{
    return identities->finder->parts[number].kind == PART_INLINED;
}

bool
identity_is_end(const struct identities *identities, uint32_t number)
{
    return identities->finder->parts[number].kind == PART_END;
}
