/* SPDX-License-Identifier: MIT */
/*
 * filter.h - whether a name matches the filter that the user typed.
 *
 * A filter with * or ? is a glob for the whole name; any other matches a part of it.
 * Case matters only if the filter contains capital letters. The time is at most
 * proportional to the length of the name times that of the filter.
 */
#ifndef VIEW_SCREEN_FILTER_H
#define VIEW_SCREEN_FILTER_H

#include <stdbool.h>

/* Return whether the name matches; an empty filter matches all. */
bool tui_filter_fits(const char *filter, const char *name);

#endif
