/* SPDX-License-Identifier: MIT */
/* offers.h - what can be recorded on this machine now, and what was recorded last, as
 * values of options and words: for completions of shells. */
#ifndef RECORD_OFFERS_H
#define RECORD_OFFERS_H

#include <stdbool.h>

/* Takes a value, and what it means, or NULL. */
typedef void offers_take(void *context, const char *value, const char *meaning);

/*
 * Offer all values of a kind in <>, as tables of options name it
 * (options_row.complete).
 *
 *   begun  what is typed of the value so far: only cgroups in it are looked for
 *
 * Returns false if it is of another kind.
 */
bool offers_find(const char *kind, const char *begun, offers_take *take, void *context);

#endif
