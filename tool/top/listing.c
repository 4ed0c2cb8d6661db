/* SPDX-License-Identifier: MIT */
/*
 * listing.c - source and instructions of a function in ntprof top, and its callers.
 *
 * Both need a whole profile, at a cost that depends on everything that was hit. Callers
 * need it once, as looks are added to them. A listing is made again, but only after
 * twenty times as long as it took, which limits its cost to a twentieth of a processor.
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
top_row_job(struct top *top, enum top_job_kind kind, struct top_job *job)
{
    const enum tui_rows rows = top->screen.view;
    const struct tui_table *const table = &top->screen.tables[rows];
    const struct tui_row *chosen;
    size_t row;

    if (!tui_screen_chosen(&top->screen, &row)) {
        return false;
    }
    chosen = &table->rows[row];
    top->listed = (struct top_target){
        .rows = rows,
        .row = row,
        .outer = tui_table_target(table, row),
        .inlined = chosen->inlined,
        .inner = table->seen->functions[chosen->inner],
    };
    *job = (struct top_job){.kind = kind, .target = top->listed};
    return true;
}

bool
top_list_again_job(const struct top *top, struct top_job *job)
{
    *job = (struct top_job){.kind = TOP_LIST, .target = top->listed, .again = true};
    return top->screen.page == TUI_PAGE_LISTING && top->listing != NULL &&
           clock_now_ns() >= top->list_again_ns;
}

/* Whether a row is of the target's outer function and, if the target is a function that
 * is inlined there, of that one too. */
static bool
row_is(const struct profile *profile, const struct profile_row *row,
       const struct top_target *target)
{
    const uint32_t outer = profile_outer_function(profile, row);

    return tui_target_is(&target->outer, &profile->images[row->image],
                         &profile->functions[outer]) &&
           (!target->inlined ||
            (row->caller != 0 &&
             tui_is_function(&profile->functions[row->function], &target->inner,
                             /* same_build */ false)));
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
             const struct profile_row *row, bool inlined)
{
    struct identities identities = {0};
    struct listing *listing = open_annotator(top) ? calloc(1, sizeof(*listing)) : NULL;
    bool made = false;

    if (listing != NULL && identities_find(profile, &identities)) {
        const struct listing_target target =
            listing_target_of_row(profile, &identities, row, inlined);

        made = listing_make(top->annotator, profile, &identities, &target, LISTING_BEST,
                            listing);
    }
    identities_finish(&identities);
    if (!made) {
        top_delete_listing(listing);
        listing = NULL;
    }
    return listing;
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
        job->listing = make_listing(top, job->profile, row, job->target.inlined);
    }
    if (job->listing == NULL) {
        snprintf(job->message, sizeof(job->message), "%.390s",
                 job->profile == NULL ? error.text
                 : row == NULL        ? "it has no hits of its own under this name"
                                      : "out of memory for a listing");
    }
}

void
top_run_calls(struct top *top, struct top_job *job)
{
    struct pprof_error error;

    job->profile = top_read_whole(top, &error);
    if (job->profile == NULL) {
        snprintf(job->message, sizeof(job->message), "%.390s", error.text);
    }
}

void
top_show_calls(struct top *top, const struct top_job *job)
{
    if (job->profile != NULL &&
        !tui_screen_show_calls(&top->screen, &job->target.outer, job->profile)) {
        tui_screen_say(&top->screen, "out of memory: some rows are missing");
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
    tui_screen_list(&top->screen, /* listing */ NULL, /* again */ true);
    top_delete_listing(top->listing);
    profile_delete(top->profile);
    annotator_delete(top->annotator);
    top->listing = NULL;
    top->profile = NULL;
    top->annotator = NULL;
}
