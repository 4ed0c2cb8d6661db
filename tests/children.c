/* SPDX-License-Identifier: MIT */
/*
 * children.c - children of a test program end with it.
 *
 * A failed assertion leaves a test at once, and a child that waits for the test would
 * go on for ever, holding the pipe that whoever runs the tests reads. Linked into every
 * program with cmocka.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t owner; /* children inherit the handler, and must not act on it */

static void
kill_children(void)
{
    char path[64];
    FILE *file;
    int child;

    if (getpid() != owner) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)owner);
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &child) == 1) {
        kill(child, SIGKILL);
    }
    if (file != NULL) {
        fclose(file);
    }
}

__attribute__((constructor)) static void
watch_children(void)
{
    owner = getpid();
    atexit(kill_children);
}
