/* SPDX-License-Identifier: MIT */
/*
 * settings.c - see settings.h.
 *
 * Options of recordings are passed on to record_options.c, after the defaults that
 * differ here.
 */
#include "daemon/settings.h"

#include "base/number.h"
#include "base/options.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CONFIG_DEFAULT "/etc/ntprof/agent.conf"
#define SPOOL_DEFAULT "/var/lib/ntprof/spool"

enum {
    OPTION_CONFIG = OPTION_OWN,
    OPTION_CHECK,
    OPTION_WINDOW,
    OPTION_HOST,
    OPTION_LABEL,
    OPTION_STORE,
    OPTION_SPOOL,
    OPTION_SPOOL_SIZE,
    OPTION_SPOOL_AGE,
    OPTION_MAX_CPU,
    OPTION_LISTEN,
    OPTION_RECORD, /* those from here on are passed on */
    OPTION_INTERVAL = OPTION_RECORD,
    OPTION_BUCKET,
    OPTION_HAL,
    OPTION_MAX_MEMORY,
    OPTION_NO_LINES,
    OPTION_KERNEL,
    OPTION_USER,
};

static const struct option known_options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"check-config", no_argument, NULL, OPTION_CHECK},
    {"window", required_argument, NULL, OPTION_WINDOW},
    {"host", required_argument, NULL, OPTION_HOST},
    {"label", required_argument, NULL, OPTION_LABEL},
    {"store", required_argument, NULL, OPTION_STORE},
    {"spool", required_argument, NULL, OPTION_SPOOL},
    {"spool-size", required_argument, NULL, OPTION_SPOOL_SIZE},
    {"spool-age", required_argument, NULL, OPTION_SPOOL_AGE},
    {"max-cpu", required_argument, NULL, OPTION_MAX_CPU},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"event", required_argument, NULL, 'e'},
    {"frequency", required_argument, NULL, 'F'},
    {"count", required_argument, NULL, 'c'},
    {"cpu", required_argument, NULL, 'C'},
    {"cgroup", required_argument, NULL, 'G'},
    {"interval", required_argument, NULL, OPTION_INTERVAL},
    {"bucket", required_argument, NULL, OPTION_BUCKET},
    {"hal", required_argument, NULL, OPTION_HAL},
    {"max-memory", required_argument, NULL, OPTION_MAX_MEMORY},
    {"no-lines", no_argument, NULL, OPTION_NO_LINES},
    {"kernel", no_argument, NULL, OPTION_KERNEL},
    {"user", no_argument, NULL, OPTION_USER},
    OPTION_HELP_ROW,
    {0},
};

static const struct record_syntax record_syntax = {
    .command = "agent", .machine = true, .screen = true, .endless = true, .hz = 99};

static const uint64_t minute_ns = UINT64_C(60000000000);
static const uint64_t window_min_ns = 1000000000;
static const uint64_t window_max_ns = UINT64_C(3600000000000);
static const uint64_t spool_bytes_default = UINT64_C(256) << 20;
static const uint64_t spool_bytes_min = UINT64_C(1) << 20;
static const uint64_t hour_ns = UINT64_C(3600000000000);
static const double cpu_min_percent = 0.01;
static const double cpu_max_percent = 100;

static bool
bad(const char *option, const char *value, const char *why)
{
    return cmd_refuse_value("agent", option, value, why);
}

static bool
parse_window(struct agent_settings *settings, const char *text)
{
    return (number_parse_ns(text, &settings->window_ns) &&
            settings->window_ns >= window_min_ns &&
            settings->window_ns <= window_max_ns &&
            window_max_ns % settings->window_ns == 0) ||
           bad("--window", text,
               "not a time of 1s to 1h that divides an hour; such as 10s, 1m or 15m");
}

/* Parse a time of hours, or of days: 7d. */
static bool
parse_age(struct agent_settings *settings, const char *text)
{
    const size_t length = strlen(text);
    uint64_t days;
    char number[24];

    if (length > 1 && length < sizeof(number) && text[length - 1] == 'd') {
        snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
        if (number_parse_count(number, &days) && days > 0 && days <= 3650) {
            settings->spool_age_ns = days * 24 * hour_ns;
            return true;
        }
    }
    return (number_parse_ns(text, &settings->spool_age_ns) &&
            settings->spool_age_ns >= minute_ns) ||
           bad("--spool-age", text, "not a time of 1m or more; such as 12h or 7d");
}

static bool
parse_cpu(struct agent_settings *settings, const char *text)
{
    char *end;

    settings->max_cpu_percent = strtod(text, &end);
    return (end != text && (*end == '\0' || strcmp(end, "%") == 0) &&
            settings->max_cpu_percent >= cpu_min_percent &&
            settings->max_cpu_percent <= cpu_max_percent) ||
           bad("--max-cpu", text,
               "not a percentage of one processor from 0.01 to 100; such as 1%");
}

