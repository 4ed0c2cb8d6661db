/* SPDX-License-Identifier: MIT */
/*
 * region_report.c - makes a listing of each image of the region, and prints it.
 *
 * The image of a region is mapped under several names where processes use several links
 * to it. Each name is an image of the profile, and has a listing.
 */
#include "cli/region_report.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal.h"

#include <inttypes.h>

/* Lines of context around buckets with hits. */
enum { CONTEXT_LINES = 5 };

/* Prints a listing; any: another one was printed before. Returns false if that
 * fails. */
typedef bool print_listing(FILE *out, const struct region_report *report,
                           struct listing *listing, bool any);

/* Return the range of the region in an image, as the target of a listing. */
static struct listing_target
make_target(const struct region_report *report, uint32_t image)
{
    const struct region *const region = report->region;

    return (struct listing_target){
        .kind = LISTING_OF_RANGE,
        .image = image,
        .name = region->symbol != NULL ? region->symbol : "",
        .system_name = "",
        .file = "",
        .address = region->address,
        .end = region->address + region->code.bytes,
    };
}

static bool
has_hits(const struct profile *profile, uint32_t image)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        if (profile->rows[i].image == image) {
            return true;
        }
    }
    return false;
}

/* Make and print the listing of each image with hits. *any is set if there is one.
 * Returns false if that fails. */
static bool
print_listings(FILE *out, const struct region_report *report, print_listing *print,
               bool *any)
{
    const struct annotator_settings settings = {.symbols = report->symbols};
    struct annotator *const annotator = annotator_new(&settings);
    bool done = annotator != NULL;

    *any = false;
    for (uint32_t i = 0; done && i < report->profile->image_count; i++) {
        const struct listing_target target = make_target(report, i);
        struct listing listing;

        if (!has_hits(report->profile, i)) {
            continue;
        }
        done = listing_make(annotator, report->profile, /* identities */ NULL, &target,
                            LISTING_INSTRUCTIONS, &listing) &&
               print(out, report, &listing, *any);
        listing_finish(&listing);
        *any = true;
    }
    annotator_delete(annotator);
    return done;
}

/* --- text --- */

static bool
print_text(FILE *out, const struct region_report *report, struct listing *listing,
           bool any)
{
    struct listing_print_options options = {.source = LISTING_ALL_SOURCES};

    terminal_fit_listing(out, &options);
    listing_fold(listing, report->rows == 0 ? UINT32_MAX : CONTEXT_LINES, report->rows);
    fputs(any ? "\n" : "", out);
    return listing_print_text(out, report->profile, listing, &options);
}

bool
region_report_print(FILE *out, const struct region_report *report)
{
    const struct region *const region = report->region;
    char symbol[200];
    char path[200];
    bool any;

    if (!print_listings(out, report, print_text, &any)) {
        return false;
    }
    if (!any) {
        fprintf(out, "%s%s0x%" PRIx64 " to 0x%" PRIx64 " in %s: no hits\n",
                region->symbol != NULL
                    ? text_show(symbol, sizeof(symbol), region->symbol)
                    : "",
                region->symbol != NULL ? ", " : "", region->address,
                region->address + region->code.bytes,
                text_show(path, sizeof(path), region->path));
    }
    return !ferror(out);
}

/* --- JSON --- */

static bool
print_json(FILE *out, const struct region_report *report, struct listing *listing,
           bool any)
{
    fputs(any ? ",\n" : "", out);
    return listing_print_json(out, report->profile, listing);
}

bool
region_report_print_member(FILE *out, const void *context)
{
    const struct region_report *const report = context;
    const struct region *const region = report->region;
    struct buffer json = {0};
    bool done;
    bool any;

    buffer_append_byte(&json, '\n');
    json_begin(&json, "region", '{');
    json_put_text_member(&json, "symbol", region->symbol != NULL ? region->symbol : "");
    json_put_text_member(&json, "image", region->path);
    json_put_address_member(&json, "start", region->address);
    json_put_address_member(&json, "end", region->address + region->code.bytes);
    buffer_append_text(&json, "\n\"listings\":[");
    done = json_finish(&json, out) && print_listings(out, report, print_json, &any);
    fputs("]},", out);
    return done && !ferror(out);
}
