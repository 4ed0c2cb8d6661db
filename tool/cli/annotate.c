/* SPDX-License-Identifier: MIT */
/* cli/annotate.c - ntprof annotate: source lines and instructions with their hits. */
#include "base/options.h"
#include "base/progress.h"
#include "cli/cmd.h"
#include "cli/source_choice.h"
#include "cli/source_dirs.h"
#include "cli/terminal.h"
#include "input/input.h"
#include "profile/pprof.h"
#include "symbols/client/names.h"
#include "view/listing/print.h"

#include "base/number.h"
#include "base/text.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_SOURCE = OPTION_OWN,
    OPTION_ASM,
    OPTION_IMAGE,
    OPTION_IMAGE_DIR,
    OPTION_SOURCE_DIR,
    OPTION_ROWS,
    OPTION_CONTEXT,
    OPTION_BYTES,
    OPTION_OBJDUMP,
    OPTION_JSON,
    OPTION_DEBUGINFOD
};

static const struct option LONG_OPTIONS[] = {
    {"source", no_argument, NULL, OPTION_SOURCE},
    {"asm", no_argument, NULL, OPTION_ASM},
    {"image", required_argument, NULL, OPTION_IMAGE},
    {"image-dir", required_argument, NULL, OPTION_IMAGE_DIR},
    {"source-dir", required_argument, NULL, OPTION_SOURCE_DIR},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"context", required_argument, NULL, OPTION_CONTEXT},
    {"bytes", no_argument, NULL, OPTION_BYTES},
    {"objdump", optional_argument, NULL, OPTION_OBJDUMP},
    {"disassembler-style", required_argument, NULL, 'M'},
    {"event", required_argument, NULL, 'e'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"debuginfod", optional_argument, NULL, OPTION_DEBUGINFOD},
    INPUT_OPTION_ROWS,
    OPTION_HELP_ROW,
    {0},
};

/* Lines of context around those with hits, by default. */
enum { CONTEXT_DEFAULT = 5 };

struct arguments {
    struct input_options input;
    const char *what; /* as given; NULL: the code with the most hits */
    const char *file;
    const char *image;
    const char *source; /* the source whose hits are shown; NULL: all */
    enum listing_view view;
    struct annotator_settings settings;
    struct source_dirs dirs; /* backs settings.prefixes */
    uint32_t context;
    size_t rows;
    struct names_options names;
    bool bytes;
    bool json;
};

/* Print an error line. Returns false, so that callers can return its value. */
static bool
fail(const char *about, const char *why)
{
    return cmd_refuse("annotate", about, why);
}

static bool
fail_value(const char *option, const char *value, const char *allowed)
{
    return cmd_refuse_value("annotate", option, value, allowed);
}

/* --- options --- */

static bool
set_context(struct arguments *arguments, const char *text)
{
    uint64_t lines;

    if (strcmp(text, "all") == 0) {
        arguments->context = UINT32_MAX;
        return true;
    }
    if (!number_parse_count(text, &lines) || lines >= UINT32_MAX) {
        return fail_value("--context", text, "allowed are 0, 1, 2 and so on, and all");
    }
    arguments->context = (uint32_t)lines;
    return true;
}

static bool
set_view(struct arguments *arguments, enum listing_view view)
{
    if (arguments->view != LISTING_BEST && arguments->view != view) {
        return fail("--source, --asm", "only one of them");
    }
    arguments->view = view;
    return true;
}

static bool
set_style(struct arguments *arguments, const char *text)
{
    arguments->settings.intel = strcmp(text, "intel") == 0;
    return arguments->settings.intel || strcmp(text, "att") == 0 ||
           fail_value("-M", text, "allowed are att and intel");
}

static bool
set_file_option(struct arguments *arguments, int option, char *value)
{
    switch (option) {
    case OPTION_IMAGE:
        arguments->image = value;
        return true;
    case OPTION_IMAGE_DIR:
        arguments->settings.image_dir = value;
        return true;
    case OPTION_SOURCE_DIR:
        return source_dirs_add(&arguments->dirs, "annotate", value);
    case OPTION_OBJDUMP:
        arguments->settings.decoder = LISTING_DECODE_OBJDUMP;
        arguments->settings.objdump = value;
        return true;
    case OPTION_DEBUGINFOD:
        arguments->names.download = true;
        arguments->names.urls = value;
        return true;
    default:
        return input_set(&arguments->input, "annotate", option, value);
    }
}

