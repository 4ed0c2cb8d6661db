/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - runs an agent: opens what it needs, waits, and ends in order.
 *
 * One thread makes looks and windows. Others deliver hits and fold counters
 * (recording) and answer clients (server); what adds windows to the store (sender) runs
 * apart (base/apart.h).
 */
#include "daemon/daemonp.h"

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "daemon/service.h"
#include "sandbox/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Time between attempts to write windows that wait in memory, as on a full disk. */
static const uint64_t retry_ns = 5 * CLOCK_SECOND_NS;

/* --- start --- */

static void
read_boot_id(struct agent *agent)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd >= 0 ? read(fd, agent->boot, sizeof(agent->boot) - 1) : 0;

    if (fd >= 0) {
        close(fd);
    }
    agent->boot[size > 0 ? size : 0] = '\0';
    agent->boot[strcspn(agent->boot, "\n")] = '\0';
}

static bool
open_spool(struct agent *agent)
{
    struct spool_error error;
    const uint64_t windows = agent->settings->spool_age_ns / agent->settings->window_ns;
    const struct spool_limits limits = {.bytes = agent->settings->spool_bytes,
                                        .windows = windows > 0 ? windows : 1};
    const bool opened =
        spool_open(&agent->spool, agent->settings->spool, &limits, &error);

    agent->spool_opened = true; /* spool_close is needed also after a failure */
    if (!opened) {
        cmd_fail("agent", "--spool: %s", error.text);
    }
    return opened;
}

static bool
watch(struct agent *agent)
{
    const char *why;
    const NTSTATUS status = recording_watch_all(&agent->recording, &why);

    if (!NT_SUCCESS(status)) {
        cmd_fail("agent", "cannot profile all processes: %s", why);
    }
    return NT_SUCCESS(status);
}

/* Set the members of metrics and ration that settings decide. */
static void
prepare_metrics(struct agent *agent)
{
    const struct record_options *const record = &agent->settings->record;
    struct metrics *const metrics = &agent->metrics;

    metrics->source_count = record->source_count;
    for (size_t i = 0; i < record->source_count; i++) {
        metrics->sources[i].name = record->sources[i];
    }
    metrics->window_ns = agent->settings->window_ns;
    metrics->max_cpu_share = agent->settings->max_cpu_percent / 100;
    agent->ration.max_share = metrics->max_cpu_share;
}

/* Have --max-cpu begin with the interval in effect: the guard or the kernel may have
 * lengthened the one that was asked for. */
static void
take_granted(struct agent *agent)
{
    const size_t at = agent_time_source(agent);
    ntprof_source_info info = {.size = sizeof(info)};

    if (at < agent->settings->record.source_count &&
        collector_get_source(agent->recording.collector, at, &info)) {
        agent->ration.asked_100ns = info.interval_granted;
    }
    agent->ration.interval_100ns = agent->ration.asked_100ns;
}

static bool
start_sender(struct agent *agent)
{
    const struct agent_settings *const settings = agent->settings;
    const int failure = settings->store == NULL
                            ? 0
                            : sender_start(&agent->sender, &agent->spool,
                                           settings->store, settings->host);

    if (failure != 0) {
        cmd_fail("agent", "cannot start the process that sends windows: %s",
                 text_errno(-failure));
    }
    return failure == 0;
}

/* Open everything, and begin to record. Returns false after an error line. */
static bool
start(struct agent *agent)
{
    const struct agent_settings *const settings = agent->settings;
    int failure;

    /* This forks, so it comes before there are threads: the child would have copies of
     * their locks, held for ever. */
    failure = sandbox_prepare();
    if (failure != 0) {
        cmd_fail("agent", "cannot start the process that reads symbols: %s",
                 text_errno(-failure));
        return false;
    }
    read_boot_id(agent);
    prepare_metrics(agent);
    agent->timer_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (agent->timer_fd < 0) {
        cmd_fail("agent", "cannot make a timer: %s", text_errno(errno));
        return false;
    }
    if (!open_spool(agent) ||
        !recording_open(&agent->recording, &settings->record, /* machine */ true) ||
        !watch(agent) || !recording_begin(&agent->recording, settings->words)) {
        return false;
    }
    take_granted(agent);
    return start_sender(agent) && agent_serve(agent);
}

static void
say_start(const struct agent *agent)
{
    const struct agent_settings *const settings = agent->settings;
    char spool[200];
    char store[200] = "";

    if (settings->store != NULL) {
        text_show(store, sizeof(store), settings->store);
    }
    fprintf(stderr, "ntprof: agent: windows of %g s; spool %s%s%s\n",
            (double)settings->window_ns / 1e9,
            text_show(spool, sizeof(spool), settings->spool),
            store[0] != '\0' ? "; store " : "", store);
    service_notify("READY=1\nSTATUS=windows of %g s",
                   (double)settings->window_ns / 1e9);
}

/* --- the loop --- */

/* Read a signal. Returns 0 if there is none. */
static int
take_signal(const struct agent *agent)
{
    struct signalfd_siginfo taken;

    return read(agent->signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken)
               ? (int)taken.ssi_signo
               : 0;
}

/* Wait for a signal, the end of the window, a request, or the time until_ns of
 * CLOCK_MONOTONIC. polls[i].revents is not 0 for what came. */
