/* SPDX-License-Identifier: MIT */
/*
 * identity.c - numbers the functions of a profile.
 *
 * First each row gets the part that it is in: a function in one build of an image. Then
 * parts of different builds are joined. Strings of a profile are interned, so they are
 * compared by pointer.
 */
#include "profile/identity.h"

#include "base/hash_index.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

enum part_kind {
    PART_NAMELESS, /* all code of the build without name and bounds */
    PART_PLACED,   /* by address */
    PART_NAMED,    /* by name and file */
    PART_INLINED   /* by definition */
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

struct finder {
    const struct profile *profile;
    uint32_t *builds; /* by image: index of the first image of the same build */
    struct part *parts;
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
number_builds(struct finder *finder)
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

/* Return by what a part is identified within its build. */
static enum part_kind
kind_of(const struct profile_function *function, bool inlined)
{
    if (inlined) {
        return PART_INLINED;
    }
    if (function->has_address) {
        return PART_PLACED;
    }
    return function->name[0] != '\0' ? PART_NAMED : PART_NAMELESS;
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
            (a->kind == PART_NAMED ||
             a->function->start_line == b->function->start_line));
}

/* Find or add the part of a function in a build of an image. Returns false if memory
 * runs out. */
static bool
find_part(struct finder *finder, uint32_t image, uint32_t function, bool inlined,
          uint32_t *found)
{
    struct part part = {.build = finder->builds[image],
                        .function = &finder->profile->functions[function]};
    size_t probe = 0;
    uint32_t hash;

    part.kind = kind_of(part.function, inlined);
    hash = hash_part(&part);
    while ((*found = hash_index_find(&finder->by_part, hash, &probe)) !=
           HASH_INDEX_NONE) {
        if (is_same_part(&finder->parts[*found], &part)) {
            return true;
        }
    }
    if (finder->part_count == finder->part_room) {
        const size_t room = finder->part_room > 0 ? finder->part_room * 2 : 256;
        struct part *const larger = reallocarray(finder->parts, room, sizeof(*larger));

        if (larger == NULL) {
            return false;
        }
        finder->parts = larger;
        finder->part_room = room;
    }
    *found = (uint32_t)finder->part_count;
    finder->parts[finder->part_count++] = part;
    return hash_index_add(&finder->by_part, hash, *found);
}

/* Find the part of each row's outer function and, if its code was inlined, of its inner
 * one. */
static bool
find_parts(struct finder *finder, struct identities *identities)
{
    const struct profile *const profile = finder->profile;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (!find_part(finder, row->image, profile_outer_function(profile, row), false,
                       &identities->outer[i])) {
            return false;
        }
        identities->inner[i] = identities->outer[i];
        if (row->caller != 0 && !find_part(finder, row->image, row->function, true,
                                           &identities->inner[i])) {
            return false;
        }
    }
    return true;
}

/* --- functions of several builds --- */

static const char *
path_of(const struct finder *finder, const struct part *part)
{
    return finder->profile->images[part->build].path;
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
hash_joined(const struct finder *finder, const struct part *part, enum join_level level)
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
is_joined(const struct finder *finder, const struct part *a, const struct part *b,
          enum join_level level)
{
    if ((a->kind == PART_INLINED) != (b->kind == PART_INLINED) ||
        path_of(finder, a) != path_of(finder, b)) {
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
join_part(struct finder *finder, uint32_t number, enum join_level level)
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
find_ambiguous(struct finder *finder, enum join_level level)
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
join_level(struct finder *finder, enum join_level level)
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
number_of(const struct finder *finder, uint32_t number)
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

static bool
join_parts(struct finder *finder, struct identities *identities)
{
    if (!join_level(finder, JOIN_NAME) || !join_level(finder, JOIN_FILE)) {
        return false;
    }
    for (size_t i = 0; i < finder->profile->row_count; i++) {
        identities->outer[i] = number_of(finder, identities->outer[i]);
        identities->inner[i] = number_of(finder, identities->inner[i]);
    }
    return true;
}

bool
identities_find(const struct profile *profile, struct identities *identities)
{
    struct finder finder = {.profile = profile};
    bool done;

    identities->outer = calloc(profile->row_count + 1, sizeof(*identities->outer));
    identities->inner = calloc(profile->row_count + 1, sizeof(*identities->inner));
    finder.builds = calloc(profile->image_count + 1, sizeof(*finder.builds));
    done = identities->outer != NULL && identities->inner != NULL &&
           finder.builds != NULL && number_builds(&finder) &&
           find_parts(&finder, identities) && join_parts(&finder, identities);
    free(finder.builds);
    free(finder.parts);
    free(finder.joined[JOIN_NAME]);
    free(finder.joined[JOIN_FILE]);
    hash_index_finish(&finder.by_part);
    hash_index_finish(&finder.by_joined);
    return done;
}

void
identities_finish(struct identities *identities)
{
    free(identities->outer);
    free(identities->inner);
}
