/* SPDX-License-Identifier: MIT */
/* cli/merge.c - ntprof merge: adds several profiles up. */
#include "profile/merge.h"
#include "base/options.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/merge_sum.h"
#include "input/input.h"

#include <string.h>

static const char help[] =
    "Examples\n"
    "  ntprof merge -o week.pb.gz mon.pb.gz tue.pb.gz    a longer run of two\n"
    "  ntprof merge -o all.pb.gz host-*/ntprof.pb.gz     one of many machines\n"
    "  ntprof merge -o sum.pb.gz sum.pb.gz new.pb.gz     add to what there is\n"
    "\n"
    "usage: ntprof merge -o OUT [-q] FILE...\n"
    "\n"
    "Adds profiles up, hit by hit, with their statistics. Images are one where they\n"
    "are the same build. Reports of a sum of several intervals add up what hits\n"
    "stand for.\n";

struct arguments {
    char **files; /* borrowed */
    size_t file_count;
    const char *output;
    bool quiet;
    struct input_options input;
};

static const struct options_row rows[] = {
    {"output", 'o', "OUT",
     "the sum; may be one of the files; the old one becomes OUT.old; - is standard "
     "output",
     "<file>", OPTIONS_TEXT(struct arguments, output)},
    {"quiet", 'q', NULL, "say nothing but errors", NULL,
     OPTIONS_FLAG(struct arguments, quiet)},
    {0},
};

const struct options_syntax cmd_merge_options = {
    .command = "merge",
    .help = help,
    .groups = {{rows, 0},
               {input_foreign_rows, offsetof(struct arguments, input)},
               {input_rows, offsetof(struct arguments, input)}},
    .words_max = SIZE_MAX,
    .complete = {"<profile>"},
};

/* Check that standard input is not named twice: it can be read only once. */
static bool
check_files(const struct arguments *arguments)
{
    size_t standard = 0;

    for (size_t i = 0; i < arguments->file_count; i++) {
        standard += strcmp(arguments->files[i], "-") == 0;
    }
    return standard <= 1 ||
           cmd_refuse("merge", "-", "standard input can be read only once");
}

static bool
check(const struct arguments *arguments)
{
    if (arguments->output == NULL) {
        return cmd_refuse("merge", "-o", "is missing: it names the file for the sum");
    }
    if (arguments->file_count == 0) {
        return cmd_refuse("merge", arguments->output,
                          "no FILE to merge into it was named");
    }
    return check_files(arguments);
}

/* Read a file and add it. Returns false with the error set; *not_added is true if the
 * file was read but does not fit the others. */
static bool
add_file(const struct arguments *arguments, struct profile_merger *merger,
         const char *path, struct pprof_error *error, bool *not_added)
{
    struct profile *profile = input_read_apart(path, &arguments->input, error);

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
                cmd_refuse("merge", path, error.text);
            } else {
                cmd_fail("merge", "%s", error.text);
            }
        }
    }
    return done;
}

static bool
write_sum(const struct arguments *arguments, struct profile_merger *merger)
{
    struct pprof_error error;
    struct profile *profile = profile_merger_take(merger, &error);
    bool done;

    if (profile == NULL) {
        return cmd_refuse("merge", arguments->output, error.text);
    }
    if (!arguments->quiet) {
        progress_report("writing the sum");
    }
    profile_sort(profile);
    done = pprof_write(profile, arguments->output, &error) ||
           cmd_refuse("merge", "-o", error.text);
    progress_end();
    if (done && !arguments->quiet) {
        merge_print_sum(profile, arguments->file_count, arguments->output);
    }
    profile_delete(profile);
    return done;
}

int
cmd_merge(int argc, char **argv)
{
    struct arguments arguments = {.input.stacks = true};
    struct profile_merger *merger;
    struct options_words words;
    struct pprof_error error;
    int status;
    bool done;

    if (!options_take(&cmd_merge_options, argc, argv, &arguments, &words, &status)) {
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
