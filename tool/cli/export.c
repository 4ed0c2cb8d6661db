/* SPDX-License-Identifier: MIT */
/* cli/export.c - ntprof export: its options, and which a format takes. */
#include "cli/export.h"
#include "cli/cmd.h"
#include "record/default_output.h"

#include <stdio.h>

enum { ALLOWED_BYTES = 256, ROWS_DEFAULT = 100, LISTINGS_DEFAULT = 50 };

static const char help[] =
    "Examples\n"
    "  ntprof export --format svg -o p.svg      a flame graph of a run with -g\n"
    "  ntprof export --format callgrind -o p.callgrind       for callgrind_annotate\n"
    "  ntprof export --format gmon --image app -o gmon.out     for gprof -p -b ./app\n"
    "  ntprof export --format html -o p.html    a page for a browser, code and all\n"
    "  ntprof export --format llvm-sample --image app -o p.prof\n"
    "                                     for clang -fprofile-sample-use=p.prof\n"
    "  ntprof export --format json old.pb.gz | jq .rows        all, for programs\n"
    "\n"
    "usage: ntprof export --format FORMAT [options] [FILE]\n"
    "\n"
    "Writes a profile (default ntprof.pb.gz) in the form that another tool reads.\n"
    "The hits add up to those of the profile, exactly.\n";

static bool
take_format(void *into, const struct options_given *given)
{
    const struct export_format **const format = into;
    struct suggestion suggestion;
    char allowed[ALLOWED_BYTES];

    *format = export_format_find(given->value);
    if (*format == NULL) {
        snprintf(allowed, sizeof(allowed), "there are %s", export_format_names());
        export_format_suggest(given->value, &suggestion);
        suggest_append(&suggestion, allowed, sizeof(allowed));
        return options_refuse(given, allowed);
    }
    return true;
}

static bool
take_rows(void *into, const struct options_given *given)
{
    struct export_arguments *const arguments = into;

    arguments->rows = true;
    return options_take_count_or_all(&arguments->options.rows, given);
}

static bool
take_listings(void *into, const struct options_given *given)
{
    struct export_arguments *const arguments = into;

    arguments->code = "--listings";
    return options_take_count_or_none(&arguments->options.listings, given);
}

static bool
take_source_dir(void *into, const struct options_given *given)
{
    struct export_arguments *const arguments = into;

    arguments->code = "--source-dir";
    return source_dirs_take(&arguments->dirs, given);
}

#define TEXT(member) OPTIONS_TEXT(struct export_arguments, member)

static const struct options_row rows[] = {
    {"format", 0, "FORMAT",
     "pprof, gmon, callgrind, speedscope, folded, json, csv, html, svg, openmetrics; "
     "for compilers and linkers llvm-profgen, llvm-sample, gcc-afdo, bolt, bolt-fdata, "
     "symbol-order",
     "<format>", OPTIONS_INTO(take_format, struct export_arguments, format)},
    {"output", 'o', "OUT",
     "into this file, whole or not at all; else on standard output", "<file>",
     TEXT(output)},
    {"event", 'e', "SOURCE",
     "gmon, folded, svg, for compilers: the one source that they hold (default the "
     "first)",
     "<source>", TEXT(source)},
    {"image", 0, "GLOB",
     "gmon, for compilers: the one image that they hold: its path or file name "
     "matches, or its build-id starts so",
     "<file>", TEXT(options.image)},
    {"rows", 0, "N",
     "openmetrics: functions of each source with a series of their own (default 100); "
     "0 for all",
     NULL, OPTIONS_CALL(take_rows)},
    {"listings", 0, "N",
     "html: functions whose code is put in (default 50); 0 for none", NULL,
     OPTIONS_CALL(take_listings)},
    {"image-dir", 0, "DIR",
     "html, for compilers: look for programs and libraries in DIR first", "<folder>",
     TEXT(options.image_dir)},
    {"old", 0, "OLD",
     "html, svg: a profile that the flame graph is compared with: what grew since, and "
     "what shrank",
     "<profile>", TEXT(old)},
    {"source-dir", 0, "OLD=NEW",
     "html: sources compiled in OLD are in NEW; repeatable; NEW alone is for paths "
     "that have no OLD",
     "<folder>", OPTIONS_CALL(take_source_dir)},
    {0},
};

const struct options_syntax cmd_export_options = {
    .command = "export",
    .help = help,
    .groups = {{rows, 0},
               {input_foreign_rows, offsetof(struct export_arguments, input)},
               {input_rows, offsetof(struct export_arguments, input)}},
    .words_max = 1,
    .words_too_many = "only one FILE can be exported; ntprof merge makes one of many",
    .complete = {"<profile>"},
};

/* Check that a format was chosen, and that it supports each given option. Returns false
 * after an error line. */
static bool
check(const struct export_arguments *arguments)
{
    const struct export_format *format = arguments->format;
    const char *odd = NULL;

    if (format == NULL) {
        cmd_fail("export", "--format is missing: there are %s", export_format_names());
        return false;
    }
    if (arguments->source != NULL && !format->one_source) {
        odd = "-e: it holds all sources";
    } else if (arguments->options.image != NULL && !format->one_image) {
        odd = "--image: it holds all images";
    } else if (arguments->rows && !format->has_rows) {
        odd = "--rows: it holds all rows";
    }
    if (odd == NULL && arguments->code != NULL && !format->has_listings) {
        cmd_fail("export", "%s does not take %s: it holds no code", format->name,
                 arguments->code);
        return false;
    }
    if (odd == NULL && arguments->options.image_dir != NULL && !format->reads_images) {
        odd = "--image-dir: it reads no programs";
    }
    if (odd == NULL && arguments->old != NULL && !format->has_flames) {
        odd = "--old: it has no flame graph";
    }
    if (odd != NULL) {
        cmd_fail("export", "%s does not take %s", format->name, odd);
    }
    return odd == NULL;
}

int
cmd_export(int argc, char **argv)
{
    struct export_arguments arguments = {
        .output = "-", .options = {.rows = ROWS_DEFAULT, .listings = LISTINGS_DEFAULT}};
    struct options_words words;
    int status;

    if (options_take(&cmd_export_options, argc, argv, &arguments, &words, &status)) {
        arguments.file = words.count > 0 ? words.list[0] : CMD_FILE_DEFAULT;
        arguments.options.prefixes = arguments.dirs.list;
        arguments.options.prefix_count = arguments.dirs.count;
        status = check(&arguments) ? export_file(&arguments) : CMD_FAILED;
    }
    source_dirs_finish(&arguments.dirs);
    return status;
}
