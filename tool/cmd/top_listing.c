/* SPDX-License-Identifier: MIT */
/*
 * top_listing.c - source and instructions of the function that ntprof top was asked for.
 *
 * A listing is made of a whole profile, at the cost of all that was hit. So it is made again only after twenty
 * times as long as it took: it never costs more than a twentieth of a processor.
 */
#include "cmd/top.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t times_rested = 20;

static void
listing_delete(struct listing *listing)
{
    if (listing != NULL) {
        listing_finish(listing);
        free(listing);
    }
}

static bool
row_is(const struct top *top, const struct profile *profile,
       const struct profile_row *row)
{
    const struct tui_table *const table = &top->screen.tables[TUI_FUNCTIONS];
    const char *const name = tui_table_name(table, top->listed);

    if (strcmp(profile->images[row->image].path, tui_table_image(table, top->listed)) !=
        0) {
        return false;
    }
    if (name == NULL) {
        return row->function == 0 && row->address == table->rows[top->listed].address;
    }
    return row->function != 0 &&
           strcmp(profile->functions[row->function].name, name) == 0;
}

/* NULL: the row's function is not in the profile, as when a JIT has renamed it. */
static const struct profile_row *
find_row(const struct top *top, const struct profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        if (row_is(top, profile, &profile->rows[i])) {
            return &profile->rows[i];
        }
    }
    return NULL;
}

/* NULL: out of memory, or there is no such function any more, as is said. */
static struct listing *
make_listing(struct top *top, const struct profile *profile)
{
    const struct profile_row *const row = find_row(top, profile);
    struct listing_target target;
    struct listing *listing;

    if (row == NULL) {
        tui_screen_say(&top->screen, "it has another name by now");
        return NULL;
    }
    target = listing_target_of_row(profile, row);
    listing = calloc(1, sizeof(*listing));
    if (listing != NULL &&
        !listing_make(top->annotator, profile, &target, LISTING_BEST, listing)) {
        listing_delete(listing);
        listing = NULL;
    }
    if (listing == NULL) {
        tui_screen_say(&top->screen, "out of memory for a listing");
    }
    return listing;
}

static bool
open_annotator(struct top *top)
{
    const struct annotator_settings settings = {.symbols =
                                                    &top->recording.names.settings};

    if (top->annotator == NULL) {
        top->annotator = annotator_new(&settings);
    }
    return top->annotator != NULL;
}

static void
make(struct top *top, bool again)
{
    const uint64_t began_ns = top_now_ns();
    struct profile *const profile =
        open_annotator(top) ? recording_repeat(&top->recording) : NULL;
    struct listing *listing = NULL;

    if (profile == NULL) {
        tui_screen_say(&top->screen, "out of memory for a listing");
    } else {
        listing = make_listing(top, profile);
    }
    if (listing == NULL) {
        profile_delete(profile);
        return;
    }
    tui_screen_list(&top->screen, listing, again);
    listing_delete(top->listing);
    profile_delete(top->profile);
    top->listing = listing;
    top->profile = profile;
    top->list_again_ns = top_now_ns() + times_rested * (top_now_ns() - began_ns);
}

void
top_list(struct top *top)
{
    if (tui_screen_chosen(&top->screen, &top->listed)) {
        make(top, false);
    }
}

void
top_list_again(struct top *top)
{
    const enum tui_page page = top->screen.page;

    if (page == TUI_PAGE_LISTING && top_now_ns() >= top->list_again_ns) {
        make(top, true);
    }
}

void
top_list_finish(struct top *top)
{
    tui_screen_list(&top->screen, NULL, true);
    listing_delete(top->listing);
    profile_delete(top->profile);
    annotator_delete(top->annotator);
    top->listing = NULL;
    top->profile = NULL;
    top->annotator = NULL;
}
