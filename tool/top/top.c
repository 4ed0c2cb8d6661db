/* SPDX-License-Identifier: MIT */
/*
 * top/top.c - ntprof top: a live screen.
 *
 * It is a recording whose counters are read at each look. What can fail is tried before
 * the terminal is switched to the screen, so that errors are lines on standard error;
 * and the terminal is restored before the closing statistics are printed.
 */
#include "base/clock.h"
#include "cli/cmd.h"
#include "record/ending.h"
#include "top/topp.h"
#include "view/report/report.h"
#include "view/screen/display.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct record_syntax syntax = {
    .command = "top", .pids = true, .duration = true, .machine = true, .screen = true};

/* The first look is early, so that the screen is not empty for long. */
static const uint64_t first_look_ns = 250000000;

/* A job that takes longer than this is shown as slow. */
static const uint64_t slow_ns = 500000000;

/* waiting - what the main loop waits for. */
struct waiting {
    struct ending ending;
    int signal_fd; /* for SIGWINCH and SIGTSTP */
    struct tui_display *display;
    struct top_worker worker;
    bool working; /* The worker has a job of this kind since that time: */
    enum top_job_kind kind;
    uint64_t since_ns;
    bool list_awaited; /* a listing was requested and has not arrived */
    bool list_wanted;  /* Jobs that wait for the worker: */
    struct top_job list;
    bool write_wanted;
    uint64_t next_ns; /* time of the next look */
    uint64_t end_ns;  /* end of --duration */
};

static bool
check_terminal(void)
{
    char why[300];

    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        cmd_fail("top",
                 "standard %s is no terminal; for a file or a pipe there are: ntprof "
                 "system, ntprof attach -p PID",
                 isatty(STDOUT_FILENO) ? "input" : "output");
        return false;
    }
    if (!tui_display_check(why, sizeof(why))) {
        cmd_fail("top", "%s", why);
        return false;
    }
    return true;
}

/* Block two more signals. Call it after ending_prepare, which saved the mask that
 * ending_release restores. */
static int
prepare_signals(struct waiting *waiting)
{
    struct sigaction stop;
    sigset_t awaited;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGWINCH);
    sigaction(SIGTSTP, NULL, &stop);
    /* an ignored signal must not be blocked: signalfd would receive it */
    if (stop.sa_handler != SIG_IGN) {
        sigaddset(&awaited, SIGTSTP);
    }
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    waiting->signal_fd = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    return waiting->signal_fd < 0 ? -errno : 0;
}

static bool
top_watch_pids(struct top *top)
{
    const struct record_options *const options = top->options;

    for (size_t i = 0; i < options->pid_count; i++) {
        const char *why;
        const NTSTATUS status = recording_watch(&top->recording, options->pids[i],
                                                NTPROF_WATCH_DESCENDANTS, &why);

        if (!NT_SUCCESS(status)) {
            cmd_fail("top", "-p %" PRIu32 ": cannot be profiled: %s", options->pids[i],
                     targets_ended(&top->targets, i)
                         ? "it ended before it could be attached to"
                         : why);
            return false;
        }
    }
    return true;
}

static bool
top_watch(struct top *top)
{
    const char *why;

    if (top->options->pid_count > 0) {
        return top_watch_pids(top);
    }
    if (!NT_SUCCESS(recording_watch_all(&top->recording, &why))) {
        cmd_fail(
            "top",
            "cannot profile all processes: %s; for one of your own: ntprof top -p PID",
            why);
        return false;
    }
    return true;
}

static void
resize(struct top *top, struct waiting *waiting)
{
    unsigned lines;
    unsigned columns;

    tui_display_ask_size(&lines, &columns);
    tui_screen_resize(&top->screen, lines, columns);
    tui_display_resize(waiting->display, &top->screen);
}

/* Stop at Ctrl-Z and continue at fg. Without job control the process does not stop. */
static void
stop(struct top *top, struct waiting *waiting)
{
    sigset_t one;

    tui_display_leave(waiting->display);
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* the process stops here */
    sigprocmask(SIG_BLOCK, &one, NULL);
    tui_display_enter(waiting->display);
    resize(top, waiting);
}

static void
take_signals(struct top *top, struct waiting *waiting)
{
    struct signalfd_siginfo taken;

    while (read(waiting->signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken)) {
        if (taken.ssi_signo == SIGTSTP) {
            stop(top, waiting);
        } else {
            resize(top, waiting);
        }
    }
}

/* Act on a key. Returns false to quit. */
static bool
act(struct top *top, struct waiting *waiting, enum tui_action action)
{
    switch (action) {
    case TUI_QUIT:
        /* After Enter, q goes back from the listing, even if it has not arrived yet. */
        if (!waiting->list_awaited) {
            return false;
        }
        waiting->list_wanted = false;
        waiting->list_awaited = false;
        break;
    case TUI_LIST:
        waiting->list_wanted = top_list_job(top, &waiting->list);
        waiting->list_awaited = waiting->list_wanted;
        tui_screen_say(&top->screen, "reading names, source and instructions ...");
        break;
    case TUI_WRITE:
        waiting->write_wanted = true;
        tui_screen_say(&top->screen, "writing ...");
        break;
    case TUI_LOOK:
        waiting->next_ns = 0;
        break;
    case TUI_NOTHING:
    default:
        break;
    }
    return true;
}

