/* SPDX-License-Identifier: MIT */
/* packagesp.h - parts of the search for debug packages. */
#ifndef PACKAGES_PACKAGESP_H
#define PACKAGES_PACKAGESP_H

#include "packages/packages.h"

#include <stdint.h>
#include <stdio.h>

/* --- bounds.c --- */

/* package_bounds - what one search may still read. */
struct package_bounds {
    uint64_t end_ns;     /* CLOCK_MONOTONIC */
    uint64_t bytes_left; /* of all files and programs */
};

/* package_bounds_begin - set the bounds of a search that begins now. */
void package_bounds_begin(struct package_bounds *bounds);

/* package_bounds_take - take bytes from the bounds. Returns false if the search must
 * end, because they are not left or the time is over. */
bool package_bounds_take(struct package_bounds *bounds, uint64_t bytes);

/* package_open - open a regular file of the database; at: descriptor of its folder, or
 * AT_FDCWD. Returns -1 if there is none. */
int package_open(int at, const char *path);

/* package_line - receives a line without its newline, which it may change. Returns
 * false to end the reading. */
typedef bool package_line(void *context, char *line);

/* package_read_lines - pass the lines of a descriptor to take, and close it. Lines that
 * are too long for any name are left out. Returns false if reading failed or the bounds
 * ended it. */
bool package_read_lines(struct package_bounds *bounds, int fd, package_line *take,
                        void *context);

/* package_name_copy - copy a name if it may be that of a package; otherwise *to is "".
 * Returns whether it may. */
bool package_name_copy(char *to, size_t size, const char *name, size_t length);

/* --- program.c --- */

/* package_run - run a program below the root, without a shell, and pass the lines that
 * it prints to take. Returns false if it cannot be run or the bounds ended it. */
bool package_run(struct package_bounds *bounds, const char *root, char *const *words,
                 package_line *take, void *context);

/* --- distribution.c --- */

/* distribution - what /etc/os-release says; a member is "" if it is not there. */
struct distribution {
    char id[64];       /* such as debian */
    char like[128];    /* ids of those that it is derived from, with blanks between */
    char name[64];     /* for people */
    char codename[64]; /* of the release; of Ubuntu's if it is derived from Ubuntu */
};

void distribution_read(struct package_bounds *bounds, const char *root,
                       struct distribution *distribution);

/* distribution_server - return the URL of the debuginfod server that has the
 * distribution's debug files. */
const char *distribution_server(const struct distribution *distribution);

/* distribution_is - return whether this is the distribution with this id, or is derived
 * from that one. */
bool distribution_is(const struct distribution *distribution, const char *id);

/* --- dpkg.c --- */

/* dpkg_find_owners - set owner, source and version of each file, and debug and
 * installed if OWNER-dbgsym is installed. Returns false if there is no database of
 * dpkg, or the bounds ended the search. */
bool dpkg_find_owners(struct package_bounds *bounds, const char *root,
                      struct package_file *files, size_t count);

/* dpkg_find_installed - set installed of each file whose debug package (apt_find_debug)
 * is installed. */
void dpkg_find_installed(struct package_bounds *bounds, const char *root,
                         struct package_file *files, size_t count);

/* --- apt_lists.c --- */

/* apt_find_debug - set debug of each file with an owner to the debug package that apt's
 * lists have, unless it is installed. */
void apt_find_debug(struct package_bounds *bounds, const char *root,
                    struct package_file *files, size_t count);

/* --- rpm.c --- */

/* rpm_is_there - return whether the system below root has the program rpm. */
bool rpm_is_there(const char *root);

/* rpm_find_owners - set the owner of each file. Returns false if rpm failed for one of
 * them. */
bool rpm_find_owners(struct package_bounds *bounds, const char *root,
                     struct package_file *files, size_t count);

#endif
