/* SPDX-License-Identifier: MIT */
/* recorded.h - adds a profile to a store as the window that its own labels name. */
#ifndef STORE_RECORDED_H
#define STORE_RECORDED_H

#include "store/store.h"

/*
 * Add a profile. Host, epoch and boot are those of its labels, as an agent sets them,
 * so that a window is the same window whoever adds it; its other labels are the
 * window's.
 *
 *   otherwise  host, epoch and boot for a profile that has no such label; its labels
 *              are stored in front of the profile's
 *
 * Returns as store_add does.
 */
bool store_add_recorded(struct store *store, const struct profile *profile,
                        const struct store_window *otherwise,
                        struct pprof_error *error);

/*
 * Add a profile that was read from a file, as store_add_recorded does.
 *
 *   otherwise  as there, but host NULL stands for this machine's name, and its epoch
 *              is not used: a profile without one gets one made of its command
 *
 * A profile that is rewritten while it is recorded is the same window each time.
 */
bool store_add_file(struct store *store, const struct profile *profile,
                    const struct store_window *otherwise, struct pprof_error *error);

#endif
