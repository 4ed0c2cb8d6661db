/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - hostile profile files: what is read can be shown, written and read again unchanged.
 *
 * Inputs are profiles, gzip or not. A fuzzer seldom makes a valid gzip trailer, so plain ones do most.
 */
#include "profile/pprof.h"
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
