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
    {.name = "pprof",
     .write = export_pprof,
     .hits_max = INT64_MAX,
     .has_stacks = true,
     .unreadable = true},
    {.name = "gmon",
     .write = export_gmon,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .one_image = true,
     .unreadable = true},
    {.name = "callgrind",
     .write = export_callgrind,
     .hits_max = UINT64_MAX,
     .has_stacks = true},
    {.name = "speedscope",
     .write = export_speedscope,
     .hits_max = DOUBLE_MAX,
     .has_stacks = true},
    {.name = "folded",
     .write = export_folded,
     .hits_max = UINT64_MAX,
     .has_stacks = true,
     .one_source = true},
    {.name = "json", .write = export_json, .hits_max = UINT64_MAX},
    {.name = "csv", .write = export_csv, .hits_max = UINT64_MAX},
    {.name = "html",
     .write = export_html,
     .hits_max = UINT64_MAX,
     .has_flames = true,
     .has_listings = true,
     .reads_images = true,
     .unreadable = true},
    {.name = "svg",
     .write = export_svg,
     .hits_max = UINT64_MAX,
     .one_source = true,
     .has_flames = true},
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

void
export_format_suggest(const char *name, struct suggestion *suggestion)
{
    /* What other tools call forms. */
    static const struct suggest_word words[] = {
        {"collapsed", "folded"},
        {"collapse", "folded"},
        {"stackcollapse", "folded"},
        {"flamegraph", "svg"},
        {"flame", "svg"},
        {"picture", "svg"},
        {"stacks", "folded"},
        {"page", "html"},
        {"web", "html"},
        {"proto", "pprof"},
        {"protobuf", "pprof"},
        {"pb", "pprof"},
        {"gprof", "gmon"},
        {"gmon.out", "gmon"},
        {"cachegrind", "callgrind"},
        {"kcachegrind", "callgrind"},
        {"prometheus", "openmetrics"},
        {"metrics", "openmetrics"},
        {"excel", "csv"},
        {"tsv", "csv"},
        {"spreadsheet", "csv"},
        {"autofdo", "gcc-afdo"},
        {"afdo", "gcc-afdo"},
        {"gcov", "gcc-afdo"},
        {"gcc", "gcc-afdo"},
        {"fdata", "bolt-fdata"},
        {"preaggregated", "bolt"},
        {"llvm", "llvm-sample"},
        {"clang", "llvm-sample"},
        {"profdata", "llvm-sample"},
        {"profgen", "llvm-profgen"},
        {"order", "symbol-order"},
        {"orderfile", "symbol-order"},
        {"chrome", "speedscope"},
        {"firefox", "speedscope"},
        {"perf", "folded"},
        {0},
    };

    suggest_begin(suggestion, name, strlen(name));
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        suggest_offer(suggestion, FORMATS[i].name);
    }
    suggest_offer_words(suggestion, words);
}

const char *
export_format_names(void)
{
    return "pprof, gmon, callgrind, speedscope, folded, json, csv, html, svg, "
           "openmetrics, llvm-profgen, llvm-sample, gcc-afdo, bolt, bolt-fdata, "
           "symbol-order";
}

/* Are the hits of a source no more than limit? */
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
           const struct export_options *options, struct export_messages *messages)
{
    char shown[128];

    for (size_t i = 0; i < profile->source_count; i++) {
        if ((!format->one_source || i == options->source) &&
            !hits_fit(profile, i, format->hits_max)) {
            snprintf(messages->error, sizeof(messages->error),
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
             struct export_messages *messages)
{
    struct export_options named = *options;

    named.format = format->name;
    messages->error[0] = '\0';
    messages->note[0] = '\0';
    if (!check_hits(profile, format, &named, messages)) {
        return false;
    }
    if (format->write(out, profile, &named, messages)) {
        return true;
    }
    if (messages->error[0] == '\0') {
        snprintf(messages->error, sizeof(messages->error), "out of memory");
    }
    return false;
}
