/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.h - keeps the kernel's functions for later commands of root: Linux takes
 * 30 ms to write /proc/kallsyms. Only the files of that name and kernel.c include it.
 *
 * The file is read as one that anybody may have written, although nobody but root can:
 * it is a regular one of the caller, with one name and for nobody else, in such a
 * folder; its sizes and all that it refers to are checked. It is written whole, and
 * then gets its name.
 */
#ifndef SYMBOLS_CLIENT_KERNEL_CACHE_H
#define SYMBOLS_CLIENT_KERNEL_CACHE_H

#include "symbols/client/kernel_table.h"

/*
 * Return what a table depends on, for free(): the boot, and each module with where it
 * is and which time it was loaded. Returns NULL if that cannot be known, as while a
 * module is being loaded.
 */
char *kernel_cache_state(void);

/*
 * Read the table of a state, as kernel_cache_write wrote it.
 *
 *   table  all zero; for kernel_table_finish, also on failure
 *
 * Returns false if there is none, or none that is believed.
 */
bool kernel_cache_read(const char *folder, const char *state,
                       struct kernel_table *table);

/* Write the table of a state to a folder, which is made if it is not there: the symbols
 * in texts only, since others, of BPF programs and trampolines, come and go. A failure
 * costs later commands their time. */
void kernel_cache_write(const char *folder, const char *state,
                        const struct kernel_table *table);

#endif
