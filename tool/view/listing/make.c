/* SPDX-License-Identifier: MIT */
/* make.c - lists a target in the best way that its files allow. */
#include "base/arithmetic.h"
#include "base/path.h"
#include "profile/join.h"
#include "view/listing/decode.h"
#include "view/listing/views.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* --- an empty listing --- */

/* Make an empty listing of a target, with the hits of the whole profile. Returns false
 * if memory runs out. */
static bool
listing_start(struct listing *listing, const struct profile *profile,
              const struct listing_target *target)
{
    const size_t sources = profile->source_count;

    *listing = (struct listing){.target = *target, .source_count = sources};
    listing->private = calloc(1, sizeof(*listing->private));
    listing->own = calloc(sources + 1, sizeof(*listing->own));
    listing->inlined = calloc(sources + 1, sizeof(*listing->inlined));
    listing->totals = calloc(sources + 1, sizeof(*listing->totals));
    listing->shown = calloc(sources + 1, sizeof(*listing->shown));
    if (listing->private == NULL || listing->own == NULL || listing->inlined == NULL ||
        listing->totals == NULL || listing->shown == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        add_all_clamped(listing->totals, profile->rows[i].hits, sources);
    }
    for (size_t i = 0; i < sources; i++) {
        const uint64_t outside = profile_outside(profile, &profile->sources[i]);

        add_clamped(&listing->totals[i], outside);
    }
    return true;
}

/* --- title --- */

/* Return the path of an image as it is shown: files of other tools may have none. */
static const char *
shown_path(const struct profile_image *image)
{
    return image->path[0] != '\0' ? image->path : "[unknown]";
}

/* Make the title of a listing of a function. */
static const char *
function_title(struct listing *listing, const struct profile *profile)
{
    const struct listing_target *const target = &listing->target;
    const char *const path = shown_path(&profile->images[target->image]);
    struct buffer name = {0};
    const char *title = "";

    if (listing_is_nameless(profile, target)) {
        return listing_format(listing, "[no symbols] in %s", path);
    }
    if (target->name[0] != '\0') {
        buffer_append_text(&name, target->name);
    } else {
        listing_target_name(profile, target, DISPLAY_FULL, &name);
    }
    if (buffer_text(&name) != NULL) {
        title = listing_format(
            listing, target->inlined ? "%s, where it was inlined, in %s" : "%s in %s",
            buffer_text(&name), path);
    }
    listing->private->failed |= name.failed;
    buffer_finish(&name);
    return title;
}

static void
set_title(struct listing *listing, const struct profile *profile)
{
    const struct listing_target *target = &listing->target;
    const struct profile_image *image =
        target->image == LISTING_NONE ? NULL : &profile->images[target->image];

    switch (target->kind) {
    case LISTING_OF_FUNCTION:
        listing->title = function_title(listing, profile);
        break;
    case LISTING_OF_LINE:
        listing->title = listing_format(listing, "%s:%" PRIu32 "%s%s", target->file,
                                        target->line, image == NULL ? "" : " in ",
                                        image == NULL ? "" : shown_path(image));
        break;
    case LISTING_OF_RANGE:
        listing->title =
            target->name[0] != '\0'
                ? listing_format(listing, "%s in %s", target->name, shown_path(image))
                : listing_format(listing, "0x%" PRIx64 " to 0x%" PRIx64 " in %s",
                                 target->address, target->end, shown_path(image));
        break;
    case LISTING_OF_ADDRESS:
        listing->title = listing_format(listing, "%s+0x%" PRIx64, shown_path(image),
                                        target->address - image->start + image->offset);
        break;
    }
}

/* --- hits of inlined code --- */

/* Add up the hits of the target, a function or a line, wherever its code is. */
static void
count_own(struct view *view)
{
    struct listing *listing = view->listing;

    for (size_t i = 0; i < view->profile->row_count; i++) {
        const struct profile_row *row = &view->profile->rows[i];
        struct listing_place place;

        if (!listing_find_place(view->profile, view->identities, view->target, row,
                                &place)) {
            continue;
        }
        add_all_clamped(listing->own, row->hits, listing->source_count);
        if (place.depth > 0) {
            add_all_clamped(listing->inlined, row->hits, listing->source_count);
        }
    }
}

