/* SPDX-License-Identifier: MIT */
/* tree.h - prints the stacks of a profile as a tree of functions. */
#ifndef VIEW_REPORT_TREE_H
#define VIEW_REPORT_TREE_H

#include "profile/call_tree.h"
#include "view/report/report.h"

/* report_tree - what of it is printed. */
struct report_tree {
    enum call_tree_direction direction;
    double minimum; /* share of all hits; functions with less are one line */
};

/*
 * Check that the profile has stacks, that rows are of functions, and that those that
 * the options name are there. Returns false otherwise, with the reason in why.
 */
bool report_check_tree(const struct profile *profile,
                       const struct report_options *options, char *why, size_t size);

/*
 * Print the tree of the first source, by function or inline, of processes that pass the
 * filters; with a relation, that of its function. Returns false if memory runs out or
 * writing to out fails.
 */
bool report_print_tree(FILE *out, const struct profile *profile,
                       const struct report_options *options,
                       const struct report_tree *tree);

#endif
