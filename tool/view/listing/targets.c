/* SPDX-License-Identifier: MIT */
/*
 * targets.c - finds what a user means by SYMBOL, FILE:LINE or IMAGE+OFFSET.
 *
 * A text may have several of these forms. They are tried from the most to the least
 * specific: a line, an address, a function by its whole name, by its last part, by a
 * pattern.
 */
#include "view/listing/listingp.h"

#include "base/hash_index.h"
#include "profile/match.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* search - the request and the targets found so far. */
struct search {
    const struct profile *profile;
    struct listing_targets *targets;
    size_t room;
    struct hash_index index;
    const char *image; /* glob, or NULL */
    bool *images;      /* images that match it */
    char *head;        /* first part of the text: a file, an image, or all of it */
    uint64_t number;   /* the number after head */
    bool failed;
};

/* --- images --- */

static bool
choose_images(struct search *search)
{
    struct buffer scratch = {0};
    bool any = false;
    bool done;

    search->images = calloc(search->profile->image_count + 1, sizeof(bool));
    for (size_t i = 0; search->images != NULL && i < search->profile->image_count;
         i++) {
        search->images[i] =
            search->image == NULL ||
            match_image(search->image, &search->profile->images[i], &scratch);
        any |= search->images[i];
    }
    done = search->images != NULL && !scratch.failed;
    buffer_finish(&scratch);
    search->targets->no_such_image = done && search->image != NULL && !any;
    return done;
}

/* Whether part is path, or its last parts. */
static bool
ends_path(const char *path, const char *part)
{
    const size_t whole = strlen(path);
    const size_t size = strlen(part);

    return size > 0 && size <= whole && strcmp(path + whole - size, part) == 0 &&
           (size == whole || part[0] == '/' || path[whole - size - 1] == '/');
}

/* --- targets --- */

static bool
same_target(const struct search *search, const struct listing_target *left,
            const struct listing_target *right)
{
    const bool all = left->image == LISTING_NONE || right->image == LISTING_NONE;

    return strcmp(left->name, right->name) == 0 &&
           strcmp(left->system_name, right->system_name) == 0 &&
           strcmp(left->file, right->file) == 0 && left->line == right->line &&
           left->address == right->address &&
           (all ? left->image == right->image
                : listing_same_image(search->profile, left->image, right->image));
}

static uint32_t
hash_text(uint32_t hash, const char *text)
{
    return hash_mix(hash, hash_bytes(text, strlen(text)));
}

static uint32_t
hash_target(const struct listing_target *target)
{
    uint32_t hash = hash_text(hash_text(0, target->name), target->system_name);

    return hash_mix(hash_mix(hash_text(hash, target->file), target->line),
                    target->address);
}

static bool
make_room(struct search *search)
{
    struct listing_targets *targets = search->targets;
    const size_t room = search->room == 0 ? 16 : search->room * 2;
    const size_t sources = targets->source_count + 1;
    struct listing_target *items;
    uint64_t *hits;

    if (targets->count < search->room) {
        return true;
    }
    items = reallocarray(targets->items, room, sizeof(*items));
    if (items == NULL) {
        return false;
    }
    targets->items = items;
    if (room > SIZE_MAX / sources) {
        return false;
    }
    hits = reallocarray(targets->hits, room * sources, sizeof(*hits));
    if (hits == NULL) {
        return false;
    }
    targets->hits = hits;
    search->room = room;
    return true;
}

/* Add hits to a target, which is added if it is new. */
static void
count_hits(struct search *search, const struct listing_target *target,
           const uint64_t *hits)
{
    struct listing_targets *targets = search->targets;
    const uint32_t hash = hash_target(target);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&search->index, hash, &probe)) != HASH_INDEX_NONE &&
           !same_target(search, &targets->items[at], target)) {
    }
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)targets->count;
        if (!make_room(search) || !hash_index_add(&search->index, hash, at)) {
            search->failed = true;
            return;
        }
        targets->items[at] = *target;
        targets->items[at].hits_at = (size_t)at * targets->source_count;
        memset(&targets->hits[targets->items[at].hits_at], 0,
               targets->source_count * sizeof(*targets->hits));
        targets->count++;
    }
    if (hits != NULL) {
        listing_add_clamped(&targets->hits[targets->items[at].hits_at], hits,
                            targets->source_count);
    }
}