static void
wait_until(const struct agent *agent, uint64_t until_ns, struct pollfd polls[3])
{
    const uint64_t now = clock_now_ns();
    const struct timespec left = clock_timespec(until_ns > now ? until_ns - now : 0);
    uint64_t expirations;

    polls[0] = (struct pollfd){.fd = agent->signal_fd, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = agent->timer_fd, .events = POLLIN};
    polls[2] = (struct pollfd){.fd = http_server_fd(agent->server), .events = POLLIN};
    if (ppoll(polls, 3, until_ns == UINT64_MAX ? NULL : &left, NULL) <= 0) {
        polls[0].revents = polls[1].revents = polls[2].revents = 0;
    }
    if (polls[1].revents != 0) {
        /* The read resets the timer. It fails with ECANCELED if the clock was set,
         * which window_is_over notices by itself. */
        (void)!read(agent->timer_fd, &expirations, sizeof(expirations));
    }
}

static uint64_t
earlier(uint64_t left_ns, uint64_t right_ns)
{
    return left_ns < right_ns ? left_ns : right_ns;
}

/* Return when the next wait must end. The timer ends a window; the wait also ends a
 * second after a whole window in case the timer cannot be armed. */
static uint64_t
next_ns(const struct agent *agent, uint64_t watchdog_ns)
{
    const uint64_t now = clock_now_ns();
    uint64_t next = now + agent->settings->window_ns + CLOCK_SECOND_NS;

    if (watchdog_ns != 0) {
        next = earlier(next, now + watchdog_ns);
    }
    if (agent->spool_failing) {
        next = earlier(next, now + retry_ns);
    }
    return earlier(next, agent_next_answer_ns(agent));
}

static void
retry_spool(struct agent *agent)
{
    if (agent->spool_failing && spool_retry(&agent->spool)) {
        fprintf(stderr, "ntprof: agent: windows are written to the spool again\n");
        agent->spool_failing = false;
        sender_wake(&agent->sender);
    }
}

/* Record windows until a signal. Returns its number. */
static int
loop(struct agent *agent)
{
    const uint64_t watchdog_ns = service_watchdog_ns();
    struct pollfd polls[3];
    int signal = 0;

    while (signal == 0) {
        struct window_clocks now;

        wait_until(agent, next_ns(agent, watchdog_ns), polls);
        if (watchdog_ns != 0) {
            service_notify("WATCHDOG=1");
        }
        if (polls[2].revents != 0) {
            agent_take_request(agent);
        }
        agent_handle_requests(agent);
        retry_spool(agent);
        now = window_read_clocks();
        if (window_is_over(&agent->window, &now)) {
            agent_finish_window(agent);
        }
        signal = polls[0].revents != 0 ? take_signal(agent) : 0;
    }
    return signal;
}

/* --- end --- */

static void
stop_sender(struct agent *agent)
{
    if (!sender_stop(&agent->sender)) {
        agent->sender_left = true;
        cmd_fail("agent", "--store: it does not answer; windows wait in the spool for "
                          "the next agent");
    }
}

/* End the recording and the window, refuse requests, and send what is in the spool.
 * Each step ends in bounded time. */
static void
finish(struct agent *agent)
{
    sandbox_hurry();
    recording_end(&agent->recording);
    agent_finish_window(agent);
    agent_stop_serving(agent);
    stop_sender(agent);
    if (agent->spool_failing && !spool_retry(&agent->spool)) {
        cmd_fail("agent", "--spool: %s; the windows in memory are lost",
                 agent->spool.failure);
    }
}

/* Close what start has opened, whether it succeeded or not. If the sender did not end
 * in time, only the spool's lock is given up. */
static void
close_agent(struct agent *agent)
{
    agent_stop_serving(agent);
    stop_sender(agent);
    recording_close(&agent->recording);
    if (agent->sender_left) {
        spool_unlock(&agent->spool);
    } else if (agent->spool_opened) {
        spool_close(&agent->spool);
    }
    if (agent->timer_fd >= 0) {
        close(agent->timer_fd);
    }
    pthread_mutex_destroy(&agent->metrics_lock);
}

enum agent_end
agent_run(const struct agent_settings *settings, int signal_fd)
{
    struct agent *const agent = calloc(1, sizeof(*agent));
    enum agent_end end = AGENT_REFUSED;

    if (agent == NULL) {
        cmd_fail("agent", "out of memory");
        return AGENT_FAILED;
    }
    agent->settings = settings;
    agent->signal_fd = signal_fd;
    agent->timer_fd = -1;
    agent->recording.options = &settings->record;
    pthread_mutex_init(&agent->metrics_lock, NULL);
    sandbox_hurry_on(signal_fd);
    if (start(agent)) {
        agent_begin_window(agent);
        say_start(agent);
        end = loop(agent) == SIGHUP ? AGENT_RELOAD : AGENT_STOPPED;
        if (end == AGENT_RELOAD) {
            service_notify("RELOADING=1\nMONOTONIC_USEC=%llu",
                           (unsigned long long)(clock_now_ns() / 1000));
        } else {
            service_notify("STOPPING=1");
        }
        finish(agent);
    }
    close_agent(agent);
    sandbox_hurry_on(-1);
    if (agent->sender_left) {
        /* The sender still uses the agent, which is not freed. A reload would open its
         * spool a second time in this process: the service manager starts another
         * process instead. */
        return end == AGENT_STOPPED ? AGENT_STOPPED : AGENT_FAILED;
    }
    free(agent);
    return end;
}
