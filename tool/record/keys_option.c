/* SPDX-License-Identifier: MIT */
/* keys_option.c - reads the keys of --by. */
#include "record/keys_option.h"

#include <stdio.h>
#include <string.h>

/* Parse the keys. Otherwise print an error line, which lists the key source only if
 * by_source is set, and return false. */
static bool
take_keys(struct report_keys *keys, const struct options_given *given, bool by_source)
{
    struct suggestion suggestion;
    char allowed[300] = "allowed are ";
    size_t used;

    if (report_keys_parse(given->value, keys)) {
        return true;
    }
    report_keys_list(allowed, sizeof(allowed), by_source);
    used = strlen(allowed);
    snprintf(allowed + used, sizeof(allowed) - used,
             ", each once; several with commas: process,function");
    report_keys_suggest(given->value, &suggestion);
    suggest_append(&suggestion, allowed, sizeof(allowed));
    return options_refuse(given, allowed);
}

bool
keys_option_take(void *into, const struct options_given *given)
{
    return take_keys(into, given, true);
}

bool
keys_option_take_compared(void *into, const struct options_given *given)
{
    return take_keys(into, given, false);
}
