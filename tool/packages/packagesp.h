/* SPDX-License-Identifier: MIT */
/* packagesp.h - parts of the search for debug packages. */
#ifndef PACKAGES_PACKAGESP_H
#define PACKAGES_PACKAGESP_H

#include "packages/packages.h"

#include <stdint.h>
#include <stdio.h>

/* --- bounds.c --- */

/* What one search may still read. */
struct package_bounds {
    uint64_t end_ns;     /* CLOCK_MONOTONIC */
    uint64_t bytes_left; /* of all files and programs */
};

/* The bounds of a search that begins now. */
void package_bounds_begin(struct package_bounds *bounds);

/* Take bytes from the bounds. Returns false if they end the search. */
bool package_bounds_take(struct package_bounds *bounds, uint64_t bytes);

/* Open a regular file of the database; at: descriptor of its folder, or AT_FDCWD.
 * Returns -1 if there is none. */
int package_open(int at, const char *path);

/* Receives a line without its newline; it may be changed. Returns false to end. */
typedef bool package_line(void *context, char *line);

/* Pass the lines of a descriptor to take, and close it. Lines that are too long for any
 * name are left out. Returns false if the bounds ended it. */
bool package_read_lines(struct package_bounds *bounds, int fd, package_line *take,
                        void *context);

/* Copy a name if it may be one of a package, else "". Returns whether it may. */
bool package_name_copy(char *to, size_t size, const char *name, size_t length);

/* --- program.c --- */

/* Run a program of the root, without a shell, and pass the lines that it prints to
 * take. Returns false if it cannot be run or the bounds ended it. */
bool package_run(struct package_bounds *bounds, const char *root, char *const *words,
                 package_line *take, void *context);

/* --- distribution.c --- */

/* From /etc/os-release; each is "" if it is not there. */
struct distribution {
    char id[64];
    char like[128];
    char name[64];
    char codename[64]; /* of Ubuntu in those that are made from it */
};

void distribution_read(struct package_bounds *bounds, const char *root,
                       struct distribution *distribution);

/* The URL of the debuginfod server that has the distribution's debug files. */
const char *distribution_server(const struct distribution *distribution);

/* Whether it is the distribution with this id, or derived from that. */
bool distribution_is(const struct distribution *distribution, const char *id);

/* --- dpkg.c --- */

/* Set owner, source and version of each file. Returns false if there is no such
 * database, or the bounds ended the search. */
bool dpkg_find_owners(struct package_bounds *bounds, const char *root,
                      struct package_file *files, size_t count);

/* Set file->installed of each file whose debug package is installed. */
void dpkg_find_installed(struct package_bounds *bounds, const char *root,
                         struct package_file *files, size_t count);

/* --- apt_lists.c --- */

/* Set debug of each file with an owner to the debug package that the lists have, unless
 * it is installed. */
void apt_find_debug(struct package_bounds *bounds, const char *root,
                    struct package_file *files, size_t count);

/* --- rpm.c --- */

/* Whether the system below root has a database of rpm. */
bool rpm_is_there(const char *root);

/* Set the owner of each file. Returns false if there is no rpm, or it failed. */
bool rpm_find_owners(struct package_bounds *bounds, const char *root,
                     struct package_file *files, size_t count);

#endif
