/* SPDX-License-Identifier: MIT */
/* cgroup.c - finds the directory of a cgroup by its name. */
#include "record/cgroup.h"
#include "base/text.h"

#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static bool
is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Whether a path is in a mounted cgroup file system of either version. */
static bool
is_in_hierarchy(const char *path)
{
    struct statfs system;

    return statfs(path, &system) == 0 && (system.f_type == CGROUP2_SUPER_MAGIC ||
                                          system.f_type == CGROUP_SUPER_MAGIC);
}

/* Whether events can count by cgroups of a mounted hierarchy. With version 1, the
 * kernel has perf_event in only one hierarchy, but reports a wrong one only when
 * an event is opened. */
static bool
is_for_events(const struct mntent *mount)
{
    return strcmp(mount->mnt_type, "cgroup2") == 0 ||
           (strcmp(mount->mnt_type, "cgroup") == 0 &&
            hasmntopt(mount, "perf_event") != NULL);
}

/* Return the malloc'd directory of a cgroup of this name in a mounted hierarchy.
 * Returns NULL if there is none, with the mount points of the hierarchies that were
 * searched in text places, or memory runs out. */
static char *
find_mounted(const char *name, char *places, size_t places_size)
{
    FILE *const mounts = setmntent("/proc/self/mounts", "re");
    char *found = NULL;
    const struct mntent *mount;

    places[0] = '\0';
    while (mounts != NULL && found == NULL && (mount = getmntent(mounts)) != NULL) {
        const size_t used = strlen(places);

        if (!is_for_events(mount)) {
            continue;
        }
        snprintf(places + used, places_size - used, "%s%s", used != 0 ? " and " : "",
                 mount->mnt_dir);
        if (asprintf(&found, "%s/%s", mount->mnt_dir, name) < 0) {
            found = NULL;
        } else if (!is_directory(found)) {
            free(found);
            found = NULL;
        }
    }
    if (mounts != NULL) {
        endmntent(mounts);
    }
    return found;
}

char *
cgroup_find(const char *name, char *error, size_t error_size)
{
    char places[256];
    char shown[256];
    char *found;

    if (name[0] == '/' && is_directory(name) && is_in_hierarchy(name)) {
        snprintf(error, error_size, "out of memory"); /* if strdup fails */
        return strdup(name);
    }
    found = find_mounted(name, places, sizeof(places));
    if (found == NULL && places[0] == '\0') {
        snprintf(error, error_size,
                 "no cgroup file system is mounted that events know: neither version 2 "
                 "nor perf_event of version 1");
    } else if (found == NULL) {
        snprintf(error, error_size,
                 "no such cgroup in %s; /proc/PID/cgroup has that of a process",
                 text_show(shown, sizeof(shown), places));
    }
    return found;
}
