/* SPDX-License-Identifier: MIT */
/*
 * packages.h - which package would bring the symbols of a file: the one that owns it,
 * by the database of dpkg or rpm, and what its distribution calls debug packages.
 *
 * The databases are those below a root, "" for the caller's own. Everything that is
 * read there is bounded, in bytes and in time, and may be malformed.
 */
#ifndef PACKAGES_PACKAGES_H
#define PACKAGES_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/* package_file - what is known of a file. */
struct package_file {
    const char *path; /* in: absolute, below the root */
    char owner[128];  /* the package that owns it; "": none, or it is not known */
    char source[128]; /* dpkg: the source package that it is built from */
    char version[96]; /* dpkg: of owner; "": not known */
    char debug[160];  /* the debug package that the package lists name; "": none */
    bool installed;   /* the debug package is installed */
    char server[64];  /* of the distribution's debug files, for --debuginfod; or "" */
    char advice[512]; /* a clause in the imperative: how to get the symbols; "" */
};

/*
 * packages_advise - set all members of files but their paths.
 *
 *   root   in: "", or a folder without a slash at its end
 *   files  in: paths; out: the rest
 *
 * Without a database, or if the bounds end the search, owner is "", and so is advice
 * but for distributions without debug packages. If the database has no owner, advice
 * says so.
 */
void packages_advise(const char *root, struct package_file *files, size_t count);

#endif
