/* SPDX-License-Identifier: MIT */
/*
 * synthetic_agent.c - adds windows of known content to a store, as an agent does.
 *
 *   synthetic-agent URL
 *
 * Each line of standard input is a window:
 *
 *   HOST EPOCH START_S LENGTH_S INTERVAL UNIT LABEL PATH BUILD_ID ADDRESS:HITS...
 *   [outside:HITS:OF_THEM_IN_KERNEL_MODE]
 *
 * where "-" stands for nothing, and PATH may have the image's first address behind it,
 * as in [kernel]@0xffffffff81000000, and ADDRESS that of its function, or "-" if the
 * function has no name. Prints "added" or "failed REASON" for each, at once.
 */
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST, EPOCH, START, LENGTH, INTERVAL, UNIT, LABEL, PATH, BUILD_ID, ROWS };
enum { WORDS_MAX = 20000 };

static void
require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "synthetic-agent: %s\n", what);
        exit(2);
    }
}

static const char *
or_empty(const char *word)
{
    return strcmp(word, "-") == 0 ? "" : word;
}

static uint64_t
number(const char *word)
{
    return strtoull(word, NULL, 0);
}

static void
add_row(struct profile *profile, const char *word)
{
    struct profile_place place = {.unit = (uint32_t)(profile->unit_count - 1)};
    char name[64];
    char *colon;
    struct profile_function function = {
        .name = name, .system_name = name, .file = "work.c", .start_line = 1};

    place.address = strtoull(word, &colon, 0);
    if (*colon == '@') {
        function.has_address = true;
        function.address = strtoull(colon + 1, &colon, 0);
    }
    if (*colon == '-') {
        function = (struct profile_function){
            .name = "", .system_name = "", .file = "", .definition = ""};
        colon++;
    } else {
        snprintf(name, sizeof(name), "work_%" PRIx64, place.address / 64);
        place.line = (uint32_t)(place.address / 16 % 1000 + 1);
    }
    require(*colon == ':', "ADDRESS:HITS");
    require(profile_add_function(profile, &function, &place.function) &&
                profile_add_hits_at(profile, &place, 0, number(colon + 1)),
            "row");
    profile->sources[0].counted += number(colon + 1);
}

/* Set the hits outside. Returns false if the word is a row. */
static bool
set_outside(struct profile_source *source, const char *word)
{
    return sscanf(word, "outside:%" SCNu64 ":%" SCNu64, &source->outside,
                  &source->outside_kernel) == 2;
}

/* Cut the first address off the path. */
static uint64_t
image_start(char *path)
{
    char *const at = strrchr(path, '@');

    if (at == NULL) {
        return 0x1000;
    }
    *at = '\0';
    return number(at + 1);
}

static struct profile *
make_profile(char **words, size_t count)
{
    struct profile *const profile = profile_new();
    const uint64_t start = image_start(words[PATH]);
    const struct profile_source source = {.name = "time",
                                          .nt_name = "ProfileTime",
                                          .unit = "100ns",
                                          .kernel_included = true,
                                          .asked = number(words[INTERVAL]),
                                          .granted = number(words[INTERVAL]),
                                          .measured = (double)number(words[INTERVAL])};
    const struct profile_image image = {.path = words[PATH],
                                        .build_id = or_empty(words[BUILD_ID]),
                                        .start = start,
                                        .limit = start + 0xff000,
                                        .offset = 0x1000,
                                        .named = true};
    uint32_t index;

    require(profile != NULL && profile_add_source(profile, &source, &index) &&
                profile_add_image(profile, &image, &index) &&
                profile_add_process(profile, "worker", &index) &&
                profile_add_unit(profile, or_empty(words[UNIT]), &index),
            "profile");
    profile->command = strdup("agent");
    profile->hal = strdup("perf");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    profile->time_ns = number(words[START]) * UINT64_C(1000000000);
    profile->duration_ns = number(words[LENGTH]) * UINT64_C(1000000000);
    profile->bucket_bytes = 16;
    for (size_t i = ROWS; i < count; i++) {
        if (!set_outside(&profile->sources[0], words[i])) {
            add_row(profile, words[i]);
        }
    }
    profile->sources[0].taken =
        profile->sources[0].counted + profile->sources[0].outside;
    profile->sources[0].expected = profile->sources[0].taken;
    return profile;
}

static bool
add_line(struct store *store, char *line, struct pprof_error *error)
{
    static char *words[WORDS_MAX];
    size_t count = 0;
    char *rest = NULL;
    struct profile *profile;
    bool added;

    for (char *word = strtok_r(line, " \n", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " \n", &rest)) {
        words[count++] = word;
    }
    require(count >= ROWS, "words");
    profile = make_profile(words, count);
    added =
        store_add(store, profile,
                  &(struct store_window){.host = words[HOST],
                                         .epoch = words[EPOCH],
                                         .boot = "boot-1",
                                         .labels = (const char **)&words[LABEL],
                                         .label_count = *or_empty(words[LABEL]) != 0},
                  error);
    profile_delete(profile);
    return added;
}

int
main(int argc, char **argv)
{
    struct pprof_error error;
    struct store *store = NULL;
    char *line = NULL;
    size_t size = 0;

    require(argc == 2, "usage: synthetic-agent URL");
    while (getline(&line, &size, stdin) > 0) {
        bool added;

        store = store != NULL ? store : store_open(argv[1], true, &error);
        added = store != NULL && add_line(store, line, &error);
        printf("%s%s\n", added ? "added" : "failed ", added ? "" : error.text);
        fflush(stdout);
        if (!added) {
            store_close(store);
            store = NULL;
        }
    }
    store_close(store);
    free(line);
    return 0;
}
