/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - the names of JIT code that a process leaves in /tmp/perf-PID.map.
 *
 * Lines are "START SIZE name with spaces", numbers in base 16. A line that is none is passed over:
 * a process may have been killed while it wrote one. Where lines overlap the later one holds, as code
 * is thrown away and its place used again.
 */
#include "sym/name_map.h"
#include "sym/open_regular.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Node writes some megabytes. A forged file may be without end. */
#define PERF_MAP_BYTES_MAX ((size_t)1 << 28)

static bool
skip_blanks(const char **text)
{
    const char *start = *text;

    while (**text == ' ' || **text == '\t') {
        (*text)++;
    }
    return *text > start;
}

/* Adds the symbol of one line, which ends with a NUL. False if memory ran out. */
static bool
parse_line(struct sym_map *map, const char *line)
{
    struct sym_entry entry = {.rank = SYM_RANK_LOCAL, .sized = true};
    uint64_t size;

    if (!sym_parse_hex(&line, &entry.start) || !skip_blanks(&line) ||
        !sym_parse_hex(&line, &size) || !skip_blanks(&line) ||
        size > UINT64_MAX - entry.start) {
        return true;
    }
    entry.end = entry.start + size;
    entry.name = line;
    return sym_table_add(&map->table, &entry);
}

static bool
parse_text(struct sym_map *map, char *text, size_t size)
{
    char *const end = text + size;

    while (text < end) {
        char *newline = memchr(text, '\n', (size_t)(end - text));
        char *line_end = newline != NULL ? newline : end;

        *line_end = '\0';
        if (line_end > text && line_end[-1] == '\r') {
            line_end[-1] = '\0';
        }
        if (!parse_line(map, text)) {
            return false;
        }
        text = newline != NULL ? newline + 1 : end;
    }
    return true;
}

/* Takes text over, which has a NUL behind its size bytes. */
static struct sym_map *
parse_owned(char *text, size_t size)
{
    struct sym_map *map = calloc(1, sizeof(*map));

    if (map == NULL) {
        free(text);
        errno = ENOMEM;
        return NULL;
    }
    if (!sym_table_own(&map->table, text) || !parse_text(map, text, size) ||
        !sym_table_build(&map->table, SYM_OVERLAP_LATEST)) {
        sym_map_close(map);
        errno = ENOMEM;
        return NULL;
    }
    return map;
}

struct sym_map *
sym_map_parse(const char *bytes, size_t size)
{
    char *text;

    if (size > PERF_MAP_BYTES_MAX) {
        errno = EFBIG;
        return NULL;
    }
    text = malloc(size + 1);
    if (text == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    return parse_owned(text, size);
}

/* target - what /proc/PID/status says of the process. */
struct target {
    unsigned int pid; /* in its own namespace */
    uid_t uid;        /* effective */
};

static bool
parse_status(FILE *status, struct target *target)
{
    char line[512];
    bool uid_found = false;
    bool pid_found = false;

    while (fgets(line, sizeof(line), status) != NULL) {
        unsigned int uid;

        if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
            target->uid = uid;
            uid_found = true;
        }
        if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last =
                strrchr(line, '\t'); /* one pid a namespace, ours first */

            pid_found = last != NULL && sscanf(last, "%u", &target->pid) == 1;
        }
    }
    return uid_found && pid_found;
}

static bool
find_target(uint32_t pid, struct target *target)
{
    char path[64];
    FILE *status;
    bool found;

    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    status = fopen(path, "re");
    if (status == NULL) {
        return false;
    }
    found = parse_status(status, target);
    fclose(status);
    return found;
}

/* A file of somebody else's could put any name on any address. */
static int
check_owner(int fd, uid_t uid)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    return status.st_uid == uid || status.st_uid == 0 ? 0 : -EPERM;
}

static int
open_owned(const char *root, uint32_t pid, uid_t uid)
{
    char path[64];
    int error;
    int fd;

    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    fd = sym_open_regular_nofollow(root, path);
    if (fd < 0) {
        return fd;
    }
    error = check_owner(fd, uid);
    if (error != 0) {
        close(fd);
        return error;
    }
    return fd;
}

/* Of a process that has ended the file is still there, in our root, for whom it ran as: us. */
static int
open_perf_map(uint32_t pid)
{
    struct target target;
    char root[64];

    if (!find_target(pid, &target)) {
        return open_owned("", pid, geteuid());
    }
    snprintf(root, sizeof(root), "/proc/%u/root", pid);
    return open_owned(root, target.pid, target.uid);
}

struct sym_map *
sym_map_open_perf(uint32_t pid)
{
    const int fd = open_perf_map(pid);
    size_t size;
    char *text;
    int error;

    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    text = sym_read_whole(fd, PERF_MAP_BYTES_MAX, &size);
    error = errno;
    close(fd);
    if (text == NULL) {
        errno = error;
        return NULL;
    }
    return parse_owned(text, size);
}
