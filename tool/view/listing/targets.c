/* SPDX-License-Identifier: MIT */
/*
 * targets.c - finds what a user means by SYMBOL, FILE:LINE or IMAGE+OFFSET.
 *
 * A text may have several of these forms. They are tried from the most to the least
 * specific: a line, an address, a function by its whole name, by its last part, by a
 * pattern.
 */
#include "view/listing/listingp.h"

#include "base/arithmetic.h"
#include "base/hash_index.h"
#include "base/text.h"
#include "profile/match.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* search - what is searched for, and the targets found so far. */
struct search {
    const struct profile *profile;
    struct identities identities;
    struct listing_targets *targets;
    size_t room;
    struct hash_index index;
    const char *image; /* glob that images must match; NULL: all do */
    bool *images;      /* by index in the profile: whether the image matches */
    char *head;        /* first part of the text: a file, an image, or all of it */
    uint64_t number;   /* the number after head */
    bool failed;
};

/* --- images --- */

/* Find out which images match search->image. Returns false if memory runs out. */
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

/* Return whether part is the path itself, or its last components. */
static bool
ends_path(const char *path, const char *part)
{
    const size_t whole = strlen(path);
    const size_t size = strlen(part);

    return size > 0 && size <= whole && strcmp(path + whole - size, part) == 0 &&
           (size == whole || part[0] == '/' || path[whole - size - 1] == '/');
}

/* --- targets --- */

/* Return whether two targets are the same for the user, so that their hits are added
 * up. */
static bool
same_target(const struct search *search, const struct listing_target *left,
            const struct listing_target *right)
{
    const bool any_image = left->image == LISTING_NONE || right->image == LISTING_NONE;

    if (left->kind != right->kind || left->inlined != right->inlined ||
        left->id != right->id || left->within != right->within ||
        (left->kind == LISTING_OF_FUNCTION && left->id == LISTING_NONE &&
         !listing_same_function(&search->profile->functions[left->function],
                                &search->profile->functions[right->function]))) {
        return false;
    }
    return strcmp(left->file, right->file) == 0 && left->line == right->line &&
           left->address == right->address &&
           (any_image ? left->image == right->image
                      : listing_same_image(search->profile, left->image, right->image));
}

static uint32_t
hash_text(uint32_t hash, const char *text)
{
    return hash_mix(hash, hash_bytes(text, strlen(text)));
}

/* Return a hash that is equal for targets that are the same (same_target). */
static uint32_t
hash_target(const struct listing_target *target)
{
    uint32_t hash = hash_mix(hash_mix(0, target->id), target->within);

    if (target->kind == LISTING_OF_FUNCTION && target->id == LISTING_NONE) {
        hash = hash_text(hash, target->name);
    }
    return hash_mix(hash_mix(hash_text(hash, target->file), target->line),
                    target->address);
}

/* Make room for one more target and its hits. Returns false if memory runs out. */
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

/* Add hits to a target, which is added to the targets if it is new. hits: one number
 * for each source; NULL: none. */
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
        add_all_clamped(&targets->hits[targets->items[at].hits_at], hits,
                        targets->source_count);
    }
}

/* ordering - what compare_targets needs. */
struct ordering {
    const struct profile *profile;
    const struct listing_targets *targets;
};

static const char *
path_of(const struct profile *profile, const struct listing_target *target)
{
    return target->image == LISTING_NONE ? "" : profile->images[target->image].path;
}

