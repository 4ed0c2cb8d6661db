/* SPDX-License-Identifier: MIT */
/* metrics.c - see metrics.h. */
#include "daemon/metrics.h"

#include <inttypes.h>

static void
put_family(struct buffer *text, const char *name, const char *type, const char *unit,
           const char *help)
{
    buffer_print(text, "# TYPE ntprof_agent_%s %s\n", name, type);
    if (unit[0] != '\0') {
        buffer_print(text, "# UNIT ntprof_agent_%s %s\n", name, unit);
    }
    buffer_print(text, "# HELP ntprof_agent_%s %s\n", name, help);
}

static void
put_counter(struct buffer *text, const char *name, const char *help, uint64_t value)
{
    put_family(text, name, "counter", "", help);
    buffer_print(text, "ntprof_agent_%s_total %" PRIu64 "\n", name, value);
}

/* A gauge in bytes, seconds or ratios, whose name ends with the unit; "": a number. */
static void
put_gauge(struct buffer *text, const char *name, const char *unit, const char *help,
          double value)
{
    put_family(text, name, "gauge", unit, help);
    buffer_print(text, "ntprof_agent_%s %.12g\n", name, value);
}

/* A value of a label: the name of a source, which the user chose. */
static void
put_value(struct buffer *text, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"') {
            buffer_append_byte(text, '\\');
        }
        buffer_append_byte(text, (uint8_t)(*value == '\n' ? ' ' : *value));
    }
}

static void
put_hits(struct buffer *text, const struct profile_source *source, const char *kind,
         uint64_t hits)
{
    buffer_append_text(text, "ntprof_agent_hits_total{source=\"");
    put_value(text, source->name);
    buffer_print(text, "\",kind=\"%s\"} %" PRIu64 "\n", kind, hits);
}

static void
put_sources(struct buffer *text, const struct metrics *metrics)
{
    put_family(
        text, "hits", "counter", "",
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
    put_family(
        text, "interval", "gauge", "",
        "Interval of a source in effect: 100 ns of processor time for time, else "
        "events.");
    for (size_t i = 0; i < metrics->source_count; i++) {
        buffer_append_text(text, "ntprof_agent_interval{source=\"");
        put_value(text, metrics->sources[i].name);
        buffer_print(text, "\"} %" PRIu64 "\n", metrics->sources[i].granted);
    }
}

static void
put_spool(struct buffer *text, const struct metrics *metrics)
{
    const struct spool_statistics *const spool = &metrics->spool;

    put_counter(text, "spool_written", "Windows written to the spool.", spool->written);
    put_counter(text, "spool_dropped",
                "Windows dropped by the limits of the spool, or for want of room.",
                spool->dropped);
    put_counter(text, "spool_failures", "Failed attempts to write a window.",
                spool->failures);
    put_gauge(text, "spool_windows", "", "Windows in the spool that wait.",
              (double)spool->files);
    put_gauge(text, "spool_refused", "",
              "Windows in the spool that the store refused for good.",
              (double)spool->refused);
    put_gauge(text, "spool_size_bytes", "bytes", "Size of the windows in the spool.",
              (double)spool->bytes);
    put_gauge(text, "spool_waiting", "", "Windows in memory that could not be written.",
              (double)spool->waiting);
    if (metrics->has_store) {
        put_counter(text, "store_windows", "Windows that the store accepted.",
                    metrics->sent);
        put_counter(text, "store_failures", "Failed attempts to add a window.",
                    metrics->send_failures);
        put_counter(text, "store_refused",
                    "Windows that the store refused for good, and that were set aside.",
                    metrics->refused);
        put_counter(text, "spool_unreadable",
                    "Files of the spool that were no profile, and were removed.",
                    metrics->unreadable);
    }
}

void
metrics_print(const struct metrics *metrics, struct buffer *text)
{
    put_sources(text, metrics);
    put_counter(text, "windows", "Windows that ended.", metrics->windows);
    put_counter(text, "clock_jumps", "Windows that ended because the clock was set.",
                metrics->clock_jumps);
    put_counter(text, "suspensions", "Windows in which the machine was suspended.",
                metrics->suspensions);
    put_counter(text, "dropped_hits", "Hits dropped because memory ran out.",
                metrics->lost_hits);
    put_family(text, "cpu_seconds", "counter", "seconds",
               "Processor time of the agent and of the processes that read symbols.");
    buffer_print(text, "ntprof_agent_cpu_seconds_total %.6f\n",
                 (double)metrics->cpu_ns / 1e9);
    put_gauge(text, "max_cpu_ratio", "ratio", "Value of --max-cpu.",
              metrics->max_cpu_share);
    put_gauge(text, "memory_bytes", "bytes",
              "Private memory of the agent and of the processes that read symbols.",
              (double)metrics->memory_bytes);
    put_gauge(text, "processes", "", "Processes that are watched.",
              (double)metrics->processes);
    put_gauge(text, "window_seconds", "seconds", "Length of a window.",
              (double)metrics->window_ns / 1e9);
    put_gauge(text, "last_window_timestamp_seconds", "seconds",
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
