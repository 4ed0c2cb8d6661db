/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.h - keeps the core's functions for later commands of root: Linux takes
 * 30 ms to write /proc/kallsyms. Only the files of that name and kernel.c include it.
 *
 * The file is read as one that anybody may have written, although nobody but root can:
 * it is a regular one of the caller, with one name and for nobody else, in such a
 * folder; its sizes and what is looked at are checked. It is written whole, and then
 * gets its name. It is mapped while it is searched: root, who cuts it then, ends the
 * command by SIGBUS.
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
 * Get the symbols that are wanted from the file of a boot, as kernel_table_select.
 *
 *   table  all zero; on failure it is all zero again
 *
 * Returns 0 or a negative errno: -ENXIO if the file is in order, but a wanted bucket is
 * not in the core's text; another if there is no file, or none that is believed.
 */
int kernel_cache_find(const char *folder, const char *boot,
                      const struct sym_wanted *wanted, struct kernel_table *table);

/* Write the table of a boot to a folder, which is made if it is not there: the symbols
 * of the core only, since modules, BPF programs and trampolines come and go. A failure
 * costs later commands their time. */
void kernel_cache_write(const char *folder, const char *boot,
                        const struct kernel_table *table);

#endif
