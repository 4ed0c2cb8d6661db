/* SPDX-License-Identifier: MIT */
/* cli/agent.c - ntprof agent: records the whole machine for ever, in windows. */
#include "cli/cmd.h"
#include "daemon/daemon.h"
#include "record/ending.h"
#include "sandbox/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read the settings again. After a mistake in them the old ones stay in effect. */
static void
reload(struct agent_settings *settings, int argc, char **argv)
{
    struct agent_settings fresh = {.words = NULL};
    int status;

    if (agent_settings_take(&fresh, argc, argv, &status)) {
        agent_settings_finish(settings);
        *settings = fresh;
    } else {
        cmd_fail("agent", "the settings stay as they were");
        agent_settings_finish(&fresh);
    }
}

/* Run an agent, and after each reload another one with new settings. Returns the exit
 * status. */
static int
run_agents(struct agent_settings *settings, int argc, char **argv)
{
    struct ending ending;
    const int failure = ending_prepare(&ending);
    enum agent_end end;

    if (failure != 0) {
        return cmd_fail("agent", "cannot wait for signals: %s", strerror(-failure));
    }
    while ((end = agent_run(settings, ending.signal_fd)) == AGENT_RELOAD) {
        reload(settings, argc, argv);
    }
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
