/* SPDX-License-Identifier: MIT */
/* source_choice.c - finds the source of a profile that -e names. */
#include "cli/source_choice.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "profile/match.h"
#include "record/source_words.h"

#include <stdio.h>
#include <string.h>

/* Characters of names that a message can show as they are. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";

const char *
source_list(char *list, size_t size, const struct profile *profile, size_t left_out)
{
    size_t length = 0;

    list[0] = '\0';
    for (size_t i = 0; i < profile->source_count && length + 1 < size; i++) {
        char shown[80];

        if (i != left_out) {
            length += (size_t)snprintf(
                list + length, size - length, "%s%s", length > 0 ? ", " : "",
                text_show(shown, sizeof(shown), profile->sources[i].name));
        }
    }
    return list;
}

/* Find the source of the profile that a name may mean, which is misspelt or another
 * tool's word for it. */
static void
suggest_source(const struct profile *profile, const char *name,
               struct suggestion *suggestion)
{
    suggest_begin(suggestion, name, strlen(name));
    suggest_offer_words(suggestion, source_words);
    /* Another tool's word for a source that the profile lacks is of no use. */
    if (suggestion->best != NULL &&
        match_source(profile, suggestion->best) == profile->source_count) {
        suggest_begin(suggestion, name, strlen(name));
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        /* Names in foreign files may have any characters; a suggestion is printed
         * without escapes. */
        if (strspn(profile->sources[i].name, plain) ==
            strlen(profile->sources[i].name)) {
            suggest_offer(suggestion, profile->sources[i].name);
        }
    }
}

bool
source_choose(const char *command, const struct profile *profile, const char *name,
              size_t *source)
{
    const size_t found = match_source(profile, name);
    struct suggestion suggestion;
    char list[512];
    char why[700];

    if (found < profile->source_count) {
        *source = found;
        return true;
    }
    source_list(list, sizeof(list), profile, SIZE_MAX);
    snprintf(why, sizeof(why), "the profile has no such source; it has %s",
             list[0] != '\0' ? list : "none");
    suggest_source(profile, name, &suggestion);
    suggest_append(&suggestion, why, sizeof(why));
    return cmd_refuse_value(command, "-e", name, why);
}
