/* SPDX-License-Identifier: MIT */
/* cli/diff.h - what the files of ntprof diff share. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "cli/view_options.h"
#include "input/input.h"

/* diff_arguments - as given on the command line. */
struct diff_arguments {
    struct view_options view;
    struct input_options input;
    bool normalize;
    bool all;
    const char *files[2];
    char *old_name;            /* FILE.old, allocated; NULL: both files were named */
    double fail_above_percent; /* negative: not given */
};

/* diff_files - read the files and print what changed. Returns the exit status. */
int diff_files(struct diff_arguments *arguments);

#endif
