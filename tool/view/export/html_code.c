/* SPDX-License-Identifier: MIT */
/* html_code.c - chooses the functions with the largest shares of hits, and writes the
 * source and the instructions of each as JSON. */
#include "view/export/html_code.h"

#include "base/arithmetic.h"
#include "base/json.h"
#include "view/export/function_names.h"
#include "view/export/html_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLDED_LINES = 2000, /* longer listings are folded to this much around hits: */
    CONTEXT_LINES = 12,
};

/* candidate - a function with machine code, and its hottest row. */
struct candidate {
    size_t row;
    uint64_t row_hits;
    double share; /* the largest of all sources */
};

/* hottest - the candidates while they are collected. */
struct hottest {
    const struct profile *profile;
    const struct identities *identities;
    size_t *order;  /* rows, those of a function together */
    double *totals; /* hits of each source */
    double *hits;   /* the same of one function */
    struct candidate *items;
    size_t count;
};

/* --- the functions to show --- */

/* Are two rows of the same candidate? The same function in another build of its image
 * is another one. */
static bool
same_function(const struct hottest *hottest, size_t a, size_t b)
{
    const struct profile *const profile = hottest->profile;

    return hottest->identities->outer[a] == hottest->identities->outer[b] &&
           profile->rows[a].image == profile->rows[b].image;
}

static int
compare_functions(const void *left, const void *right, void *context)
{
    const struct hottest *const hottest = context;
    const size_t a = *(const size_t *)left;
    const size_t b = *(const size_t *)right;
    int order =
        compare_numbers(hottest->identities->outer[a], hottest->identities->outer[b]);

    if (order == 0) {
        order = compare_numbers(hottest->profile->rows[a].image,
                                hottest->profile->rows[b].image);
    }
    return order != 0 ? order : compare_numbers(a, b);
}

/* Compare by share; then as they lie in the profile, so that pages of one profile are
 * equal. */
static int
compare_shares(const void *left, const void *right)
{
    const struct candidate *const a = left;
    const struct candidate *const b = right;

    if (a->share != b->share) {
        return a->share > b->share ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static bool
order_rows(struct hottest *hottest)
{
    const struct profile *const profile = hottest->profile;

    hottest->order = calloc(profile->row_count + 1, sizeof(*hottest->order));
    hottest->items = calloc(profile->row_count + 1, sizeof(*hottest->items));
    hottest->totals = calloc(profile->source_count + 1, sizeof(*hottest->totals));
    hottest->hits = calloc(profile->source_count + 1, sizeof(*hottest->hits));
    if (hottest->order == NULL || hottest->items == NULL || hottest->totals == NULL ||
        hottest->hits == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        hottest->order[i] = i;
        for (size_t source = 0; source < profile->source_count; source++) {
            hottest->totals[source] += (double)profile->rows[i].hits[source];
        }
    }
    if (profile->row_count > 1) {
        qsort_r(hottest->order, profile->row_count, sizeof(*hottest->order),
                compare_functions, hottest);
    }
    return true;
}

/* Add the function of rows [first, end) of order, if it has hits, and a name or
 * bounds. */
static void
add_candidate(struct hottest *hottest, size_t first, size_t end)
{
    const struct profile *const profile = hottest->profile;
    const size_t row = hottest->order[first];
    const struct profile_function *const outer =
        &profile->functions[profile_outer_function(profile, &profile->rows[row])];
    struct candidate item = {.row = row};

    memset(hottest->hits, 0, profile->source_count * sizeof(*hottest->hits));
    for (size_t i = first; i < end; i++) {
        const uint64_t *const hits = profile->rows[hottest->order[i]].hits;

        for (size_t source = 0; source < profile->source_count; source++) {
            hottest->hits[source] += (double)hits[source];
            if (hits[source] > item.row_hits) {
                item.row_hits = hits[source];
                item.row = hottest->order[i];
            }
        }
    }
    for (size_t source = 0; source < profile->source_count; source++) {
        const double total = hottest->totals[source];
        const double share = total > 0 ? hottest->hits[source] / total : 0;

        item.share = share > item.share ? share : item.share;
    }
    if (item.share > 0 && function_has_name_or_bounds(outer)) {
        hottest->items[hottest->count++] = item;
    }
}

static bool
find_hottest(struct hottest *hottest)
{
    const size_t count = hottest->profile->row_count;

    if (!order_rows(hottest)) {
        return false;
    }
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;

        while (end < count &&
               same_function(hottest, hottest->order[first], hottest->order[end])) {
            end++;
        }
        add_candidate(hottest, first, end);
        first = end;
    }
    if (hottest->count > 1) {
        qsort(hottest->items, hottest->count, sizeof(*hottest->items), compare_shares);
    }
    return true;
}

static void
finish_hottest(struct hottest *hottest)
{
    free(hottest->order);
    free(hottest->items);
    free(hottest->totals);
    free(hottest->hits);
}

/* --- writing --- */

/* Has any source line its text? */
static bool
has_source(const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->lines[i].kind == LISTING_SOURCE && !listing->lines[i].missing) {
            return true;
        }
    }
    return false;
}