/* Whether the key is a word that no label of ours has. */
static bool
is_label_key(const char *key)
{
    static const char *const ours[] = {"source", "process", "thread",
                                       "unit",   "cpu",     "bucket_bytes",
                                       "host",   "boot",    "epoch"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strcmp(key, ours[i]) == 0) {
            return false;
        }
    }
    return key[0] >= 'a' && key[0] <= 'z' &&
           key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool
has_control_bytes(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool
parse_host(struct agent_settings *settings, const char *text)
{
    if (text[0] == '\0' || strlen(text) >= sizeof(settings->host) ||
        has_control_bytes(text)) {
        return bad("--host", text, "must be a name of 1 to 255 bytes");
    }
    snprintf(settings->host, sizeof(settings->host), "%s", text);
    return true;
}

static bool
parse_label(struct agent_settings *settings, char *text)
{
    char *const equals = strchr(text, '=');
    char *key;

    if (settings->label_count == AGENT_LABELS_MAX) {
        return bad("--label", text, "more than 32 of them");
    }
    if (equals == NULL || equals[1] == '\0' || strlen(text) > AGENT_LABEL_BYTES_MAX ||
        has_control_bytes(text)) {
        return bad("--label", text,
                   "must be of the form key=value and have 256 bytes at most, all of "
                   "them printable");
    }
    key = strndup(text, (size_t)(equals - text));
    if (key == NULL || !is_label_key(key)) {
        free(key);
        return bad(
            "--label", text,
            "a key has small letters, digits and _, and is none that ntprof sets "
            "itself: source, process, unit, host and so on");
    }
    settings->labels[settings->label_count++] =
        (struct agent_label){.key = key, .value = equals + 1};
    return true;
}

static bool
parse_listen(struct agent_settings *settings, const char *text)
{
    settings->listen = text;
    return http_parse_address(&settings->address, text) ||
           bad("--listen", text, HTTP_NO_ADDRESS);
}

static bool
parse_store(struct agent_settings *settings, const char *text)
{
    struct store_url url;
    struct pprof_error error;
    bool parsed;

    settings->store = text;
    if (!store_is_url(text)) {
        return bad("--store", text, STORE_URL_FORMS);
    }
    parsed = store_url_parse(text, 1, &url, &error);
    if (!parsed) {
        cmd_fail("agent", "--store: %s", error.text);
    } else if (url.selects) {
        parsed = bad("--store", text,
                     "parameters that select are for reading: leave them out");
    }
    store_url_finish(&url);
    return parsed;
}

/* Keep an option for record_options.c. */
static bool
pass_on(struct agent_settings *settings, int option, const char *value)
{
    const struct option *known = known_options;
    char *word;

    while (known->val != option) {
        known++;
    }
    if (asprintf(&word, "--%s%s%s", known->name, value != NULL ? "=" : "",
                 value != NULL ? value : "") < 0) {
        cmd_fail("agent", "out of memory");
        return false;
    }
    settings->record_words[settings->record_count++] = word;
    return true;
}

/* The file was read before: find_config knows only the whole name of the option. */
static bool
check_config(const struct agent_settings *settings, const char *path)
{
    if (settings->config_path == NULL || strcmp(settings->config_path, path) != 0) {
        cmd_fail("agent", "--config must be written out, and may be given once");
        return false;
    }
    return true;
}

static bool
set_option(void *context, int option, char *value)
{
    struct agent_settings *const settings = context;

    switch (option) {
    case OPTION_CONFIG:
        return check_config(settings, value);
    case OPTION_CHECK:
        settings->check = true;
        return true;
    case OPTION_WINDOW:
        return parse_window(settings, value);
    case OPTION_HOST:
        return parse_host(settings, value);
    case OPTION_LABEL:
        return parse_label(settings, value);
    case OPTION_STORE:
        return parse_store(settings, value);
    case OPTION_SPOOL:
        settings->spool = value;
        return value[0] == '/' || bad("--spool", value, "must be an absolute path");
    case OPTION_SPOOL_SIZE:
        return (number_parse_bytes(value, &settings->spool_bytes) &&
                settings->spool_bytes >= spool_bytes_min) ||
               bad("--spool-size", value, "not a size of 1M or more; such as 256M");
    case OPTION_SPOOL_AGE:
        return parse_age(settings, value);
    case OPTION_MAX_CPU:
        return parse_cpu(settings, value);
    case OPTION_LISTEN:
        return parse_listen(settings, value);
    default:
        return pass_on(settings, option, value);
    }
}

/* Return the path after the last --config of the command line, or NULL. Other mistakes
 * are reported later. */
static const char *
find_config(int argc, char **argv)
{
    static const char option[] = "--config";
    const size_t length = sizeof(option) - 1;
    const char *path = NULL;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], option, length) == 0 && argv[i][length] == '=') {
            path = argv[i] + length + 1;
        } else if (strcmp(argv[i], option) == 0 && i + 1 < argc) {
            path = argv[i + 1];
        }
    }
    return path;
}

