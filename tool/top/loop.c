/* SPDX-License-Identifier: MIT */
/* loop.c - hands jobs to the worker, and shows what they bring. */
#include "top/loop.h"
#include "base/clock.h"
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The first look is early, so that the screen is not empty for long. */
static const uint64_t first_look_ns = 250000000;

/* A job that takes longer than this is shown as slow. */
static const uint64_t slow_ns = 500000000;

/* --- signals --- */

/* Block two more signals. Call it after ending_prepare, which saved the mask that
 * ending_release restores. */
static int
prepare_signals(struct top_loop *loop)
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
    loop->signal_fd = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    return loop->signal_fd < 0 ? -errno : 0;
}

bool
top_loop_prepare(struct top_loop *loop)
{
    int failure;

    *loop = (struct top_loop){.ending = {.signal_fd = -1}, .signal_fd = -1};
    loop->worker.done_fd = -1;
    failure = ending_prepare(&loop->ending);

    if (failure == 0) {
        failure = prepare_signals(loop);
    }
    if (failure != 0) {
        cmd_fail("top", "cannot wait for signals: %s", strerror(-failure));
    }
    return failure == 0;
}

void
top_loop_finish(struct top_loop *loop)
{
    if (loop->signal_fd >= 0) {
        close(loop->signal_fd);
    }
    ending_release(&loop->ending);
}

static void
resize(struct top *top, struct top_loop *loop)
{
    unsigned lines;
    unsigned columns;

    tui_display_ask_size(&lines, &columns);
    tui_screen_resize(&top->screen, lines, columns);
    tui_display_resize(loop->display, &top->screen);
}

/* Stop at Ctrl-Z and continue at fg. Without job control the process does not stop. */
static void
stop(struct top *top, struct top_loop *loop)
{
    sigset_t one;

    tui_display_leave(loop->display);
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* the process stops here */
    sigprocmask(SIG_BLOCK, &one, NULL);
    tui_display_enter(loop->display);
    resize(top, loop);
}

static void
take_signals(struct top *top, struct top_loop *loop)
{
    struct signalfd_siginfo taken;

    while (read(loop->signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken)) {
        if (taken.ssi_signo == SIGTSTP) {
            stop(top, loop);
        } else {
            resize(top, loop);
        }
    }
}

/* --- keys --- */

/* Want a job for the row at the cursor. */
static void
want_row(struct top *top, struct top_loop *loop, enum top_job_kind kind,
         const char *message)
{
    loop->row_wanted = top_row_job(top, kind, &loop->row);
    loop->row_awaited = loop->row_wanted;
    tui_screen_say(&top->screen, "%s", message);
}

/* Act on a key. Returns false to quit. */
static bool
handle_action(struct top *top, struct top_loop *loop, enum tui_action action)
{
    switch (action) {
    case TUI_QUIT:
        /* After Enter, q goes back from the listing, even if it has not arrived yet. */
        if (!loop->row_awaited) {
            return false;
        }
        loop->row_wanted = false;
        loop->row_awaited = false;
        break;
    case TUI_BACK: /* also from callers that have not arrived yet */
        loop->row_wanted = false;
        loop->row_awaited = false;
        break;
    case TUI_LIST:
        want_row(top, loop, TOP_LIST, "reading names, source and instructions ...");
        break;
    case TUI_CALLED:
        want_row(top, loop, TOP_CALLS, "reading callers ...");
        break;
    case TUI_WRITE:
        loop->write_wanted = true;
        tui_screen_say(&top->screen, "writing ...");
        break;
    case TUI_LOOK:
        loop->next_ns = 0;
        break;
    case TUI_NOTHING:
    default:
        break;
    }
    return true;
}

/* Choose the next job, by urgency. Returns false if none is due. */
static bool
choose_job(const struct top *top, struct top_loop *loop, struct top_job *job)
{
    if (loop->row_wanted) {
        loop->row_wanted = false;
        *job = loop->row;
        return true;
    }
    if (loop->write_wanted) {
        loop->write_wanted = false;
        *job = (struct top_job){.kind = TOP_WRITE};
        return true;
    }
    *job = (struct top_job){.kind = TOP_LOOK};
    return loop->next_ns == 0 ||
           (!top->screen.paused && clock_now_ns() >= loop->next_ns);
}

static void
start_job(struct top *top, struct top_loop *loop, const struct top_job *job)
{
    loop->working = top_worker_give(&loop->worker, job);
    loop->kind = job->kind;
    loop->since_ns = clock_now_ns();
    if (job->kind == TOP_LOOK) {
        loop->next_ns = loop->since_ns + top->options->delay_ns;
    }
}

/* Whether the job for a row is the one last requested. */
static bool
is_awaited(const struct top_loop *loop, const struct top_job *job)
{
    return loop->row_awaited && job->kind == loop->row.kind &&
           job->target.rows == loop->row.target.rows &&
           job->target.row == loop->row.target.row;
}

