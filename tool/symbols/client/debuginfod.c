/* SPDX-License-Identifier: MIT */
/*
 * download.c - libdebuginfod, loaded by name.
 */
#include "base/clock.h"
#include "base/library.h"
#include "symbols/client/download.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libdebuginfod.so.1"

/* Of a server that sends nothing; the library's own is 90. */
#define SILENCE_SECONDS "10"

/* The library's client; its header need not be there. */
struct debuginfod_client;
typedef int client_progress(struct debuginfod_client *client, long done, long total);

struct sym_download {
    struct debuginfod_client *client;
    struct debuginfod_client *(*begin)(void);
    void (*end)(struct debuginfod_client *client);
    int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *id,
                          int id_size, char **path);
    void (*set_progress)(struct debuginfod_client *client, client_progress *progress);
    sym_download_progress *progress;
    void *context;
    const char *what;
    int64_t left_ns; /* of the time for all downloads */
    int64_t until_ns;
    bool late;
};

static bool
load(struct sym_download *download)
{
    const struct library_function functions[] = {
        {"debuginfod_begin", &download->begin},
        {"debuginfod_end", &download->end},
        {"debuginfod_find_debuginfo", &download->find_debuginfo},
        {"debuginfod_set_progressfn", &download->set_progress},
    };

    return library_load(LIBRARY, functions, sizeof(functions) / sizeof(functions[0]));
}

/* Whose download runs on this thread: the library gives its own client alone. */
static _Thread_local struct sym_download *watched;

/* The library calls this while it waits. Not 0 ends the download. */
static int
watch(struct debuginfod_client *client, long done, long total)
{
    struct sym_download *const download = watched;

    (void)client;
    if (download->progress != NULL) {
        download->progress(download->context, download->what, done, total);
    }
    download->late = (int64_t)clock_now_ns() >= download->until_ns;
    return download->late;
}

struct sym_download *
sym_download_new(unsigned int seconds, sym_download_progress *progress, void *context,
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
    if (!load(download)) {
        snprintf(why, why_size, "%s cannot be loaded: install Debian's libdebuginfod1",
                 LIBRARY);
        sym_download_delete(download);
        return NULL;
    }
    setenv("DEBUGINFOD_TIMEOUT", SILENCE_SECONDS, 0);
    download->client = download->begin();
    if (download->client == NULL) {
        snprintf(why, why_size, "%s cannot begin", LIBRARY);
        sym_download_delete(download);
        return NULL;
    }
    download->set_progress(download->client, watch);
    return download;
}

void
sym_download_delete(struct sym_download *download)
{
    if (download == NULL) {
        return;
    }
    if (download->client != NULL) {
        download->end(download->client);
    }
    free(download);
}

/* Runs a download within the time that is left. */
static int
find(struct sym_download *download, const unsigned char *id, size_t id_size,
     char **path)
{
    const int64_t begun_ns = (int64_t)clock_now_ns();
    int fd;

    download->until_ns = begun_ns + download->left_ns;
    download->late = false;
    watched = download;
    fd = download->find_debuginfo(download->client, id, (int)id_size, path);
    watched = NULL;
    download->left_ns -= (int64_t)clock_now_ns() - begun_ns;
    return fd < 0 && download->late ? -ETIME : fd;
}

int
sym_download_debug_file(struct sym_download *download, const unsigned char *id,
                        size_t id_size, const char *what, char *path, size_t path_size)
{
    char *found = NULL;
    int fd;

    path[0] = '\0';
    if (download->left_ns <= 0) {
        return -ETIME;
    }
    download->what = what;
    fd = find(download, id, id_size, &found);
    if (fd >= 0) {
        snprintf(path, path_size, "%s", found == NULL ? "" : found);
    }
    free(found);
    return fd;
}
