/* SPDX-License-Identifier: MIT */
/*
 * url.c - URLs of stores: SCHEME:LOCATION?NAME=VALUE&NAME=VALUE..
 *
 * Values are taken as they are, up to the next '&'. A path that contains '?' cannot be
 * named.
 */
#include "store/engine.h"

#include "base/number.h"
#include "base/secret.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_NS (UINT64_C(86400) * 1000000000)

/* scheme - how URLs of an engine begin. */
struct scheme {
    const char *name;
    const struct module *module; /* the engine */
};

/* Return the scheme that a word begins with; NULL if it is no URL of a store. */
static const struct scheme *
find_scheme(const char *word)
{
    static const struct module sqlite = {.name = "sqlite",
                                         .library = "SQLite",
                                         .package = "libsqlite3-0",
                                         .headers = "libsqlite3-dev"};
    static const struct module clickhouse = {.name = "clickhouse",
                                             .library = "libcurl",
                                             .package = "libcurl4",
                                             .headers = "libcurl4-openssl-dev"};
    static const struct scheme schemes[] = {
        {"sqlite:", &sqlite},
        {"clickhouse:", &clickhouse},
        {"clickhouses:", &clickhouse},
    };

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncmp(word, schemes[i].name, strlen(schemes[i].name)) == 0) {
            return &schemes[i];
        }
    }
    return NULL;
}

bool
store_is_url(const char *word)
{
    return find_scheme(word) != NULL;
}

/* Set the error to why a parameter is refused. A value that is a secret is not shown.
 * Returns false. */
static bool
fail_parameter(struct pprof_error *error, const char *name, const char *value,
               const char *why)
{
    char shown_name[64];
    char shown_value[128];

    snprintf(error->text, sizeof(error->text), "%s=%s: %s",
             text_show(shown_name, sizeof(shown_name), name),
             secret_is_name(name) ? SECRET_SHOWN
                                  : text_show(shown_value, sizeof(shown_value), value),
             why);
    return false;
}

/* Parse how long before now a time is, as 90s, 5m, 1h or 7d, into that time. Returns
 * false if the text is none of these, or the time is not after 1970. */
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

/* Return the first of the times that have the same local date and time of day as
 * seconds, of which there are two where clocks were set back. mktime chooses one of
 * them by what it was last asked for. */
static time_t
first_of_local(time_t seconds)
{
    static const time_t step_s = 1800; /* steps of clocks are multiples of it */
    static const time_t step_max_s = 3 * 3600;
    struct tm date;
    time_t first = seconds;

    (void)localtime_r(&seconds, &date);
    for (time_t back = step_s; back <= step_max_s; back += step_s) {
        const time_t earlier = seconds - back;
        struct tm same;

        if (localtime_r(&earlier, &same) != NULL && same.tm_mday == date.tm_mday &&
            same.tm_hour == date.tm_hour && same.tm_min == date.tm_min) {
            first = earlier;
        }
    }
    return first;
}

/* Get the seconds since 1970 of a date that strptime read. zone: what follows the date
 * in the text: nothing for local time, "Z" for UTC. Returns false if zone is neither,
 * or there is no such day: timegm and mktime would make March 2 of February 30. */
static bool
get_seconds(const struct tm *given, const char *zone, time_t *seconds)
{
    struct tm date = *given;

    date.tm_isdst = -1;
    if (strcmp(zone, "Z") == 0) {
        *seconds = timegm(&date);
    } else if (zone[0] == '\0') {
        *seconds = first_of_local(mktime(&date));
    } else {
        return false;
    }
    return date.tm_mon == given->tm_mon && date.tm_mday == given->tm_mday;
}

/* Parse a date as 2026-11-23, 2026-11-23T10:30 or 2026-11-23T10:30:15, which is of
 * local time, or of UTC with a Z behind it. Returns false if the text is none, or the
 * date is not after 1970. */
static bool
parse_date(const char *value, int64_t *time_ns)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm date = {0};
        const char *const end = strptime(value, forms[i], &date);
        time_t seconds;

        if (end != NULL && get_seconds(&date, end, &seconds)) {
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
           fail_parameter(error, name, value, STORE_NO_TIME);
}

static bool
set_text(const char *name, const char *value, const char **text,
         struct pprof_error *error)
{
    *text = value;
    return value[0] != '\0' || fail_parameter(error, name, value, "is empty");
}

static bool
add_label(struct store_selection *selection, const char *value,
          struct pprof_error *error)
{
    const char *const equals = strchr(value, '=');

    if (equals == NULL || equals == value) {
        return fail_parameter(error, "label", value, "is no label; write KEY=VALUE");
    }
    if (selection->label_count == STORE_LABELS_MAX) {
        return fail_parameter(error, "label", value, "is one label too many");
    }
    selection->labels[selection->label_count++] = value;
    return true;
}

