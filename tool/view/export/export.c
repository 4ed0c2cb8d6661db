/* SPDX-License-Identifier: MIT */
/* export.c - the table of forms. A new one is a row here, and a file with its writer.
 */
#include "view/export/export.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Whole numbers up to here are exact where numbers are double. */
#define DOUBLE_MAX (UINT64_C(1) << 53)

static const struct export_format FORMATS[] = {
    {.name = "pprof", .write = export_pprof, .hits_max = INT64_MAX, .unreadable = true},
    {.name = "gmon",
     .write = export_gmon,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .unreadable = true},
    {.name = "callgrind", .write = export_callgrind, .hits_max = UINT64_MAX},
    {.name = "speedscope", .write = export_speedscope, .hits_max = DOUBLE_MAX},
    {.name = "folded",
     .write = export_folded,
     .hits_max = UINT64_MAX,
     .one_source = true},
    {.name = "json", .write = export_json, .hits_max = UINT64_MAX},
    {.name = "csv", .write = export_csv, .hits_max = UINT64_MAX},
    {.name = "html",
     .write = export_html,
     .hits_max = UINT64_MAX,
     .has_listings = true,
     .reads_images = true,
     .unreadable = true},
    {.name = "openmetrics",
     .write = export_openmetrics,
     .hits_max = DOUBLE_MAX,
     .has_rows = true},
    {.name = "llvm-profgen",
     .write = export_llvm_profgen,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .reads_images = true},
    {.name = "llvm-sample",
     .write = export_llvm_sample,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .reads_images = true},
    {.name = "gcc-afdo",
     .write = export_gcc_afdo,
     .hits_max = INT64_MAX,
     .one_source = true,
     .one_image = true,
     .unreadable = true},
    {.name = "bolt",
     .write = export_bolt,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .reads_images = true},
    {.name = "bolt-fdata",
     .write = export_bolt_fdata,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .reads_images = true},
    {.name = "symbol-order",
     .write = export_symbol_order,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .reads_images = true},
};

#define FORMAT_COUNT (sizeof(FORMATS) / sizeof(FORMATS[0]))

const struct export_format *
export_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(FORMATS[i].name, name) == 0) {
            return &FORMATS[i];
        }
    }
    return NULL;
}

const char *
export_format_names(void)
{
    return "pprof, gmon, callgrind, speedscope, folded, json, csv, html, "
           "openmetrics, llvm-profgen, llvm-sample, gcc-afdo, bolt, bolt-fdata, "
           "symbol-order";
}

/* False: the hits of a source are more than limit. */
static bool
hits_fit(const struct profile *profile, size_t source, uint64_t limit)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        if (__builtin_add_overflow(sum, profile->rows[i].hits[source], &sum)) {
            return false;
        }
    }
    return sum <= limit;
}

static bool
check_hits(const struct profile *profile, const struct export_format *format,
           const struct export_options *options, struct export_said *said)
{
    char shown[128];

    for (size_t i = 0; i < profile->source_count; i++) {
        if ((!format->one_source || i == options->source) &&
            !hits_fit(profile, i, format->hits_max)) {
            snprintf(said->error, sizeof(said->error),
                     "%s cannot hold more than %" PRIu64
                     " hits exactly, and source %s has more",
                     format->name, format->hits_max,
                     text_show(shown, sizeof(shown), profile->sources[i].name));
            return false;
        }
    }
    return true;
}

bool
export_write(FILE *out, const struct profile *profile,
             const struct export_format *format, const struct export_options *options,
             struct export_said *said)
{
    struct export_options named = *options;

    named.format = format->name;
    said->error[0] = '\0';
    said->note[0] = '\0';
    if (!check_hits(profile, format, &named, said)) {
        return false;
    }
    if (format->write(out, profile, &named, said)) {
        return true;
    }
    if (said->error[0] == '\0') {
        snprintf(said->error, sizeof(said->error), "out of memory");
    }
    return false;
}
