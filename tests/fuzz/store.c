/* SPDX-License-Identifier: MIT */
/*
 * store.c - fuzz target: URLs of stores, texts in SQL, and rows of a server.
 *
 * Whatever a text holds, SQL has only the digits of unhex() of it, and these are the
 * text. So has a pattern. Any bytes as a server's rows give a profile or a reason.
 */
#include "store/store.h"
#include "store/clickhouse/rows.h"
#include "store/clickhouse/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned
digit(char byte)
{
    return (unsigned)(byte <= '9' ? byte - '0' : byte - 'A' + 10);
}

/* Read the literal as the server does; anything else in it is a fault. */
static void
check_text(const char *text)
{
    static const char before[] = "unhex('";
    struct buffer sql = {0};
    const char *at;

    sql_put_text(&sql, text);
    at = buffer_text(&sql);
    if (at == NULL || strncmp(at, before, strlen(before)) != 0) {
        abort();
    }
    at += strlen(before);
    for (; *text != '\0'; text++, at += 2) {
        if (strchr("0123456789ABCDEF", at[0]) == NULL ||
            strchr("0123456789ABCDEF", at[1]) == NULL ||
            (uint8_t)*text != digit(at[0]) * 16 + digit(at[1])) {
            abort();
        }
    }
    if (strcmp(at, "')") != 0) {
        abort();
    }
    buffer_finish(&sql);
}

/* All of an expression but its column is digits. */
static void
check_glob(const char *glob)
{
    struct buffer sql = {0};
    const char *at;

    sql_put_glob(&sql, "host", glob);
    at = buffer_text(&sql);
    if (at == NULL || strncmp(at, "match(host, unhex('", 19) != 0 ||
        strcmp(at + 19 + strspn(at + 19, "0123456789ABCDEF"), "'))") != 0) {
        abort();
    }
    sql.size = 0;
    sql_put_prefix(&sql, "host", glob);
    at = buffer_text(&sql);
    if (at == NULL ||
        strspn(at, "substring(ho, 0123456789=unhex'ABCDEF)") != sql.size) {
        abort();
    }
    buffer_finish(&sql);
}

static void
take_rows(const uint8_t *data, size_t size)
{
    static const struct profile_source source = {.name = "time"};
    struct row_binary_reader reader = {.at = data, .end = data + size};
    struct profile *const profile = profile_new();
    uint32_t index;

    if (profile == NULL || !profile_add_source(profile, &source, &index)) {
        abort();
    }
    profile->bucket_bytes = 1;
    (void)rows_take(profile, 0, &reader);
    if (reader.at < data || reader.at > data + size) {
        abort();
    }
    profile_delete(profile);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"clickhouse:", "clickhouses:", "sqlite:"};
    struct pprof_error error;
    struct store_url url;
    char *text;

    if (size == 0) {
        return 0;
    }
    take_rows(data, size);
    if (asprintf(&text, "%s%.*s", schemes[data[0] % 3], (int)size - 1,
                 (const char *)data + 1) < 0) {
        abort();
    }
    check_text(text);
    check_glob(text + strcspn(text, ":") + 1);
    (void)store_url_parse(text, 1, &url, &error);
    store_url_finish(&url);
    free(text);
    return 0;
}
