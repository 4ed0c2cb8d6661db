/* SPDX-License-Identifier: MIT */
/*
 * boot_copy.h - a copy of /proc/kallsyms, kept for the boot: Linux takes 40 ms to write
 * one.
 *
 * It is /run/ntprof/kallsyms.BOOT-ID, for root only: the folder and the file must be
 * root's and nobody else's to read. Code of the core kernel stays where it is until the
 * next boot, and only that is looked up in a copy; modules and BPF programs come and
 * go. Nothing fails for want of it.
 */
#ifndef SYM_BOOT_COPY_H
#define SYM_BOOT_COPY_H

/* boot_copy_open - the copy of this boot in a folder. A descriptor, or -1: there is
 * none to be trusted. */
int boot_copy_open(const char *folder);

/* boot_copy_begin - a new file for a copy; made if need be is the folder. -1: not here,
 * or somebody is at it. */
int boot_copy_begin(const char *folder);

/* boot_copy_end - puts the file of boot_copy_begin in place if good is not 0, else
 * removes it. Closes fd; -1 is allowed. */
void boot_copy_end(const char *folder, int fd, int good);

#endif
