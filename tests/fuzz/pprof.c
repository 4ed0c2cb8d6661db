/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - hostile profile files: what is read can be shown, written and read again
 * unchanged.
 *
 * Inputs are profiles, gzip or not. A fuzzer seldom makes a valid gzip trailer, so
 * plain ones do most.
 */
#include "harmless.h"

#include "profile/merge.h"
#include "profile/pprof.h"
#include "view/report/difference.h"
#include "view/report/report.h"

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

/* A text that something is printed into. */
struct printed {
    FILE *out;
    char *text;
    size_t size;
};

static void
begin_print(struct printed *printed)
{
    printed->out = open_memstream(&printed->text, &printed->size);
    require(printed->out != NULL);
}

/* What came of it goes to terminals and into files of others. */
static void
end_print(struct printed *printed, bool done)
{
    require(fclose(printed->out) == 0 && done);
    require_harmless(printed->text, printed->size);
    free(printed->text);
}

/* width: of the terminal, which may have any; 0: none. */
static void
show(const struct profile *profile, enum report_key key, enum report_format format,
     int width)
{
    const struct report_options options = {
        .by.keys = {{key}, 1}, .format = format, .rows = 50, .width = width};
    struct printed printed;

    begin_print(&printed);
    end_print(&printed, report_print(printed.out, profile, &options));
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
        .by.filters = filters, .by.filter_count = 4, .rows = 50, .format = REPORT_JSON};
    struct printed printed;
    char why[256] = "";

    while (options.by.keys.count < REPORT_KEY_COUNT) {
        options.by.keys.list[options.by.keys.count] =
            (enum report_key)options.by.keys.count;
        options.by.keys.count++;
    }
    require(report_check(profile, &options, why, sizeof(why)) == (why[0] == '\0'));
    begin_print(&printed);
    end_print(&printed, report_print(printed.out, profile, &options));
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

/* A profile of our own that hostile ones are held against. */
static struct profile *
known_profile(uint32_t bucket_bytes)
{
    static const struct profile_source source = {
        .name = "time", .nt_name = "", .unit = "100ns", .granted = 100000};
    static const struct profile_image image = {
        .path = "/bin/work", .build_id = "ab", .start = 0x1000, .limit = 0x2000};
    static const struct profile_function function = {
        .name = "work", .system_name = "work", .file = "work.c", .start_line = 3};
    struct profile *profile = profile_new();
    uint32_t index[4];

    require(profile != NULL && profile_add_source(profile, &source, &index[0]) &&
            profile_add_image(profile, &image, &index[1]) &&
            profile_add_function(profile, &function, &index[2]) &&
            profile_add_process(profile, "work", &index[3]) &&
            profile_add_hits(profile, index[1], 0x1200, index[3], index[2], 4, index[0],
                             50) &&
            profile_add_hits(profile, index[1], 0x1300, index[3], 0, 0, index[0], 7));
    profile->bucket_bytes = bucket_bytes;
    return profile;
}

/* The sum has the hits of both and is written and read as any other, or is refused in
 * words. Takes both. */
static void
merge(struct profile *a, struct profile *b)
{
    const uint64_t hits = count_hits(a) + count_hits(b);
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {.text = ""};

    require(merger != NULL && profile_merger_add(merger, a, &error));
    if (profile_merger_add(merger, b, &error)) {
        struct profile *sum = profile_merger_take(merger, &error);

        require(sum != NULL && count_hits(sum) == hits);
        write_and_read(sum);
        profile_delete(sum);
    } else {
        require(error.text[0] != '\0');
    }
    profile_merger_delete(merger);
}

static struct profile *
decode_again(const uint8_t *data, size_t size)
{
    struct pprof_error error;
    struct profile *profile = pprof_decode(data, size, &error);

    require(profile != NULL);
    return profile;
}

/* Prints what changed; nothing did between equal ones. */
static void
compare(const struct profile *a, const struct profile *b, bool normalize,
        enum report_format format)
{
    const struct diff_options options = {
        .rows = 50,
        .normalize = normalize,
        .all = true,
    };
    const struct report_options shown = {.format = format, .rows = 50};
    struct diff *diff = diff_new(a, b, &options);
    struct printed printed;

    require(diff != NULL);
    begin_print(&printed);
    end_print(&printed, diff_print(printed.out, diff, &shown));
    require(a != b || !diff_grew(diff, 0));
    diff_delete(diff);
}

static void
merge_and_compare(const struct profile *profile, const uint8_t *data, size_t size)
{
    struct profile *known = known_profile(profile->bucket_bytes);

    compare(profile, profile, false, REPORT_TABLE);
    compare(profile, profile, true, REPORT_JSON);
    compare(known, profile, false, REPORT_CSV);
    compare(profile, known, true, REPORT_TABLE);
    merge(decode_again(data, size), decode_again(data, size));
    merge(known, decode_again(data, size));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_error error = {.text = ""};
    struct profile *profile = pprof_decode(data, size, &error);

    if (profile == NULL) {
        require(error.text[0] != '\0');
        require_harmless(error.text, strlen(error.text));
        return 0;
    }
    write_and_read(profile);
    merge_and_compare(profile, data, size);
    profile_sort(profile);
    for (int key = REPORT_BY_FUNCTION; key < REPORT_KEY_COUNT; key++) {
        show(profile, (enum report_key)key, REPORT_TABLE, (int)(size % 200));
    }
    show(profile, REPORT_BY_ADDRESS, REPORT_JSON, 0);
    show(profile, REPORT_BY_FUNCTION, REPORT_CSV, 0);
    show_filtered(profile);
    profile_delete(profile);
    return 0;
}
