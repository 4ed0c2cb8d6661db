/* SPDX-License-Identifier: MIT */
/* cmd/diff.c - ntprof diff: what changed between two profiles. */
#include "report/diff.h"
#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "profile/pprof.h"

#include "util/number.h"
#include "util/text.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_NORMALIZE = 256,
    OPTION_ALL,
    OPTION_FAIL_ABOVE,
    OPTION_ROWS,
    OPTION_BY,
    OPTION_IMAGE,
    OPTION_PROCESS,
    OPTION_SYMBOL,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_HELP,
    SHOWN_BYTES = 256,
    STATUS_GREW = 1, /* of --fail-above */
};

static const struct option LONG_OPTIONS[] = {
    {"normalize", no_argument, NULL, OPTION_NORMALIZE},
    {"all", no_argument, NULL, OPTION_ALL},
    {"fail-above", required_argument, NULL, OPTION_FAIL_ABOVE},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"by", required_argument, NULL, OPTION_BY},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"process", required_argument, NULL, OPTION_PROCESS},
    {"symbol", required_argument, NULL, OPTION_SYMBOL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

struct arguments {
    struct diff_options diff;
    struct report_filter *filters; /* what diff.report.filters is */
    const char *files[2];
    size_t file_count;
    char *old_name;            /* FILE.old, made up; NULL: both were named */
    double fail_above_percent; /* negative: not asked for */
    bool help;
};

/* Always false, for return. */
static bool
fail(const char *about, const char *why)
{
    char shown[SHOWN_BYTES];

    cmd_fail("diff", "%s: %s", text_show(shown, sizeof(shown), about), why);
    return false;
}

static bool
fail_value(const char *option, const char *value, const char *allowed)
{
    char shown[SHOWN_BYTES];

    cmd_fail("diff", "%s %s: %s", option, text_show(shown, sizeof(shown), value),
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
    arguments->diff.report.rows = (size_t)rows;
    return true;
}

/* A percentage, with or without its sign. */
static bool
set_fail_above(struct arguments *arguments, const char *text)
{
    char *end;
    const double percent = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !isfinite(percent) ||
        percent < 0) {
        return fail_value("--fail-above", text,
                          "allowed are percentages from 0 on: 5, 2.5%");
    }
    arguments->fail_above_percent = percent;
    return true;
}

static bool
set_keys(struct arguments *arguments, const char *text)
{
    struct report_keys *keys = &arguments->diff.report.keys;

    if (!report_keys_parse(text, keys)) {
        return fail_value(
            "--by", text,
            "allowed are function, line, image, address, bucket, process, "
            "thread, cpu, each once; several with commas: "
            "process,function");
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i] == REPORT_BY_SOURCE) {
            return fail_value("--by", text, "each source is compared by itself");
        }
    }
    return true;
}

static bool
add_filter(struct arguments *arguments, enum report_filter_kind kind, const char *glob)
{
    struct report_options *report = &arguments->diff.report;
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
    enum report_format *set = &arguments->diff.report.format;

    if (*set != REPORT_TABLE && *set != format) {
        return fail("--json, --csv", "only one of them");
    }
    *set = format;
    return true;
}

static bool
set_file(struct arguments *arguments, const char *file)
{
    if (arguments->file_count == 2) {
        return fail(file, "only two files can be compared: OLD NEW");
    }
    arguments->files[arguments->file_count++] = file;
    return true;
}

static bool
set_option(struct arguments *arguments, int option, char **argv)
{
    switch (option) {
    case 1: /* no option */
        return set_file(arguments, optarg);
    case OPTION_NORMALIZE:
        arguments->diff.normalize = true;
        return true;
    case OPTION_ALL:
        arguments->diff.all = true;
        return true;
    case OPTION_FAIL_ABOVE:
        return set_fail_above(arguments, optarg);
    case OPTION_ROWS:
        return set_rows(arguments, optarg);
    case OPTION_BY:
        return set_keys(arguments, optarg);
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
    case OPTION_HELP:
        arguments->help = true;
        return true;
    case ':':
        return fail(argv[optind - 1], "a value is missing");
    default:
        return fail(
            argv[optind - 1],
            "no such option, or one that takes no value; there are --normalize, "
            "--all, --fail-above, --by, --image, --process, --symbol, --rows, "
            "--json, --csv, --help");
    }
}

