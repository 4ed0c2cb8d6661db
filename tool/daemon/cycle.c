/* SPDX-License-Identifier: MIT */
/* cycle.c - the windows of an agent. */
#include "daemon/daemonp.h"

#include "base/apart.h"
#include "base/clock.h"
#include "base/message.h"
#include "record/collect/usage.h"
#include "record/describe.h"
#include "sandbox/process.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>

uint64_t
agent_read_usage(uint64_t *memory_bytes)
{
    struct sandbox_usage readers;

    sandbox_get_usage(&readers);
    *memory_bytes = usage_bytes() + readers.memory_bytes;
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + apart_cpu_ns() + readers.cpu_ns;
}

/* Draw a random epoch for the windows from now on. */
static void
renew_epoch(struct agent *agent)
{
    unsigned char bytes[(EPOCH_BYTES - 1) / 2];

    while (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(agent->epoch + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Have the timer expire at the end of the window, or when the clock is set. */
static void
arm_timer(const struct agent *agent)
{
    const struct itimerspec end = {.it_value =
                                       clock_timespec(agent->window.end_real_ns)};

    (void)timerfd_settime(agent->timer_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                          &end, NULL);
}

/* Begin a window at this time: hits and gaps from now on belong to it. */
static void
begin_at(struct agent *agent, const struct window_clocks *now)
{
    window_begin(&agent->window, agent->settings->window_ns, now);
    agent->gaps = (struct collector_gaps){0};
    arm_timer(agent);
    pthread_mutex_lock(&agent->metrics_lock);
    agent->metrics.last_window_ns = now->monotonic_ns;
    agent->metrics.last_real_ns = now->real_ns;
    pthread_mutex_unlock(&agent->metrics_lock);
}

void
agent_begin_window(struct agent *agent)
{
    const struct window_clocks now = window_read_clocks();
    uint64_t memory_bytes;

    renew_epoch(agent);
    agent->cpu_ns = agent_read_usage(&memory_bytes);
    begin_at(agent, &now);
}

/* Give each request for a profile a copy of a look. If memory runs out for a copy, lost
 * makes the request fail. */
static void
give_requests(struct agent *agent, const struct profile *look)
{
    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];
        struct profile *copy;

        if (request->request == NULL) {
            continue;
        }
        copy = part_copy_look(look);
        if (copy != NULL) {
            part_add(&request->part, copy);
        } else {
            request->part.lost++;
        }
    }
}

size_t
agent_time_source(const struct agent *agent)
{
    const struct record_options *const record = &agent->settings->record;
    size_t at = 0;

    while (at < record->source_count && !record_source_is_time(record->sources[at])) {
        at++;
    }
    return at;
}

/* Set the interval of a look to the one that its hits were counted with: if the
 * interval was changed since the look before, that is the earlier one. */
static void
keep_outgoing(struct agent *agent, struct profile *look)
{
    const size_t at = agent_time_source(agent);

    if (agent->outgoing.granted != 0 && at < look->source_count) {
        look->sources[at].asked = agent->outgoing.asked;
        look->sources[at].granted = agent->outgoing.granted;
    }
    agent->outgoing = (struct profile_source){.granted = 0};
}

bool
agent_look(struct agent *agent)
{
    ntprof_session_info info = {.size = sizeof(info)};
    struct collector_gaps gaps;
    struct profile *const look = collector_recent(agent->recording.collector, &gaps);

    if (look == NULL) {
        return false;
    }
    ntprof_session_get_info(agent->recording.session, &info);
    gaps.unread = info.unread;
    keep_outgoing(agent, look);
    account_take(&agent->account, look, &gaps);
    account_add_gaps(&agent->gaps, &gaps);
    pthread_mutex_lock(&agent->metrics_lock);
    metrics_add_sources(&agent->metrics, look);
    agent->metrics.processes = info.processes;
    pthread_mutex_unlock(&agent->metrics_lock);
    give_requests(agent, look);
    part_add(&agent->part, look);
    return true;
}

/* ---- describing ---- */

static bool
set_labels(const struct agent *agent, struct profile *profile)
{
    const struct agent_settings *const settings = agent->settings;
    bool set = profile_set_label(profile, PROFILE_LABEL_HOST, settings->host) &&
               profile_set_label(profile, PROFILE_LABEL_BOOT, agent->boot);

    for (size_t i = 0; set && i < settings->label_count; i++) {
        set = profile_set_label(profile, settings->labels[i].key,
                                settings->labels[i].value);
    }
    return set;
}

/* Describe what limits the profile: the session's limits, and a longer interval or too
 * high a cost by --max-cpu. Returns NULL if memory runs out. */
static char *
describe_agent_limits(const struct agent *agent, const ntprof_session_info *info)
{
    const struct ration *const ration = &agent->ration;
    const double max_percent = agent->settings->max_cpu_percent;
    char pace[240] = "";

    if (agent->pace_100ns > ration->asked_100ns) {
        snprintf(pace, sizeof(pace),
                 "the interval of time is %.4g ms instead of %.4g ms, by --max-cpu "
                 "%.10g%%",
                 (double)agent->pace_100ns / 1e4, (double)ration->asked_100ns / 1e4,
                 max_percent);
    } else if (agent->ration_exceeded) {
        snprintf(pace, sizeof(pace),
                 "ntprof agent takes more than --max-cpu %.10g%%, most of it not for "
                 "hits",
                 max_percent);
    }
    return describe_limits(info, pace, &agent->settings->record);
}

bool
agent_describe(struct agent *agent, struct profile *profile, uint64_t start_real_ns,
               uint64_t duration_ns, const char *gaps)
{
    ntprof_session_info info = {.size = sizeof(info)};

    ntprof_session_get_info(agent->recording.session, &info);
    free(profile->command);
    free(profile->hal);
    free(profile->limits);
    free(profile->gaps);
    profile->command = describe_command(agent->settings->words);
    profile->hal = strdup(info.backend);
    profile->limits = describe_agent_limits(agent, &info);
    profile->gaps = strdup(gaps);
    profile->time_ns = start_real_ns;
    profile->duration_ns = duration_ns;
    return profile->command != NULL && profile->hal != NULL &&
           profile->limits != NULL && profile->gaps != NULL &&
           set_labels(agent, profile);
}

/* Append one thing that a window lacks to the text. */
__attribute__((format(printf, 2, 3))) static void
add_gap(struct buffer *text, const char *format, ...)
{
    char gap[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(gap, sizeof(gap), format, arguments);
    va_end(arguments);
    buffer_print(text, "%s%s", text->size > 0 ? "; " : "", gap);
}

/* Describe what the window lacks, and which windows before it are lost since that was
 * last described. */
static void
describe_window_gaps(struct agent *agent, const struct profile *profile,
                     const struct window_end *end, struct buffer *text)
{
    char *const gaps = describe_gaps(&agent->gaps, profile, /* interim */ false);
    struct spool_statistics spool;
    struct metrics sender = {.refused = 0};

    buffer_append_text(text, gaps != NULL ? gaps : "out of memory");
    free(gaps);
    if (end->jump_ns != 0) {
        add_gap(text, "the window ended early, as the clock was set by %+.3f s",
                (double)end->jump_ns / 1e9);
    }
    if (end->suspended_ns != 0) {
        add_gap(text, "the machine was suspended for %.0f s",
                (double)end->suspended_ns / 1e9);
    }
    if (agent->part.lost != 0) {
        add_gap(text, "%" PRIu64 " hits were dropped because memory ran out",
                agent->part.lost);
    }
    sender_get_metrics(&agent->sender, &sender);
    if (sender.refused > agent->refused) {
        add_gap(text, "%" PRIu64 " older window%s refused by the store",
                sender.refused - agent->refused,
                sender.refused - agent->refused == 1 ? " was" : "s were");
        agent->refused = sender.refused;
    }
    spool_get_statistics(&agent->spool, &spool);
    if (spool.dropped > agent->dropped) {
        add_gap(text, "%" PRIu64 " older window%s dropped from the spool",
                spool.dropped - agent->dropped,
                spool.dropped - agent->dropped == 1 ? " was" : "s were");
        cmd_fail("agent",
                 "dropped %" PRIu64 " of the oldest windows of the spool: it is beyond "
                 "--spool-size or --spool-age, or its disk is full",
                 spool.dropped - agent->dropped);
        agent->dropped = spool.dropped;
    }
}

/* ---- the end of a window ---- */

/* Print a line when windows begin to wait in memory because they cannot be written, and
 * one when that ends. */
static void
report_spool(struct agent *agent, bool written)
{
    if (!written && !agent->spool_failing) {
        cmd_fail("agent", "--spool: %s; windows wait in memory", agent->spool.failure);
    } else if (written && agent->spool_failing) {
        fprintf(stderr, "ntprof: agent: windows are written to the spool again\n");
    }
    agent->spool_failing = !written;
}

/* Write the window to the spool, and wake the sender. Takes ownership of the profile.
 * Returns false if memory runs out: the window is lost then. */
static bool
store_window(struct agent *agent, struct profile *profile, const struct window_end *end)
{
    const uint64_t start_ns = agent->window.start.real_ns;
    struct buffer gaps = {0};
    void *bytes = NULL;
    size_t size = 0;
    const char *text;
    bool complete;

    describe_window_gaps(agent, profile, end, &gaps);
    text = buffer_text(&gaps);
    complete = text != NULL &&
               agent_describe(agent, profile, start_ns, end->counted_ns, text) &&
               profile_set_label(profile, PROFILE_LABEL_EPOCH, agent->epoch) &&
               pprof_encode(profile, &bytes, &size);
    if (complete) {
        report_spool(agent,
                     spool_put(&agent->spool, start_ns, agent->epoch, bytes, size));
        spool_drop_excess(&agent->spool);
        sender_wake(&agent->sender);
    } else {
        cmd_fail("agent", "out of memory: a window is lost");
    }
    buffer_finish(&gaps);
    profile_delete(profile);
    return complete;
}

/* Print a line when the agent begins to take more than its ration although no longer
 * interval would help, and one when that ends. */
static void
report_exceeded(struct agent *agent)
{
    const struct ration *const ration = &agent->ration;
    const bool exceeded = ration->share > ration->max_share && !agent->interval_pending;

    if (exceeded != agent->ration_exceeded) {
        fprintf(stderr,
                "ntprof: agent: took %.2f %% of a processor with --max-cpu %.10g%%%s\n",
                ration->share * 100, agent->settings->max_cpu_percent,
                exceeded ? ": processes that start, map files and exit cost most of "
                           "it, which a longer interval does not change"
                         : " again");
    }
    agent->ration_exceeded = exceeded;
}

/* Set how much processor time reading names may take until the end of the next
 * window. */
static void
ration_readers(struct agent *agent, uint64_t elapsed_ns)
{
    struct sandbox_usage readers;
    uint64_t names_ns;
    uint64_t headers_ns;

    sandbox_get_usage(&readers);
    names_ns =
        readers.cpu_ns > agent->readers_ns ? readers.cpu_ns - agent->readers_ns : 0;
    agent->readers_ns = readers.cpu_ns;
    names_ns = ration_names(&agent->ration, names_ns, elapsed_ns, &headers_ns);
    collector_set_names_time(agent->recording.collector, names_ns, headers_ns);
}

/* Measure what the agent took in the window that ended, and choose the interval of the
 * window after the next. Windows of three kinds decide nothing: the first one, which
 * has the cost of reading all symbols; one of less than half the length, as its end is
 * most of its cost; and one whose interval was changed at its end (changed), as its
 * cost is not that of the interval in effect now. */
static void
choose_interval(struct agent *agent, uint64_t hits, uint64_t elapsed_ns, bool changed)
{
    uint64_t memory_bytes;
    const uint64_t cpu_ns = agent_read_usage(&memory_bytes);
    const uint64_t spent_ns = cpu_ns > agent->cpu_ns ? cpu_ns - agent->cpu_ns : 0;
    const double before_ms = (double)agent->ration.interval_100ns / 1e4;
    bool decides = !changed && elapsed_ns >= agent->settings->window_ns / 2;

    agent->cpu_ns = cpu_ns;
    pthread_mutex_lock(&agent->metrics_lock);
    decides = decides && agent->metrics.windows != 0;
    agent->metrics.windows++;
    agent->metrics.cpu_ns = cpu_ns;
    agent->metrics.memory_bytes = memory_bytes;
    pthread_mutex_unlock(&agent->metrics_lock);
    if (!decides) {
        return;
    }
    if (ration_choose(&agent->ration, spent_ns, hits, elapsed_ns)) {
        agent->interval_pending = true;
        fprintf(stderr,
                "ntprof: agent: took %.2f %% of a processor with --max-cpu %.10g%%: "
                "interval %.4g ms instead of %.4g ms after the next window\n",
                agent->ration.share * 100, agent->settings->max_cpu_percent,
                (double)agent->ration.interval_100ns / 1e4, before_ms);
    }
    report_exceeded(agent);
}

/* Set the interval that was chosen, or keep the present one if it is refused. The look
 * that follows ends the window, so the new interval is that of the next window, but for
 * the hits of some microseconds. */
static void
change_interval(struct agent *agent)
{
    ntprof_source_info info = {.size = sizeof(info)};
    uint64_t granted;

    if (!agent->interval_pending || agent->outgoing.granted != 0) {
        return;
    }
    if (collector_get_source(agent->recording.collector, agent_time_source(agent),
                             &info) &&
        recording_set_interval(&agent->recording, agent->ration.interval_100ns,
                               &granted)) {
        agent->outgoing.asked = info.interval_asked;
        agent->outgoing.granted = info.interval_granted;
    } else {
        agent->ration.interval_100ns = agent->pace_100ns;
    }
}

/* Return the taken hits of source time in a window. */
static uint64_t
time_hits(const struct profile *window)
{
    for (size_t i = 0; i < window->source_count; i++) {
        if (strcmp(window->sources[i].name, "time") == 0) {
            return window->sources[i].taken;
        }
    }
    return 0;
}

/* Note that the next look has the new interval. If this one failed (looked is false),
 * the next has the hits of the old interval, too: that one is set again. If it is
 * refused, the next look is still one of the outgoing interval, which its hits until
 * now have. */
static void
end_change(struct agent *agent, bool looked)
{
    uint64_t granted;

    if (!looked && agent->outgoing.granted != 0) {
        if (recording_set_interval(&agent->recording, agent->pace_100ns, &granted)) {
            agent->outgoing = (struct profile_source){.granted = 0};
        }
        return;
    }
    agent->interval_pending = false;
    agent->pace_100ns = agent->ration.interval_100ns;
}

/* Move the hits that the window lost, and has reported, to the metrics. Without a
 * window that reported them they stay for the next one. */
static void
take_lost(struct agent *agent)
{
    pthread_mutex_lock(&agent->metrics_lock);
    agent->metrics.lost_hits += agent->part.lost;
    pthread_mutex_unlock(&agent->metrics_lock);
    agent->part.lost = 0;
}

void
agent_finish_window(struct agent *agent)
{
    const struct window_clocks now = window_read_clocks();
    const struct window_end end = window_finish(&agent->window, &now);
    const bool changed = agent->interval_pending;
    uint64_t hits = 0;
    uint64_t taken;
    struct profile *profile;
    bool looked;

    change_interval(agent);
    looked = agent_look(agent);
    if (!looked) {
        cmd_fail("agent", "out of memory: the hits go to the next window");
    }
    taken = agent->part.hits;
    profile = part_take(&agent->part);
    if (profile != NULL) {
        hits = time_hits(profile);
        if (store_window(agent, profile, &end)) {
            take_lost(agent);
        } else {
            agent->part.lost += taken;
        }
    }
    pthread_mutex_lock(&agent->metrics_lock);
    agent->metrics.clock_jumps += end.jump_ns != 0;
    agent->metrics.suspensions += end.suspended_ns != 0;
    pthread_mutex_unlock(&agent->metrics_lock);
    end_change(agent, looked);
    choose_interval(agent, hits, end.counted_ns, changed);
    ration_readers(agent, end.counted_ns);
    if (end.new_epoch) {
        renew_epoch(agent);
    }
    (void)malloc_trim(0);
    begin_at(agent, &now);
}
