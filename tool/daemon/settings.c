/* SPDX-License-Identifier: MIT */
/*
 * settings.c - checks each option of the agent, of the file first and then of the
 * command line.
 *
 * Options of recordings are passed on to record_options.c, after the defaults that
 * differ here.
 */
#include "daemon/settings.h"

#include "base/message.h"
#include "base/number.h"
#include "base/text.h"
#include "http/http.h"
#include "record/record_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CONFIG_DEFAULT "/etc/ntprof/agent.conf"
#define SPOOL_DEFAULT "/var/lib/ntprof/spool"

static const uint64_t minute_ns = UINT64_C(60000000000);
static const uint64_t window_min_ns = 1000000000;
static const uint64_t window_max_ns = UINT64_C(3600000000000);
static const uint64_t spool_bytes_default = UINT64_C(256) << 20;
static const uint64_t spool_bytes_min = UINT64_C(1) << 20;
static const uint64_t hour_ns = UINT64_C(3600000000000);
static const double cpu_min_percent = 0.01;
static const double cpu_max_percent = 100;

/* --- values --- */

static bool
take_window(void *into, const struct options_given *given)
{
    uint64_t *const window_ns = into;

    return (number_parse_ns(given->value, window_ns) && *window_ns >= window_min_ns &&
            *window_ns <= window_max_ns && window_max_ns % *window_ns == 0) ||
           options_refuse(
               given,
               "not a time of 1s to 1h that divides an hour; such as 10s, 1m or 15m");
}

/* Take a time such as 12h, or of days such as 7d, at most ten years. */
static bool
take_age(void *into, const struct options_given *given)
{
    const size_t length = strlen(given->value);
    uint64_t *const age_ns = into;
    uint64_t days;
    char number[24];

    if (length > 1 && length < sizeof(number) && given->value[length - 1] == 'd') {
        snprintf(number, sizeof(number), "%.*s", (int)length - 1, given->value);
        if (number_parse_count(number, &days) && days > 0 && days <= 3650) {
            *age_ns = days * 24 * hour_ns;
            return true;
        }
    }
    return (number_parse_ns(given->value, age_ns) && *age_ns >= minute_ns) ||
           options_refuse(given, "not a time of 1m or more; such as 12h or 7d");
}

static bool
take_cpu(void *into, const struct options_given *given)
{
    double *const percent = into;

    return (options_percent(given->value, percent) && *percent >= cpu_min_percent &&
            *percent <= cpu_max_percent) ||
           options_refuse(
               given, "not a percentage of one processor from 0.01 to 100; such as 1%");
}

static bool
take_spool(void *into, const struct options_given *given)
{
    *(const char **)into = given->value;
    return given->value[0] == '/' || options_refuse(given, "must be an absolute path");
}

static bool
take_spool_size(void *into, const struct options_given *given)
{
    uint64_t *const bytes = into;

    return (number_parse_bytes(given->value, bytes) && *bytes >= spool_bytes_min) ||
           options_refuse(given, "not a size of 1M or more; such as 256M");
}

/* Return whether a key consists of small letters, digits and _, and is none that ntprof
 * itself sets. */
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

/* --- settings of the agent --- */

static bool
take_host(void *into, const struct options_given *given)
{
    struct agent_settings *const settings = into;

    if (given->value[0] == '\0' || strlen(given->value) >= sizeof(settings->host) ||
        has_control_bytes(given->value)) {
        return options_refuse(given, "must be a name of 1 to 255 bytes");
    }
    snprintf(settings->host, sizeof(settings->host), "%s", given->value);
    return true;
}

static bool
take_label(void *into, const struct options_given *given)
{
    struct agent_settings *const settings = into;
    const char *const equals = strchr(given->value, '=');
    char *key;

    if (settings->label_count == AGENT_LABELS_MAX) {
        return options_refuse(given, "more than 32 of them");
    }
    if (equals == NULL || equals[1] == '\0' ||
        strlen(given->value) > AGENT_LABEL_BYTES_MAX ||
        has_control_bytes(given->value)) {
        return options_refuse(
            given, "must be of the form key=value and have 256 bytes at most, all of "
                   "them printable");
    }
    key = strndup(given->value, (size_t)(equals - given->value));
    if (key == NULL || !is_label_key(key)) {
        free(key);
        return options_refuse(
            given,
            "a key has small letters, digits and _, and is none that ntprof sets "
            "itself: source, process, unit, host and so on");
    }
    settings->labels[settings->label_count++] =
        (struct agent_label){.key = key, .value = equals + 1};
    return true;
}

static bool
take_listen(void *into, const struct options_given *given)
{
    struct agent_settings *const settings = into;

    settings->listen = given->value;
    return http_parse_address(&settings->address, given->value) ||
           options_refuse(given, HTTP_NO_ADDRESS);
}

