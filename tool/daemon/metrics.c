/* SPDX-License-Identifier: MIT */
/* metrics.c - prints the families of metrics, and adds up what recordings counted. */
#include "daemon/metrics.h"

#include "base/openmetrics.h"

#include <inttypes.h>

static void
put_counter(struct buffer *text, const char *name, const char *help, uint64_t value)
{
    openmetrics_put_family(text, name, "counter", "", help);
    buffer_print(text, "%s_total %" PRIu64 "\n", name, value);
}

/* Put a gauge. unit: that of value, with which name ends, or "" for a number. */
static void
put_gauge(struct buffer *text, const char *name, const char *unit, const char *help,
          double value)
{
    openmetrics_put_family(text, name, "gauge", unit, help);
    buffer_print(text, "%s %.12g\n", name, value);
}

/* Put a source's hits of one kind. */
static void
put_hits(struct buffer *text, const struct profile_source *source, const char *kind,
         uint64_t hits)
{
    buffer_append_text(text, "ntprof_agent_hits_total{");
    openmetrics_put_label(text, "source", source->name);
    openmetrics_put_label(text, "kind", kind);
    buffer_print(text, "} %" PRIu64 "\n", hits);
}

static void
put_sources(struct buffer *text, const struct metrics *metrics)
{
    openmetrics_put_family(
        text, "ntprof_agent_hits", "counter", "",
        "Hits by what became of them; expected is the sum of all but counted and "
        "outside, whose sum is taken.");
    for (size_t i = 0; i < metrics->source_count; i++) {
        const struct profile_source *const source = &metrics->sources[i];

        put_hits(text, source, "expected", source->expected);
        put_hits(text, source, "taken", source->taken);
        put_hits(text, source, "counted", source->counted);
        put_hits(text, source, "outside", source->outside);
        put_hits(text, source, "lost", source->lost);
        put_hits(text, source, "throttled", source->throttled);
        put_hits(text, source, "missed", source->missed);
        put_hits(text, source, "unfinished", source->unfinished);
        put_hits(text, source, "excluded", source->excluded);
    }
    openmetrics_put_family(
        text, "ntprof_agent_interval", "gauge", "",
        "Interval of a source in effect: 100 ns of processor time for time, else "
        "events.");
    for (size_t i = 0; i < metrics->source_count; i++) {
        buffer_append_text(text, "ntprof_agent_interval{");
        openmetrics_put_label(text, "source", metrics->sources[i].name);
        buffer_print(text, "} %" PRIu64 "\n", metrics->sources[i].granted);
    }
}

static void
put_spool(struct buffer *text, const struct metrics *metrics)
{
    const struct spool_statistics *const spool = &metrics->spool;

    put_counter(text, "ntprof_agent_spool_written", "Windows written to the spool.",
                spool->written);
    put_counter(text, "ntprof_agent_spool_dropped",
                "Windows dropped by the limits of the spool, or for want of room.",
                spool->dropped);
    put_counter(text, "ntprof_agent_spool_failures",
                "Failed attempts to write a window.", spool->failures);
    put_gauge(text, "ntprof_agent_spool_windows", "", "Windows in the spool that wait.",
              (double)spool->files);
    put_gauge(text, "ntprof_agent_spool_refused", "",
              "Windows in the spool that the store refused for good.",
              (double)spool->refused);
    put_gauge(text, "ntprof_agent_spool_size_bytes", "bytes",
              "Size of the windows in the spool.", (double)spool->bytes);
    put_gauge(text, "ntprof_agent_spool_waiting", "",
              "Windows in memory that could not be written.", (double)spool->waiting);
    if (metrics->has_store) {
        put_counter(text, "ntprof_agent_store_windows",
                    "Windows that the store accepted.", metrics->sent);
        put_counter(text, "ntprof_agent_store_failures",
                    "Failed attempts to add a window.", metrics->send_failures);
        put_counter(text, "ntprof_agent_store_busy",
                    "Failed attempts because another program had locked the store; the "
                    "windows wait in the spool.",
                    metrics->busy);
        put_counter(text, "ntprof_agent_store_refused",
                    "Windows that the store refused for good, and that were set aside.",
                    metrics->refused);
        put_counter(text, "ntprof_agent_spool_unreadable",
                    "Files of the spool that were no profile, and were removed.",
                    metrics->unreadable);
    }
}

void
metrics_print(const struct metrics *metrics, struct buffer *text)
{
    put_sources(text, metrics);
    put_counter(text, "ntprof_agent_windows", "Windows that ended.", metrics->windows);
    put_counter(text, "ntprof_agent_clock_jumps",
                "Windows that ended because the clock was set.", metrics->clock_jumps);
    put_counter(text, "ntprof_agent_suspensions",
                "Windows in which the machine was suspended.", metrics->suspensions);
    put_counter(text, "ntprof_agent_dropped_hits",
                "Hits dropped because memory ran out.", metrics->lost_hits);
    openmetrics_put_family(
        text, "ntprof_agent_cpu_seconds", "counter", "seconds",
        "Processor time of the agent and of the processes that read symbols.");
    buffer_print(text, "ntprof_agent_cpu_seconds_total %.6f\n",
                 (double)metrics->cpu_ns / 1e9);
    put_gauge(text, "ntprof_agent_max_cpu_ratio", "ratio", "Value of --max-cpu.",
              metrics->max_cpu_share);
    put_gauge(text, "ntprof_agent_memory_bytes", "bytes",
              "Private memory of the agent and of the processes that read symbols.",
              (double)metrics->memory_bytes);
    put_gauge(text, "ntprof_agent_processes", "", "Processes that are watched.",
              (double)metrics->processes);
    put_gauge(text, "ntprof_agent_window_seconds", "seconds", "Length of a window.",
              (double)metrics->window_ns / 1e9);
    put_gauge(text, "ntprof_agent_last_window_timestamp_seconds", "seconds",
              "End of the last window, or the start of the agent.",
              (double)metrics->last_real_ns / 1e9);
    put_spool(text, metrics);
    buffer_append_text(text, "# EOF\n");
}

void
metrics_add_sources(struct metrics *metrics, const struct profile *look)
{
    for (size_t i = 0; i < look->source_count && i < metrics->source_count; i++) {
        struct profile_source *const sum = &metrics->sources[i];

        (void)profile_source_add(sum, &look->sources[i]);
        sum->granted = look->sources[i].granted;
    }
}
