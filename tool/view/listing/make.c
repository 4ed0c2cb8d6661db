/* SPDX-License-Identifier: MIT */
/* make.c - lists a target in the best way that its files allow. */
#include "view/listing/decode.h"
#include "view/listing/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool
listing_has_decoder(void)
{
    return decode_has_capstone();
}

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
        listing_add_clamped(listing->totals, profile->rows[i].hits, sources);
    }
    for (size_t i = 0; i < sources; i++) {
        listing_add_clamped(&listing->totals[i], &profile->sources[i].outside, 1);
    }
    return true;
}

/* Files of other tools may have no path. */
static const char *
shown_path(const struct profile_image *image)
{
    return image->path[0] != '\0' ? image->path : "[unknown]";
}

static void
set_title(struct listing *listing, const struct profile *profile)
{
    const struct listing_target *target = &listing->target;
    const struct profile_image *image =
        target->image == LISTING_NONE ? NULL : &profile->images[target->image];

    switch (target->kind) {
    case LISTING_OF_FUNCTION:
        listing->title =
            listing_format(listing, "%s in %s", target->name, shown_path(image));
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

/* Add up the hits of a function or a line wherever its code is. */
static void
count_own(struct view *view)
{
    struct listing *listing = view->listing;

    for (size_t i = 0; i < view->profile->row_count; i++) {
        const struct profile_row *row = &view->profile->rows[i];
        struct listing_place place;

        if (!listing_find_place(view->profile, view->target, row, &place)) {
            continue;
        }
        listing_add_clamped(listing->own, row->hits, listing->source_count);
        if (place.caller != row->caller || place.function != row->function) {
            listing_add_clamped(listing->inlined, row->hits, listing->source_count);
        }
    }
}

/* Find the source line of an address, for a listing of source. Returns false if it is
 * unknown. */
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

static void
fill(struct view *view, enum listing_view wanted)
{
    const bool code_first =
        wanted == LISTING_INSTRUCTIONS ||
        (wanted == LISTING_BEST && view->target->kind != LISTING_OF_LINE);

    if (!listing_is_by_address(view->target)) {
        count_own(view);
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

/* Add up the hits of instructions, each of which is on one line. Hits of source lines
 * may be on several, so those were added up before. */
static void
count_shown(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *line = &listing->lines[i];

        if (line->kind != LISTING_SOURCE && line->hits_at != LISTING_NO_HITS) {
            listing_add_clamped(listing->shown, &listing->hits[line->hits_at],
                                listing->source_count);
        }
    }
}

/* Add a note about the hits that are on no line. */
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

static bool
is_target(const struct profile *profile, const struct listing_target *target)
{
    return target->image < profile->image_count ||
           (target->image == LISTING_NONE && target->kind == LISTING_OF_LINE);
}

bool
listing_make(struct annotator *annotator, const struct profile *profile,
             const struct listing_target *target, enum listing_view view,
             struct listing *listing)
{
    struct view made = {annotator, profile, target, listing, *target};

    if (!listing_start(listing, profile, target) || !is_target(profile, target)) {
        return false;
    }
    set_title(listing, profile);
    fill(&made, view);
    if (!listing_failed(listing)) {
        annotator_note_missing(listing);
        count_shown(listing);
        note_outside(listing);
    }
    return !listing_failed(listing);
}
