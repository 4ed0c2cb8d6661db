/* SPDX-License-Identifier: MIT */
/* cmd/export.c - ntprof export: a profile in the form that another tool reads. */
#include "export/export.h"
#include "annotate/listing.h"
#include "cmd/cmd.h"
#include "profile/pprof.h"

#include "util/number.h"
#include "util/text.h"
#include "util/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_FORMAT = 256,
    OPTION_IMAGE,
    OPTION_ROWS,
    OPTION_LISTINGS,
    OPTION_IMAGE_DIR,
    OPTION_SOURCE_DIR,
    OPTION_HELP,
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
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct arguments {
    const struct export_format *format;
    const char *file;                /* NULL: not named */
    const char *output;              /* "-": standard output */
    const char *source;              /* NULL: the first */
    const char *rows;                /* as it was given; NULL: not */
    const char *code;                /* an option about the code of html; NULL: none */
    struct listing_prefix *prefixes; /* what options.prefixes is */
    struct export_options options;
    bool help;
};

/* Always false, for return. */
static bool
fail(const char *about, const char *why)
{
    char shown[SHOWN_BYTES];

    cmd_fail("export", "%s: %s", text_show(shown, sizeof(shown), about), why);
    return false;
}

static bool
set_format(struct arguments *arguments, const char *name)
{
    char shown[SHOWN_BYTES];

    arguments->format = export_format_find(name);
    if (arguments->format == NULL) {
        cmd_fail("export", "--format %s: there are %s",
                 text_show(shown, sizeof(shown), name), export_format_names());
    }
    return arguments->format != NULL;
}

static bool
set_rows(struct arguments *arguments, const char *text)
{
    uint64_t rows;
    char shown[SHOWN_BYTES];

    if (!number_parse_count(text, &rows) || rows > SIZE_MAX) {
        cmd_fail("export", "--rows %s: allowed are 0 (all), 1, 2 and so on",
                 text_show(shown, sizeof(shown), text));
        return false;
    }
    arguments->rows = text;
    arguments->options.rows = (size_t)rows;
    return true;
}

static bool
set_listings(struct arguments *arguments, const char *text)
{
    uint64_t listings;
    char shown[SHOWN_BYTES];

    if (!number_parse_count(text, &listings) || listings > SIZE_MAX) {
        cmd_fail("export", "--listings %s: allowed are 0 (none), 1, 2 and so on",
                 text_show(shown, sizeof(shown), text));
        return false;
    }
    arguments->code = "--listings";
    arguments->options.listings = (size_t)listings;
    return true;
}

/* OLD=NEW, or NEW alone for all relative paths. The text is cut at the sign. */
static bool
add_prefix(struct arguments *arguments, char *text)
{
    struct export_options *const options = &arguments->options;
    char *const sign = strchr(text, '=');
    struct listing_prefix *const prefixes =
        reallocarray(arguments->prefixes, options->prefix_count + 1, sizeof(*prefixes));

    if (prefixes == NULL) {
        return fail("--source-dir", "out of memory");
    }
    arguments->prefixes = prefixes;
    options->prefixes = prefixes;
    prefixes[options->prefix_count].from = sign != NULL ? text : "";
    prefixes[options->prefix_count].to = sign != NULL ? sign + 1 : text;
    options->prefix_count++;
    arguments->code = "--source-dir";
    if (sign != NULL) {
        *sign = '\0';
    }
    return prefixes[options->prefix_count - 1].to[0] != '\0' ||
           fail("--source-dir", "OLD=NEW is needed, or a folder");
}

static bool
set_file(struct arguments *arguments, const char *file)
{
    if (arguments->file != NULL) {
        return fail(file,
                    "only one FILE can be exported; ntprof merge makes one of many");
    }
    arguments->file = file;
    return true;
}

static bool
set_option(struct arguments *arguments, int option, char **argv)
{
    switch (option) {
    case 1: /* no option */
        return set_file(arguments, optarg);
    case OPTION_FORMAT:
        return set_format(arguments, optarg);
    case OPTION_ROWS:
        return set_rows(arguments, optarg);
    case OPTION_LISTINGS:
        return set_listings(arguments, optarg);
    case OPTION_IMAGE_DIR:
        arguments->code = "--image-dir";
        arguments->options.image_dir = optarg;
        return true;
    case OPTION_SOURCE_DIR:
        return add_prefix(arguments, optarg);
    case OPTION_IMAGE:
        arguments->options.image = optarg;
        return true;
    case 'e':
        arguments->source = optarg;
        return true;
    case 'o':
        arguments->output = optarg;
        return true;
    case OPTION_HELP:
        arguments->help = true;
        return true;
    case ':':
        return fail(argv[optind - 1], "a value is missing");
    default:
        return fail(argv[optind - 1],
                    "no such option, or one that takes no value; there are --format, "
                    "-o, -e, --image, --rows, --listings, --image-dir, --source-dir, "
                    "--help");
    }
}

