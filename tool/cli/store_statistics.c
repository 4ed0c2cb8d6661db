/* SPDX-License-Identifier: MIT */
/* store_statistics.c - prints what a store has. */
#include "base/json.h"
#include "cli/store_actions.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void
print_time(char *text, size_t size, int64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm local;

    if (time_ns == 0 || localtime_r(&seconds, &local) == NULL ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%S", &local) == 0) {
        snprintf(text, size, "-");
    }
}

void
store_print_statistics(const struct store_statistics *statistics)
{
    char first[32];
    char last[32];

    print_time(first, sizeof(first), statistics->first_ns);
    print_time(last, sizeof(last), statistics->last_ns);
    printf("hosts     %" PRIu64 "\n"
           "windows   %" PRIu64 "  from %s to %s\n"
           "rows      %" PRIu64 "\n"
           "places    %" PRIu64 "\n"
           "size      %" PRIu64 " bytes",
           statistics->hosts, statistics->windows, first, last, statistics->rows,
           statistics->places, statistics->bytes);
    if (statistics->rows != 0) {
        printf(", %.1f for a row",
               (double)statistics->bytes / (double)statistics->rows);
    }
    putchar('\n');
}

void
store_print_statistics_json(const struct store_statistics *statistics)
{
    struct buffer json = {0};

    buffer_append_text(&json, "{");
    json_put_number_member(&json, "hosts", statistics->hosts);
    json_put_number_member(&json, "windows", statistics->windows);
    json_put_number_member(&json, "first_ns", (uint64_t)statistics->first_ns);
    json_put_number_member(&json, "last_ns", (uint64_t)statistics->last_ns);
    json_put_number_member(&json, "rows", statistics->rows);
    json_put_number_member(&json, "places", statistics->places);
    json_put_number_member(&json, "bytes", statistics->bytes);
    json_end(&json, '}');
    buffer_append_byte(&json, '\n');
    (void)json_finish(&json, stdout);
}