/* Choose the next job, by urgency. Returns false if none is due. */
static bool
choose_job(const struct top *top, struct waiting *waiting, struct top_job *job)
{
    if (waiting->list_wanted) {
        waiting->list_wanted = false;
        *job = waiting->list;
        return true;
    }
    if (waiting->write_wanted) {
        waiting->write_wanted = false;
        *job = (struct top_job){.kind = TOP_WRITE};
        return true;
    }
    *job = (struct top_job){.kind = TOP_LOOK};
    return waiting->next_ns == 0 ||
           (!top->screen.paused && clock_now_ns() >= waiting->next_ns);
}

static void
give(struct top *top, struct waiting *waiting, const struct top_job *job)
{
    waiting->working = top_worker_give(&waiting->worker, job);
    waiting->kind = job->kind;
    waiting->since_ns = clock_now_ns();
    if (job->kind == TOP_LOOK) {
        waiting->next_ns = waiting->since_ns + top->options->delay_ns;
    }
}

/* Whether the job's listing is the one last requested. The table holds each string
 * once, so pointers are compared. */
static bool
is_listed(const struct top *top, const struct top_job *job)
{
    return job->target.name == top->listed.name &&
           job->target.image == top->listed.image &&
           job->target.address == top->listed.address;
}

/* Show the result of a job, unless it is a listing that is no longer wanted. */
static void
show_job(struct top *top, struct waiting *waiting, struct top_job *job)
{
    if (job->kind == TOP_LIST && !job->again) {
        if (!waiting->list_awaited || !is_listed(top, job)) {
            top_drop_job(job);
            return;
        }
        waiting->list_awaited = false;
    }
    top_show_job(top, job);
}

/* Take back a finished job, and give the worker the next one. */
static void
work(struct top *top, struct waiting *waiting)
{
    struct tui_status *const status = &top->screen.status;
    struct top_job job;

    if (top_worker_take(&waiting->worker, &job)) {
        const bool looked = job.kind == TOP_LOOK;

        waiting->working = false;
        show_job(top, waiting, &job);
        if (waiting->next_ns != 0 && waiting->next_ns < clock_now_ns()) {
            waiting->next_ns = clock_now_ns() + top->options->delay_ns;
        }
        if (looked && !waiting->list_wanted && top_list_again_job(top, &job)) {
            give(top, waiting, &job);
        }
    }
    if (!waiting->working && choose_job(top, waiting, &job)) {
        give(top, waiting, &job);
    }
    status->looking = waiting->working && waiting->kind == TOP_LOOK;
    status->slow = waiting->working && clock_now_ns() - waiting->since_ns >= slow_ns;
}

/* Handle all pending keys. Returns false to quit, because of a key or because the
 * terminal was closed. */
static bool
take_keys(struct top *top, struct waiting *waiting)
{
    int bytes = 0;
    uint32_t key;

    /* A readable terminal without input was closed. */
    if (ioctl(STDIN_FILENO, FIONREAD, &bytes) < 0 || bytes == 0) {
        return false;
    }
    while (tui_display_key(waiting->display, &key)) {
        if (!act(top, waiting, tui_screen_key(&top->screen, key))) {
            return false;
        }
    }
    top_update_status(top);
    return true;
}

static uint64_t
earlier(uint64_t left_ns, uint64_t right_ns)
{
    return left_ns < right_ns ? left_ns : right_ns;
}

/* Time of the next event; UINT64_MAX: none is due. */
static uint64_t
until_ns(const struct top *top, const struct waiting *waiting)
{
    uint64_t until = waiting->end_ns;

    if (waiting->working && !top->screen.status.slow) {
        until = earlier(until, waiting->since_ns + slow_ns);
    }
    if (!waiting->working && !top->screen.paused) {
        until = earlier(until, waiting->next_ns);
    }
    return until;
}

