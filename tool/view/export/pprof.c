/* SPDX-License-Identifier: MIT */
/* pprof.c - the profile as ntprof itself writes it, also if another tool wrote it. */
#include "view/export/export.h"

#include "profile/pprof.h"

#include <stdlib.h>

bool
export_pprof(FILE *out, const struct profile *profile,
             const struct export_options *options, struct export_messages *messages)
{
    void *bytes;
    size_t size;

    (void)options;
    (void)messages;
    if (!pprof_encode(profile, &bytes, &size)) {
        return false;
    }
    fwrite(bytes, 1, size, out);
    free(bytes);
    return true;
}