/* Return whether a row is of the target's function where that was inlined into another
 * one. */
static bool
is_inlined_elsewhere(const struct profile *profile, const struct listing_target *target,
                     const struct profile_row *row)
{
    return row->caller != 0 && target->name[0] != '\0' &&
           listing_same_image(profile, target->image, row->image) &&
           listing_same_function(&profile->functions[row->function],
                                 &profile->functions[target->function]);
}

/* Add a note about hits of the target's function that its row in the table does not
 * have, so that they are not listed here. */
static void
note_elsewhere(struct view *view)
{
    const struct profile *const profile = view->profile;
    const struct listing_target *const target = view->target;
    uint64_t hits = 0;

    for (size_t i = 0; profile->source_count > 0 && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        struct listing_place place;

        if ((target->inlined ? listing_is_around(profile, target, row)
                             : is_inlined_elsewhere(profile, target, row)) &&
            !listing_find_place(profile, view->identities, target, row, &place)) {
            add_clamped(&hits, row->hits[0]);
        }
    }
    if (hits > 0 && target->inlined && target->within == LISTING_NONE) {
        listing_add_note(view->listing, LISTING_NOTE_NAMES,
                         "%" PRIu64
                         " more hits are in functions that were inlined into "
                         "it in turn",
                         hits);
    } else if (hits > 0 && !target->inlined) {
        listing_add_note(view->listing, LISTING_NOTE_NAMES,
                         "%" PRIu64 " more hits are where it was inlined into other "
                         "functions: ntprof annotate '%s inlined in *'",
                         hits, target->name);
    }
}

/* --- lines and instructions --- */

/* Set view->around to the source line of the target's address. Returns false if the
 * profile does not know it. */
static bool
find_line(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct listing_target *target = view->target;
    const struct profile_row *best = NULL;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        if (listing_same_image(profile, row->image, target->image) && row->line > 0 &&
            row->address <= target->address &&
            target->address < listing_row_end(profile, row)) {
            best = row;
        }
    }
    if (best == NULL) {
        return false;
    }
    view->around = (struct listing_target){
        .kind = LISTING_OF_LINE,
        .image = target->image,
        .name = "",
        .system_name = "",
        .file = profile->functions[best->function].file,
        .line = best->line,
    };
    return true;
}

/* List source lines; for an address those around its line. Returns false if there are
 * none. */
static bool
try_source(struct view *view)
{
    const struct listing_target *const target = view->target;
    bool done;

    if (!listing_is_by_address(target)) {
        return view_source(view);
    }
    if (!find_line(view)) {
        return false;
    }
    view->target = &view->around;
    count_own(view);
    done = view_source(view);
    view->target = target;
    return done;
}

/* Add a note which command shows instructions of code without names and bounds. That
 * may be all code of an image, so here only its buckets are listed. */
static void
note_hottest(struct view *view)
{
    const struct profile *const profile = view->profile;
    const struct profile_row *hottest = NULL;
    struct listing_place place;

    for (size_t i = 0; profile->source_count > 0 && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (listing_find_place(profile, view->identities, view->target, row, &place) &&
            (hottest == NULL || row->hits[0] > hottest->hits[0])) {
            hottest = row;
        }
    }
    if (hottest != NULL) {
        const struct profile_image *const image = &profile->images[hottest->image];

        listing_add_note(view->listing, LISTING_NOTE_NAMES,
                         "where its functions begin is not known; the instructions "
                         "around its hottest bucket: ntprof annotate %s+0x%" PRIx64,
                         path_last_part(image->path),
                         hottest->address - image->start + image->offset);
    }
}