/* Show the result of a job, unless it is for a row and no longer wanted. */
static void
show_job(struct top *top, struct top_loop *loop, struct top_job *job)
{
    if (job->kind == TOP_CALLS || (job->kind == TOP_LIST && !job->again)) {
        if (!is_awaited(loop, job)) {
            top_drop_job(job);
            return;
        }
        loop->row_awaited = false;
        loop->row_wanted = false; /* the same once more */
    }
    top_show_job(top, job);
}

/* Take back a finished job, and give the worker the next one. */
static void
exchange_jobs(struct top *top, struct top_loop *loop)
{
    struct tui_status *const status = &top->screen.status;
    struct top_job job;

    if (top_worker_take(&loop->worker, &job)) {
        const bool looked = job.kind == TOP_LOOK;

        loop->working = false;
        show_job(top, loop, &job);
        /* A look that is overdue is not made up for; 0 asks for one at once. */
        if (loop->next_ns != 0 && loop->next_ns < clock_now_ns()) {
            loop->next_ns = clock_now_ns() + top->options->delay_ns;
        }
        if (looked && !loop->row_wanted && top_list_again_job(top, &job)) {
            start_job(top, loop, &job);
        }
    }
    if (!loop->working && choose_job(top, loop, &job)) {
        start_job(top, loop, &job);
    }
    status->looking = loop->working && loop->kind == TOP_LOOK;
    status->slow = loop->working && clock_now_ns() - loop->since_ns >= slow_ns;
}

/* Handle all pending keys. Returns false to quit, because of a key or because the
 * terminal was closed. */
static bool
take_keys(struct top *top, struct top_loop *loop)
{
    int bytes = 0;
    uint32_t key;

    /* A readable terminal without input was closed. */
    if (ioctl(STDIN_FILENO, FIONREAD, &bytes) < 0 || bytes == 0) {
        return false;
    }
    while (tui_display_key(loop->display, &key)) {
        if (!handle_action(top, loop, tui_screen_key(&top->screen, key))) {
            return false;
        }
    }
    top_update_status(top);
    return true;
}

/* --- the loop --- */

static uint64_t
earlier(uint64_t left_ns, uint64_t right_ns)
{
    return left_ns < right_ns ? left_ns : right_ns;
}

/* Time of the next event; UINT64_MAX: none is due. */
static uint64_t
until_ns(const struct top *top, const struct top_loop *loop)
{
    uint64_t until = loop->end_ns;

    if (loop->working && !top->screen.status.slow) {
        until = earlier(until, loop->since_ns + slow_ns);
    }
    if (!loop->working && !top->screen.paused) {
        until = earlier(until, loop->next_ns);
    }
    return until;
}

/* Wait for a key, a signal, a job or the time, and handle it. Returns false to end. */
static bool
wait_and_handle(struct top *top, struct top_loop *loop)
{
    struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = loop->ending.signal_fd, .events = POLLIN},
                             {.fd = loop->signal_fd, .events = POLLIN},
                             {.fd = loop->worker.done_fd, .events = POLLIN}};
    const uint64_t until = until_ns(top, loop);
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
        take_signals(top, loop); /* may stop top; the shell reads the keys then */
    } else if (polls[0].revents != 0 && !take_keys(top, loop)) {
        return false;
    }
    exchange_jobs(top, loop);
    return clock_now_ns() < loop->end_ns;
}

/* --- until it ends --- */

/* Switch the terminal to the screen, show looks until the end, and restore the
 * terminal. Returns false after an error line. */
static bool
show_screen(struct top *top, struct top_loop *loop)
{
    char why[300];

    loop->display = tui_display_open(why, sizeof(why));
    if (loop->display == NULL) {
        cmd_fail("top", "%s", why);
        return false;
    }
    resize(top, loop);
    do {
        top_update_status(top);
        tui_display_draw(loop->display, &top->screen);
    } while (wait_and_handle(top, loop));
    tui_display_close(loop->display);
    loop->display = NULL;
    return true;
}

bool
top_loop_run(struct top *top, struct top_loop *loop)
{
    const uint64_t duration = top->options->duration_ns;
    const uint64_t now = clock_now_ns();
    const int failure = top_worker_start(&loop->worker, top_run, top);
    struct top_job job;
    bool shown;

    if (failure != 0) {
        cmd_fail("top", "cannot start a thread: %s", strerror(-failure));
        return false;
    }
    top_start_looks(top);
    loop->next_ns = now + earlier(top->options->delay_ns, first_look_ns);
    loop->end_ns =
        duration == 0 || duration > UINT64_MAX - now ? UINT64_MAX : now + duration;
    shown = show_screen(top, loop);
    /* a slow job may be interrupted by a signal now */
    ending_release(&loop->ending);
    top_worker_stop(&loop->worker);
    if (top_worker_take(&loop->worker, &job)) {
        top_drop_job(&job);
    }
    return shown;
}
