/* SPDX-License-Identifier: MIT */
/* cli/merge.c - ntprof merge: adds several profiles up. */
#include "profile/merge.h"
#include "base/options.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "input/input.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 256 };

static const struct option LONG_OPTIONS[] = {
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    INPUT_OPTION_ROWS,
    OPTION_HELP_ROW,
    {0},
};

struct arguments {
    char **files; /* borrowed */
    size_t file_count;
    const char *output;
    bool quiet;
    struct input_options input;
};

/* Print an error line. Returns false, so that callers can return its value. */
static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("merge", about, why);
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    if (input_is_option(option)) {
        return input_set(&arguments->input, "merge", option, value);
    }
    if (option == 'o') {
        arguments->output = value;
    } else {
        arguments->quiet = true;
    }
    return true;
}

static const struct options_syntax syntax = {
    .command = "merge",
    .known = LONG_OPTIONS,
    .words_max = SIZE_MAX,
    .set = set_option,
};

/* Standard input can be read only once. */
static bool
check_files(const struct arguments *arguments)
{
    size_t standard = 0;

    for (size_t i = 0; i < arguments->file_count; i++) {
        standard += strcmp(arguments->files[i], "-") == 0;
    }
    return standard <= 1 || fail("-", "standard input can be read only once");
}

static bool
check(const struct arguments *arguments)
{
    if (arguments->output == NULL) {
        return fail("-o", "is missing: it names the file for the sum");
    }
    if (arguments->file_count == 0) {
        return fail(arguments->output, "no FILE to merge into it was named");
    }
    return check_files(arguments);
}

/* Add a file. Returns false with the error set; *not_added says that the file was
 * readable but does not fit. */
static bool
add_file(const struct arguments *arguments, struct profile_merger *merger,
         const char *path, struct pprof_error *error, bool *not_added)
{
    struct profile *profile = input_read(path, &arguments->input, error);

    *not_added = profile != NULL;
    return profile != NULL && profile_merger_add(merger, profile, error);
}

static bool
add_files(const struct arguments *arguments, struct profile_merger *merger)
{
    struct pprof_error error;
    bool not_added = false;
    bool done = true;

    for (size_t i = 0; done && i < arguments->file_count; i++) {
        const char *path = arguments->files[i];

        if (!arguments->quiet) {
            progress_report("merging: %zu of %zu files", i, arguments->file_count);
        }
        done = add_file(arguments, merger, path, &error, &not_added);
        if (!done) {
            /* The reason already names a file that could not be read. */
            if (not_added) {
                fail(path, error.text);
            } else {
                cmd_fail("merge", "%s", error.text);
            }
        }
    }
    return done;
}

/* Add up the hits of all rows: not all files have statistics. */
static uint64_t
count_hits(const struct profile *profile, size_t source)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        if (__builtin_add_overflow(hits, profile->rows[i].hits[source], &hits)) {
            return UINT64_MAX;
        }
    }
    return hits;
}

static void
print_sum(const struct arguments *arguments, const struct profile *profile)
{
    char shown[SHOWN_BYTES];

    fprintf(stderr, "ntprof: merged %zu profile%s, %zu row%s", arguments->file_count,
            arguments->file_count == 1 ? "" : "s", profile->row_count,
            profile->row_count == 1 ? "" : "s");
    for (size_t i = 0; i < profile->source_count; i++) {
        fprintf(stderr, ", %" PRIu64 " hit%s of %s", count_hits(profile, i),
                count_hits(profile, i) == 1 ? "" : "s",
                text_show(shown, sizeof(shown), profile->sources[i].name));
    }
    fprintf(stderr, ", into %s\n", text_show(shown, sizeof(shown), arguments->output));
}

static bool
write_sum(const struct arguments *arguments, struct profile_merger *merger)
{
    struct pprof_error error;
    struct profile *profile = profile_merger_take(merger, &error);
    bool done;

    if (profile == NULL) {
        return fail(arguments->output, error.text);
    }
    if (!arguments->quiet) {
        progress_report("writing the sum");
    }
    profile_sort(profile);
    done = pprof_write(profile, arguments->output, &error) || fail("-o", error.text);
    progress_end();
    if (done && !arguments->quiet) {
        print_sum(arguments, profile);
    }
    profile_delete(profile);
    return done;
}

int
cmd_merge(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct profile_merger *merger;
    struct options_words words;
    struct pprof_error error;
    int status;
    bool done;

    if (!options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        return status;
    }
    arguments.files = words.list;
    arguments.file_count = words.count;
    if (!check(&arguments)) {
        return CMD_FAILED;
    }
    if (!pprof_check_writable(arguments.output, &error)) {
        return cmd_fail("merge", "-o: %s", error.text);
    }
    merger = profile_merger_new();
    if (merger == NULL) {
        return cmd_fail("merge", "out of memory");
    }
    done = add_files(&arguments, merger) && write_sum(&arguments, merger);
    profile_merger_delete(merger);
    return done ? CMD_OK : CMD_FAILED;
}