/* Wait for a key, a signal, a job or the time, and handle it. Returns false to end. */
static bool
turn(struct top *top, struct waiting *waiting)
{
    struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = waiting->ending.signal_fd, .events = POLLIN},
                             {.fd = waiting->signal_fd, .events = POLLIN},
                             {.fd = waiting->worker.done_fd, .events = POLLIN}};
    const uint64_t until = until_ns(top, waiting);
    const uint64_t now = clock_now_ns();
    const uint64_t left = until > now ? until - now : 0;
    const struct timespec timeout = clock_timespec(left);

    if (ppoll(polls, sizeof(polls) / sizeof(polls[0]),
              until == UINT64_MAX ? NULL : &timeout, NULL) < 0) {
        return errno == EINTR;
    }
    if (polls[1].revents != 0 || (polls[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        return false;
    }
    if (polls[2].revents != 0) {
        take_signals(top, waiting); /* may stop top; the shell reads the keys then */
    } else if (polls[0].revents != 0 && !take_keys(top, waiting)) {
        return false;
    }
    work(top, waiting);
    return clock_now_ns() < waiting->end_ns;
}

static void
name_hal(struct top *top)
{
    ntprof_session_info info = {.size = sizeof(info)};

    if (top->store != NULL) {
        return;
    }
    ntprof_session_get_info(top->recording.session, &info);
    snprintf(top->hal, sizeof(top->hal), "%s%s%s", info.backend,
             info.limits[0] != '\0' ? ": " : "", info.limits);
}

/* Switch the terminal to the screen and restore it at the end. */
static bool
show_screen(struct top *top, struct waiting *waiting)
{
    char why[300];

    waiting->display = tui_display_open(why, sizeof(why));
    if (waiting->display == NULL) {
        cmd_fail("top", "%s", why);
        return false;
    }
    resize(top, waiting);
    do {
        top_update_status(top);
        tui_display_draw(waiting->display, &top->screen);
    } while (turn(top, waiting));
    tui_display_close(waiting->display);
    waiting->display = NULL;
    return true;
}

/* Run the worker and show its looks until the end. */
static bool
top_show(struct top *top, struct waiting *waiting)
{
    const uint64_t duration = top->options->duration_ns;
    const uint64_t now = clock_now_ns();
    const int failure = top_worker_start(&waiting->worker, top_run, top);
    struct top_job job;
    bool shown;

    if (failure != 0) {
        cmd_fail("top", "cannot start a thread: %s", strerror(-failure));
        return false;
    }
    name_hal(top);
    top_start_looks(top);
    waiting->next_ns = now + earlier(top->options->delay_ns, first_look_ns);
    waiting->end_ns =
        duration == 0 || duration > UINT64_MAX - now ? UINT64_MAX : now + duration;
    shown = show_screen(top, waiting);
    /* a slow job may be interrupted by a signal now */
    ending_release(&waiting->ending);
    top_worker_stop(&waiting->worker);
    if (top_worker_take(&waiting->worker, &job)) {
        top_drop_job(&job);
    }
    return shown;
}

static bool
top_record(struct top *top, struct waiting *waiting, char **words)
{
    const struct record_options *const options = top->options;
    bool shown;

    if (!recording_open(&top->recording, options, options->pid_count == 0) ||
        !targets_open(&top->targets, "top", options->pids, options->pid_count) ||
        !top_watch(top) || !recording_begin(&top->recording, words)) {
        return false;
    }
    shown = top_show(top, waiting);
    recording_end(&top->recording);
    return shown && recording_conclude(&top->recording);
}

static bool
top_show_store(struct top *top, struct waiting *waiting)
{
    top->screen.whole = true;
    return top_show(top, waiting) &&
           (top->stored == NULL || report_print_statistics(stderr, top->stored));
}

static bool
top_prepare(struct waiting *waiting)
{
    int failure = ending_prepare(&waiting->ending);

    if (failure == 0) {
        failure = prepare_signals(waiting);
    }
    if (failure != 0) {
        cmd_fail("top", "cannot wait for signals: %s", strerror(-failure));
    }
    return failure == 0;
}

static bool
top(const struct record_options *options, char **words, struct top_store *store)
{
    struct top *const state = calloc(1, sizeof(*state));
    struct waiting waiting = {.ending = {.signal_fd = -1}, .signal_fd = -1};
    bool done;

    if (state == NULL) {
        cmd_fail("top", "out of memory");
        return false;
    }
    waiting.worker.done_fd = -1;
    state->options = options;
    state->store = store;
    state->recording.options = options;
    tui_screen_init(&state->screen, options->sources, options->source_count);
    done =
        top_prepare(&waiting) && (store != NULL ? top_show_store(state, &waiting)
                                                : top_record(state, &waiting, words));
    top_list_finish(state);
    profile_delete(state->stored);
    tui_screen_finish(&state->screen);
    if (store == NULL) {
        recording_close(&state->recording);
    }
    targets_close(&state->targets);
    if (waiting.signal_fd >= 0) {
        close(waiting.signal_fd);
    }
    ending_release(&waiting.ending);
    free(state);
    return done;
}

static bool
top_start(struct record_options *options, char **words)
{
    options->quiet = true;
    return check_terminal() && top(options, words, NULL);
}

static int
cmd_top_store(int argc, char **argv)
{
    struct top_store store;
    int exit_status;

    if (top_store_take(&store, argc, argv, &exit_status)) {
        exit_status = check_terminal() && top_store_begin(&store) &&
                              top(&store.options, NULL, &store)
                          ? CMD_OK
                          : CMD_FAILED;
    }
    top_store_finish(&store);
    return exit_status;
}

int
cmd_top(int argc, char **argv)
{
    struct record_options options;
    int exit_status;

    /* No downloads: a screen must not wait for servers. */
    unsetenv("DEBUGINFOD_URLS");
    if (top_store_is_named(argc, argv)) {
        return cmd_top_store(argc, argv);
    }
    if (record_options_take(&options, &syntax, argc, argv, &exit_status)) {
        exit_status = top_start(&options, argv) ? CMD_OK : CMD_FAILED;
    }
    record_options_finish(&options);
    return exit_status;
}
