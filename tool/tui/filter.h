/* SPDX-License-Identifier: MIT */
/*
 * filter.h - does a name fit what somebody typed to find it?
 *
 * With * or ? it is a glob for the whole name, else a part of it; capital letters only
 * matter if there are any in the filter. Its cost follows the length of the name times
 * that of the filter, whatever they hold.
 */
#ifndef TUI_FILTER_H
#define TUI_FILTER_H

#include <stdbool.h>

/* An empty filter fits all. */
bool tui_filter_fits(const char *filter, const char *name);

#endif
