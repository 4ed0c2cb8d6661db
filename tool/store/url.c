/* SPDX-License-Identifier: MIT */
/*
 * url.c - URLs of stores: sqlite:PATH?NAME=VALUE&NAME=VALUE..
 *
 * Values are taken as they are, up to the next '&'. A path that contains '?' cannot be
 * named.
 */
#include "store/store.h"

#include "util/clock.h"
#include "util/number.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEME "sqlite:"
#define DAY_NS (UINT64_C(86400) * 1000000000)

bool
store_is_url(const char *word)
{
    return strncmp(word, SCHEME, strlen(SCHEME)) == 0;
}

static bool
fail(struct pprof_error *error, const char *name, const char *value, const char *why)
{
    char shown_name[64];
    char shown_value[128];

    snprintf(error->text, sizeof(error->text), "%s=%s: %s",
             text_show(shown_name, sizeof(shown_name), name),
             text_show(shown_value, sizeof(shown_value), value), why);
    return false;
}

/* 90s, 5m, 1h, 7d before now. */
static bool
parse_age(const char *value, int64_t now_ns, int64_t *time_ns)
{
    const size_t length = strlen(value);
    char digits[24];
    uint64_t number;
    uint64_t age_ns;

    if (length > 1 && length < sizeof(digits) && value[length - 1] == 'd') {
        memcpy(digits, value, length - 1);
        digits[length - 1] = '\0';
        if (!number_parse_count(digits, &number) ||
            __builtin_mul_overflow(number, DAY_NS, &age_ns)) {
            return false;
        }
    } else if (!number_parse_ns(value, &age_ns)) {
        return false;
    }
    if (age_ns >= (uint64_t)now_ns) {
        return false;
    }
    *time_ns = now_ns - (int64_t)age_ns;
    return true;
}

/* 2026-11-23, 2026-11-23T10:30 or 2026-11-23T10:30:15, of local time. */
static bool
parse_date(const char *value, int64_t *time_ns)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm date = {.tm_isdst = -1};
        const char *const end = strptime(value, forms[i], &date);
        time_t seconds;

        if (end != NULL && *end == '\0') {
            date.tm_isdst = -1;
            seconds = mktime(&date);
            return seconds > 0 &&
                   !__builtin_mul_overflow((int64_t)seconds, 1000000000, time_ns);
        }
    }
    return false;
}

bool
store_parse_time(const char *text, int64_t now_ns, int64_t *time_ns)
{
    return parse_age(text, now_ns, time_ns) || parse_date(text, time_ns);
}

static bool
set_time(const char *name, const char *value, int64_t now_ns, int64_t *time_ns,
         struct pprof_error *error)
{
    return store_parse_time(value, now_ns, time_ns) ||
           fail(error, name, value, STORE_NO_TIME);
}

static bool
set_parameter(struct store_selection *selection, const char *name, const char *value,
              int64_t now_ns, struct pprof_error *error)
{
    const struct {
        const char *name;
        const char **value;
    } texts[] = {
        {"host", &selection->host},
        {"source", &selection->source},
        {"image", &selection->image},
        {"build-id", &selection->build_id},
    };

    if (strcmp(name, "since") == 0) {
        return set_time(name, value, now_ns, &selection->since_ns, error);
    }
    if (strcmp(name, "until") == 0) {
        return set_time(name, value, now_ns, &selection->until_ns, error);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].value = value;
            return value[0] != '\0' || fail(error, name, value, "is empty");
        }
    }
    return fail(error, name, value,
                "is no parameter of a store; there are since, until, host, source, "
                "image and build-id");
}

static bool
set_parameters(struct store_url *url, int64_t now_ns, struct pprof_error *error)
{
    char *rest = NULL;

    for (char *name = strtok_r(url->parameters, "&", &rest); name != NULL;
         name = strtok_r(NULL, "&", &rest)) {
        char *const value = strchr(name, '=');

        if (value == NULL) {
            return fail(error, name, "", "has no value");
        }
        *value = '\0';
        if (!set_parameter(&url->selection, name, value + 1, now_ns, error)) {
            return false;
        }
    }
    return true;
}

bool
store_url_parse(const char *text, int64_t now_ns, struct store_url *url,
                struct pprof_error *error)
{
    const char *const path = text + strlen(SCHEME);
    const size_t length = strcspn(path, "?");
    const char *const parameters = path[length] == '?' ? path + length + 1 : "";

    *url = (struct store_url){0};
    if (length == 0) {
        snprintf(error->text, sizeof(error->text),
                 "a store is named as sqlite:PATH; the path is missing");
        return false;
    }
    url->path = strndup(path, length);
    url->parameters = strdup(parameters);
    if (url->path == NULL || url->parameters == NULL) {
        snprintf(error->text, sizeof(error->text), "out of memory for a URL");
        return false;
    }
    return set_parameters(url, now_ns, error);
}

void
store_url_finish(struct store_url *url)
{
    free(url->path);
    free(url->parameters);
    *url = (struct store_url){0};
}

struct profile *
store_read_url(const char *text, struct pprof_error *error)
{
    struct profile *profile = NULL;
    struct store *store = NULL;
    struct store_url url;

    if (store_url_parse(text, (int64_t)clock_ns(CLOCK_REALTIME), &url, error)) {
        store = store_open(url.path, false, error);
    }
    if (store != NULL) {
        profile = store_read(store, &url.selection, error);
    }
    store_close(store);
    store_url_finish(&url);
    return profile;
}
