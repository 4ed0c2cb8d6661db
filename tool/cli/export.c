/* SPDX-License-Identifier: MIT */
/* cli/export.c - ntprof export: writes a profile in the format of another tool. */
#include "view/export/export.h"
#include "base/options.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/source_choice.h"
#include "cli/source_dirs.h"
#include "input/input.h"
#include "profile/pprof.h"

#include "base/text.h"
#include "base/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_FORMAT = OPTION_OWN,
    OPTION_IMAGE,
    OPTION_ROWS,
    OPTION_LISTINGS,
    OPTION_IMAGE_DIR,
    OPTION_SOURCE_DIR,
    SHOWN_BYTES = 256,
    ROWS_DEFAULT = 100,
    LISTINGS_DEFAULT = 50,
};

static const struct option LONG_OPTIONS[] = {
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"event", required_argument, NULL, 'e'},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"listings", required_argument, NULL, OPTION_LISTINGS},
    {"image-dir", required_argument, NULL, OPTION_IMAGE_DIR},
    {"source-dir", required_argument, NULL, OPTION_SOURCE_DIR},
    INPUT_OPTION_ROWS,
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    struct input_options input;
    const struct export_format *format;
    const char *file;
    const char *output;      /* "-": standard output */
    const char *source;      /* NULL: the first source */
    bool rows;               /* --rows was given */
    const char *code;        /* an option about the code of html, if given */
    struct source_dirs dirs; /* backs options.prefixes */
    struct export_options options;
};

/* Print an error line. Returns false, so that callers can return its value. */
static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("export", about, why);
}

static bool
set_format(struct arguments *arguments, const char *name)
{
    char allowed[SHOWN_BYTES];

    arguments->format = export_format_find(name);
    if (arguments->format == NULL) {
        snprintf(allowed, sizeof(allowed), "there are %s", export_format_names());
        return cmd_refuse_value("export", "--format", name, allowed);
    }
    return true;
}

/* Set an option about the code of html. Returns false if it is none. */
static bool
set_code(struct arguments *arguments, int option, char *value)
{
    switch (option) {
    case OPTION_LISTINGS:
        arguments->code = "--listings";
        return options_count("export", "--listings", value, "none",
                             &arguments->options.listings);
    case OPTION_SOURCE_DIR:
        arguments->code = "--source-dir";
        return source_dirs_add(&arguments->dirs, "export", value);
    default:
        return false;
    }
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_FORMAT:
        return set_format(arguments, value);
    case OPTION_ROWS:
        arguments->rows = true;
        return options_count("export", "--rows", value, "all",
                             &arguments->options.rows);
    case OPTION_IMAGE_DIR:
        arguments->options.image_dir = value;
        return true;
    case OPTION_IMAGE:
        arguments->options.image = value;
        return true;
    case 'e':
        arguments->source = value;
        return true;
    case 'o':
        arguments->output = value;
        return true;
    default:
        return input_is_option(option)
                   ? input_set(&arguments->input, "export", option, value)
                   : set_code(arguments, option, value);
    }
}

static const struct options_syntax syntax = {
    .command = "export",
    .known = LONG_OPTIONS,
    .words_max = 1,
    .words_too_many = "only one FILE can be exported; ntprof merge makes one of many",
    .set = set_option,
};

/* Check that the format supports each given option. */
static bool
check(const struct arguments *arguments)
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
    if (odd != NULL) {
        cmd_fail("export", "%s does not take %s", format->name, odd);
    }
    return odd == NULL;
}

/* Choose the source for a format that holds only one. */
static bool
choose_source(const struct profile *profile, struct arguments *arguments)
{
    if (!arguments->format->one_source) {
        return true;
    }
    if (profile->source_count == 0) {
        return fail(arguments->file, "has no source, so there is nothing to show");
    }
    return arguments->source == NULL ||
           source_choose("export", profile, arguments->source,
                         &arguments->options.source);
}

/* Report the sources that the output lacks, unless one was chosen with -e. */
static void
report_left_out(const struct profile *profile, const struct arguments *arguments)
{
    char shown[SHOWN_BYTES];
    char list[512];

    if (arguments->format->one_source && arguments->source == NULL &&
        profile->source_count > 1) {
        cmd_fail("export", "%s holds one source: %s; left out: %s (-e chooses)",
                 arguments->format->name,
                 text_show(shown, sizeof(shown), profile->sources[0].name),
                 source_list(list, sizeof(list), profile, 0));
    }
}

static int
write_export(const struct profile *profile, const struct arguments *arguments)
{
    struct whole_file_error error;
    struct whole_file file;
    struct export_said said;

    if (!whole_file_open(&file, arguments->output, "export", &error)) {
        return cmd_fail("export", "%s", error.text);
    }
    progress_report("exporting %s", arguments->format->name);
    if (strcmp(arguments->output, "-") == 0) {
        progress_end_for_output();
    }
    if (!export_write(file.stream, profile, arguments->format, &arguments->options,
                      &said)) {
        whole_file_discard(&file);
        return cmd_fail("export", "%s", said.error);
    }
    if (!whole_file_replace(&file, false, &error)) {
        /* The reader of a pipe may close it at any time. */
        return errno == EPIPE ? CMD_OK : cmd_fail("export", "%s", error.text);
    }
    report_left_out(profile, arguments);
    if (said.note[0] != '\0') {
        cmd_fail("export", "%s", said.note);
    }
    return CMD_OK;
}

/* Check that the output can be written, before any work is done; only text may go to a
 * terminal. */
static bool
check_output(const struct arguments *arguments, struct whole_file_error *error)
{
    if (strcmp(arguments->output, "-") == 0) {
        return !arguments->format->unreadable ||
               whole_file_check("-", "form for programs", error);
    }
    return whole_file_check(arguments->output, "export", error);
}

static int
export_file(struct arguments *arguments)
{
    struct whole_file_error unwritable;
    struct pprof_error error;
    struct profile *profile;
    int status;

    if (!check_output(arguments, &unwritable)) {
        return cmd_fail("export", "%s", unwritable.text);
    }
    progress_report_file("reading", arguments->file);
    profile = input_read(arguments->file, &arguments->input, &error);
    if (profile == NULL) {
        return cmd_fail("export", "%s", error.text);
    }
    status = choose_source(profile, arguments) ? write_export(profile, arguments)
                                               : CMD_FAILED;
    profile_delete(profile);
    return status;
}

int
cmd_export(int argc, char **argv)
{
    struct arguments arguments = {
        .output = "-", .options = {.rows = ROWS_DEFAULT, .listings = LISTINGS_DEFAULT}};
    struct options_words words;
    int status;

    if (options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        arguments.file = words.count > 0 ? words.list[0] : CMD_FILE_DEFAULT;
        arguments.options.prefixes = arguments.dirs.list;
        arguments.options.prefix_count = arguments.dirs.count;
        status = check(&arguments) ? export_file(&arguments) : CMD_FAILED;
    }
    source_dirs_finish(&arguments.dirs);
    return status;
}
