/* SPDX-License-Identifier: MIT */
/* cmd/report.c - ntprof report: shows a profile file. */
#include "report/report.h"
#include "cmd/cmd.h"
#include "cmd/names.h"
#include "cmd/terminal.h"
#include "collect/symbolize.h"
#include "profile/pprof.h"

#include "util/number.h"
#include "util/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_ROWS = 256,
    OPTION_BY,
    OPTION_IMAGE,
    OPTION_PROCESS,
    OPTION_SYMBOL,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_SYMBOLIZE,
    OPTION_DEBUGINFOD,
    OPTION_HELP
};

static const struct option LONG_OPTIONS[] = {
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"by", required_argument, NULL, OPTION_BY},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"process", required_argument, NULL, OPTION_PROCESS},
    {"symbol", required_argument, NULL, OPTION_SYMBOL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"symbolize", no_argument, NULL, OPTION_SYMBOLIZE},
    {"debuginfod", optional_argument, NULL, OPTION_DEBUGINFOD},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct arguments {
    struct report_options report;
    struct report_filter *filters; /* what report.filters is */
    const char *file;
    const char *output; /* NULL: the profile is not written */
    struct names_options names;
    bool symbolize;
    bool help;
};

/* Always false, for return. */
static bool
fail(const char *about, const char *why)
{
    char shown[256];

    cmd_fail("report", "%s: %s", text_show(shown, sizeof(shown), about), why);
    return false;
}

static bool
fail_value(const char *option, const char *value, const char *allowed)
{
    char shown[256];

    cmd_fail("report", "%s %s: %s", option, text_show(shown, sizeof(shown), value),
             allowed);
    return false;
}

static bool
set_rows(struct arguments *arguments, const char *text)
{
    uint64_t rows;

    if (!number_parse_count(text, &rows) || rows > SIZE_MAX) {
        return fail_value("--rows", text, "allowed are 0 (all), 1, 2 and so on");
    }
    arguments->report.rows = (size_t)rows;
    return true;
}

static bool
add_filter(struct arguments *arguments, enum report_filter_kind kind, const char *glob)
{
    struct report_options *report = &arguments->report;
    struct report_filter *filters =
        reallocarray(arguments->filters, report->filter_count + 1, sizeof(*filters));

    if (filters == NULL) {
        return fail(glob, "out of memory");
    }
    filters[report->filter_count++] = (struct report_filter){kind, glob};
    arguments->filters = filters;
    report->filters = filters;
    return true;
}

static bool
set_format(struct arguments *arguments, enum report_format format)
{
    if (arguments->report.format != REPORT_TABLE &&
        arguments->report.format != format) {
        return fail("--json, --csv", "only one of them");
    }
    arguments->report.format = format;
    return true;
}

static bool
set_file(struct arguments *arguments, const char *file)
{
    if (arguments->file != NULL) {
        return fail(file, "only one FILE can be shown");
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
    case OPTION_ROWS:
        return set_rows(arguments, optarg);
    case OPTION_BY:
        return report_keys_parse(optarg, &arguments->report.keys) ||
               fail_value(
                   "--by", optarg,
                   "allowed are function, line, image, address, bucket, process, "
                   "thread, cpu, source, each once; several with commas: "
                   "process,function");
    case OPTION_IMAGE:
        return add_filter(arguments, REPORT_FILTER_IMAGE, optarg);
    case OPTION_PROCESS:
        return add_filter(arguments, REPORT_FILTER_PROCESS, optarg);
    case OPTION_SYMBOL:
        return add_filter(arguments, REPORT_FILTER_SYMBOL, optarg);
    case OPTION_JSON:
        return set_format(arguments, REPORT_JSON);
    case OPTION_CSV:
        return set_format(arguments, REPORT_CSV);
    case OPTION_SYMBOLIZE:
        arguments->symbolize = true;
        return true;
    case OPTION_DEBUGINFOD:
        arguments->names.download = true;
        arguments->names.urls = optarg;
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
        return fail(argv[optind - 1], "no such option, or one that takes no value; "
                                      "there are --rows, --by, --image, --process, "
                                      "--symbol, --json, --csv, --symbolize, "
                                      "--debuginfod, -o, --help");
    }
}

static bool
parse(struct arguments *arguments, int argc, char **argv)
{
    int option;

    optind = 0; /* glibc: begin anew, also after another getopt */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "-:o:", LONG_OPTIONS, NULL)) != -1) {
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
    if (!arguments->symbolize && !arguments->help &&
        (arguments->output != NULL || arguments->names.download)) {
        return fail(arguments->output != NULL ? "-o" : "--debuginfod",
                    "goes with --symbolize");
    }
    return true;
}

static int
print(const struct profile *profile, const struct report_options *options)
{
    errno = 0;
    if (report_print(stdout, profile, options)) {
        return CMD_OK;
    }
    if (errno == EPIPE) {
        return CMD_OK; /* whoever read it had enough */
    }
    return cmd_fail("report", "cannot write to standard output: %s",
                    strerror(errno != 0 ? errno : ENOMEM));
}

/* Adds names, and writes the profile with them if that was asked for. */
static bool
add_names(struct profile *profile, const struct arguments *arguments)
{
    struct symbolize_books books;
    struct pprof_error error;
    struct names names;
    bool done = names_open(&names, "report", &arguments->names, false);

    if (done) {
        names_begin(&names);
        done = symbolize(profile, &names.settings, &books) ||
               fail(arguments->file, "out of memory for its names");
        names_end(&names);
    }
    names_close(&names);
    if (done && arguments->output != NULL &&
        !pprof_write(profile, arguments->output, &error)) {
        done = fail("-o", error.text);
    }
    return done;
}

/* Can the profile with its names be written? Asked before work begins. */
static bool
check_output(const struct arguments *arguments)
{
    struct pprof_error error;

    if (arguments->output == NULL) {
        return true;
    }
    if (strcmp(arguments->output, "-") == 0) {
        return fail("-o -", "standard output has the report; name a file");
    }
    return pprof_check_writable(arguments->output, &error) || fail("-o", error.text);
}

static int
show(const struct arguments *arguments)
{
    struct report_options options = arguments->report;
    struct pprof_error error;
    struct profile *profile;
    char why[512];
    int status = CMD_FAILED;

    if (!check_output(arguments)) {
        return CMD_FAILED;
    }
    profile = pprof_read(arguments->file, &error);
    if (profile == NULL) {
        return cmd_fail("report", "%s", error.text);
    }
    terminal_fit(stdout, &options);
    if (arguments->symbolize && !add_names(profile, arguments)) {
        status = CMD_FAILED; /* which was said */
    } else if (!report_check(profile, &options, why, sizeof(why))) {
        status = cmd_fail("report", "%s", why);
    } else {
        status = print(profile, &options);
    }
    profile_delete(profile);
    return status;
}

int
cmd_report(int argc, char **argv)
{
    struct arguments arguments = {.report = {.rows = CMD_ROWS_DEFAULT}};
    int status = CMD_FAILED;

    if (parse(&arguments, argc, argv)) {
        if (!arguments.help) {
            status = show(&arguments);
        } else if (cmd_print_help("report")) {
            status = CMD_OK;
        }
    }
    free(arguments.filters);
    return status;
}
