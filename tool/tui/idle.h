/* SPDX-License-Identifier: MIT */
/* idle.h - where a processor rests that has nothing to do. */
#ifndef TUI_IDLE_H
#define TUI_IDLE_H

#include "profile/profile.h"

/* Is this a function of the kernel in which processors wait for an interrupt? By its
 * name: where the kernel's are not to be seen, nothing is. */
bool tui_is_idle(const struct profile *profile, const struct profile_row *row);

#endif
