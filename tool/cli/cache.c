/* SPDX-License-Identifier: MIT */
/* cli/cache.c - ntprof cache: what is kept for later commands, and how to remove it. */
#include "base/text.h"
#include "cli/cmd.h"
#include "symbols/client/section_cache.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Examples\n"
    "  ntprof cache                   where it is, and how large\n"
    "  ntprof cache clear             remove it\n"
    "\n"
    "usage: ntprof cache [clear]\n"
    "\n"
    "Debug sections that had to be unpacked are kept, so that names cost less the\n"
    "next time: of files of root and the caller's own, 512 MiB at most.\n";

const struct options_syntax cmd_cache_options = {
    .command = "cache",
    .help = help,
    .words_max = 1,
    .words_too_many = "only clear can follow",
    .complete = {"clear"},
};

int
cmd_cache(int argc, char **argv)
{
    struct section_cache_size size;
    const char *why;
    struct options_words words;
    char folder[PATH_MAX];
    char shown[PATH_MAX];
    bool clear;
    int status;

    if (!options_take(&cmd_cache_options, argc, argv, NULL, &words, &status)) {
        return status;
    }
    clear = words.count > 0;
    if (clear && strcmp(words.list[0], "clear") != 0) {
        cmd_refuse("cache", words.list[0],
                   "is no action of ntprof cache; the only one is clear");
        return CMD_FAILED;
    }
    if (!section_cache_folder(folder, sizeof(folder), &why)) {
        return cmd_fail("cache", "there is none: %s", why);
    }
    (void)text_show(shown, sizeof(shown), folder);
    if (clear ? !section_cache_clear(folder, &size, &why)
              : !section_cache_measure(folder, &size, &why)) {
        return cmd_fail("cache", "cannot %s %s: %s", clear ? "clear" : "use", shown,
                        why);
    }
    printf("%s%s: %" PRIu64 " %s, %.1f MB\n", shown, clear ? ": removed" : "",
           size.files, size.files == 1 ? "file" : "files", (double)size.bytes / 1e6);
    return CMD_OK;
}
