/* SPDX-License-Identifier: MIT */
/* store_actions.h - what ntprof store does, by the first of its words. */
#ifndef CLI_STORE_ACTIONS_H
#define CLI_STORE_ACTIONS_H

#include "base/options.h"
#include "store/store.h"
#include "symbols/client/names.h"

/* store_arguments - as given on the command line. */
struct store_arguments {
    const char *url;
    struct store_url parsed;
    char **files; /* borrowed */
    size_t file_count;
    const char *host; /* NULL: this machine */
    const char *labels[STORE_LABELS_MAX];
    size_t label_count;
    struct store_limits limits;
    const char *cluster; /* NULL: none */
    struct names_options names;
    bool json;
};

/* store_use - how the store of the URL is opened for an action. */
enum store_use { STORE_CLOSED, STORE_READ, STORE_WRITTEN };

/* store_action - an action of ntprof store. run returns false with the error set, or
 * with an empty error after an error line. */
struct store_action {
    const char *name;
    bool (*run)(struct store *store, const struct store_arguments *arguments,
                struct pprof_error *error);
    enum store_use store; /* STORE_CLOSED: run gets NULL */
    bool files;           /* it takes files */
    bool limits;          /* it needs one of the limits */
};

/* store_actions - all actions; the list ends with {0}. */
extern const struct store_action store_actions[];

/* store_take_words - take the words of the command line into arguments. Returns the
 * action, or NULL after an error line. */
const struct store_action *store_take_words(struct store_arguments *arguments,
                                            const struct options_words *words);

/* store_action_run - open the store if the action needs it, and run the action. Returns
 * false after an error line. */
bool store_action_run(const struct store_action *action,
                      const struct store_arguments *arguments);

void store_print_statistics(const struct store_statistics *statistics);
void store_print_statistics_json(const struct store_statistics *statistics);

#endif
