/* SPDX-License-Identifier: MIT */
/* settings.h - the options of ntprof agent, from its configuration file and its command
 * line. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include "base/options.h"
#include "daemon/config.h"
#include "daemon/spool.h"
#include "record/record_options.h"
#include "store/store.h"

#include <sys/socket.h>

enum { AGENT_LABELS_MAX = 32, AGENT_LABEL_BYTES_MAX = 256 };

/* agent_options - the agent's options. Those of recordings are passed on, and checked
 * as agent_recording_options. */
extern const struct options_syntax agent_options;
extern const struct options_syntax agent_recording_options;

/* agent_label - a label that --label gives. */
struct agent_label {
    char *key;
    const char *value; /* borrowed from words */
};

/* agent_settings - zero before agent_settings_take. */
struct agent_settings {
    const char *config_path; /* given by --config, or NULL */
    struct config config;
    char **words; /* of file and command line, NULL-terminated */
    size_t word_count;
    char **record_words; /* the words that are passed on to record_options */
    size_t record_count;
    struct record_options record;
    bool check; /* --check-config */
    uint64_t window_ns;
    char host[256];
    struct agent_label labels[AGENT_LABELS_MAX];
    size_t label_count;
    const char *store; /* URL; NULL: none */
    const char *spool;
    uint64_t spool_bytes;
    uint64_t spool_age_ns;
    double max_cpu_percent; /* of one processor */
    const char *listen;     /* as given; NULL: no server */
    struct sockaddr_storage address;
};

/*
 * agent_settings_take - read the configuration file that the command line names, or the
 * default one, and then the command line.
 *
 *   argv  borrowed
 *
 * Returns true if the command has to run. Returns false after its help or an error
 * line; *exit_status is then the exit status. agent_settings_finish must be called in
 * any case.
 */
bool agent_settings_take(struct agent_settings *settings, int argc, char **argv,
                         int *exit_status);
void agent_settings_finish(struct agent_settings *settings);

#endif
