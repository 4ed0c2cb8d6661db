/* SPDX-License-Identifier: MIT */
/*
 * download.h - debug files from debuginfod servers, by build-id, for those who ask for
 * it.
 *
 * libdebuginfod keeps what it downloaded in its cache. All downloads together have a
 * time limit; names of files that did not come in time are missing.
 */
#ifndef SYMBOLS_CLIENT_DOWNLOAD_H
#define SYMBOLS_CLIENT_DOWNLOAD_H

#include <stdbool.h>
#include <stddef.h>

struct sym_download;

/* sym_download_progress - called during a download. done: bytes so far; total: bytes of
 * the file, or 0 if that is not known. */
typedef void sym_download_progress(void *context, const char *what, long done,
                                   long total);

/*
 * Prepare downloads from the servers of DEBUGINFOD_URLS.
 *
 *   seconds   for all downloads together
 *   progress  may be NULL
 *   why       out, on failure, for people
 *
 * Returns NULL if the module for downloads cannot be loaded or memory ran out.
 */
struct sym_download *sym_download_new(unsigned int seconds,
                                      sym_download_progress *progress, void *context,
                                      char *why, size_t why_size);

void sym_download_delete(struct sym_download *download); /* NULL is allowed */

/*
 * Download the debug file of a build-id, which is not checked.
 *
 *   what  name of the image, for progress
 *   path  out: of the file in the library's cache
 *
 * Returns a descriptor, or a negative errno: -ENOENT if no server has the file, -ETIME
 * if the time is up.
 */
int sym_download_debug_file(struct sym_download *download, const unsigned char *id,
                            size_t id_size, const char *what, char *path,
                            size_t path_size);

#endif
