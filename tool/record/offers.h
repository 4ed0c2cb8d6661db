/* SPDX-License-Identifier: MIT */
/* offers.h - what can be recorded on this machine now, and what was recorded last, as
 * values of options and words: for completions of shells. */
#ifndef RECORD_OFFERS_H
#define RECORD_OFFERS_H

#include <stdbool.h>

/* Receives an offered value, and what it means or NULL. */
typedef void offers_take(void *context, const char *value, const char *meaning);

/* offers_find - call take with all values of a kind such as "<pid>", as tables of
 * options name it (options_row.complete). begun is what the user has typed of the
 * value so far: only cgroups below it are searched for. Returns false if it does
 * not know the kind. */
bool offers_find(const char *kind, const char *begun, offers_take *take, void *context);

#endif