static bool
set_option(void *context, int option, char *value)
{
    struct arguments *const arguments = context;

    switch (option) {
    case OPTION_SOURCE:
        return set_view(arguments, LISTING_SOURCE_ONLY);
    case OPTION_ASM:
        return set_view(arguments, LISTING_INSTRUCTIONS);
    case OPTION_ROWS:
        return options_count("annotate", "--rows", value, "all", &arguments->rows);
    case OPTION_CONTEXT:
        return set_context(arguments, value);
    case OPTION_BYTES:
        arguments->bytes = true;
        return true;
    case 'M':
        return set_style(arguments, value);
    case 'e':
        arguments->source = value;
        return true;
    case OPTION_JSON:
        arguments->json = true;
        return true;
    default:
        return set_file_option(arguments, option, value);
    }
}

static const struct options_syntax syntax = {
    .command = "annotate",
    .known = LONG_OPTIONS,
    .words_max = 2,
    .words_too_many = "only one thing and one FILE can be annotated",
    .set = set_option,
};

/* Whether text looks like the file name of a profile. */
static bool
is_profile_name(const char *text)
{
    static const char end[] = ".pb.gz";
    const size_t size = strlen(text);

    return size >= sizeof(end) && strcmp(text + size - strlen(end), end) == 0;
}

static void
set_words(struct arguments *arguments, const struct options_words *words)
{
    const bool file_alone = words->count == 1 && (is_profile_name(words->list[0]) ||
                                                  store_is_url(words->list[0]));

    arguments->what = words->count > 0 && !file_alone ? words->list[0] : NULL;
    arguments->file = file_alone         ? words->list[0]
                      : words->count > 1 ? words->list[1]
                                         : CMD_FILE_DEFAULT;
}

/* --- what is annotated --- */

/* Choose the function with the most hits, or a bucket if code without a name has more.
 * Returns false after an error line. */
static bool
choose_hottest(const struct profile *profile, const struct arguments *arguments,
               struct listing_target *target)
{
    struct listing_targets targets;
    bool found =
        listing_find_hottest(profile, arguments->image, &targets) && targets.count > 0;

    if (found) {
        *target = targets.items[0];
    } else {
        fail(arguments->file,
             "nothing in it has hits; ntprof report shows what became of them");
    }
    listing_targets_finish(&targets);
    return found;
}

/* List names that contain the text that was not found, if there are any. */
static void
suggest(const struct profile *profile, const struct arguments *arguments)
{
    struct listing_targets targets;
    char *pattern = NULL;

    if (asprintf(&pattern, "*%s*", arguments->what) < 0) {
        return;
    }
    if (listing_find_targets(profile, pattern, arguments->image, &targets) &&
        targets.count > 0) {
        fputs("      hits  there is\n", stderr);
        (void)listing_print_targets(stderr, profile, &targets);
    }
    listing_targets_finish(&targets);
    free(pattern);
}

static void
fail_choice(const struct profile *profile, const struct arguments *arguments,
            const struct listing_targets *targets)
{
    char what[200];
    char file[200];

    text_show(what, sizeof(what), arguments->what);
    text_show(file, sizeof(file), arguments->file);
    if (targets->no_such_image) {
        fail_value(
            "--image", arguments->image,
            "no image of that name has hits; ntprof report --by image lists them");
    } else if (targets->count == 0) {
        cmd_fail("annotate",
                 "%s: nothing called so has hits in %s; ntprof report lists functions "
                 "that have, and FILE:LINE and IMAGE+OFFSET work too",
                 what, file);
        suggest(profile, arguments);
    } else {
        cmd_fail(
            "annotate",
            "%s may be one of %zu; choose by --image GLOB, or by its name as it is "
            "here:",
            what, targets->count);
        fputs("      hits  name\n", stderr);
        (void)listing_print_targets(stderr, profile, targets);
    }
}

/* Find the target that was named. Returns false after an error line. */
static bool
choose(const struct profile *profile, const struct arguments *arguments,
       struct listing_target *target)
{
    struct listing_targets targets;
    bool found;

