/* SPDX-License-Identifier: MIT */
/* cli/export.h - what the files of ntprof export share. */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "cli/source_dirs.h"
#include "input/input.h"
#include "view/export/export.h"

/* export_arguments - as given on the command line. */
struct export_arguments {
    struct input_options input;
    const struct export_format *format;
    const char *file;
    const char *output;      /* "-": standard output */
    const char *old;         /* of flame graphs: what they are compared with, or NULL */
    const char *source;      /* NULL: the first source */
    bool rows;               /* --rows was given */
    const char *code;        /* the last option about code of html that was given; NULL:
                              * none */
    struct source_dirs dirs; /* backs options.prefixes */
    struct export_options options;
};

/* export_file - read the profile and write it in its new form. Returns the exit
 * status. */
int export_file(struct export_arguments *arguments);

#endif