/* code_writer - the state while code is written. */
struct code_writer {
    FILE *out;
    const struct profile *profile;
    const struct function_names *names;
    struct annotator *annotator;
    uint64_t bytes; /* written so far */
};

/* Write one script element. The page finds it by the name's number and the image. */
static bool
write_listing(struct code_writer *writer, const struct candidate *item,
              const char *view, struct listing *listing)
{
    struct buffer json = {0};

    buffer_print(
        &json,
        "<script type=\"application/json\" class=\"listing\" data-fn=\"%" PRIu32
        "\" data-image=\"%" PRIu32 "\" data-view=\"%s\">\n",
        writer->names->outer[item->row], writer->profile->rows[item->row].image, view);
    html_put_listing(&json, listing);
    buffer_append_text(&json, "\n</script>\n");
    writer->bytes += json.size;
    return json_finish(&json, writer->out);
}

static void
fold_if_long(struct listing *listing)
{
    if (listing->count > FOLDED_LINES) {
        listing_fold(listing, CONTEXT_LINES, 0);
    }
}

/* Write the listing of instructions; if there are none it has only the notes that say
 * why. */
static bool
write_instructions(struct code_writer *writer, const struct candidate *item,
                   const struct listing_target *target)
{
    struct listing listing = {0};
    bool done =
        listing_make(writer->annotator, writer->profile, &writer->names->identities,
                     target, LISTING_INSTRUCTIONS, &listing);

    if (done && listing.has_instructions) {
        fold_if_long(&listing);
        done = write_listing(writer, item, "code", &listing);
    } else if (done) {
        listing.count = 0;
        done = write_listing(writer, item, "notes", &listing);
    }
    listing_finish(&listing);
    return done;
}

static bool
write_source(struct code_writer *writer, const struct candidate *item,
             const struct listing_target *target)
{
    struct listing listing = {0};
    bool done =
        listing_make(writer->annotator, writer->profile, &writer->names->identities,
                     target, LISTING_SOURCE_ONLY, &listing);

    if (done && has_source(&listing)) {
        fold_if_long(&listing);
        done = write_listing(writer, item, "source", &listing);
    }
    listing_finish(&listing);
    return done;
}

/* Write the two listings of a function. */
static bool
write_function(struct code_writer *writer, const struct candidate *item)
{
    const struct listing_target target =
        listing_target_of_row(writer->profile, &writer->names->identities,
                              &writer->profile->rows[item->row], /* inlined */ false);

    return write_instructions(writer, item, &target) &&
           write_source(writer, item, &target);
}

static bool
write_hottest(struct code_writer *writer, const struct hottest *hottest,
              size_t functions_max, struct html_code *done)
{
    done->functions = hottest->count;
    for (size_t i = 0; i < hottest->count && i < functions_max; i++) {
        if (writer->bytes > HTML_CODE_BYTES_MAX) {
            done->full = true;
            break;
        }
        if (!write_function(writer, &hottest->items[i])) {
            return false;
        }
        done->listed++;
    }
    return true;
}

bool
html_write_code(FILE *out, const struct profile *profile,
                const struct function_names *names,
                const struct export_options *options, struct html_code *done)
{
    const struct annotator_settings settings = {.image_dir = options->image_dir,
                                                .prefixes = options->prefixes,
                                                .prefix_count = options->prefix_count};
    struct hottest hottest = {.profile = profile, .identities = &names->identities};
    struct code_writer writer = {.out = out, .profile = profile, .names = names};
    bool written = find_hottest(&hottest);

    memset(done, 0, sizeof(*done));
    if (written && options->listings > 0 && hottest.count > 0) {
        writer.annotator = annotator_new(&settings);
        written = writer.annotator != NULL;
    }
    written = written && write_hottest(&writer, &hottest, options->listings, done);
    annotator_delete(writer.annotator);
    finish_hottest(&hottest);
    return written;
}
