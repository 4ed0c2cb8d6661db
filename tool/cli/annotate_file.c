/* SPDX-License-Identifier: MIT */
/* annotate_file.c - reads a profile, and prints the listing of a part of it. */
#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/annotate.h"
#include "cli/source_choice.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdio.h>

/* Find the source that -e names; LISTING_ALL_SOURCES without -e. Returns false after an
 * error line. */
static bool
choose_source(const struct profile *profile, const struct annotate_arguments *arguments,
              size_t *source)
{
    *source = LISTING_ALL_SOURCES;
    return arguments->source == NULL ||
           source_choose("annotate", profile, arguments->source, source);
}

/* Print the listing as the arguments ask. Returns the exit status. */
static int
print(const struct profile *profile, struct listing *listing,
      const struct annotate_arguments *arguments, size_t source)
{
    struct listing_print_options options = {.source = source,
                                            .bytes = arguments->bytes};

    terminal_fit_listing(stdout, &options);
    listing_fold(listing, arguments->context, arguments->rows);
    errno = 0;
    return terminal_status(
        "annotate", arguments->json
                        ? listing_print_json(stdout, profile, listing)
                        : listing_print_text(stdout, profile, listing, &options));
}

/* Report that the address to annotate has neither code nor hits. Returns the exit
 * status. */
static int
fail_empty(const struct annotate_arguments *arguments, const struct listing *listing)
{
    const char *const what = arguments->what != NULL ? arguments->what : listing->title;
    char shown[512];

    cmd_refuse("annotate", what,
               "there are neither code nor hits; ntprof report --by bucket lists where "
               "hits are");
    for (size_t i = 0; i < listing->note_count; i++) {
        cmd_fail("annotate", "%s",
                 text_show(shown, sizeof(shown), listing->notes[i].text));
    }
    return CMD_FAILED;
}

/* Make the listing of a target and print it. Returns the exit status. */
static int
list(const struct profile *profile, const struct annotate_arguments *arguments,
     const struct listing_target *target, size_t source, struct names *names)
{
    struct annotator *const annotator = annotator_new(&arguments->settings);
    struct listing listing = {.lines = NULL};
    bool made;
    int status;

    names_begin(names);
    made = annotator != NULL && listing_make(annotator, profile, /* identities */ NULL,
                                             target, arguments->view, &listing);
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

/* Choose source and target, and print the listing. Returns the exit status. */
static int
annotate(struct profile *profile, struct annotate_arguments *arguments)
{
    struct listing_target target = {0};
    struct names names;
    size_t source;
    int status = CMD_FAILED;

    if (!choose_source(profile, arguments, &source) ||
        !annotate_choose(profile, arguments, &target)) {
        return CMD_FAILED;
    }
    if (names_open(&names, "annotate", &arguments->names, /* quiet */ false)) {
        arguments->settings.symbols = &names.settings;
        status = list(profile, arguments, &target, source, &names);
        arguments->settings.symbols = NULL;
    }
    names_close(&names);
    return status;
}

int
annotate_file(struct annotate_arguments *arguments)
{
    struct pprof_error error;
    struct profile *profile;
    int status;

    progress_report_file("reading", arguments->file);
    arguments->input.selection.needs_row = true;
    profile = input_read_plain("annotate", arguments->file, &arguments->input, &error);
    if (profile == NULL) {
        return cmd_fail("annotate", "%s", error.text);
    }
    status = annotate(profile, arguments);
    profile_delete(profile);
    return status;
}
