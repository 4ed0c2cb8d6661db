/* SPDX-License-Identifier: MIT */
/* cli/stack_options.h - options of report for profiles with call stacks. */
#ifndef CLI_STACK_OPTIONS_H
#define CLI_STACK_OPTIONS_H

#include "base/options.h"
#include "view/report/tree.h"

struct stack_options {
    struct report_relation relation;
    struct report_tree tree;
    bool is_tree;         /* the tree is shown, no rows */
    bool direction_given; /* of the tree; else a relation decides */
    bool minimum_given;
    const char **skipped; /* backs relation.skipped; to be freed */
};

#define STACK_OPTIONS_DEFAULT \
    {                         \
        .tree.minimum = 0.005 \
    }

/* stack_option_rows - --callers-of, --callees-of, --tree, --min, --skip-image. */
extern const struct options_row stack_option_rows[];

/* stack_options_finish - check that options which need another one have it and do not
 * contradict it, and choose the tree's direction. Returns false after an error line. */
bool stack_options_finish(struct stack_options *stacks, const char *command);

#endif