static bool
take_store(void *into, const struct options_given *given)
{
    struct store_url url;
    struct pprof_error error;
    bool parsed;

    *(const char **)into = given->value;
    if (!store_is_url(given->value)) {
        return options_refuse(given, STORE_URL_FORMS);
    }
    /* The time does not matter: what it is used for is refused below. */
    parsed = store_url_parse(given->value, 1, &url, &error);
    if (!parsed) {
        cmd_fail("agent", "--store: %s", error.text);
    } else if (url.selects) {
        parsed = options_refuse(
            given, "parameters that select are for reading: leave them out");
    }
    store_url_finish(&url);
    return parsed;
}

/* Check that --config is the one that find_config found, which knows only the whole
 * name of the option: its file was read before the options. */
static bool
take_config(void *into, const struct options_given *given)
{
    const struct agent_settings *const settings = into;

    if (settings->config_path == NULL ||
        strcmp(settings->config_path, given->value) != 0) {
        cmd_fail("agent", "--config must be written out, and may be given once");
        return false;
    }
    return true;
}

/* Keep an option for record_options.c. value: NULL if it has none. Returns false after
 * an error line. */
static bool
pass_on(struct agent_settings *settings, const char *name, const char *value)
{
    char *word;

    if (asprintf(&word, "--%s%s%s", name, value != NULL ? "=" : "",
                 value != NULL ? value : "") < 0) {
        cmd_fail("agent", "out of memory");
        return false;
    }
    settings->record_words[settings->record_count++] = word;
    return true;
}

static bool
take_for_record(void *into, const struct options_given *given)
{
    if (given->row->letter == 'F' && strcmp(given->value, "max") == 0) {
        return options_refuse(given, "not in the agent, which keeps to --max-cpu; name "
                                     "a rate, such as 99");
    }
    return pass_on(into, given->row->name, given->value);
}

/* --- the table --- */

#define INTO(take, member) OPTIONS_INTO(take, struct agent_settings, member)
#define PASS_ON OPTIONS_CALL(take_for_record)

static const struct options_row rows[] = {
    {"config", 0, "FILE",
     "lines of the form name = value, for these options (default "
     "/etc/ntprof/agent.conf, if it exists)",
     "<file>", OPTIONS_CALL(take_config)},
    {"check-config", 0, NULL, "check the options and the file, and end", NULL,
     OPTIONS_FLAG(struct agent_settings, check)},
    {"window", 0, "TIME", "length of a window: 1s .. 1h (default 1m)",
     "10s 1m 5m 15m 1h", INTO(take_window, window_ns)},
    {"store", 0, "URL", "add windows to this store: sqlite:PATH",
     "sqlite:", INTO(take_store, store)},
    {"spool", 0, "DIR", "where windows wait (default /var/lib/ntprof/spool)",
     "<folder>", INTO(take_spool, spool)},
    {"spool-size", 0, "SIZE", "drop the oldest above it (default 256M)", "64M 256M 1G",
     INTO(take_spool_size, spool_bytes)},
    {"spool-age", 0, "TIME", "drop those that are older: 12h, 7d (default)",
     "12h 1d 7d", INTO(take_age, spool_age_ns)},
    {"host", 0, "NAME", "label of all windows (default: this machine)", "<host>",
     OPTIONS_CALL(take_host)},
    {"label", 0, "KEY=VALUE", "one more; repeatable", NULL, OPTIONS_CALL(take_label)},
    {"max-cpu", 0, "PERCENT",
     "lengthen the interval when the agent takes more of a processor (default 1%)",
     "0.5% 1% 5%", INTO(take_cpu, max_cpu_percent)},
    {"listen", 0, "[ADDR:]PORT",
     "answer /debug/pprof/profile?seconds=N, /metrics and /healthz by HTTP, without "
     "ADDR on 127.0.0.1",
     "127.0.0.1:", OPTIONS_CALL(take_listen)},
    {"event", 'e', "SOURCE[,..]", "what interrupts (default time); see: ntprof sources",
     ",<source>", PASS_ON},
    {"frequency", 'F', "HZ", "rate of source time (default 99)", "49 99 199", PASS_ON},
    {"interval", 0, "TIME", "instead of -F: 1ms, 10ms", "5ms 10ms 50ms", PASS_ON},
    {"count", 'c', "EVENTS", "events for a hit, for the other sources", NULL, PASS_ON},
    {"bucket", 0, "BYTES", "code bytes for a counter (default 16)",
     "1 4 8 16 32 64 256 4k 1M", PASS_ON},
    {"cpu", 'C', "CPUS", "only on these processors: 0,2-3", ",<cpu>", PASS_ON},
    {"cgroup", 'G', "CGROUP", "only what runs in it, by its path or directory",
     "<cgroup>", PASS_ON},
    {"kernel", 0, NULL, "only the kernel", NULL, PASS_ON},
    {"user", 0, NULL, "only user mode", NULL, PASS_ON},
    {"hal", 0, "NAME", "this way of getting hits, or none: perf, sim", "perf sim",
     PASS_ON},
    {"max-memory", 0, "SIZE", "keep to it (default 128M), say what was left out",
     "128M 256M 1G", PASS_ON},
    {"no-lines", 0, NULL, "only names of functions: no lines, nothing inlined", NULL,
     PASS_ON},
    {"no-cache", 0, NULL, "unpack debug sections anew, and keep none for later", NULL,
     PASS_ON},
    {0},
};