/* Compare targets by hits, and then as the report orders functions (group.c). */
static int
compare_targets(const void *left, const void *right, void *context)
{
    const struct ordering *const ordering = context;
    const struct listing_targets *targets = ordering->targets;
    const struct profile *const profile = ordering->profile;
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
    if (strcmp(path_of(profile, a), path_of(profile, b)) != 0) {
        return strcmp(path_of(profile, a), path_of(profile, b));
    }
    if (strcmp(a->name, b->name) != 0) {
        return strcmp(a->name, b->name);
    }
    if (a->kind == LISTING_OF_FUNCTION && a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    if (a->image != b->image) {
        return a->image < b->image ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

/* --- lines and addresses --- */

/* Split the text at its last sign into search->head and search->number. Returns false
 * if no number follows the sign, or memory runs out. */
static bool
split(struct search *search, const char *text, char sign)
{
    const char *at = strrchr(text, sign);
    bool hexadecimal;
    char *end = NULL;

    free(search->head);
    search->head = NULL;
    if (at == NULL || at == text || at[1] < '0' || at[1] > '9') {
        return false;
    }
    hexadecimal = sign == '+' && strncasecmp(at + 1, "0x", 2) == 0;
    errno = 0;
    search->number = strtoull(at + 1, &end, hexadecimal ? 16 : 10);
    if (*end != '\0' || errno != 0) {
        return false;
    }
    search->head = strndup(text, (size_t)(at - text));
    search->failed |= search->head == NULL;
    return search->head != NULL;
}

/* Find or add the target of the line in each file of the row's places that search->head
 * names. One with the line of a place gets the row's hits, once. */
static void
count_line(struct search *search, const struct profile_row *row)
{
    const struct profile *profile = search->profile;
    struct listing_target target = {
        .kind = LISTING_OF_LINE, .name = "", .system_name = ""};
    struct listing_place place = listing_first_place(row);
    const char *counted = NULL; /* file whose target has the hits */

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

/* Take the text as FILE:LINE, and find targets. A file that is known but has no hits at
 * the line is one without hits. */
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

/* Convert an offset in the file, as reports show it, to an address of the image. An
 * offset that can only be an address already is left as it is. */
static uint64_t
address_of(const struct profile_image *image, uint64_t offset)
{
    const uint64_t address = offset - image->offset + image->start;
    const bool inside = address >= image->start && address < image->limit;

    return !inside && offset >= image->start && offset < image->limit ? offset
                                                                      : address;
}

/* Make the target of an address in an image. Returns false if search->head does not
 * name the image, or the image was not chosen. */
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

/* Take the text as IMAGE+OFFSET, and find an address in each image of that name, with
 * the hits of the bucket there. */
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

/* Return the position behind the bracket that closes the one at text; NULL if none
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

/* Return whether rest begins with a suffix that a compiler appends to the name of a
 * part or copy of a function. */
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

/* Return whether a name ends at rest, but for arguments, template arguments and a clone
 * suffix. */
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

/* Return whether a part of the name begins at at: the name itself, or what follows
 * "::", Go's "." or the return type of a template. */
static bool
starts_part(const char *name, const char *at)
{
    return at == name || at[-1] == '.' || at[-1] == ' ' ||
           (at - name >= 2 && memcmp(at - 2, "::", 2) == 0);
}

/* Return where to continue in a name: behind the character at at, or behind the bracket
 * that closes it. NULL if none does, or if it has the arguments, behind which no part
 * follows. */
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

/* Return whether text is the name without arguments, or its last parts. */
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

/* fit - how a text can mean a function: by its whole name; as tables show it; by its
 * last parts; as tables show it, with "..." for what they left out; as a glob. */
enum fit { FIT_WHOLE, FIT_SHOWN, FIT_END, FIT_CUT, FIT_GLOB, FITS };

static bool
is_equal(const char *text, const char *shown)
{
    return strcmp(text, shown) == 0;
}

/* Return whether text means a function, in the way of fit. Code without a name is only
 * called as tables show it. */
static bool
fits(const struct profile_function *function, const struct profile_image *image,
     const char *text, enum fit fit, struct buffer *scratch)
{
    const bool named = function->name[0] != '\0';

    switch (fit) {
    case FIT_WHOLE:
        return named && (strcmp(function->name, text) == 0 ||
                         strcmp(function->system_name, text) == 0);
    case FIT_SHOWN:
        return match_shown(function, image, is_equal, text, scratch);
    case FIT_END:
        return named && ends_name(function->name, text);
    case FIT_CUT:
        return strstr(text, "...") != NULL &&
               match_shown(function, image, display_is_cut, text, scratch);
    case FIT_GLOB:
        return match_function(text, function, image, scratch);
    case FITS:
        break;
    }
    return false;
}

/* wanted - a text that names functions, and the answer for each function of the
 * profile. */
struct wanted {
    const char *text;   /* NULL: any */
    const char *within; /* name of what it was inlined into; NULL: the text does not say
                         * that */
    enum fit fit;
    signed char *fitting; /* by index of the function: 1: text means it, 0: not, -1: not
                           * known yet */
    signed char *around;  /* the same for within instead of text */
    struct buffer scratch;
};

/* Return whether a text, wanted's text or within, names a function. The answer is kept
 * in known, except for functions without a name, for which it depends on the image of
 * the row. */
static bool
is_meant(const struct search *search, struct wanted *wanted, uint32_t function,
         const struct profile_row *row, const char *text, signed char *known)
{
    const struct profile *const profile = search->profile;
    const struct profile_function *const tried = &profile->functions[function];

    if (text == NULL) {
        return true;
    }
    if (known[function] < 0 || tried->name[0] == '\0') {
        known[function] = fits(tried, &profile->images[row->image], text, wanted->fit,
                               &wanted->scratch);
    }
    return known[function] != 0;
}

static struct listing_target
target_of_function(const struct profile *profile, const struct profile_row *row,
                   uint32_t function)
{
    return (struct listing_target){
        .kind = LISTING_OF_FUNCTION,
        .image = row->image,
        .name = profile->functions[function].name,
        .system_name = profile->functions[function].system_name,
        .file = "",
        .function = function,
        .within = LISTING_NONE,
    };
}

/* Add the row's hits to the function in whose machine code they are, if that is
 * meant. */
static void
count_outer(struct search *search, const struct profile_row *row, struct wanted *wanted)
{
    const uint32_t outer = profile_outer_function(search->profile, row);
    struct listing_target target = target_of_function(search->profile, row, outer);

    target.id = search->identities.outer[row - search->profile->rows];
    if (is_meant(search, wanted, outer, row, wanted->text, wanted->fitting)) {
        count_hits(search, &target, row->hits);
    }
}

/* Return whether the row's code is in a function that wanted->within means.
 * target->within is set to that function, unless any is meant. */
static bool
is_within(const struct search *search, const struct profile_row *row,
          struct wanted *wanted, struct listing_target *target)
{
    const uint32_t outer = profile_outer_function(search->profile, row);

    if (wanted->within == NULL || strcmp(wanted->within, "*") == 0) {
        return true;
    }
    target->within = search->identities.outer[row - search->profile->rows];
    return is_meant(search, wanted, outer, row, wanted->within, wanted->around);
}

/* Add the row's hits to the innermost function, if that was inlined and is meant. */
static void
count_inlined(struct search *search, const struct profile_row *row,
              struct wanted *wanted)
{
    struct listing_target target =
        target_of_function(search->profile, row, row->function);

    target.inlined = true;
    target.id = search->identities.inner[row - search->profile->rows];
    if (row->caller != 0 &&
        is_meant(search, wanted, row->function, row, wanted->text, wanted->fitting) &&
        is_within(search, row, wanted, &target)) {
        count_hits(search, &target, row->hits);
    }
}

/* Return whether a place's function is not among the callers further in, so that
 * recursion counts once. */
static bool
is_first_around(const struct profile *profile, const struct profile_row *row,
                const struct listing_place *place)
{
    const struct profile_function *const function =
        &profile->functions[place->function];
    struct listing_place inner = listing_first_place(row);

    while (listing_next_place(profile, &inner) && inner.depth < place->depth) {
        if (listing_same_function(&profile->functions[inner.function], function)) {
            return false;
        }
    }
    return true;
}

/* Add the row's hits to each meant function that the innermost one was inlined into,
 * and that was inlined itself. */
static void
count_around(struct search *search, const struct profile_row *row,
             struct wanted *wanted)
{
    struct listing_place place = listing_first_place(row);

    while (listing_next_place(search->profile, &place) && place.caller != 0) {
        struct listing_target target =
            target_of_function(search->profile, row, place.function);

        target.inlined = true;
        target.id = LISTING_NONE;
        if (is_meant(search, wanted, place.function, row, wanted->text,
                     wanted->fitting) &&
            is_within(search, row, wanted, &target) &&
            is_first_around(search->profile, row, &place)) {
            count_hits(search, &target, row->hits);
        }
    }
}

static void
count_rows(struct search *search, struct wanted *wanted,
           void (*count)(struct search *search, const struct profile_row *row,
                         struct wanted *wanted))
{
    const struct profile *const profile = search->profile;

    for (size_t i = 0; i < profile->row_count; i++) {
        if (search->images[profile->rows[i].image]) {
            count(search, &profile->rows[i], wanted);
        }
    }
}

/* Find functions that are meant: those with machine code of their own; if there are
 * none, the innermost inlined ones; if there are none, those that others were inlined
 * into. */
static void
find_functions(struct search *search, struct wanted *wanted)
{
    const size_t count = search->profile->function_count;

    wanted->fitting = malloc(count + 1);
    wanted->around = malloc(count + 1);
    if (wanted->fitting == NULL || wanted->around == NULL) {
        search->failed = true;
    } else {
        memset(wanted->fitting, -1, count + 1);
        memset(wanted->around, -1, count + 1);
        if (wanted->within == NULL) {
            count_rows(search, wanted, count_outer);
        }
        if (search->targets->count == 0) {
            count_rows(search, wanted, count_inlined);
        }
        if (search->targets->count == 0) {
            count_rows(search, wanted, count_around);
        }
    }
    search->failed |= wanted->scratch.failed;
    free(wanted->fitting);
    free(wanted->around);
    buffer_finish(&wanted->scratch);
}

/* Find functions by a name, in the first way of fit that finds any. within: name of
 * what they were inlined into; NULL: any. */
static void
find_named(struct search *search, const char *text, const char *within)
{
    for (enum fit fit = FIT_WHOLE; fit < FITS && search->targets->count == 0; fit++) {
        struct wanted wanted = {.text = text, .within = within, .fit = fit};

        find_functions(search, &wanted);
    }
}

/* Take the text as "NAME inlined in NAME", as tables show it, and find functions. */
static void
find_inlined(struct search *search, const char *text)
{
    static const char between[] = " inlined in ";
    const char *const at = strstr(text, between);
    char *name;

    if (at == NULL) {
        return;
    }
    name = strndup(text, (size_t)(at - text));
    if (name == NULL) {
        search->failed = true;
        return;
    }
    find_named(search, name, at + strlen(between));
    free(name);
}

/* Find all targets of text; NULL: all functions with machine code. */
static void
find_by_text(struct search *search, const char *text)
{
    if (text == NULL) {
        struct wanted wanted = {.text = NULL};

        find_functions(search, &wanted);
        return;
    }
    find_lines(search, text);
    if (search->targets->count == 0) {
        find_addresses(search, text);
    }
    if (search->targets->count == 0) {
        find_named(search, text, /* within */ NULL);
    }
    if (search->targets->count == 0) {
        find_inlined(search, text);
    }
}

/* Find the targets of text, or all functions with machine code if text is NULL, and
 * sort them. Returns false if memory runs out. */
static bool
find_targets(const struct profile *profile, const char *text, const char *image,
             struct listing_targets *targets)
{
    struct search search = {.profile = profile, .targets = targets, .image = image};
    struct ordering ordering = {profile, targets};

    *targets = (struct listing_targets){.source_count = profile->source_count};
    search.failed =
        !identities_find(profile, &search.identities) || !choose_images(&search);
    if (!search.failed) {
        find_by_text(&search, text);
    }
    if (targets->count > 1) {
        qsort_r(targets->items, targets->count, sizeof(*targets->items),
                compare_targets, &ordering);
    }
    hash_index_finish(&search.index);
    identities_finish(&search.identities);
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
    return find_targets(profile, /* text */ NULL, image, targets);
}

void
listing_targets_finish(struct listing_targets *targets)
{
    free(targets->items);
    free(targets->hits);
    *targets = (struct listing_targets){.items = NULL};
}

struct listing_target
listing_target_of_row(const struct profile *profile,
                      const struct identities *identities,
                      const struct profile_row *row, bool inlined)
{
    const size_t number = (size_t)(row - profile->rows);
    const bool inner = inlined && row->caller != 0;
    struct listing_target target = target_of_function(
        profile, row, inner ? row->function : profile_outer_function(profile, row));

    target.inlined = inner;
    target.id = inner ? identities->inner[number] : identities->outer[number];
    target.within = inner ? identities->outer[number] : LISTING_NONE;
    return target;
}

void
listing_target_name(const struct profile *profile, const struct listing_target *target,
                    enum display_detail detail, struct buffer *out)
{
    display_function(&profile->functions[target->function],
                     &profile->images[target->image], detail, out);
}