    if (arguments->what == NULL) {
        return choose_hottest(profile, arguments, target);
    }
    if (!listing_find_targets(profile, arguments->what, arguments->image, &targets)) {
        listing_targets_finish(&targets);
        return fail(arguments->file, "out of memory");
    }
    found = targets.count == 1;
    if (found) {
        *target = targets.items[0];
    } else {
        fail_choice(profile, arguments, &targets);
    }
    listing_targets_finish(&targets);
    return found;
}

/* Find the source of -e. Returns false after an error line. */
static bool
choose_source(const struct profile *profile, const struct arguments *arguments,
              size_t *source)
{
    *source = LISTING_ALL_SOURCES;
    return arguments->source == NULL ||
           source_choose("annotate", profile, arguments->source, source);
}

/* --- showing it --- */

static int
print(const struct profile *profile, struct listing *listing,
      const struct arguments *arguments, size_t source)
{
    struct report_options screen = {.width = 0};
    struct listing_print_options options = {.source = source,
                                            .bytes = arguments->bytes};
    bool done;

    terminal_fit(stdout, &screen);
    options.color = screen.color;
    options.width = screen.width;
    options.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    listing_fold(listing, arguments->context, arguments->rows);
    errno = 0;
    done = arguments->json ? listing_print_json(stdout, profile, listing)
                           : listing_print_text(stdout, profile, listing, &options);
    if (done || errno == EPIPE) {
        return CMD_OK; /* the reader of the pipe closed it */
    }
    return cmd_fail("annotate", "cannot write to standard output: %s",
                    strerror(errno != 0 ? errno : ENOMEM));
}

/* Report that an address has neither code nor hits. */
static int
fail_empty(const struct arguments *arguments, const struct listing *listing)
{
    const char *const what = arguments->what != NULL ? arguments->what : listing->title;
    char shown[512];

    fail(what, "there are neither code nor hits; ntprof report --by bucket lists where "
               "hits are");
    for (size_t i = 0; i < listing->note_count; i++) {
        cmd_fail("annotate", "%s",
                 text_show(shown, sizeof(shown), listing->notes[i].text));
    }
    return CMD_FAILED;
}

static int
list(const struct profile *profile, const struct arguments *arguments,
     const struct listing_target *target, size_t source, struct names *names)
{
    struct annotator *const annotator = annotator_new(&arguments->settings);
    struct listing listing = {.lines = NULL};
    bool made;
    int status;

    names_begin(names);
    made = annotator != NULL &&
           listing_make(annotator, profile, target, arguments->view, &listing);
    names_end(names);
    if (!made) {
        status = cmd_fail("annotate", "out of memory");
    } else if (target->kind == LISTING_OF_ADDRESS && listing.count == 0) {
        status = fail_empty(arguments, &listing);
    } else {
        status = print(profile, &listing, arguments, source);
    }
    listing_finish(&listing);
    annotator_delete(annotator);
    return status;
}

static int
annotate(const struct profile *profile, struct arguments *arguments)
{
    struct listing_target target = {0};
    struct names names;
    size_t source;
    int status = CMD_FAILED;

    if (!choose_source(profile, arguments, &source) ||
        !choose(profile, arguments, &target)) {
        return CMD_FAILED;
    }
    if (names_open(&names, "annotate", &arguments->names, false)) {
        arguments->settings.symbols = &names.settings;
        status = list(profile, arguments, &target, source, &names);
        arguments->settings.symbols = NULL;
    }
    names_close(&names);
    return status;
}

static int
run(struct arguments *arguments)
{
    struct pprof_error error;
    struct profile *profile;
    int status;

    progress_report_file("reading", arguments->file);
    profile = input_read(arguments->file, &arguments->input, &error);
    if (profile == NULL) {
        return cmd_fail("annotate", "%s", error.text);
    }
    status = annotate(profile, arguments);
    profile_delete(profile);
    return status;
}

int
cmd_annotate(int argc, char **argv)
{
    struct arguments arguments = {.context = CONTEXT_DEFAULT};
    struct options_words words;
    int status;

    if (options_take(&syntax, argc, argv, &arguments, &words, &status)) {
        set_words(&arguments, &words);
        arguments.settings.prefixes = arguments.dirs.list;
        arguments.settings.prefix_count = arguments.dirs.count;
        status = run(&arguments);
    }
    source_dirs_finish(&arguments.dirs);
    return status;
}
