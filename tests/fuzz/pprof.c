/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - hostile profile files: what is read can be shown, written and read again unchanged.
 *
 * Inputs are profiles, gzip or not. A fuzzer seldom makes a valid gzip trailer, so plain ones do most.
 */
#include "profile/pprof.h"
#include "profile/merge.h"
#include "report/diff.h"
#include "report/report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

static void
show(const struct profile *profile, enum report_key key, enum report_format format)
{
    const struct report_options options = {.keys = {{key}, 1},
                                           .format = format,
                                           .rows = 50,
                                           .width = format == REPORT_TABLE ? 80 : 0};
    FILE *out = fopen("/dev/null", "w");

    require(out != NULL && report_print(out, profile, &options));
    fclose(out);
}

/* All keys at once, of what a glob lets through. */
static void
show_filtered(const struct profile *profile)
{
    static const struct report_filter filters[] = {{REPORT_FILTER_IMAGE, "*[!x]*"},
                                                   {REPORT_FILTER_PROCESS, "*"},
                                                   {REPORT_FILTER_SYMBOL, "?*a*"},
                                                   {REPORT_FILTER_SYMBOL, "*"}};
    struct report_options options = {
        .filters = filters, .filter_count = 4, .rows = 50, .format = REPORT_JSON};
    FILE *out = fopen("/dev/null", "w");
    char why[256] = "";

    while (options.keys.count < REPORT_KEY_COUNT) {
        options.keys.list[options.keys.count] = (enum report_key)options.keys.count;
        options.keys.count++;
    }
    require(report_check(profile, &options, why, sizeof(why)) == (why[0] == '\0'));
    require(out != NULL && report_print(out, profile, &options));
    fclose(out);
}

static bool
same_rows(const struct profile *a, const struct profile *b)
{
    if (a->row_count != b->row_count || a->source_count != b->source_count) {
        return false;
    }
    for (size_t i = 0; i < a->row_count; i++) {
        if (a->rows[i].address != b->rows[i].address ||
            strcmp(a->functions[a->rows[i].function].name,
                   b->functions[b->rows[i].function].name) != 0 ||
            strcmp(a->images[a->rows[i].image].path,
                   b->images[b->rows[i].image].path) != 0) {
            return false;
        }
    }
    return true;
}

/* Once written by us, a profile comes back as it was. */
static void
write_and_read(const struct profile *profile)
{
    struct pprof_error error;
    struct profile *back;
    void *bytes;
    size_t size;

    require(pprof_encode(profile, &bytes, &size));
    back = pprof_decode(bytes, size, &error);
    require(back != NULL && same_rows(profile, back));
    profile_delete(back);
    free(bytes);
}

static uint64_t
count_hits(const struct profile *profile)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        for (size_t source = 0; source < profile->source_count; source++) {
            hits += profile->rows[i].hits[source]; /* may wrap: so does twice as much */
        }
    }
    return hits;
}

/* Twice the same has twice the hits and is written and read as any other, or is refused in words. */
static void
merge_with_itself(const struct profile *profile, const uint8_t *data, size_t size)
{
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {""};
    bool added = true;

    require(merger != NULL);
    for (size_t i = 0; added && i < 2; i++) {
        struct profile *copy = pprof_decode(data, size, &error);

        require(copy != NULL);
        added = profile_merger_add(merger, copy, &error);
    }
    require(added || error.text[0] != '\0');
    if (added) {
        struct profile *sum = profile_merger_take(merger, &error);

        require(sum != NULL && count_hits(sum) == 2 * count_hits(profile));
        write_and_read(sum);
        profile_delete(sum);
    }
    profile_merger_delete(merger);
}

static void
compare_with_itself(const struct profile *profile, bool normalize,
                    enum report_format format)
{
    const struct diff_options options = {
        .report = {.format = format, .rows = 50},
        .normalize = normalize,
        .all = true,
    };
    struct diff *diff = diff_new(profile, profile, &options);
    FILE *out = fopen("/dev/null", "w");

    require(diff != NULL && out != NULL && diff_print(out, diff));
    require(!diff_grew(diff, 0));
    diff_delete(diff);
    fclose(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_error error = {""};
    struct profile *profile = pprof_decode(data, size, &error);

    if (profile == NULL) {
        require(error.text[0] != '\0');
        return 0;
    }
    write_and_read(profile);
    merge_with_itself(profile, data, size);
    compare_with_itself(profile, false, REPORT_TABLE);
    compare_with_itself(profile, true, REPORT_JSON);
    profile_sort(profile);
    for (int key = REPORT_BY_FUNCTION; key < REPORT_KEY_COUNT; key++) {
        show(profile, (enum report_key)key, REPORT_TABLE);
    }
    show(profile, REPORT_BY_ADDRESS, REPORT_JSON);
    show(profile, REPORT_BY_FUNCTION, REPORT_CSV);
    show_filtered(profile);
    profile_delete(profile);
    return 0;
}
