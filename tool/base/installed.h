/* SPDX-License-Identifier: MIT */
/*
 * installed.h - files that are installed with the command, or built beside it: what it
 * loads, or has programs load.
 */
#ifndef BASE_INSTALLED_H
#define BASE_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

enum installed_result {
    INSTALLED_FOUND,
    INSTALLED_MISSING,
    INSTALLED_UNREADABLE, /* with errno */
    INSTALLED_UNTRUSTED   /* there is one that others may have put there */
};

/*
 * installed_find - find a file that can be read, and that nobody can have put there but
 * root, the caller and the owner of the command's own file. A command whose file gives
 * it rights (setuid, capabilities) trusts only root, and looks only where it was
 * installed.
 *
 *   name      in: of the file
 *   built_in  in: its folder before installation, relative to that of the command
 *   path      out: the file's path without links; not for INSTALLED_MISSING
 */
enum installed_result installed_find(const char *name, const char *built_in,
                                     char path[PATH_MAX]);

#endif