static int
compare_targets(const void *left, const void *right, void *context)
{
    const struct listing_targets *targets = context;
    const struct listing_target *a = left;
    const struct listing_target *b = right;

    for (size_t i = 0; i < targets->source_count; i++) {
        const uint64_t a_hits = targets->hits[a->hits_at + i];
        const uint64_t b_hits = targets->hits[b->hits_at + i];

        if (a_hits != b_hits) {
            return a_hits > b_hits ? -1 : 1;
        }
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (strcmp(a->name, b->name) != 0) {
        return strcmp(a->name, b->name);
    }
    if (a->image != b->image) {
        return a->image < b->image ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

/* --- lines and addresses --- */

/* Split the text at its last sign, if a number follows it. */
static bool
split(struct search *search, const char *text, char sign)
{
    const char *at = strrchr(text, sign);
    char *end = NULL;

    free(search->head);
    search->head = NULL;
    if (at == NULL || at == text || at[1] < '0' || at[1] > '9') {
        return false;
    }
    search->number = strtoull(at + 1, &end, sign == ':' ? 10 : 0);
    if (*end != '\0') {
        return false;
    }
    search->head = strndup(text, (size_t)(at - text));
    search->failed |= search->head == NULL;
    return search->head != NULL;
}

/* Find or add the target of the line, if code of the row's image belongs to it, and add
 * the row's hits if they are of that line. */
static void
count_line(struct search *search, const struct profile_row *row)
{
    const struct profile *profile = search->profile;
    struct listing_target target = {
        .kind = LISTING_OF_LINE, .name = "", .system_name = ""};
    struct listing_place place = listing_first_place(row);
    const char *counted = NULL;

    target.image = search->image == NULL ? LISTING_NONE : row->image;
    target.line = (uint32_t)search->number;
    do {
        target.file = profile->functions[place.function].file;
        if (place.line > 0 && ends_path(target.file, search->head)) {
            const bool here = place.line == target.line && counted != target.file;

            count_hits(search, &target, here ? row->hits : NULL);
            counted = here ? target.file : counted;
        }
    } while (listing_next_place(profile, &place));
}

static void
find_lines(struct search *search, const char *text)
{
    if (!split(search, text, ':') || search->number == 0 ||
        search->number > UINT32_MAX) {
        return;
    }
    for (size_t i = 0; i < search->profile->row_count; i++) {
        if (search->images[search->profile->rows[i].image]) {
            count_line(search, &search->profile->rows[i]);
        }
    }
}

/* Convert an offset in the file, as in reports, to an address. If it can only be a
 * link-time address, use it as one. */
static uint64_t
address_of(const struct profile_image *image, uint64_t offset)
{
    const uint64_t address = offset - image->offset + image->start;
    const bool inside = address >= image->start && address < image->limit;

    return !inside && offset >= image->start && offset < image->limit ? offset
                                                                      : address;
}

/* Make the target of an image if the text names that image. Returns false if it names
 * another. */
static bool
address_target(const struct search *search, uint32_t image,
               struct listing_target *target)
{
    const struct profile_image *named = &search->profile->images[image];

    *target = (struct listing_target){
        .kind = LISTING_OF_ADDRESS,
        .image = image,
        .name = "",
        .system_name = "",
        .file = "",
        .address = address_of(named, search->number),
    };
    return search->images[image] && ends_path(named->path, search->head);
}

static void
find_addresses(struct search *search, const char *text)
{
    const struct profile *profile = search->profile;
    struct listing_target target;

    if (!split(search, text, '+')) {
        return;
    }
    for (uint32_t i = 0; i < profile->image_count; i++) {
        if (address_target(search, i, &target)) {
            count_hits(search, &target, NULL);
        }
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        if (address_target(search, row->image, &target) &&
            row->address <= target.address &&
            target.address < listing_row_end(profile, row)) {
            count_hits(search, &target, row->hits);
        }
    }
}

/* --- functions --- */

/* Return the position after the bracket that closes the one at text, or NULL if none
 * does. */
static const char *
skip_brackets(const char *text)
{
    size_t depth = 0;

    for (; *text != '\0'; text++) {
        if (strchr("<([{", *text) != NULL) {
            depth++;
        } else if (strchr(">)]}", *text) != NULL && --depth == 0) {
            return text + 1;
        }
    }
    return NULL;
}

/* Whether rest is a suffix that a compiler appends to the name of a part or copy of a
 * function. */
static bool
is_clone(const char *rest)
{
    static const char *const suffixes[] = {".cold",  ".constprop.", ".isra.",
                                           ".llvm.", ".lto_priv.",  ".part."};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strncmp(rest, suffixes[i], strlen(suffixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the name without arguments, template arguments and clone suffix ends at
 * rest. */
static bool
ends_proper(const char *rest)
{
    if (strncmp(rest, "::<", 3) == 0) {
        rest += 2; /* Rust */
    } else if (strncmp(rest, " <", 2) == 0) {
        rest++; /* after an operator that consists of brackets */
    }
    if (*rest == '<' || *rest == '[') {
        rest = skip_brackets(rest);
    }
    return rest != NULL && (*rest == '\0' || *rest == '(' ||
                            strncmp(rest, " [", 2) == 0 || is_clone(rest));
}

/* Whether a part of the name starts at at: after "::", after Go's ".", or after the
 * return type of a template. */
static bool
starts_part(const char *name, const char *at)
{
    return at == name || at[-1] == '.' || at[-1] == ' ' ||
           (at - name >= 2 && memcmp(at - 2, "::", 2) == 0);
}

/* Return where to continue in a name: after a bracket, unless it contained the
 * arguments. NULL: at the end. */
static const char *
next_part(const char *at)
{
    const char *behind = at + 1;

    if (strchr("<([{", *at) != NULL) {
        behind = skip_brackets(at);
        if (*at == '(' && behind != NULL && strchr(":.(", *behind) == NULL) {
            return NULL;
        }
    }
    return behind;
}

/* Whether text is the name without arguments, or its last parts. */
static bool
ends_name(const char *name, const char *text)
{
    const size_t size = strlen(text);

    for (const char *at = name; at != NULL && *at != '\0'; at = next_part(at)) {
        if (starts_part(name, at) && strncmp(at, text, size) == 0 &&
            ends_proper(at + size)) {
            return size > 0;
        }
    }
    return false;
}

enum fit { FIT_WHOLE, FIT_END, FIT_GLOB, FITS };

static bool
fits(const struct profile_function *function, const char *text, enum fit fit)
{
    switch (fit) {
    case FIT_WHOLE:
        return strcmp(function->name, text) == 0 ||
               strcmp(function->system_name, text) == 0;
    case FIT_END:
        return ends_name(function->name, text);
    case FIT_GLOB:
        return fnmatch(text, function->name, 0) == 0;
    case FITS:
        break;
    }
    return false;
}

/* Add the row's hits once to each matching function that its code belongs to. */
static void
count_functions(struct search *search, const struct profile_row *row, const bool *fit)
{
    const struct profile *profile = search->profile;
    struct listing_place place = listing_first_place(row);

    do {
        const struct profile_function *function = &profile->functions[place.function];
        const struct listing_target target = {
            .kind = LISTING_OF_FUNCTION,
            .image = row->image,
            .name = function->name,
            .system_name = function->system_name,
            .file = "",
        };
        struct listing_place first;

        /* A function that is inlined into itself occurs more than once. */
        if (fit[place.function] && listing_find_place(profile, &target, row, &first) &&
            first.depth == place.depth) {
            count_hits(search, &target, row->hits);
        }
    } while (listing_next_place(profile, &place));
}

static void
find_functions(struct search *search, const char *text, enum fit fit)
{
    const struct profile *profile = search->profile;
    bool *const fitting = calloc(profile->function_count + 1, sizeof(*fitting));
    bool any = false;

    if (fitting == NULL) {
        search->failed = true;
        return;
    }
    for (size_t i = 1; i < profile->function_count; i++) {
        fitting[i] = profile->functions[i].name[0] != '\0' &&
                     fits(&profile->functions[i], text, fit);
        any |= fitting[i];
    }
    for (size_t i = 0; any && i < profile->row_count; i++) {
        if (search->images[profile->rows[i].image]) {
            count_functions(search, &profile->rows[i], fitting);
        }
    }
    free(fitting);
}

/* Find the buckets of code without a name. */
static void
find_nameless(struct search *search)
{
    const struct profile *profile = search->profile;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct listing_target target = listing_target_of_row(profile, row);

        if (target.kind == LISTING_OF_ADDRESS && search->images[row->image]) {
            count_hits(search, &target, row->hits);
        }
    }
}

/* Find all targets of text; NULL: everything with hits. */
static void
find(struct search *search, const char *text)
{
    if (text == NULL) {
        find_functions(search, "*", FIT_GLOB);
        find_nameless(search);
        return;
    }
    find_lines(search, text);
    if (search->targets->count == 0) {
        find_addresses(search, text);
    }
    for (enum fit fit = FIT_WHOLE; fit < FITS && search->targets->count == 0; fit++) {
        find_functions(search, text, fit);
    }
}

static bool
find_targets(const struct profile *profile, const char *text, const char *image,
             struct listing_targets *targets)
{
    struct search search = {.profile = profile, .targets = targets, .image = image};

    *targets = (struct listing_targets){.source_count = profile->source_count};
    search.failed = !choose_images(&search);
    if (!search.failed) {
        find(&search, text);
    }
    if (targets->count > 1) {
        qsort_r(targets->items, targets->count, sizeof(*targets->items),
                compare_targets, targets);
    }
    hash_index_finish(&search.index);
    free(search.images);
    free(search.head);
    return !search.failed;
}

bool
listing_find_targets(const struct profile *profile, const char *text, const char *image,
                     struct listing_targets *targets)
{
    return find_targets(profile, text, image, targets);
}

bool
listing_find_hottest(const struct profile *profile, const char *image,
                     struct listing_targets *targets)
{
    return find_targets(profile, NULL, image, targets);
}

void
listing_targets_finish(struct listing_targets *targets)
{
    free(targets->items);
    free(targets->hits);
    *targets = (struct listing_targets){.items = NULL};
}

struct listing_target
listing_target_of_row(const struct profile *profile, const struct profile_row *row)
{
    const struct profile_function *function = &profile->functions[row->function];
    const bool named = function->name[0] != '\0';

    return (struct listing_target){
        .kind = named ? LISTING_OF_FUNCTION : LISTING_OF_ADDRESS,
        .image = row->image,
        .name = function->name,
        .system_name = named ? function->system_name : "",
        .file = "",
        .address = named ? 0 : row->address,
    };
}
