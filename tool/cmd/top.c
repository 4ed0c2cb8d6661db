/* SPDX-License-Identifier: MIT */
/*
 * cmd/top.c - ntprof top: a live screen of what runs.
 *
 * It is a recording without a file: its counters are read at each look. The order matters: what can fail is
 * tried before the terminal is taken, so that errors are lines on standard error; the process that gives the
 * terminal back is there before any thread is; the terminal is as it was before the end is told.
 */
#include "cmd/top.h"
#include "cmd/cmd.h"
#include "cmd/ending.h"
#include "tui/display.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const struct record_syntax syntax = {
    .command = "top", .pids = true, .duration = true, .machine = true, .screen = true};

/* The first look comes soon, so that there is something to see. */
static const uint64_t first_look_ns = 250000000;

/* What the loop waits for. */
struct waiting {
    struct ending ending;
    int signal_fd; /* of SIGWINCH and SIGTSTP */
    struct tui_keeper keeper;
    struct tui_display *display;
    uint64_t next_ns; /* the next look */
    uint64_t end_ns;  /* --duration */
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

/* After ending_prepare, whose mask it adds to: ending_release takes both back. */
static int
prepare_signals(struct waiting *waiting)
{
    struct sigaction stop;
    sigset_t awaited;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGWINCH);
    sigaction(SIGTSTP, NULL, &stop);
    if (stop.sa_handler != SIG_IGN) { /* blocked, it would come through all the same */
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

/* Ctrl-Z, and back again at fg. Without a shell that could say so, it does not stop. */
static void
stop(struct top *top, struct waiting *waiting)
{
    sigset_t one;

    tui_display_leave(waiting->display);
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* here it stops */
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

static void
look(struct top *top, struct waiting *waiting)
{
    top_look(top);
    top_list_again(top);
    waiting->next_ns = top_now_ns() + top->options->delay_ns;
}

/* False: quit. */
static bool
act(struct top *top, struct waiting *waiting, enum tui_action action)
{
    switch (action) {
    case TUI_QUIT:
        return false;
    case TUI_LIST:
        tui_screen_say(&top->screen, "reading names, source and instructions ...");
        tui_display_draw(waiting->display, &top->screen);
        tui_screen_say(&top->screen, "%s", "");
        top_list(top);
        break;
    case TUI_WRITE:
        top_write(top);
        break;
    case TUI_LOOK:
        look(top, waiting);
        break;
    case TUI_NOTHING:
    default:
        break;
    }
    return true;
}

/* All keys that are there. False: quit, by a key or since the terminal is gone. */
static bool
take_keys(struct top *top, struct waiting *waiting)
{
    int bytes = 0;
    uint32_t key;

    /* A terminal that can be read and has nothing is one that ended. */
    if (ioctl(STDIN_FILENO, FIONREAD, &bytes) < 0 || bytes == 0) {
        return false;
    }
    while (tui_display_key(waiting->display, &key)) {
        if (!act(top, waiting, tui_screen_key(&top->screen, key))) {
            return false;
        }
    }
    top_tell_status(top);
    return true;
}

/* The time until which to wait; UINT64_MAX: any. */
static uint64_t
until_ns(const struct top *top, const struct waiting *waiting)
{
    if (top->screen.paused || waiting->end_ns < waiting->next_ns) {
        return waiting->end_ns;
    }
    return waiting->next_ns;
}

/* Waits for a key, a signal or the next look, and does what is due. False: it is over. */
static bool
turn(struct top *top, struct waiting *waiting)
{
    struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = waiting->ending.signal_fd, .events = POLLIN},
                             {.fd = waiting->signal_fd, .events = POLLIN}};
    const uint64_t until = until_ns(top, waiting);
    const uint64_t now = top_now_ns();
    const uint64_t left = until > now ? until - now : 0;
    const struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000),
                                     .tv_nsec = (long)(left % 1000000000)};

    if (ppoll(polls, sizeof(polls) / sizeof(polls[0]),
              until == UINT64_MAX ? NULL : &timeout, NULL) < 0) {
        return errno == EINTR;
    }
    if (polls[1].revents != 0 || (polls[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        return false;
    }
    if (polls[2].revents != 0) {
        take_signals(top, waiting);
    }
    if (polls[0].revents != 0 && !take_keys(top, waiting)) {
        return false;
    }
    if (!top->screen.paused && top_now_ns() >= waiting->next_ns) {
        look(top, waiting);
    }
    return top_now_ns() < waiting->end_ns;
}

static void
name_hal(struct top *top)
{
    ntprof_session_info info = {.size = sizeof(info)};

    ntprof_session_get_info(top->recording.session, &info);
    strncpy(top->hal, info.backend, sizeof(top->hal) - 1);
}

/* The screen, from the first to the last look. */
static bool
top_show(struct top *top, struct waiting *waiting)
{
    const uint64_t delay = top->options->delay_ns;
    const uint64_t duration = top->options->duration_ns;
    const uint64_t now = top_now_ns();
    char why[300];

    waiting->display = tui_display_open(&waiting->keeper, why, sizeof(why));
    if (waiting->display == NULL) {
        cmd_fail("top", "%s", why);
        return false;
    }
    name_hal(top);
    top_begin_looks(top);
    waiting->next_ns = now + (delay < first_look_ns ? delay : first_look_ns);
    waiting->end_ns =
        duration == 0 || duration > UINT64_MAX - now ? UINT64_MAX : now + duration;
    resize(top, waiting);
    do {
        top_tell_status(top);
        tui_display_draw(waiting->display, &top->screen);
    } while (turn(top, waiting));
    tui_display_close(waiting->display);
    waiting->display = NULL;
    return true;
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
    ending_release(&waiting->ending);
    return shown && recording_conclude(&top->recording);
}

static bool
top_prepare(struct waiting *waiting)
{
    int failure = tui_keeper_start(&waiting->keeper, STDOUT_FILENO);

    if (failure != 0) {
        cmd_fail("top", "cannot keep the terminal's settings: %s", strerror(-failure));
        return false;
    }
    failure = ending_prepare(&waiting->ending);
    if (failure == 0) {
        failure = prepare_signals(waiting);
    }
    if (failure != 0) {
        cmd_fail("top", "cannot wait for signals: %s", strerror(-failure));
    }
    return failure == 0;
}

static bool
top(const struct record_options *options, char **words)
{
    struct top *const state = calloc(1, sizeof(*state));
    struct waiting waiting = {.ending = {.signal_fd = -1}, .signal_fd = -1};
    bool done;

    if (state == NULL) {
        cmd_fail("top", "out of memory");
        return false;
    }
    waiting.keeper.fd = -1;
    state->options = options;
    state->recording.options = options;
    tui_screen_init(&state->screen, options->sources, options->source_count);
    done = top_prepare(&waiting) && top_record(state, &waiting, words);
    top_list_finish(state);
    tui_screen_finish(&state->screen);
    recording_close(&state->recording);
    targets_close(&state->targets);
    tui_keeper_stop(&waiting.keeper);
    if (waiting.signal_fd >= 0) {
        close(waiting.signal_fd);
    }
    ending_release(&waiting.ending);
    free(state);
    return done;
}

/* Nobody waits for servers at a screen. */
static bool
top_begin(struct record_options *options, char **words)
{
    unsetenv("DEBUGINFOD_URLS");
    options->quiet = true;
    return check_terminal() && top(options, words);
}

int
cmd_top(int argc, char **argv)
{
    struct record_options options;
    int exit_status = CMD_FAILED;

    if (record_options_parse(&options, &syntax, argc, argv)) {
        if (options.help ? cmd_print_help("top") : top_begin(&options, argv)) {
            exit_status = CMD_OK;
        }
    }
    record_options_finish(&options);
    return exit_status;
}
