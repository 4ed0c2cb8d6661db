/* SPDX-License-Identifier: MIT */
/* program_file.h - finds and opens the file of the program that is profiled. */
#ifndef RECORD_PROGRAM_FILE_H
#define RECORD_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* program_choice - the program to run or, if it is NULL, that of running processes. */
struct program_choice {
    const char *program; /* as execvp takes it */
    const uint32_t *pids;
    size_t pid_count;
};

/* program_file_find - find the path of the program's file. form is how the user can
 * name an image instead, for why. Returns false with the reason in why if there is
 * none, or the processes run different programs. */
bool program_file_find(const struct program_choice *choice, const char *form,
                       char *path, size_t path_size, char *why, size_t why_size);

/* Open a regular file for reading. Returns a descriptor, or -1 with
 * the reason in why. */
int program_file_open(const char *path, char *why, size_t why_size);

#endif
