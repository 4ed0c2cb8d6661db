/* SPDX-License-Identifier: MIT */
/* kernel_selection.h - the symbols of a kernel's table that are wanted. For kernel.c
 * and kernel_cache.c. */
#ifndef SYMBOLS_CLIENT_KERNEL_SELECTION_H
#define SYMBOLS_CLIENT_KERNEL_SELECTION_H

#include "symbols/client/kernel_table.h"

/*
 * Copy the symbols of a table that may name wanted buckets, and the functions that
 * parts ("work.cold") among them belong to. If memory runs out for these, such parts
 * count as functions of their own.
 *
 *   all   a table that others may have written: what is looked at is checked, and its
 *         names end with NUL. If its symbols are not sorted, others than the wanted
 *         ones are copied.
 *   kept  its symbols and names are empty; for kernel_table_finish, also on failure
 *
 * Returns 0 or a negative errno: -ENOMEM, or -EINVAL if a symbol is not as
 * kernel_table.h says.
 */
int kernel_table_select(const struct kernel_table *all, const struct sym_wanted *wanted,
                        struct kernel_table *kept);

#endif
