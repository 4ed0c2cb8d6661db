/* SPDX-License-Identifier: MIT */
/* store_actions.h - what ntprof store does, by the first of its words. */
#ifndef CLI_STORE_ACTIONS_H
#define CLI_STORE_ACTIONS_H

#include "store/store.h"
#include "symbols/client/names.h"

/* The names of all actions, for messages. */
#define STORE_ACTIONS "init, add, stat, check, prune, fold, symbolize, upgrade"

/* store_arguments - as given on the command line. */
struct store_arguments {
    const char *url;
    struct store_url parsed;
    char **files; /* borrowed */
    size_t file_count;
    const char *host; /* NULL: this one */
    const char *labels[STORE_LABELS_MAX];
    size_t label_count;
    struct store_limits limits;
    const char *cluster; /* NULL: none */
    struct names_options names;
    bool json;
};

struct store_action {
    const char *name;
    bool (*run)(
        const struct store_arguments *arguments); /* false: after an error line */
    bool files;                                   /* it takes files */
};

/* Returns NULL if there is none of that name. */
const struct store_action *store_action_find(const char *name);

void store_print_statistics(const struct store_statistics *statistics);
void store_print_statistics_json(const struct store_statistics *statistics);

#endif
