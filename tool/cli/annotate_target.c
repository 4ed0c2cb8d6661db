/* SPDX-License-Identifier: MIT */
/* annotate_target.c - finds what is annotated, and lists what is there instead. */
#include "base/message.h"
#include "base/text.h"
#include "cli/annotate.h"
#include "view/listing/print.h"

#include <stdio.h>
#include <stdlib.h>

/* Choose the first row of the report, within --image. Returns false after an error
 * line. */
static bool
choose_hottest(const struct profile *profile,
               const struct annotate_arguments *arguments,
               struct listing_target *target)
{
    struct listing_targets targets;
    bool found =
        listing_find_hottest(profile, arguments->image, &targets) && targets.count > 0;

    if (found) {
        *target = targets.items[0];
    } else {
        cmd_refuse("annotate", arguments->file,
                   "nothing in it has hits; ntprof report shows what became of them");
    }
    listing_targets_finish(&targets);
    return found;
}

/* List the functions that contain the text that was not found, if there are any. */
static void
suggest(const struct profile *profile, const struct annotate_arguments *arguments)
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

/* Report that what was named is none, or may be one of several, which are listed. */
static void
fail_choice(const struct profile *profile, const struct annotate_arguments *arguments,
            const struct listing_targets *targets)
{
    char what[200];
    char file[200];

    text_show(what, sizeof(what), arguments->what);
    text_show(file, sizeof(file), arguments->file);
    if (targets->no_such_image) {
        cmd_refuse_value(
            "annotate", "--image", arguments->image,
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

/* Find what was named; if nothing of that name has hits, what only calls. Returns false
 * after an error line. */
static bool
find_named(struct profile *profile, const struct annotate_arguments *arguments,
           struct listing_targets *targets)
{
    bool done =
        listing_find_targets(profile, arguments->what, arguments->image, targets);

    if (done && targets->count == 0 && profile_has_stacks(profile)) {
        listing_targets_finish(targets);
        done =
            listing_add_calls(profile) &&
            listing_find_targets(profile, arguments->what, arguments->image, targets);
    }
    return done || cmd_refuse("annotate", arguments->file, "out of memory");
}

bool
annotate_choose(struct profile *profile, const struct annotate_arguments *arguments,
                struct listing_target *target)
{
    struct listing_targets targets = {.items = NULL};
    bool found;

    if (arguments->what == NULL) {
        return choose_hottest(profile, arguments, target);
    }
    if (!find_named(profile, arguments, &targets)) {
        listing_targets_finish(&targets);
        return false;
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
