/* SPDX-License-Identifier: MIT */
/* one_image.c - which image a form of one image holds. */
#include "view/export/one_image.h"

#include "profile/match.h"
#include "view/export/messages.h"
#include "view/export/names.h"

#include "base/hash_index.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
same_file(const struct profile_image *a, const struct profile_image *b)
{
    return a->path == b->path && a->build_id == b->build_id;
}

/* Return the first image of the same file as an image; that image itself
 * if index has none. */
static uint32_t
find_first(const struct profile *profile, const struct hash_index *index, uint32_t hash,
           uint32_t image)
{
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(index, hash, &probe)) != HASH_INDEX_NONE) {
        if (same_file(&profile->images[at], &profile->images[image])) {
            return at;
        }
    }
    return image;
}

/* Set first_of for each image: a file may be mapped in several places, which are images
 * of their own. Returns false if memory runs out. */
static bool
find_files(struct one_image *choice)
{
    const struct profile *profile = choice->profile;
    struct hash_index index = {0};
    bool done = true;

    for (uint32_t i = 0; done && i < profile->image_count; i++) {
        const struct profile_image *image = &profile->images[i];
        const uint32_t hash = hash_mix(hash_mix(0, (uint64_t)(uintptr_t)image->path),
                                       (uint64_t)(uintptr_t)image->build_id);

        choice->first_of[i] = find_first(profile, &index, hash, i);
        done = choice->first_of[i] != i || hash_index_add(&index, hash, i);
    }
    hash_index_finish(&index);
    return done;
}

/* Add up the hits of a source by file. Returns false if memory runs out. */
static bool
add_up_images(struct one_image *choice, size_t source)
{
    const struct profile *profile = choice->profile;

    choice->hits = calloc(profile->image_count + 1, sizeof(uint64_t));
    choice->first_of = calloc(profile->image_count + 1, sizeof(uint32_t));
    if (choice->hits == NULL || choice->first_of == NULL || !find_files(choice)) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        choice->hits[choice->first_of[row->image]] += row->hits[source];
    }
    return true;
}

/* Set named for the images that may be chosen: of the wanted kind, and matching name
 * unless it is NULL. Returns false if memory runs out. */
static bool
find_named(struct one_image *choice, const char *name, enum one_image_of of)
{
    const struct profile *profile = choice->profile;
    struct buffer scratch = {0};
    bool done;

    choice->named = calloc(profile->image_count + 1, sizeof(bool));
    for (size_t i = 0; choice->named != NULL && i < profile->image_count; i++) {
        choice->named[i] =
            (of == ONE_IMAGE_OF_ANY || profile->images[i].path[0] == '/') &&
            (name == NULL || match_image(name, &profile->images[i], &scratch));
    }
    done = choice->named != NULL && !scratch.failed;
    buffer_finish(&scratch);
    return done;
}

/* Return whether an image may be chosen: it is the first of its file, has
 * hits and is named. */
static bool
is_candidate(const struct one_image *choice, uint32_t image)
{
    return choice->first_of[image] == image && choice->hits[image] > 0 &&
           choice->named[image];
}

/* Return the candidate that follows the candidate after, in order of hits, most first;
 * after UINT32_MAX: the first one. UINT32_MAX: there is none. */
static uint32_t
next_candidate(const struct one_image *choice, uint32_t after)
{
    const uint64_t *hits = choice->hits;
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < choice->profile->image_count; i++) {
        const bool behind = after == UINT32_MAX || hits[i] < hits[after] ||
                            (hits[i] == hits[after] && i > after);

        if (behind && is_candidate(choice, i) &&
            (best == UINT32_MAX || hits[i] > hits[best])) {
            best = i;
        }
    }
    return best;
}

static size_t
count_candidates(const struct one_image *choice)
{
    size_t count = 0;

    for (uint32_t i = 0; i < choice->profile->image_count; i++) {
        count += is_candidate(choice, i);
    }
    return count;
}

/* Return what distinguishes a candidate from the others: its path, or its build-id if
 * they all have one path. */
static const char *
what_tells_apart(const struct one_image *choice, uint32_t image)
{
    const struct profile_image *const images = choice->profile->images;

    for (uint32_t i = 0; i < choice->profile->image_count; i++) {
        if (images[i].path != images[image].path && is_candidate(choice, i)) {
            return images[image].path;
        }
    }
    return images[image].build_id;
}

/* Set the error to a list of the images that can be chosen, those with most hits first.
 * Returns false. */
static bool
fail_choice(const struct one_image *choice, const struct export_options *options,
            struct export_messages *messages)
{
    enum { NAMED = 4 };
    const size_t count = count_candidates(choice);
    uint32_t image = UINT32_MAX;
    size_t length;

    length =
        (size_t)snprintf(messages->error, sizeof(messages->error),
                         "%s holds one image, --image chooses it:", options->format);
    for (int i = 0; i < NAMED; i++) {
        char shown[64];

        image = next_candidate(choice, image);
        if (image == UINT32_MAX) {
            return false;
        }
        text_show(shown, sizeof(shown), what_tells_apart(choice, image));
        length +=
            (size_t)snprintf(messages->error + length, sizeof(messages->error) - length,
                             "%s %s (%" PRIu64 " hit%s)", i > 0 ? "," : "", shown,
                             choice->hits[image], choice->hits[image] == 1 ? "" : "s");
    }
    if (count > NAMED) {
        snprintf(messages->error + length, sizeof(messages->error) - length,
                 ", %zu more", count - NAMED);
    }
    return false;
}

bool
one_image_choose(struct one_image *choice, const struct profile *profile,
                 const struct export_options *options, enum one_image_of of,
                 struct export_messages *messages)
{
    const char *name = options->image;
    const char *const kind = of == ONE_IMAGE_OF_FILE ? " of a file" : "";
    size_t count;
    char shown[128];

    *choice = (struct one_image){.profile = profile};
    if (!add_up_images(choice, options->source) || !find_named(choice, name, of)) {
        return false;
    }
    count = count_candidates(choice);
    if (count > 1 && name != NULL) {
        return fail_choice(choice, options, messages);
    }
    if (count > 0) {
        choice->chosen = next_candidate(choice, UINT32_MAX);
        return true;
    }
    if (name != NULL) {
        snprintf(messages->error, sizeof(messages->error),
                 "--image %s: no image%s with hits has such a path, name or build-id",
                 text_show(shown, sizeof(shown), name), kind);
    } else {
        snprintf(
            messages->error, sizeof(messages->error),
            "source %s has no hits in any image%s, and no tool reads an empty %s file",
            text_show(shown, sizeof(shown), profile->sources[options->source].name),
            kind, options->format);
    }
    return false;
}

void
one_image_note(const struct one_image *choice, const struct export_options *options,
               struct export_messages *messages)
{
    uint64_t others = 0;
    char shown[128];

    for (size_t i = 0; i < choice->profile->image_count; i++) {
        others += i != choice->chosen ? choice->hits[i] : 0;
    }
    if (others > 0 && options->image == NULL) {
        text_show(shown, sizeof(shown),
                  export_image_name(&choice->profile->images[choice->chosen]));
        export_note(messages, options,
                    "it holds one image: %s, with most hits (--image chooses another)",
                    shown);
    }
    if (others > 0) {
        export_note(messages, options, "%" PRIu64 " hit%s in other images %s left out",
                    others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
    }
}

void
one_image_finish(struct one_image *choice)
{
    free(choice->first_of);
    free(choice->named);
    free(choice->hits);
}
