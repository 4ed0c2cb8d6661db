/* SPDX-License-Identifier: MIT */
/* recorded.c - sorts the profile's labels into members and labels of the window. */
#include "store/recorded.h"

#include "base/hash_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Return the value of the profile's label with this key; otherwise if there is none. */
static const char *
label_or(const struct profile *profile, const char *key, const char *otherwise)
{
    const char *const value = profile_label(profile, key);

    return value != NULL ? value : otherwise;
}

/* Whether a label is a member of a window rather than one of its labels. */
static bool
is_member(const char *key)
{
    return strcmp(key, PROFILE_LABEL_HOST) == 0 ||
           strcmp(key, PROFILE_LABEL_EPOCH) == 0 ||
           strcmp(key, PROFILE_LABEL_BOOT) == 0;
}

/* Append the labels of the profile to words as key=value, each for free(). Returns
 * false if memory runs out; *count is the number appended in any case. */
static bool
list_labels(const struct profile *profile, const char **words, size_t *count)
{
    for (size_t i = 0; i < profile->label_count; i++) {
        char *word;

        if (is_member(profile->labels[i].key)) {
            continue;
        }
        if (asprintf(&word, "%s=%s", profile->labels[i].key, profile->labels[i].value) <
            0) {
            return false;
        }
        words[(*count)++] = word;
    }
    return true;
}

bool
store_add_recorded(struct store *store, const struct profile *profile,
                   const struct store_window *otherwise, struct pprof_error *error)
{
    struct store_window window = {
        .host = label_or(profile, PROFILE_LABEL_HOST, otherwise->host),
        .epoch = label_or(profile, PROFILE_LABEL_EPOCH, otherwise->epoch),
        .boot = label_or(profile, PROFILE_LABEL_BOOT, otherwise->boot),
        .label_count = otherwise->label_count,
    };
    const char **const words =
        calloc(profile->label_count + otherwise->label_count + 1, sizeof(*words));
    bool added = false;

    if (words != NULL && otherwise->label_count > 0) {
        memcpy(words, otherwise->labels, otherwise->label_count * sizeof(*words));
    }
    window.labels = words;
    if (words != NULL && list_labels(profile, words, &window.label_count)) {
        added = store_add(store, profile, &window, error);
    } else {
        *error = (struct pprof_error){.text = "out of memory"};
    }
    for (size_t i = otherwise->label_count; words != NULL && i < window.label_count;
         i++) {
        free((char *)(uintptr_t)words[i]);
    }
    free(words);
    return added;
}

/* Make the epoch of a profile that was read from a file: a hash of its command. Command
 * and start stay the same when a recording rewrites its file, so that the file is the
 * same window each time. */
static void
make_epoch(const struct profile *profile, char *epoch, size_t size)
{
    const char *const command = profile->command != NULL ? profile->command : "";

    snprintf(epoch, size, STORE_EPOCH_FILE "%08" PRIx32,
             hash_bytes(command, strlen(command)));
}

bool
store_add_file(struct store *store, const struct profile *profile,
               const struct store_window *otherwise, struct pprof_error *error)
{
    struct store_window window = *otherwise;
    struct utsname machine = {0};
    char epoch[32];

    uname(&machine);
    make_epoch(profile, epoch, sizeof(epoch));
    window.host = window.host != NULL ? window.host : machine.nodename;
    window.epoch = epoch;
    return store_add_recorded(store, profile, &window, error);
}
