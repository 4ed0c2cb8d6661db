/* SPDX-License-Identifier: MIT */
/* cli/agent.c - ntprof agent: records the whole machine for ever, in windows. */
#include "cli/cmd.h"
#include "daemon/daemon.h"
#include "record/ending.h"
#include "sandbox/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Go back from settings with a mistake to the old ones. */
static void
restore(struct agent_settings *settings, struct agent_settings *old)
{
    cmd_fail("agent", "the settings stay as they were");
    agent_settings_finish(settings);
    *settings = *old;
    *old = (struct agent_settings){.words = NULL};
}

/* Read the settings again. After a mistake in them the present ones stay in effect;
 * otherwise *old is what they were. */
static void
reload(struct agent_settings *settings, struct agent_settings *old, int argc,
       char **argv)
{
    int status;

    agent_settings_finish(old);
    *old = *settings;
    *settings = (struct agent_settings){.words = NULL};
    if (!agent_settings_take(settings, argc, argv, &status)) {
        restore(settings, old);
    }
}

/* Run an agent, and after each reload another one with new settings; with the old ones
 * if it does not start with those. Returns the exit status. */
static int
run_agents(struct agent_settings *settings, int argc, char **argv)
{
    struct agent_settings old = {.words = NULL};
    struct ending ending;
    const int failure = ending_prepare(&ending);
    enum agent_end end;

    if (failure != 0) {
        return cmd_fail("agent", "cannot wait for signals: %s", strerror(-failure));
    }
    do {
        end = agent_run(settings, ending.signal_fd);
        if (end == AGENT_RELOAD) {
            reload(settings, &old, argc, argv);
        } else if (end == AGENT_REFUSED && old.words != NULL) {
            restore(settings, &old);
            end = AGENT_RELOAD;
        }
    } while (end == AGENT_RELOAD);
    agent_settings_finish(&old);
    ending_release(&ending);
    return end == AGENT_STOPPED ? CMD_OK : CMD_FAILED;
}

int
cmd_agent(int argc, char **argv)
{
    struct agent_settings settings = {.words = NULL};
    int status;

    unsetenv("DEBUGINFOD_URLS"); /* no downloads: windows must not wait for servers */
    /* Readers get a copy of the command's memory, so they are prepared before it has
     * settings, such as a store's password. agent_run tries again, and reports a
     * failure. */
    (void)sandbox_prepare();
    if (agent_settings_take(&settings, argc, argv, &status)) {
        status = settings.check ? CMD_OK : run_agents(&settings, argc, argv);
    }
    agent_settings_finish(&settings);
    return status;
}
