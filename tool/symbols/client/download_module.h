/* SPDX-License-Identifier: MIT */
/* download_module.h - downloads as a module. Only tool/symbols/client includes it. */
#ifndef SYMBOLS_CLIENT_DOWNLOAD_MODULE_H
#define SYMBOLS_CLIENT_DOWNLOAD_MODULE_H

#include "base/module.h"
#include "symbols/client/download.h"

/* download_module - the functions of download.h. */
struct download_module {
    struct sym_download *(*start)(unsigned int seconds, sym_download_progress *progress,
                                  void *context, char *why, size_t why_size);
    void (*end)(struct sym_download *download);
    int (*debug_file)(struct sym_download *download, const unsigned char *id,
                      size_t id_size, const char *what, char *path, size_t path_size);
};

#endif
