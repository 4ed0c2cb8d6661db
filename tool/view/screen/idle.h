/* SPDX-License-Identifier: MIT */
/* idle.h - recognises the functions in which an idle processor waits. */
#ifndef VIEW_SCREEN_IDLE_H
#define VIEW_SCREEN_IDLE_H

#include "profile/profile.h"

/* tui_is_idle - return whether a row is of a kernel function in which processors
 * wait for an interrupt. It compares names, so it finds none without the right to
 * read kernel symbols. */
bool tui_is_idle(const struct profile *profile, const struct profile_row *row);

#endif