/* List the target in the first way that works, of those that wanted allows. */
static void
fill(struct view *view, enum listing_view wanted)
{
    const bool code_first =
        wanted == LISTING_INSTRUCTIONS ||
        (wanted == LISTING_BEST && view->target->kind != LISTING_OF_LINE);

    if (!listing_is_by_address(view->target)) {
        count_own(view);
    }
    if (view->target->kind == LISTING_OF_FUNCTION) {
        note_elsewhere(view);
    }
    if (listing_is_nameless(view->profile, view->target)) {
        note_hottest(view);
        view_buckets(view);
        return;
    }
    if ((code_first && view_code(view)) ||
        (wanted != LISTING_INSTRUCTIONS && try_source(view))) {
        return;
    }
    if (wanted == LISTING_SOURCE_ONLY) {
        listing_add_note(view->listing, LISTING_NOTE_NAMES,
                         "the profile knows no source lines of this; ntprof report "
                         "--symbolize adds them if the debug information is here");
    }
    view_buckets(view);
}

/* --- hits outside --- */

/* Add up the hits of lines other than source lines, each of whose hits is on one line.
 * Hits of source lines may be on several lines, and were added up by row. */
static void
count_shown(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *line = &listing->lines[i];

        if (line->kind != LISTING_SOURCE && line->hits_at != LISTING_NO_HITS) {
            add_all_clamped(listing->shown, &listing->hits[line->hits_at],
                            listing->source_count);
        }
    }
}

/* Add a note about the target's hits that are on no line. */
static void
note_outside(struct listing *listing)
{
    for (size_t i = 0; i < listing->source_count; i++) {
        if (listing->shown[i] < listing->own[i]) {
            listing->outside = true;
            listing_add_note(
                listing, LISTING_NOTE_NAMES,
                "%" PRIu64 " of %" PRIu64 " hits are on none of these lines: %s",
                listing->own[i] - listing->shown[i], listing->own[i],
                listing->has_instructions ? "no code of theirs could be shown"
                                          : "no source line is known of them");
        }
    }
}

/* --- what callers use --- */

#ifndef NDEBUG
/* Assert that each index of a line, and each line of a bucket, is one of the listing.
 * Addresses are the profile's, and may be any. */
static bool
assert_listing_state(const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *const line = &listing->lines[i];

        assert(line->bucket == LISTING_NONE || line->bucket < listing->bucket_count);
        assert(line->target == LISTING_NONE || line->target < listing->count);
    }
    for (size_t i = 0; i < listing->bucket_count; i++) {
        const struct listing_bucket *const bucket = &listing->buckets[i];

        assert(bucket->first_line == LISTING_NONE ||
               (bucket->first_line <= bucket->last_line &&
                bucket->last_line < listing->count));
    }
    return true;
}
#endif

/* Return whether the profile has the image and the function of the target. */
static bool
is_target(const struct profile *profile, const struct listing_target *target)
{
    return (target->image < profile->image_count &&
            target->function < profile->function_count) ||
           (target->image == LISTING_NONE && target->kind == LISTING_OF_LINE);
}

/* Make a listing that was started; view->identities are set if the target is a
 * function. Returns false if memory runs out. */
static bool
make(struct view *view, enum listing_view wanted)
{
    struct listing *const listing = view->listing;

    set_title(listing, view->profile);
    fill(view, wanted);
    if (!listing_failed(listing)) {
        annotator_note_missing(listing);
        count_shown(listing);
        note_outside(listing);
        assert(assert_listing_state(listing));
    }
    return !listing_failed(listing);
}

bool
listing_make(struct annotator *annotator, const struct profile *profile,
             const struct identities *identities, const struct listing_target *target,
             enum listing_view wanted, struct listing *listing)
{
    struct identities own = {0};
    struct view view = {annotator, profile, identities, target, listing, *target};
    bool made = listing_start(listing, profile, target) && is_target(profile, target);

    if (made && identities == NULL && target->kind == LISTING_OF_FUNCTION) {
        made = identities_find(profile, &own);
        view.identities = &own;
    }
    made = made && make(&view, wanted);
    identities_finish(&own);
    return made;
}
