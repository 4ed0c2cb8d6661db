/* SPDX-License-Identifier: MIT */
/* default_output.h - where a profile goes that the user gave no name. */
#ifndef RECORD_DEFAULT_OUTPUT_H
#define RECORD_DEFAULT_OUTPUT_H

#define CMD_FILE_DEFAULT "ntprof.pb.gz"

/* If the current folder cannot be written, make a folder for the profile and say so.
 * Returns the malloc'd path of a file in it. Returns NULL if the current folder will
 * do, or no folder can be made: the check of the output file then says why. */
char *default_output_make(const char *command);

/* Remove the folder of such a path if nothing was written into it, and free the
 * path; NULL is allowed. */
void default_output_finish(char *path);

#endif