/* known_text - a parameter that is taken as it is. */
struct known_text {
    const char *name;
    const char **value;
};

/* Find where the value of a named parameter goes, in a table that ends with {0}.
 * Returns NULL if the table has no such name. */
static const char **
find_text(const struct known_text *texts, const char *name)
{
    while (texts->name != NULL && strcmp(texts->name, name) != 0) {
        texts++;
    }
    return texts->value;
}

bool
store_select(struct store_selection *selection, const char *name, const char *value,
             int64_t now_ns, struct pprof_error *error)
{
    const struct known_text texts[] = {
        {"host", &selection->host},
        {"source", &selection->source},
        {"unit", &selection->unit},
        {"image", &selection->image},
        {"build", &selection->build_id},
        {"build-id", &selection->build_id},
        {NULL, NULL},
    };
    const char **const text = find_text(texts, name);

    if (text != NULL) {
        return set_text(name, value, text, error);
    }
    if (strcmp(name, "label") == 0) {
        return add_label(selection, value, error);
    }
    if (strcmp(name, "since") == 0) {
        return set_time(name, value, now_ns, &selection->since_ns, error);
    }
    if (strcmp(name, "until") == 0) {
        return set_time(name, value, now_ns, &selection->until_ns, error);
    }
    if (strcmp(name, "interval") == 0) {
        return (number_parse_count(value, &selection->interval) &&
                selection->interval > 0 && selection->interval <= INT64_MAX) ||
               fail_parameter(error, name, value, "is no number of 100 ns or events");
    }
    return fail_parameter(
        error, name, value,
        "is no parameter of a store; there are since, until, host, unit, "
        "label, source, interval, image and build-id; of a server also "
        "password-file, ca and timeout");
}

/* Set one parameter: of a server how it is reached, or else what is selected. */
static bool
set_parameter(struct store_url *url, const char *name, const char *value,
              int64_t now_ns, struct pprof_error *error)
{
    const struct known_text texts[] = {
        {"password-file", &url->access.password_file},
        {"ca", &url->access.ca_file},
        {NULL, NULL},
    };
    const char **const text = find_text(texts, name);

    if (url->engine->remote && text != NULL) {
        return set_text(name, value, text, error);
    }
    if (url->engine->remote && strcmp(name, "timeout") == 0) {
        return (number_parse_ns(value, &url->access.timeout_ns) &&
                url->access.timeout_ns > 0) ||
               fail_parameter(error, name, value, "is no time such as 30s");
    }
    url->selects = true;
    return store_select(&url->selection, name, value, now_ns, error);
}

/* Set the members of the URL that its text NAME=VALUE&NAME=VALUE.. names; values stay
 * in url->parameters, which is cut into them. */
static bool
set_parameters(struct store_url *url, int64_t now_ns, struct pprof_error *error)
{
    char *rest = NULL;

    for (char *name = strtok_r(url->parameters, "&", &rest); name != NULL;
         name = strtok_r(NULL, "&", &rest)) {
        char *const value = strchr(name, '=');

        if (value == NULL) {
            return fail_parameter(error, name, "", "has no value");
        }
        *value = '\0';
        if (!set_parameter(url, name, value + 1, now_ns, error)) {
            return false;
        }
    }
    return true;
}

bool
store_url_parse(const char *text, int64_t now_ns, struct store_url *url,
                struct pprof_error *error)
{
    const struct scheme *const scheme = find_scheme(text);
    const char *const location = scheme != NULL ? text + strcspn(text, ":") + 1 : text;
    const size_t length = strcspn(location, "?");
    const char *const parameters = location[length] == '?' ? location + length + 1 : "";

    *url = (struct store_url){0};
    if (scheme == NULL || length == 0) {
        snprintf(error->text, sizeof(error->text), "%s%s", STORE_URL_FORMS,
                 scheme != NULL ? "; here nothing stands behind the colon" : "");
        return false;
    }
    url->engine = module_load(scheme->module, error->text, sizeof(error->text));
    if (url->engine == NULL) {
        return false;
    }
    url->tls = strcmp(scheme->name, "clickhouses:") == 0;
    url->location = strndup(location, length);
    url->parameters = strdup(parameters);
    if (url->location == NULL || url->parameters == NULL) {
        snprintf(error->text, sizeof(error->text), "out of memory for a URL");
        return false;
    }
    return set_parameters(url, now_ns, error) &&
           (url->engine->check_location == NULL ||
            url->engine->check_location(url, error));
}

void
store_url_finish(struct store_url *url)
{
    free(url->location);
    free(url->parameters);
    *url = (struct store_url){0};
}