/* Of a file that was not named: what pprof_write keeps when it writes anew. */
static bool
complete_files(struct arguments *arguments)
{
    const char *newer =
        arguments->file_count > 0 ? arguments->files[0] : CMD_FILE_DEFAULT;

    if (arguments->file_count == 2) {
        return strcmp(arguments->files[0], "-") != 0 ||
               strcmp(arguments->files[1], "-") != 0 ||
               fail("-", "standard input can be read only once");
    }
    if (strcmp(newer, "-") == 0) {
        return fail(newer, "what is it to be compared with? Name OLD and NEW");
    }
    if (asprintf(&arguments->old_name, "%s.old", newer) < 0) {
        arguments->old_name = NULL;
        return fail(newer, "out of memory");
    }
    arguments->files[0] = arguments->old_name;
    arguments->files[1] = newer;
    return true;
}

static bool
parse(struct arguments *arguments, int argc, char **argv)
{
    int option;

    optind = 0; /* glibc: begin anew, also after another getopt */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "-:", LONG_OPTIONS, NULL)) != -1) {
        if (!set_option(arguments, option, argv)) {
            return false;
        }
    }
    for (; optind < argc; optind++) {
        if (!set_file(arguments, argv[optind])) {
            return false;
        }
    }
    return arguments->help || complete_files(arguments);
}

/* Reads a file that tells what the keys ask for. */
static struct profile *
read_file(const struct arguments *arguments, const char *path)
{
    const struct report_options keys_alone = {.keys = arguments->diff.report.keys};
    struct pprof_error error;
    struct profile *profile = pprof_read(path, &error);
    char why[SHOWN_BYTES];

    if (profile == NULL) {
        const char *const old = arguments->old_name; /* NULL: it was named */
        const bool missing = old != NULL && path == old && access(old, F_OK) != 0;

        cmd_fail("diff", "%s%s", error.text,
                 missing
                     ? "; it is what a second run keeps of the first: run twice, or "
                       "name OLD and NEW"
                     : "");
    } else if (!report_check(profile, &keys_alone, why, sizeof(why))) {
        fail(path, why);
        profile_delete(profile);
        profile = NULL;
    }
    return profile;
}

static int
print(const struct arguments *arguments, const struct diff *diff)
{
    errno = 0;
    if (!diff_print(stdout, diff) && errno != EPIPE) {
        return cmd_fail("diff", "cannot write to standard output: %s",
                        strerror(errno != 0 ? errno : ENOMEM));
    }
    return arguments->fail_above_percent >= 0 &&
                   diff_grew(diff, arguments->fail_above_percent)
               ? STATUS_GREW
               : CMD_OK;
}

static int
compare(const struct arguments *arguments, const struct profile *old_profile,
        const struct profile *new_profile)
{
    struct diff *diff = diff_new(old_profile, new_profile, &arguments->diff);
    int status = CMD_FAILED;

    if (diff == NULL) {
        fail(arguments->files[1], "out of memory for the difference");
    } else if (diff_source_count(diff) == 0) {
        fail(arguments->files[1],
             "has no source that the old profile has: ntprof report --by source tells "
             "what each has");
    } else if (arguments->diff.report.filter_count > 0 && diff_row_count(diff) == 0) {
        fail("--image, --process, --symbol", "let no row of either profile through");
    } else {
        status = print(arguments, diff);
    }
    diff_delete(diff);
    return status;
}

static int
run(struct arguments *arguments)
{
    struct profile *old_profile = read_file(arguments, arguments->files[0]);
    struct profile *new_profile =
        old_profile != NULL ? read_file(arguments, arguments->files[1]) : NULL;
    int status = CMD_FAILED;

    if (new_profile != NULL) {
        terminal_fit(stdout, &arguments->diff.report);
        status = compare(arguments, old_profile, new_profile);
    }
    profile_delete(new_profile);
    profile_delete(old_profile);
    return status;
}

int
cmd_diff(int argc, char **argv)
{
    struct arguments arguments = {.diff = {.report = {.rows = CMD_ROWS_DEFAULT}},
                                  .fail_above_percent = -1};
    int status = CMD_FAILED;

    if (parse(&arguments, argc, argv)) {
        if (arguments.help) {
            status = cmd_print_help("diff") ? CMD_OK : CMD_FAILED;
        } else {
            status = run(&arguments);
        }
    }
    free(arguments.old_name);
    free(arguments.filters);
    return status;
}
