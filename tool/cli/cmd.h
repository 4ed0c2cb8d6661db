/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the subcommands, each in its own file.
 *
 * argv[0] is the name of the subcommand, and its arguments follow. Each returns the
 * exit status of ntprof.
 */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/message.h"
#include "base/options.h"

int cmd_run(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_system(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_sources(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

extern const struct options_syntax cmd_run_options;
extern const struct options_syntax cmd_attach_options;
extern const struct options_syntax cmd_system_options;
extern const struct options_syntax cmd_top_options; /* options of recordings, and those
                                                     * for stores */
extern const struct options_syntax cmd_report_options;
extern const struct options_syntax cmd_annotate_options;
extern const struct options_syntax cmd_diff_options;
extern const struct options_syntax cmd_merge_options;
extern const struct options_syntax cmd_export_options;
extern const struct options_syntax cmd_store_options;
extern const struct options_syntax cmd_serve_options;
extern const struct options_syntax cmd_cache_options;
extern const struct options_syntax cmd_sources_options;
extern const struct options_syntax cmd_doctor_options;
extern const struct options_syntax cmd_help_options;
extern const struct options_syntax cmd_version_options;

/* command - a subcommand: what help and shells say of it, and what runs it. */
struct command {
    const char *name;
    const char *summary; /* one line */
    const struct options_syntax *options;
    int (*run)(int argc, char **argv);
};

/* command_list - all commands; the list ends with {0}. */
extern const struct command command_list[];

/* command_find - find a command by its name, or by its option: --help, -h, --version,
 * -v. Returns NULL if word is neither. */
const struct command *command_find(const char *word);

/* cmd_begin - have options.h propose options of ours for those of other tools. Call it
 * before any subcommand. */
void cmd_begin(void);

#endif
