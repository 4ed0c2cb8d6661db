/* SPDX-License-Identifier: MIT */
/* store_words.c - reads the words of ntprof store: an action, a URL, and files for
 * add. */
#include "base/buffer.h"
#include "base/clock.h"
#include "base/message.h"
#include "cli/store_actions.h"

#include <string.h>

/* Return the action with this name; NULL after an error line, also if name is NULL. */
static const struct store_action *
take_action(const char *name)
{
    const struct store_action *action = store_actions;
    struct buffer why = {0};

    while (action->name != NULL && (name == NULL || strcmp(action->name, name) != 0)) {
        action++;
    }
    if (action->name != NULL) {
        return action;
    }
    buffer_append_text(&why, "is none of");
    for (action = store_actions; action->name != NULL; action++) {
        buffer_append_text(&why, action == store_actions ? " " : ", ");
        buffer_append_text(&why, action->name);
    }
    cmd_refuse("store", name != NULL ? name : "ACTION",
               buffer_text(&why) != NULL ? buffer_text(&why) : "out of memory");
    buffer_finish(&why);
    return NULL;
}

const struct store_action *
store_take_words(struct store_arguments *arguments, const struct options_words *words)
{
    const struct store_action *const action =
        take_action(words->count > 0 ? words->list[0] : NULL);
    struct pprof_error error;

    if (action == NULL) {
        return NULL;
    }
    if (words->count < 2 || !store_is_url(words->list[1])) {
        cmd_refuse("store", words->count < 2 ? "URL" : words->list[1], STORE_URL_FORMS);
        return NULL;
    }
    if (!store_url_parse(words->list[1], (int64_t)clock_ns(CLOCK_REALTIME),
                         &arguments->parsed, &error)) {
        cmd_fail("store", "%s", error.text);
        return NULL;
    }
    arguments->url = words->list[1];
    arguments->files = words->list + 2;
    arguments->file_count = words->count - 2;
    if (arguments->parsed.selects) {
        cmd_refuse("store", words->list[1],
                   "parameters select what is read; here the whole store is "
                   "meant");
        return NULL;
    }
    if (action->files != (arguments->file_count > 0)) {
        cmd_refuse("store", words->list[0],
                   action->files ? "no FILE was named"
                                 : "takes no word behind the URL");
        return NULL;
    }
    if (action->limits && arguments->limits.before_ns == 0 &&
        arguments->limits.bytes_max == 0) {
        cmd_refuse("store", "--before, --max-size",
                   "both are missing: as --before 30d, windows that ended before are "
                   "removed, or as --max-size 20G the oldest");
        return NULL;
    }
    return action;
}
