/* SPDX-License-Identifier: MIT */
/* debuginfod.c - downloads by libdebuginfod; a module. */
#include "symbols/client/download_module.h"

#include "base/clock.h"
#include "base/module_interface.h"

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* How long a server may send nothing; libdebuginfod's default is 90. */
#define SILENCE_SECONDS "10"

struct sym_download {
    debuginfod_client *client;
    sym_download_progress *progress;
    void *context;
    const char *what;
    int64_t left_ns; /* of the time for all downloads */
    int64_t until_ns;
    bool late;
};

/* The download that runs on this thread: the library passes only its own client to
 * watch. */
static _Thread_local struct sym_download *watched;

/* Report progress, and end a download that takes too long: the library calls this while
 * it waits, and gives the download up if the result is not 0. */
static int
watch(debuginfod_client *client, long done, long total)
{
    struct sym_download *const download = watched;

    (void)client;
    if (download->progress != NULL) {
        download->progress(download->context, download->what, done, total);
    }
    download->late = (int64_t)clock_now_ns() >= download->until_ns;
    return download->late;
}

static void
download_delete(struct sym_download *download)
{
    if (download->client != NULL) {
        debuginfod_end(download->client);
    }
    free(download);
}

static struct sym_download *
download_new(unsigned int seconds, sym_download_progress *progress, void *context,
             char *why, size_t why_size)
{
    struct sym_download *download = calloc(1, sizeof(*download));

    if (download == NULL) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    download->progress = progress;
    download->context = context;
    download->left_ns = (int64_t)seconds * 1000000000;
    setenv("DEBUGINFOD_TIMEOUT", SILENCE_SECONDS, 0);
    download->client = debuginfod_begin();
    if (download->client == NULL) {
        snprintf(why, why_size, "libdebuginfod cannot begin");
        download_delete(download);
        return NULL;
    }
    debuginfod_set_progressfn(download->client, watch);
    return download;
}

/* Run a download within the time that is left. Returns a descriptor or a negative
 * errno: -ETIME if the time is up. */
static int
run_download(struct sym_download *download, const unsigned char *id, size_t id_size,
             char **path)
{
    const int64_t begun_ns = (int64_t)clock_now_ns();
    int fd;

    download->until_ns = begun_ns + download->left_ns;
    download->late = false;
    watched = download;
    fd = debuginfod_find_debuginfo(download->client, id, (int)id_size, path);
    watched = NULL;
    download->left_ns -= (int64_t)clock_now_ns() - begun_ns;
    return fd < 0 && download->late ? -ETIME : fd;
}

static int
download_debug_file(struct sym_download *download, const unsigned char *id,
                    size_t id_size, const char *what, char *path, size_t path_size)
{
    char *found = NULL;
    int fd;

    path[0] = '\0';
    if (download->left_ns <= 0) {
        return -ETIME;
    }
    download->what = what;
    fd = run_download(download, id, id_size, &found);
    if (fd >= 0) {
        snprintf(path, path_size, "%s", found == NULL ? "" : found);
    }
    free(found);
    return fd;
}

MODULE_INTERFACE(struct download_module, debuginfod) = {
    .start = download_new,
    .end = download_delete,
    .debug_file = download_debug_file,
};