static const char help[] =
    "Examples\n"
    "  ntprof agent                             windows of a minute, in the spool\n"
    "  ntprof agent --store sqlite:/var/lib/ntprof/profiles.db --label site=north\n"
    "  ntprof agent --config my.conf --check-config\n"
    "  ntprof agent --listen 127.0.0.1:6070     and in another shell:\n"
    "  go tool pprof -top 'http://127.0.0.1:6070/debug/pprof/profile?seconds=5'\n"
    "\n"
    "usage: ntprof agent [options]\n"
    "\n"
    "Records all processes and the kernel at a low rate until SIGTERM, in constant\n"
    "memory. Each window is a profile with the unit of each process. Windows wait in\n"
    "the spool until the store has them. SIGHUP reads the settings again. Needs root\n"
    "or CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less. At 3, Debian's\n"
    "default, CAP_PERFMON is not enough.\n";

const struct options_syntax agent_options = {
    .command = "agent",
    .help = help,
    .help_end = CMD_HELP_STATUS,
    .groups = {{rows, 0}},
};

const struct options_syntax agent_recording_options = {
    .command = "agent",
    .groups = {{record_hit_rows, 0}, {record_machine_rows, 0}, {record_memory_rows, 0}},
};

static const struct record_syntax record_syntax = {
    .options = &agent_recording_options, .screen = true, .endless = true, .hz = 99};

/* --- the configuration file --- */

/* Return the path after the last --config of the command line; NULL without one.
 * Mistakes in the command line are reported later. */
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

/* Make --NAME of the word --NAME=yes if that option takes no value: in the file each
 * option has one. */
static void
make_flag(char *word)
{
    char *const value = strchr(word, '=');

    if (value == NULL || strcmp(value, "=yes") != 0) {
        return;
    }
    for (const struct options_row *row = rows; row->name != NULL; row++) {
        if (options_has_no_value(row) &&
            strlen(row->name) == (size_t)(value - word) - 2 &&
            strncmp(row->name, word + 2, strlen(row->name)) == 0) {
            *value = '\0';
        }
    }
}

/* Read the configuration file, or the default one if path is NULL and that exists.
 * Returns false after an error line. */
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
        const char *const word = settings->config.words[i];
        const bool is_help = strncmp(word, "--help=", strlen("--help=")) == 0;

        make_flag(settings->config.words[i]);
        if (is_help || strncmp(word, "--config", strlen("--config")) == 0) {
            cmd_fail("agent", "%s: %s has no meaning there",
                     text_show(shown, sizeof(shown), name),
                     is_help ? "help" : word + 2);
            return false;
        }
    }
    return true;
}

/* Join the words of the file and of the command line, and allocate the list of those
 * that are passed on. Returns false after an error line. */
static bool
join_words(struct agent_settings *settings, int argc, char **argv)
{
    /* 8: the name, two defaults that are passed on, NULL, and some to spare */
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

/* --- what the agent calls --- */

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

/* Report that a refused option may be a setting of the file: each was read as an
 * option. */
static void
report_where(const char *path)
{
    char shown[200];

    cmd_fail("agent", "the option may be in %s, which is read before the command line",
             text_show(shown, sizeof(shown), path != NULL ? path : CONFIG_DEFAULT));
}

/* Take the joined words. Returns false as options_take does. */
static bool
take_words(struct agent_settings *settings, int *exit_status)
{
    struct options_words none;

    return options_take(&agent_options, (int)settings->word_count, settings->words,
                        settings, &none, exit_status) &&
           record_options_take(&settings->record, &record_syntax,
                               (int)settings->record_count, settings->record_words,
                               exit_status);
}

bool
agent_settings_take(struct agent_settings *settings, int argc, char **argv,
                    int *exit_status)
{
    *exit_status = CMD_FAILED;
    set_defaults(settings);
    settings->config_path = find_config(argc, argv);
    if (!read_config(settings, settings->config_path) ||
        !join_words(settings, argc, argv) || !pass_on(settings, "bucket", "16") ||
        !pass_on(settings, "max-memory", "128M")) {
        return false;
    }
    if (!take_words(settings, exit_status)) {
        if (*exit_status != CMD_OK && settings->config.count > 0) {
            report_where(settings->config_path);
        }
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
