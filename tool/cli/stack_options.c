/* SPDX-License-Identifier: MIT */
/* cli/stack_options.c - which functions of stacks report shows, and how. */
#include "cli/stack_options.h"

#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

/* Takes --callers-of or --callees-of. */
static bool
take_relation(void *into, const struct options_given *given)
{
    struct report_relation *const relation = into;

    if (relation->glob != NULL) {
        return cmd_refuse(
            given->command, "--callers-of, --callees-of",
            "only one of them, once; the glob can match several functions");
    }
    relation->kind =
        strcmp(given->row->name, "callers-of") == 0 ? REPORT_CALLERS : REPORT_CALLEES;
    relation->glob = given->value;
    return true;
}

/* Take --skip-image, which may be given several times. */
static bool
take_skipped(void *into, const struct options_given *given)
{
    struct stack_options *const stacks = into;
    struct report_relation *const relation = &stacks->relation;
    const char **const skipped =
        reallocarray(stacks->skipped, relation->skipped_count + 1, sizeof(*skipped));

    if (skipped == NULL) {
        return cmd_refuse(given->command, given->value, "out of memory");
    }
    skipped[relation->skipped_count++] = given->value;
    stacks->skipped = skipped;
    relation->skipped = skipped;
    return true;
}

/* Takes --tree or --tree=DIRECTION. */
static bool
take_tree(void *into, const struct options_given *given)
{
    struct stack_options *const stacks = into;
    const bool up = given->value != NULL && strcmp(given->value, "up") == 0;

    if (given->value != NULL && !up && strcmp(given->value, "down") != 0) {
        return options_refuse(given, "allowed are down and up");
    }
    stacks->is_tree = true;
    stacks->direction_given = given->value != NULL;
    stacks->tree.direction = up ? CALL_TREE_UP : CALL_TREE_DOWN;
    return true;
}

static bool
take_minimum(void *into, const struct options_given *given)
{
    struct stack_options *const stacks = into;
    double percent;

    if (!options_percent(given->value, &percent) || percent < 0 || percent > 100) {
        return options_refuse(given, "allowed are percentages: 1%, 0.02%, 0 for all");
    }
    stacks->tree.minimum = percent / 100;
    stacks->minimum_given = true;
    return true;
}

const struct options_row stack_option_rows[] = {
    {.help = "Of a profile with call stacks (ntprof run -g):"},
    {"callers-of", 0, "GLOB", "rows are what calls functions whose name matches", NULL,
     OPTIONS_INTO(take_relation, struct stack_options, relation)},
    {"callees-of", 0, "GLOB", "rows are what functions whose name matches call", NULL,
     OPTIONS_INTO(take_relation, struct stack_options, relation)},
    {"tree", 0, "[=DIRECTION]",
     "as a tree: down from the outermost functions, or up from those with hits to "
     "their callers; with the options above, of their function",
     "down up", OPTIONS_CALL(take_tree)},
    {"min", 0, "PERCENT",
     "with it: functions with less of all hits are one line (default 0.5%)", NULL,
     OPTIONS_CALL(take_minimum)},
    {"skip-image", 0, "GLOB",
     "with them: pass over functions of images that match, such as 'libc.so*'; "
     "repeatable",
     "<file>", OPTIONS_CALL(take_skipped)},
    {0},
};

static enum call_tree_direction
direction_of(const struct report_relation *relation)
{
    return relation->kind == REPORT_CALLERS ? CALL_TREE_UP : CALL_TREE_DOWN;
}

bool
stack_options_finish(struct stack_options *stacks, const char *command)
{
    const struct report_relation *const relation = &stacks->relation;

    if (relation->skipped_count > 0 && relation->glob == NULL && !stacks->is_tree) {
        return cmd_refuse(command, "--skip-image",
                          "needs --callers-of, --callees-of or --tree");
    }
    if (stacks->minimum_given && !stacks->is_tree) {
        return cmd_refuse(command, "--min", "needs --tree");
    }
    if (relation->glob == NULL) {
        return true;
    }
    if (stacks->direction_given && stacks->tree.direction != direction_of(relation)) {
        return cmd_refuse(command, "--tree",
                          "callers are up, callees down: leave the direction out");
    }
    stacks->tree.direction = direction_of(relation);
    return true;
}
