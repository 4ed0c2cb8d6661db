/* SPDX-License-Identifier: MIT */
/*
 * top_listing.c - source and instructions of a function in ntprof top.
 *
 * A listing needs a whole profile, at a cost that depends on everything that was hit.
 * So it is made again only after twenty times as long as it took, which limits its cost
 * to a twentieth of a processor.
 */
#include "base/clock.h"
#include "top/topp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t times_rested = 20;

void
top_delete_listing(struct listing *listing)
{
    if (listing != NULL) {
        listing_finish(listing);
        free(listing);
    }
}

bool
top_list_job(struct top *top, struct top_job *job)
{
    const struct tui_table *const table = &top->screen.tables[TUI_FUNCTIONS];
    size_t row;

    if (!tui_screen_chosen(&top->screen, &row)) {
        return false;
    }
    top->listed = (struct top_target){
        .image = tui_table_image(table, row),
        .name = tui_table_name(table, row),
        .address = table->rows[row].address,
    };
    *job = (struct top_job){.kind = TOP_LIST, .target = top->listed};
    return true;
}

bool
top_list_again_job(const struct top *top, struct top_job *job)
{
    *job = (struct top_job){.kind = TOP_LIST, .target = top->listed, .again = true};
    return top->screen.page == TUI_PAGE_LISTING && top->listing != NULL &&
           clock_now_ns() >= top->list_again_ns;
}

static bool
row_is(const struct profile *profile, const struct profile_row *row,
       const struct top_target *target)
{
    if (strcmp(profile->images[row->image].path, target->image) != 0) {
        return false;
    }
    if (target->name == NULL) {
        return row->function == 0 && row->address == target->address;
    }
    return row->function != 0 &&
           strcmp(profile->functions[row->function].name, target->name) == 0;
}

/* Returns NULL if the function is not in the profile, such as after a JIT renamed
 * it. */
static const struct profile_row *
find_row(const struct profile *profile, const struct top_target *target)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        if (row_is(profile, &profile->rows[i], target)) {
            return &profile->rows[i];
        }
    }
    return NULL;
}

static bool
open_annotator(struct top *top)
{
    const struct annotator_settings settings = {
        .symbols = top->store != NULL ? &top->store->names.settings
                                      : &top->recording.names.settings};

    if (top->annotator == NULL) {
        top->annotator = annotator_new(&settings);
    }
    return top->annotator != NULL;
}

/* Make the listing of a row of profile. Returns NULL if memory runs out. */
static struct listing *
make_listing(struct top *top, const struct profile *profile,
             const struct profile_row *row)
{
    const struct listing_target target = listing_target_of_row(profile, row);
    struct listing *const listing =
        open_annotator(top) ? calloc(1, sizeof(*listing)) : NULL;

    if (listing == NULL) {
        return NULL;
    }
    if (listing_make(top->annotator, profile, &target, LISTING_BEST, listing)) {
        return listing;
    }
    top_delete_listing(listing);
    return NULL;
}

void
top_run_list(struct top *top, struct top_job *job)
{
    const struct profile_row *row = NULL;
    struct pprof_error error;

    job->profile = top_read_whole(top, &error);
    if (job->profile != NULL) {
        row = find_row(job->profile, &job->target);
    }
    if (row != NULL) {
        job->listing = make_listing(top, job->profile, row);
    }
    if (job->listing == NULL) {
        snprintf(job->message, sizeof(job->message), "%.390s",
                 job->profile == NULL ? error.text
                 : row == NULL        ? "it has no hits under this name any more"
                                      : "out of memory for a listing");
    }
}

void
top_show_list(struct top *top, struct top_job *job)
{
    if (job->listing == NULL) {
        return;
    }
    tui_screen_list(&top->screen, job->listing, job->again);
    top_delete_listing(top->listing);
    profile_delete(top->profile);
    top->listing = job->listing;
    top->profile = job->profile;
    top->list_again_ns = clock_now_ns() + times_rested * job->taken_ns;
    job->listing = NULL;
    job->profile = NULL;
}

void
top_list_finish(struct top *top)
{
    tui_screen_list(&top->screen, NULL, true);
    top_delete_listing(top->listing);
    profile_delete(top->profile);
    annotator_delete(top->annotator);
    top->listing = NULL;
    top->profile = NULL;
    top->annotator = NULL;
}
