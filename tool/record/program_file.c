/* SPDX-License-Identifier: MIT */
/* program_file.c - searches PATH as execvp does, or takes the file of running
 * processes. */
#include "record/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Find the file of a program as execvp does. Returns false if there is none. */
static bool
find_program(const char *program, char *path, size_t size)
{
    const char *folder = getenv("PATH");

    if (strchr(program, '/') != NULL) {
        return snprintf(path, size, "%s", program) < (int)size;
    }
    folder = folder != NULL ? folder : "/bin:/usr/bin";
    for (;;) {
        const size_t length = strcspn(folder, ":");
        struct stat status;

        if (snprintf(path, size, "%.*s%s%s", (int)length, folder, length > 0 ? "/" : "",
                     program) < (int)size &&
            stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
            access(path, X_OK) == 0) {
            return true;
        }
        if (folder[length] == '\0') {
            return false;
        }
        folder += length + 1;
    }
}

/* Whether all processes run the same program. False also if one has exited. */
static bool
same_program(const uint32_t *pids, size_t count)
{
    struct stat first;

    for (size_t i = 0; i < count; i++) {
        struct stat status;
        char path[40];

        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pids[i]);
        if (stat(path, i == 0 ? &first : &status) < 0 ||
            (i > 0 &&
             (status.st_dev != first.st_dev || status.st_ino != first.st_ino))) {
            return false;
        }
    }
    return true;
}

bool
program_file_find(const struct program_choice *choice, const char *form, char *path,
                  size_t path_size, char *why, size_t why_size)
{
    if (choice->program != NULL) {
        if (find_program(choice->program, path, path_size)) {
            return true;
        }
        snprintf(why, why_size, "there is no program to find it in");
    } else if (choice->pid_count == 0) {
        snprintf(why, why_size, "say in which image: %s", form);
    } else if (same_program(choice->pids, choice->pid_count)) {
        snprintf(path, path_size, "/proc/%" PRIu32 "/exe", choice->pids[0]);
        return true;
    } else {
        snprintf(why, why_size,
                 "the processes run different programs or have exited; name the image: "
                 "%s",
                 form);
    }
    return false;
}

int
program_file_open(const char *path, char *why, size_t why_size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd < 0) {
        snprintf(why, why_size, "the image cannot be opened: %s", strerror(errno));
        return -1;
    }
    if (fstat(fd, &status) < 0) {
        snprintf(why, why_size, "the image's type cannot be read: %s", strerror(errno));
        close(fd);
        return -1;
    }
    if (!S_ISREG(status.st_mode)) {
        snprintf(why, why_size, "the image cannot be opened: it is no regular file");
        close(fd);
        return -1;
    }
    return fd;
}
