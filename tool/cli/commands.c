/* SPDX-License-Identifier: MIT */
/* commands.c - the table of all commands. */
#include "cli/cmd.h"
#include "cli/other_words.h"
#include "daemon/settings.h"

#include <string.h>

const struct command command_list[] = {
    {"run", "run a command and profile it and all that it starts", &cmd_run_options,
     cmd_run},
    {"attach", "profile processes that run already, from now on", &cmd_attach_options,
     cmd_attach},
    {"system", "profile all processes and the kernel", &cmd_system_options, cmd_system},
    {"top", "watch where programs execute, on a live screen", &cmd_top_options,
     cmd_top},
    {"agent", "record the whole machine for ever, in windows", &agent_options,
     cmd_agent},
    {"report", "show a profile: by function, line, image, address, process, source",
     &cmd_report_options, cmd_report},
    {"annotate", "source lines and instructions with their hits", &cmd_annotate_options,
     cmd_annotate},
    {"diff", "what changed between two profiles, and what of it is no chance",
     &cmd_diff_options, cmd_diff},
    {"merge", "one profile of many", &cmd_merge_options, cmd_merge},
    {"export", "a profile in the form that another tool reads", &cmd_export_options,
     cmd_export},
    {"store", "a database of profiles, which is read like a file", &cmd_store_options,
     cmd_store},
    {"serve", "a store in the browser: times, hosts and builds to choose from",
     &cmd_serve_options, cmd_serve},
    {"cache", "what names leave for later commands: where, how large; clear it",
     &cmd_cache_options, cmd_cache},
    {"sources", "what can interrupt on this machine, and why the rest cannot",
     &cmd_sources_options, cmd_sources},
    {"doctor", "what works for this user here, what is refused, what would allow it",
     &cmd_doctor_options, cmd_doctor},
    {"help", "help of a command, or of ntprof: ntprof help run", &cmd_help_options,
     cmd_help},
    {"version", "the version; also -v, --version", &cmd_version_options, cmd_version},
    {0},
};

const struct command *
command_find(const char *word)
{
    static const struct {
        const char *option;
        const char *name;
    } also[] = {{"--help", "help"},
                {"-h", "help"},
                {"--version", "version"},
                {"-v", "version"}};

    for (size_t i = 0; i < sizeof(also) / sizeof(also[0]); i++) {
        word = strcmp(word, also[i].option) == 0 ? also[i].name : word;
    }
    for (const struct command *command = command_list; command->name != NULL;
         command++) {
        if (strcmp(word, command->name) == 0) {
            return command;
        }
    }
    return NULL;
}

void
cmd_begin(void)
{
    options_set_adviser(other_option);
}
