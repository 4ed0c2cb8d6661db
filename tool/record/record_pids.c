/* SPDX-License-Identifier: MIT */
/* record_pids.c - parses numbers and names of processes. */
#include "record/record_pids.h"
#include "base/message.h"
#include "record/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Print why the value of -p is refused. Returns false. */
static bool
refuse_process(const struct record_options *options, const char *text, const char *why)
{
    return cmd_refuse_value(options->command, "-p", text, why);
}

/* Parse the next number of a list such as 12,34 and advance *text past it and its
 * comma. Returns false if it is not valid. */
static bool
next_pid(const char **text, uint32_t *pid)
{
    unsigned long value;
    char *end;

    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    value = strtoul(*text, &end, 10);
    if (errno != 0 || value == 0 || value > INT32_MAX ||
        (*end != '\0' && (*end != ',' || end[1] == '\0'))) {
        return false;
    }
    *pid = (uint32_t)value;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static bool
is_given(const struct record_options *options, uint32_t pid)
{
    for (size_t i = 0; i < options->pid_count; i++) {
        if (options->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Add a process; name is that by which it was found, or NULL. Returns false after an
 * error line about text if memory runs out. */
static bool
add_pid(struct record_options *options, const char *text, uint32_t pid,
        const char *name)
{
    const size_t count = options->pid_count + 1;
    uint32_t *const pids = reallocarray(options->pids, count, sizeof(*pids));
    const char **names;

    if (pids != NULL) {
        options->pids = pids;
    }
    names = reallocarray(options->pid_names, count, sizeof(*names));
    if (names != NULL) {
        options->pid_names = names;
    }
    if (pids == NULL || names == NULL) {
        return refuse_process(options, text, "out of memory");
    }
    pids[count - 1] = pid;
    names[count - 1] = name;
    options->pid_count = count;
    return true;
}

/* Add the processes of a list of numbers. Returns false after an error line. */
static bool
parse_numbers(struct record_options *options, const char *list)
{
    const char *text = list;

    do {
        char again[64];
        uint32_t pid;

        if (!next_pid(&text, &pid)) {
            return refuse_process(
                options, list,
                "must be process ids with commas between, such as 1234,5678, or "
                "the name of a process");
        }
        if (is_given(options, pid)) {
            snprintf(again, sizeof(again), "%" PRIu32 " is given twice", pid);
            return refuse_process(options, list, again);
        }
        if (!add_pid(options, list, pid, /* name */ NULL)) {
            return false;
        }
    } while (*text != '\0');
    return true;
}

/* Add the processes whose name is or matches name, without ntprof itself. Returns false
 * after an error line, also if there are none. */
static bool
add_called(struct record_options *options, const struct processes *processes,
           const char *name)
{
    bool any = false;

    for (size_t i = 0; i < processes->count; i++) {
        const struct process_seen *const process = &processes->items[i];

        if (process->pid == (uint32_t)getpid() || !process_is_called(process, name)) {
            continue;
        }
        any = true;
        if (!is_given(options, process->pid) &&
            !add_pid(options, name, process->pid, name)) {
            return false;
        }
    }
    return any ||
           refuse_process(options, name,
                          "no running process is called so; process ids are written as "
                          "1234,5678");
}

/* Read which processes run, and add those whose name is or matches name. Returns false
 * after an error line, also if there are none. */
static bool
add_by_name(struct record_options *options, const char *name)
{
    struct processes processes = {0};
    bool done;

    done = processes_read(&processes)
               ? add_called(options, &processes, name)
               : refuse_process(options, name,
                                "processes cannot be listed: /proc cannot be read");
    processes_finish(&processes);
    return done;
}

bool
record_pids_parse(struct record_options *options, const char *text)
{
    return text[strspn(text, "0123456789,")] == '\0' ? parse_numbers(options, text)
                                                     : add_by_name(options, text);
}
