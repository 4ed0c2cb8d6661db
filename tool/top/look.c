/* SPDX-License-Identifier: MIT */
/* look.c - shows the counters of ntprof top on its screen, and writes them to a
 * file. */
#include "base/apart.h"
#include "base/clock.h"
#include "base/text.h"
#include "top/topp.h"
#include "view/report/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
top_start_looks(struct top *top)
{
    top->looked_ns = clock_now_ns();
    top->spent_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + apart_cpu_ns();
}

/* Set the time since the last look, and what ntprof took in it; the next one begins. */
static void
measure_interval(struct top *top, struct top_job *job)
{
    const uint64_t now = clock_now_ns();
    const uint64_t spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + apart_cpu_ns();

    if (now > top->looked_ns) {
        job->interval_s = (double)(now - top->looked_ns) / 1e9;
        job->cost = (double)(spent - top->spent_ns) / (double)(now - top->looked_ns);
    }
    top->looked_ns = now;
    top->spent_ns = spent;
}

struct profile *
top_read_whole(struct top *top, struct pprof_error *error)
{
    snprintf(error->text, sizeof(error->text), "out of memory for the profile");
    return top->store != NULL ? top_store_read(top->store, error)
                              : recording_repeat(&top->recording);
}

static void
run_look(struct top *top, struct top_job *job)
{
    struct collector_gaps gaps;
    struct pprof_error error = {.text = "out of memory; it is tried again"};

    measure_interval(top, job);
    job->profile = top->store != NULL
                       ? top_store_read(top->store, &error)
                       : collector_recent(top->recording.collector, &gaps);
    if (job->profile == NULL) {
        snprintf(job->message, sizeof(job->message), "%.390s", error.text);
    }
}

static void
run_write(struct top *top, struct top_job *job)
{
    struct pprof_error error;
    struct profile *const profile = top_read_whole(top, &error);
    char shown[200];

    text_show(shown, sizeof(shown), top->options->output);
    if (profile != NULL &&
        (top->store != NULL ? top_store_write(top->store, profile, &error)
                            : recording_write(&top->recording, profile, &error))) {
        snprintf(job->message, sizeof(job->message), "wrote %s", shown);
    } else {
        snprintf(job->message, sizeof(job->message), "-o: %.390s", error.text);
    }
    profile_delete(profile);
}

void
top_run(void *context, struct top_job *job)
{
    struct top *const top = context;
    const uint64_t start_ns = clock_now_ns();

    if (top->store == NULL) {
        ntprof_session_use(top->recording.session);
    }
    switch (job->kind) {
    case TOP_LIST:
        top_run_list(top, job);
        break;
    case TOP_CALLS:
        top_run_calls(top, job);
        break;
    case TOP_WRITE:
        run_write(top, job);
        break;
    case TOP_LOOK:
    default:
        run_look(top, job);
        break;
    }
    job->taken_ns = clock_now_ns() - start_ns;
}

static void
keep_statistics(struct top *top, const struct profile *recent)
{
    for (size_t i = 0; i < recent->source_count; i++) {
        const struct profile_source *const source = &recent->sources[i];

        top->statistics[i] = (struct top_statistics){
            .taken = source->taken,
            .outside = source->outside,
            .missing = source->lost + source->throttled + source->missed,
        };
    }
}

static size_t
count_ended(const struct top *top)
{
    size_t ended = 0;

    for (size_t i = 0; i < top->targets.count; i++) {
        ended += targets_ended(&top->targets, i);
    }
    return ended;
}

/* Describe the processes that are profiled. */
static void
describe_targets(const struct top *top, char *text, size_t size)
{
    const struct record_options *const options = top->options;
    const size_t ended = count_ended(top);
    char shown[100];

    if (options->cgroup != NULL) {
        snprintf(text, size, "cgroup %s",
                 text_show(shown, sizeof(shown), options->cgroup));
    } else if (options->pid_count == 0) {
        snprintf(text, size, "all processes");
    } else if (top->targets.count == 1) {
        snprintf(text, size, "process %" PRIu32 "%s", top->targets.items[0].pid,
                 ended > 0 ? ", which has ended" : "");
    } else {
        snprintf(text, size, "%zu processes%s", top->targets.count,
                 ended == 0                    ? ""
                 : ended == top->targets.count ? ", which have ended"
                                               : ", some of which have ended");
    }
}

