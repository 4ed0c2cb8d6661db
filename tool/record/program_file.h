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

/*
 * Find the path of the program's file. Returns false if there is none, or the processes
 * run different programs.
 *
 *   form  in: how the user can name a file instead, for why
 *   why   out: the reason for the user
 */
bool program_file_find(const struct program_choice *choice, const char *form,
                       char *path, size_t path_size, char *why, size_t why_size);

/* Open a regular file for reading. Returns -1 with the reason in why. */
int program_file_open(const char *path, char *why, size_t why_size);

#endif
