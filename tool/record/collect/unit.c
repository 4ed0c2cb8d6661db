/* SPDX-License-Identifier: MIT */
/* unit.c - units and containers of processes. */
#include "record/collect/unit.h"

#include "base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Digits of a container's id, how many of them engines show, and room for the text of
 * /proc/PID/cgroup. */
enum { ID_DIGITS = 64, ID_SHOWN = 12, CGROUP_BYTES = 8192 };

/* rank - how well a part of a path names what the process belongs to. */
enum rank { RANK_NONE, RANK_OTHER, RANK_SLICE, RANK_UNIT, RANK_CONTAINER };

/* Return the container id in ID, ENGINE-ID.scope and the like, or NULL. */
static const char *
find_id(const char *part, size_t size)
{
    const size_t end =
        text_ends_with(part, size, ".scope") ? size - strlen(".scope") : size;

    if (end < ID_DIGITS || (end > ID_DIGITS && part[end - ID_DIGITS - 1] != '-')) {
        return NULL;
    }
    for (size_t i = end - ID_DIGITS; i < end; i++) {
        if (strchr("0123456789abcdef", part[i]) == NULL) {
            return NULL;
        }
    }
    return part + end - ID_DIGITS;
}

/* Return the rank of a part of a path, and shorten the part to what is shown of it. */
static enum rank
rank_part(const char **part, size_t *size)
{
    const char *const id = find_id(*part, *size);

    if (id != NULL) {
        *part = id;
        *size = ID_SHOWN;
        return RANK_CONTAINER;
    }
    if (text_ends_with(*part, *size, ".service") ||
        text_ends_with(*part, *size, ".scope")) {
        return RANK_UNIT;
    }
    return text_ends_with(*part, *size, ".slice") ? RANK_SLICE : RANK_OTHER;
}

/* The part of the path with the highest rank is the unit, of equal ones the
 * innermost. */
void
unit_of_path(const char *path, char unit[static UNIT_BYTES])
{
    enum rank best = RANK_NONE;

    unit[0] = '\0';
    while (*path != '\0') {
        const char *part = path + strspn(path, "/");
        size_t size = strcspn(part, "/");
        enum rank rank;

        path = part + size;
        if (size == 0) {
            continue;
        }
        rank = rank_part(&part, &size);
        if (rank >= best) {
            best = rank;
            snprintf(unit, UNIT_BYTES, "%.*s", (int)size, part);
        }
    }
}

void
unit_of_cgroups(char *text, char unit[static UNIT_BYTES])
{
    char *rest = NULL;

    unit[0] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        /* HIERARCHY:CONTROLLERS:PATH */
        char *const controllers = strchr(line, ':');
        char *const path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

        if (path == NULL) {
            continue;
        }
        *path = '\0';
        if (strncmp(line, "0:", 2) == 0 && path[1] != '\0' && path[2] != '\0') {
            unit_of_path(path + 1, unit);
            return;
        }
        if (strcmp(controllers + 1, "name=systemd") == 0) {
            unit_of_path(path + 1, unit);
        }
    }
}

bool
unit_read(uint32_t pid, char unit[static UNIT_BYTES])
{
    char text[CGROUP_BYTES];
    ssize_t size = -1;
    int fd;

    snprintf(text, sizeof(text), "/proc/%" PRIu32 "/cgroup", pid);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        size = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    unit_of_cgroups(text, unit);
    return true;
}
