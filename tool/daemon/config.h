/* SPDX-License-Identifier: MIT */
/*
 * config.h - the configuration file of ntprof agent: lines of the form "name = value".
 *
 * Each line becomes the word --name=value, and is read as if it stood at the start of
 * the command line. So every name is that of an option, and the command line overrides
 * the file.
 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CONFIG_BYTES_MAX = 64 * 1024,
    CONFIG_LINES_MAX = 1000,
};

/* config - the words of a file. All zero: none. */
struct config {
    char **words;
    size_t count;
};

/*
 * config_parse - parse the text of a file. Empty lines and lines that start with # are
 * left out; blanks around names and values are too.
 *
 *   error  out: the line and what is wrong with it
 *
 * Returns false with the error set; config_finish must be called in any case.
 */
bool config_parse(struct config *config, const char *text, char *error,
                  size_t error_size);

/* config_read - read a file, and parse it as config_parse does. */
bool config_read(struct config *config, const char *path, char *error,
                 size_t error_size);

void config_finish(struct config *config);

#endif
