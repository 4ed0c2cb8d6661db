/* SPDX-License-Identifier: MIT */
/* default_output.h - where a profile goes that the user gave no name. */
#ifndef RECORD_DEFAULT_OUTPUT_H
#define RECORD_DEFAULT_OUTPUT_H

#define CMD_FILE_DEFAULT "ntprof.pb.gz"

/*
 * Make a folder for the profile if the current one cannot be written, and say so. The
 * path in it is allocated. Returns NULL if the current folder will do, or nothing can
 * be made: the check of the file then says why.
 */
char *default_output_make(const char *command);

/* Remove the folder if nothing was written into it, and free the path; NULL is none. */
void default_output_finish(char *path);

#endif
