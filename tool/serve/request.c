/* SPDX-License-Identifier: MIT */
/* request.c - what the arguments of an address select. */
#include "serve/serve.h"

#include <string.h>

#define OLD "old."

/* Return the name of an argument without the prefix; NULL if the argument is of the
 * other side. prefix: OLD, or "" for the side without a prefix. */
static const char *
name_of_side(const char *name, const char *prefix)
{
    const bool old = strncmp(name, OLD, sizeof(OLD) - 1) == 0;

    return old == (prefix[0] != '\0') ? name + strlen(prefix) : NULL;
}

bool
serve_read_selection(const struct serve_query *query, const char *prefix,
                     int64_t now_ns, struct store_selection *selection,
                     struct pprof_error *error)
{
    bool labelled = false;

    for (size_t i = 0; i < query->count; i++) {
        const char *const name = name_of_side(query->names[i], prefix);

        if (name == NULL || query->values[i][0] == '\0') {
            continue;
        }
        if (!labelled && strcmp(name, "label") == 0) {
            labelled = true;
            selection->label_count = 0;
        }
        if (!store_select(selection, name, query->values[i], now_ns, error)) {
            return false;
        }
    }
    return true;
}

bool
serve_compares(const struct serve_query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        if (name_of_side(query->names[i], OLD) != NULL && query->values[i][0] != '\0') {
            return true;
        }
    }
    return false;
}
