/* SPDX-License-Identifier: MIT */
/* names.c - settings for symbol names, from options and environment. */
#include "symbols/client/names.h"
#include "base/command_log.h"
#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"
#include "sandbox/process.h"
#include "symbols/client/download.h"
#include "symbols/client/section_cache.h"

#include <stdlib.h>

/* Time limit of all downloads of one command. */
enum { DOWNLOAD_SECONDS = 90 };

/* The progress function of struct sym_settings. */
static void
names_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    const struct names *const names = context;
    char shown[60];

    if (names->showing) {
        progress_report("reading names of %s: %.0f%%",
                        text_show(shown, sizeof(shown), what),
                        total > 0 ? 100.0 * (double)done / (double)total : 0.0);
    }
}

/* A sym_download_progress. */
static void
names_download_progress(void *context, const char *what, long done, long total)
{
    const struct names *const names = context;
    char shown[60];

    (void)total;
    if (names->showing) {
        progress_report("asking for the debug file of %s: %ld KiB",
                        text_show(shown, sizeof(shown), what), done / 1024);
    }
}

/* Notes that names_warn prints. */
enum { WARNINGS_MAX = 20 };

/* The say function of struct sym_settings. */
static void
names_say(void *context, const char *note)
{
    struct names *const names = context;
    char shown[1024];

    if (!names->quiet) {
        cmd_fail(names->command, "%s", text_show(shown, sizeof(shown), note));
    }
}

/* The warn function of struct sym_settings: print only the first notes. Whoever can
 * mount a file system could otherwise have the agent print without end. */
static void
names_warn(void *context, const char *note)
{
    struct names *const names = context;
    char shown[1024];

    if (names->warnings < WARNINGS_MAX) {
        names->warnings++;
        cmd_fail(names->command, "%s", text_show(shown, sizeof(shown), note));
    }
}

/* Prepare downloads if options or environment ask for them. Returns false after an
 * error line if the option asked; what the environment asks for may be impossible. */
static bool
names_open_download(struct names *names, const struct names_options *options)
{
    const char *const given = getenv("DEBUGINFOD_URLS");
    const bool set = given != NULL && given[0] != '\0';
    char why[300];

    if (options->urls != NULL) {
        setenv("DEBUGINFOD_URLS", options->urls, 1);
    } else if (options->download && !set) {
        cmd_fail(names->command, "--debuginfod: DEBUGINFOD_URLS names no server; "
                                 "give one: --debuginfod=URL");
        return false;
    }
    if (!options->download && !set) {
        return true;
    }
    names->download = sym_download_new(DOWNLOAD_SECONDS, names_download_progress, names,
                                       why, sizeof(why));
    if (names->download == NULL) {
        cmd_fail(names->command, "%s: %s",
                 options->download ? "--debuginfod" : "DEBUGINFOD_URLS", why);
    }
    return names->download != NULL || !options->download;
}

bool
names_take_debuginfod(void *into, const struct options_given *given)
{
    struct names_options *const options = into;

    options->download = true;
    options->urls = given->value;
    return true;
}

bool
names_open(struct names *names, const char *command,
           const struct names_options *options, bool quiet)
{
    const char *why;
    bool cached;

    *names = (struct names){.command = command, .quiet = quiet};
    /* The command has little memory now, so a fork costs less than after recording. */
    (void)sandbox_prepare();
    if (!names_open_download(names, options)) {
        return false;
    }
    cached = !options->no_cache &&
             section_cache_folder(names->cache, sizeof(names->cache), &why);
    if (!cached && !options->no_cache) {
        COMMAND_LOG("unpacked sections: none are kept: %s", why);
    }
    names->settings = (struct sym_settings){
        .no_lines = options->no_lines,
        .download = names->download,
        .cache = cached ? names->cache : NULL,
        .progress = names_progress,
        .say = names_say,
        .warn = names_warn,
        .context = names,
    };
    return true;
}

void
names_close(struct names *names)
{
    sym_download_delete(names->download);
    names->download = NULL;
}

void
names_begin(struct names *names)
{
    names->showing = !names->quiet;
    if (names->showing) {
        progress_report("reading names");
    }
}

void
names_end(struct names *names)
{
    names->showing = false;
    progress_end();
}
