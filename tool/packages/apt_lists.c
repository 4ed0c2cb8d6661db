/* SPDX-License-Identifier: MIT */
/*
 * apt_lists.c - which debug packages apt's package lists have.
 *
 * Names of debug packages: PACKAGE-dbgsym, in archives of their own; PACKAGE-dbg and
 * SOURCE-dbg, which some sources still build, among the others. Lists may be compressed
 * in any way that apt knows, and apt's own helper expands them.
 */
#include "packages/packagesp.h"

#include "base/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 3 };

/* candidates - the names that a file's debug package may have, best first. */
struct candidates {
    char names[NAMES][160];
    size_t found; /* index of the best name that the lists have; NAMES: they have
                   * none */
};

struct lists_reader {
    struct candidates *candidates;
    size_t count;
};

/* Set the names that a file's debug package may have. Returns false if no list needs to
 * be read for it: it has no owner, or its debug package is installed. */
static bool
make_candidates(struct candidates *candidates, const struct package_file *file)
{
    candidates->found = NAMES;
    if (file->owner[0] == '\0' || file->installed) {
        return false;
    }
    snprintf(candidates->names[0], sizeof(candidates->names[0]), "%s-dbgsym",
             file->owner);
    snprintf(candidates->names[1], sizeof(candidates->names[1]), "%s-dbg", file->owner);
    if (file->source[0] != '\0') {
        snprintf(candidates->names[2], sizeof(candidates->names[2]), "%s-dbg",
                 file->source);
    }
    return true;
}

/* Note which candidates a list has; for package_read_lines. Only names that are better
 * than the one found so far are compared. */
static bool
take_line(void *context, char *line)
{
    static const char key[] = "Package: ";
    struct lists_reader *const reader = context;

    if (strncmp(line, key, strlen(key)) != 0) {
        return true;
    }
    for (size_t i = 0; i < reader->count; i++) {
        struct candidates *const candidates = &reader->candidates[i];

        for (size_t k = 0; k < candidates->found; k++) {
            if (candidates->names[k][0] != '\0' &&
                strcmp(line + strlen(key), candidates->names[k]) == 0) {
                candidates->found = k;
            }
        }
    }
    return true;
}

/* Read a list: directly, or by apt's helper if it is compressed. */
static void
read_list(struct package_bounds *bounds, const char *root, DIR *folder,
          const char *name, struct lists_reader *reader)
{
    char path[PATH_MAX];
    int fd;

    if (text_ends_with(name, strlen(name), "_Packages")) {
        fd = package_open(dirfd(folder), name);
        if (fd >= 0) {
            (void)package_read_lines(bounds, fd, take_line, reader);
        }
        return;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/var/lib/apt/lists/%s", root, name) <
        sizeof(path)) {
        char *const words[] = {"/usr/lib/apt/apt-helper", "cat-file", path, NULL};

        (void)package_run(bounds, root, words, take_line, reader);
    }
}

/* Return whether a file of apt's folder is a list of binary packages, compressed or
 * not. */
static bool
is_list(const char *name)
{
    const char *const part = strstr(name, "_Packages");

    return name[0] != '.' && part != NULL &&
           (part[strlen("_Packages")] == '\0' || part[strlen("_Packages")] == '.');
}

/* Read all lists for the candidates, until the bounds end that. */
static void
search(struct package_bounds *bounds, const char *root, struct lists_reader *reader)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *folder = NULL;

    if ((size_t)snprintf(path, sizeof(path), "%s/var/lib/apt/lists", root) <
        sizeof(path)) {
        folder = opendir(path);
    }
    while (folder != NULL && bounds->bytes_left > 0 &&
           (entry = readdir(folder)) != NULL) {
        if (is_list(entry->d_name)) {
            read_list(bounds, root, folder, entry->d_name, reader);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

void
apt_find_debug(struct package_bounds *bounds, const char *root,
               struct package_file *files, size_t count)
{
    struct candidates *const all = calloc(count, sizeof(*all));
    struct lists_reader reader = {.candidates = all, .count = count};
    bool any = false;

    for (size_t i = 0; all != NULL && i < count; i++) {
        any |= make_candidates(&all[i], &files[i]);
    }
    if (any) {
        search(bounds, root, &reader);
    }
    for (size_t i = 0; all != NULL && i < count; i++) {
        if (all[i].found < NAMES) {
            snprintf(files[i].debug, sizeof(files[i].debug), "%s",
                     all[i].names[all[i].found]);
        }
    }
    free(all);
}
