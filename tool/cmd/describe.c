/* SPDX-License-Identifier: MIT */
/* describe.c - the texts about a recording that its profile holds. */
#include "cmd/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words with blanks between; a command line may have a hundred thousand of them. */
char *
describe_command(char **words)
{
    size_t bytes = 0;
    char *text;
    char *end;

    for (char **word = words; *word != NULL; word++) {
        bytes += strlen(*word) + 1;
    }
    text = malloc(bytes);
    end = text;
    for (char **word = words; text != NULL && *word != NULL; word++) {
        end = stpcpy(end, *word);
        *end++ = word[1] != NULL ? ' ' : '\0';
    }
    return text;
}

char *
describe_limits(const ntprof_session_info *info)
{
    char *text;
    const char *const between =
        info->better[0] != '\0' && info->limits[0] != '\0' ? "; " : "";

    return asprintf(&text, "%s%s%s", info->better, between, info->limits) < 0 ? NULL
                                                                              : text;
}

/* Records lost that were no hits: they told of mappings, threads and processes. */
static uint64_t
count_untold(const struct collector *collector, const struct profile *profile)
{
    const uint64_t lost = collector_records_lost(collector);
    uint64_t hits = 0;

    for (size_t i = 0; i < profile->source_count; i++) {
        hits += profile->sources[i].lost;
    }
    return lost > hits ? lost - hits : 0;
}

char *
describe_gaps(const struct collector *collector, const struct profile *profile)
{
    NTSTATUS first;
    const uint64_t failures = collector_failures(collector, &first);
    const uint64_t unfollowed = collector_unfollowed(collector);
    const uint64_t running = collector_running(collector);
    const uint64_t untold = count_untold(collector, profile);
    const char *between = "";
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    if (failures != 0) {
        fprintf(out, "%" PRIu64 " mappings could not be profiled: %s", failures,
                ntprof_status_text(first));
        between = "; ";
    }
    if (untold != 0) {
        fprintf(out,
                "%s%" PRIu64
                " records of mappings and threads were lost: hits there may "
                "be outside or have wrong names",
                between, untold);
        between = "; ";
    }
    if (unfollowed != 0) {
        fprintf(out,
                "%s%" PRIu64
                " program%s could not be followed, being set-uid or unreadable; to "
                "allow it, run ntprof as root",
                between, unfollowed, unfollowed == 1 ? "" : "s");
        between = "; ";
    }
    if (running != 0) {
        fprintf(out,
                "%s%" PRIu64
                " process%s that it started still run%s: what comes from now on is not "
                "in here",
                between, running, running == 1 ? "" : "es", running == 1 ? "s" : "");
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