/* Describe what the selection of the store had at the last look. */
static void
describe_stored(const struct top *top, struct tui_status *status)
{
    const struct top_statistics *const statistics =
        &top->statistics[top->screen.source];
    const char *const gaps = top->stored != NULL ? top->stored->gaps : "";
    const char *const what = top->stored != NULL ? top->stored->command : "not read";
    char url[300];
    char shown[400];

    snprintf(status->what, sizeof(status->what), "%s: %s",
             text_show(url, sizeof(url), top->store->url),
             text_show(shown, sizeof(shown), what));
    snprintf(status->statistics, sizeof(status->statistics),
             "%" PRIu64 " hit%s; outside %" PRIu64 ", missing %" PRIu64 "%s",
             statistics->taken, statistics->taken == 1 ? "" : "s", statistics->outside,
             statistics->missing, gaps[0] != '\0' ? "; there are gaps" : "");
}

void
top_update_status(struct top *top)
{
    struct tui_status *const status = &top->screen.status;
    const size_t source = top->screen.source;
    const struct top_statistics *const statistics = &top->statistics[source];
    const struct tui_table *const table = &top->screen.tables[TUI_IMAGES];
    const uint64_t recent =
        table->looks > 0 ? table->recent_sums[source] + table->idle_recent[source] : 0;
    char targets[160];

    if (top->store != NULL) {
        describe_stored(top, status);
        return;
    }
    describe_targets(top, targets, sizeof(targets));
    snprintf(status->what, sizeof(status->what), "%s by %s", targets, top->hal);
    snprintf(status->statistics, sizeof(status->statistics),
             "%" PRIu64 " hit%s, %.0f a second; outside %" PRIu64 ", missing %" PRIu64,
             statistics->taken, statistics->taken == 1 ? "" : "s",
             status->interval_s > 0 ? (double)recent / status->interval_s : 0,
             statistics->outside, statistics->missing);
}

/* While there are few hits: say once which children work instead. */
static void
say_children(struct top *top)
{
    char text[1000];

    if (top->children_said || top->targets.count == 0 ||
        top->statistics[0].taken >= REPORT_FEW_HITS) {
        return;
    }
    targets_describe_children(&top->targets, text, sizeof(text));
    if (text[0] != '\0') {
        top->children_said = true;
        tui_screen_say(&top->screen, "%s", text);
    }
}

static void
show_look(struct top *top, struct top_job *job)
{
    struct tui_status *const status = &top->screen.status;

    if (job->profile == NULL) {
        return;
    }
    status->interval_s = job->interval_s;
    status->cost = job->cost;
    keep_statistics(top, job->profile);
    say_children(top);
    if (!tui_screen_take(&top->screen, job->profile)) {
        tui_screen_say(&top->screen, "out of memory: some rows are missing");
    }
    if (top->store != NULL) {
        profile_delete(top->stored);
        top->stored = job->profile;
        job->profile = NULL;
    }
}

void
top_show_job(struct top *top, struct top_job *job)
{
    if (job->message[0] != '\0') {
        tui_screen_say(&top->screen, "%s", job->message);
    }
    if (job->kind == TOP_LOOK) {
        show_look(top, job);
    } else if (job->kind == TOP_LIST) {
        top_show_list(top, job);
    } else if (job->kind == TOP_CALLS) {
        top_show_calls(top, job);
    }
    top_drop_job(job);
    top_update_status(top);
}

void
top_drop_job(struct top_job *job)
{
    top_delete_listing(job->listing);
    profile_delete(job->profile);
    job->listing = NULL;
    job->profile = NULL;
}
