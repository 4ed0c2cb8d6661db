/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.h - keeps the core's functions for later commands of root: Linux takes
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

/* Bytes of the number of a boot, zeros behind it included. */
enum { KERNEL_BOOT_BYTES = 40 };

/* Get the number of this boot, as long as which the core stays the same. Returns false
 * if it cannot be read. */
bool kernel_cache_boot(char boot[KERNEL_BOOT_BYTES]);

/*
 * Read the table of a boot, as kernel_cache_write wrote it.
 *
 *   table  all zero; for kernel_table_finish, also on failure
 *
 * Returns false if there is none, or none that is believed.
 */
bool kernel_cache_read(const char *folder, const char *boot,
                       struct kernel_table *table);

/* Write the table of a boot to a folder, which is made if it is not there: the symbols
 * of the core only, since modules, BPF programs and trampolines come and go. A failure
 * costs later commands their time. */
void kernel_cache_write(const char *folder, const char *boot,
                        const struct kernel_table *table);

#endif