/* Make --NAME of --NAME=yes if that option takes no value. */
static void
make_flag(char *word)
{
    char *const value = strchr(word, '=');

    if (value == NULL || strcmp(value, "=yes") != 0) {
        return;
    }
    for (const struct option *option = known_options; option->name != NULL; option++) {
        if (option->has_arg == no_argument &&
            strlen(option->name) == (size_t)(value - word) - 2 &&
            strncmp(option->name, word + 2, strlen(option->name)) == 0) {
            *value = '\0';
        }
    }
}

static bool
read_config(struct agent_settings *settings, const char *path)
{
    const char *const name = path != NULL ? path : CONFIG_DEFAULT;
    char error[300];
    char shown[200];

    if (path == NULL && access(name, F_OK) != 0) {
        return true;
    }
    if (!config_read(&settings->config, name, error, sizeof(error))) {
        cmd_fail("agent", "%s: %s", text_show(shown, sizeof(shown), name), error);
        return false;
    }
    for (size_t i = 0; i < settings->config.count; i++) {
        make_flag(settings->config.words[i]);
        if (strncmp(settings->config.words[i], "--config", 8) == 0 ||
            strcmp(settings->config.words[i], "--help") == 0) {
            cmd_fail("agent", "%s: %s has no meaning there",
                     text_show(shown, sizeof(shown), name),
                     settings->config.words[i] + 2);
            return false;
        }
    }
    return true;
}

/* Join the words of the file and of the command line, and make room for those that are
 * passed on. */
static bool
join_words(struct agent_settings *settings, int argc, char **argv)
{
    const size_t room = (size_t)argc + settings->config.count + 8;
    size_t count = 0;

    settings->words = calloc(room, sizeof(*settings->words));
    settings->record_words = calloc(room, sizeof(*settings->record_words));
    if (settings->words == NULL || settings->record_words == NULL) {
        cmd_fail("agent", "out of memory");
        return false;
    }
    /* Copies, since parsing changes them and a reload reads argv again. */
    settings->words[count++] = strdup(argv[0]);
    for (size_t i = 0; i < settings->config.count; i++) {
        settings->words[count++] = strdup(settings->config.words[i]);
    }
    for (int i = 1; i < argc; i++) {
        settings->words[count++] = strdup(argv[i]);
    }
    settings->word_count = count;
    settings->record_words[settings->record_count++] = strdup(argv[0]);
    for (size_t i = 0; i < count; i++) {
        if (settings->words[i] == NULL || settings->record_words[0] == NULL) {
            cmd_fail("agent", "out of memory");
            return false;
        }
    }
    return true;
}

static void
set_defaults(struct agent_settings *settings)
{
    struct utsname machine = {0};

    (void)uname(&machine);
    snprintf(settings->host, sizeof(settings->host), "%s", machine.nodename);
    settings->window_ns = minute_ns;
    settings->spool = SPOOL_DEFAULT;
    settings->spool_bytes = spool_bytes_default;
    settings->spool_age_ns = 7 * 24 * hour_ns;
    settings->max_cpu_percent = 1;
}

bool
agent_settings_take(struct agent_settings *settings, int argc, char **argv,
                    int *exit_status)
{
    static const struct options_syntax syntax = {
        .command = "agent", .known = known_options, .set = set_option};
    struct options_words none;

    *exit_status = CMD_FAILED;
    set_defaults(settings);
    settings->config_path = find_config(argc, argv);
    if (!read_config(settings, settings->config_path) ||
        !join_words(settings, argc, argv) || !pass_on(settings, OPTION_BUCKET, "16") ||
        !pass_on(settings, OPTION_MAX_MEMORY, "128M") ||
        !options_take(&syntax, (int)settings->word_count, settings->words, settings,
                      &none, exit_status)) {
        return false;
    }
    if (!record_options_take(&settings->record, &record_syntax,
                             (int)settings->record_count, settings->record_words,
                             exit_status)) {
        return false;
    }
    settings->record.quiet = true;
    return true;
}

void
agent_settings_finish(struct agent_settings *settings)
{
    record_options_finish(&settings->record);
    for (size_t i = 0; i < settings->label_count; i++) {
        free(settings->labels[i].key);
    }
    for (size_t i = 0; i < settings->record_count; i++) {
        free(settings->record_words[i]);
    }
    for (size_t i = 0; i < settings->word_count; i++) {
        free(settings->words[i]);
    }
    free(settings->record_words);
    free(settings->words);
    config_finish(&settings->config);
}
