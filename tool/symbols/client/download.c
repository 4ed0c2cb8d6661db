/* SPDX-License-Identifier: MIT */
/* download.c - hands each operation to the module, which the first use loads. */
#include "symbols/client/download_module.h"

static const struct download_module *module; /* set by sym_download_new */

struct sym_download *
sym_download_new(unsigned int seconds, sym_download_progress *progress, void *context,
                 char *why, size_t why_size)
{
    static const struct module needed = {.name = "debuginfod",
                                         .library = "libdebuginfod",
                                         .package = "libdebuginfod1",
                                         .headers = "libdebuginfod-dev"};

    module = module_load(&needed, why, why_size);
    return module == NULL ? NULL
                          : module->start(seconds, progress, context, why, why_size);
}

void
sym_download_delete(struct sym_download *download)
{
    if (download != NULL) {
        module->end(download);
    }
}

int
sym_download_debug_file(struct sym_download *download, const unsigned char *id,
                        size_t id_size, const char *what, char *path, size_t path_size)
{
    return module->debug_file(download, id, id_size, what, path, path_size);
}