/* Each option means something to the form. */
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
    } else if (arguments->rows != NULL && !format->has_rows) {
        odd = "--rows: it holds all rows";
    }
    if (odd == NULL && arguments->code != NULL && !format->has_listings) {
        cmd_fail("export", "%s does not take %s: it holds no code", format->name,
                 arguments->code);
        return false;
    }
    if (odd != NULL) {
        cmd_fail("export", "%s does not take %s", format->name, odd);
    }
    return odd == NULL;
}

static bool
parse(struct arguments *arguments, int argc, char **argv)
{
    int option;

    optind = 0; /* glibc: begin anew, also after another getopt */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "-:o:e:", LONG_OPTIONS, NULL)) != -1) {
        if (!set_option(arguments, option, argv)) {
            return false;
        }
    }
    for (; optind < argc; optind++) {
        if (!set_file(arguments, argv[optind])) {
            return false;
        }
    }
    if (arguments->file == NULL) {
        arguments->file = CMD_FILE_DEFAULT;
    }
    return arguments->help || check(arguments);
}

/* The names of a profile's sources but left_out, escaped, for messages. */
static const char *
list_sources(char *list, size_t size, const struct profile *profile, size_t left_out)
{
    size_t length = 0;

    list[0] = '\0';
    for (size_t i = 0; i < profile->source_count && length + 1 < size; i++) {
        char shown[80];

        if (i != left_out) {
            length += (size_t)snprintf(
                list + length, size - length, "%s%s", length > 0 ? ", " : "",
                text_show(shown, sizeof(shown), profile->sources[i].name));
        }
    }
    return list;
}

static bool
find_source(const struct profile *profile, struct arguments *arguments)
{
    char shown[SHOWN_BYTES];
    char list[512];

    arguments->options.source = export_find_source(profile, arguments->source);
    if (arguments->options.source < profile->source_count) {
        return true;
    }
    list_sources(list, sizeof(list), profile, SIZE_MAX);
    cmd_fail("export", "-e %s: the profile has no such source; it has %s",
             text_show(shown, sizeof(shown), arguments->source), list);
    return false;
}

/* Which source a form of one source shows. */
static bool
choose_source(const struct profile *profile, struct arguments *arguments)
{
    if (!arguments->format->one_source) {
        return true;
    }
    if (profile->source_count == 0) {
        return fail(arguments->file, "has no source, so there is nothing to show");
    }
    return arguments->source == NULL || find_source(profile, arguments);
}

/* Says which sources are not there, where that was not asked for. */
static void
say_left_out(const struct profile *profile, const struct arguments *arguments)
{
    char shown[SHOWN_BYTES];
    char list[512];

    if (arguments->format->one_source && arguments->source == NULL &&
        profile->source_count > 1) {
        cmd_fail("export", "%s holds one source: %s; left out: %s (-e chooses)",
                 arguments->format->name,
                 text_show(shown, sizeof(shown), profile->sources[0].name),
                 list_sources(list, sizeof(list), profile, 0));
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
    if (!export_write(file.stream, profile, arguments->format, &arguments->options,
                      &said)) {
        whole_file_discard(&file);
        return cmd_fail("export", "%s", said.error);
    }
    if (!whole_file_replace(&file, false, &error)) {
        /* Whoever reads a pipe may have had enough. */
        return errno == EPIPE ? CMD_OK : cmd_fail("export", "%s", error.text);
    }
    say_left_out(profile, arguments);
    if (said.note[0] != '\0') {
        cmd_fail("export", "%s", said.note);
    }
    return CMD_OK;
}

/* Can it be written? Asked before work begins; text may go to a terminal. */
static bool
check_output(const struct arguments *arguments, struct whole_file_error *error)
{
    if (strcmp(arguments->output, "-") == 0) {
        return !arguments->format->binary ||
               whole_file_check("-", "binary form", error);
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
    profile = pprof_read(arguments->file, &error);
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
    int status = CMD_FAILED;

    if (parse(&arguments, argc, argv)) {
        if (!arguments.help) {
            status = export_file(&arguments);
        } else if (cmd_print_help("export")) {
            status = CMD_OK;
        }
    }
    free(arguments.prefixes);
    return status;
}
