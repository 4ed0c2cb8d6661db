/* SPDX-License-Identifier: MIT */
/* processes.c - reads /proc. */
#include "record/processes.h"

#include "base/array.h"
#include "base/path.h"
#include "base/process_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read at most size - 1 bytes of a file of a process, and terminate them. Returns their
 * number, 0 if there are none. */
static size_t
read_file(uint32_t pid, const char *name, char *text, size_t size)
{
    char path[48];
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, text, size - 1);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Parse the text of /proc/PID/stat. Returns false if it is incomplete or the process
 * has ended. */
static bool
parse_stat(const char *stat, struct process_seen *process)
{
    const char *const name = strchr(stat, '(');
    const char *const fields = process_stat_field(stat, PROCESS_STAT_STATE);
    const char *const times = process_stat_field(stat, PROCESS_STAT_TIMES);
    const char *const start = process_stat_field(stat, PROCESS_STAT_START);
    uint64_t user;
    uint64_t system;
    char state;

    if (name == NULL || start == NULL || fields - name < 3) {
        return false;
    }
    /* Between the parentheses, behind which there is a blank. */
    snprintf(process->name, sizeof(process->name), "%.*s", (int)(fields - name - 3),
             name + 1);
    return sscanf(fields, "%c %" SCNu32, &state, &process->parent) == 2 &&
           sscanf(times, "%" SCNu64 " %" SCNu64, &user, &system) == 2 &&
           sscanf(start, "%" SCNu64, &process->started_ticks) == 1 &&
           !__builtin_add_overflow(user, system, &process->used_ticks) &&
           state != 'Z' && state != 'X';
}

/* Append a copy of a process. Returns false if memory runs out. */
static bool
append(struct processes *processes, const struct process_seen *process)
{
    struct process_seen *const items = array_grow(processes->items, processes->count,
                                                  &processes->capacity, sizeof(*items));

    if (items == NULL) {
        return false;
    }
    processes->items = items;
    processes->items[processes->count++] = *process;
    return true;
}

/* Return the pid that is the name of a folder in /proc; 0 if the name is no number. */
static uint32_t
pid_of(const char *name)
{
    char *end;
    const unsigned long pid = strtoul(name, &end, 10);

    return name[0] >= '1' && name[0] <= '9' && *end == '\0' && pid <= INT32_MAX
               ? (uint32_t)pid
               : 0;
}

static int
compare_pids(const void *left, const void *right)
{
    const struct process_seen *const a = left;
    const struct process_seen *const b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

bool
processes_read(struct processes *processes)
{
    DIR *const folder = opendir("/proc");
    const struct dirent *entry;
    bool complete = folder != NULL;
    char stat[1024];

    processes->count = 0;
    while (complete && (entry = readdir(folder)) != NULL) {
        struct process_seen process = {.pid = pid_of(entry->d_name)};

        if (process.pid != 0 &&
            read_file(process.pid, "stat", stat, sizeof(stat)) != 0 &&
            parse_stat(stat, &process)) {
            complete = append(processes, &process);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (processes->count > 1) {
        qsort(processes->items, processes->count, sizeof(*processes->items),
              compare_pids);
    }
    return complete;
}

void
processes_finish(struct processes *processes)
{
    free(processes->items);
    *processes = (struct processes){0};
}

/* Return the process with this pid, or NULL. */
static const struct process_seen *
find_process(const struct processes *processes, uint32_t pid)
{
    const struct process_seen wanted = {.pid = pid};

    return processes->count == 0 ? NULL
                                 : bsearch(&wanted, processes->items, processes->count,
                                           sizeof(*processes->items), compare_pids);
}

const struct process_seen *
processes_find(const struct processes *processes, uint32_t pid, uint64_t started_ticks)
{
    const struct process_seen *const found = find_process(processes, pid);

    return found != NULL && found->started_ticks == started_ticks ? found : NULL;
}

static bool
is_one_of(uint32_t pid, const uint32_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static bool
is_descendant(const struct processes *processes, uint32_t pid)
{
    const struct process_seen *const process = find_process(processes, pid);

    return process != NULL && process->descendant;
}

void
processes_mark_descendants(struct processes *processes, const uint32_t *pids,
                           size_t count)
{
    bool more = true;

    for (size_t i = 0; i < processes->count; i++) {
        processes->items[i].descendant = false;
    }
    /* Once for each generation: parents may come after their children. */
    while (more) {
        more = false;
        for (size_t i = 0; i < processes->count; i++) {
            struct process_seen *const process = &processes->items[i];

            if (!process->descendant && (is_one_of(process->parent, pids, count) ||
                                         is_descendant(processes, process->parent))) {
                process->descendant = true;
                more = true;
            }
        }
    }
}

static bool
matches(const char *glob, const char *name)
{
    return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

bool
process_is_called(const struct process_seen *process, const char *glob)
{
    char words[PATH_MAX];
    const char *name;

    if (matches(glob, process->name)) {
        /* Kernel threads have no command line. */
        return read_file(process->pid, "cmdline", words, sizeof(words)) != 0;
    }
    if (strlen(process->name) != PROCESS_NAME_BYTES - 1 ||
        read_file(process->pid, "cmdline", words, sizeof(words)) == 0) {
        return false;
    }
    name = path_file_name(words);
    return strncmp(name, process->name, strlen(process->name)) == 0 &&
           matches(glob, name);
}
