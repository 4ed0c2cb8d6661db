/* SPDX-License-Identifier: MIT */
/* source_dirs.c - the values of --source-dir. */
#include "cli/source_dirs.h"
#include "base/path.h"
#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

bool
source_dirs_take(void *into, const struct options_given *given)
{
    struct source_dirs *const dirs = into;
    char *const value = given->value;
    char *const sign = strchr(value, '=');
    const char *const to = sign != NULL ? sign + 1 : value;
    struct listing_prefix *list;

    if (*to == '\0') {
        return options_refuse(given, "OLD=NEW is needed, or a folder");
    }
    list = reallocarray(dirs->list, dirs->count + 1, sizeof(*list));
    if (list == NULL) {
        return cmd_refuse(given->command, "--source-dir", "out of memory");
    }
    dirs->list = list;
    list[dirs->count++] =
        (struct listing_prefix){.from = sign != NULL ? value : "", .to = to};
    if (sign != NULL) {
        *sign = '\0';
        path_clean(value); /* paths in profiles are clean, too */
    }
    return true;
}

void
source_dirs_finish(struct source_dirs *dirs)
{
    free(dirs->list);
}
