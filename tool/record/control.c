/* SPDX-License-Identifier: MIT */
/*
 * control.c - lines of a FIFO, SIGUSR2, --delay and --duration.
 *
 * The FIFO is opened for writing too, so that it does not end with its writers.
 */
#include "record/control.h"
#include "base/clock.h"
#include "base/file_place.h"
#include "base/message.h"
#include "base/number.h"
#include "base/text.h"
#include "record/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The longest time between two adaptations of the interval: each may measure, which
 * takes processor time. */
static const uint64_t adapt_most_ns = UINT64_C(10) * CLOCK_SECOND_NS;

/* Eventfd of the handler of SIGUSR2, of which a process has one; -1: none. */
static volatile sig_atomic_t signal_fd = -1;

/* --- signals and FIFO --- */

/* Handle SIGUSR2: make signal_fd readable. */
static void
handle_snapshot_signal(int number)
{
    const int kept = errno;
    const uint64_t one = 1;
    const ssize_t written = write((int)signal_fd, &one, sizeof(one));

    (void)number;
    (void)written; /* if it is full, a snapshot was asked for already */
    errno = kept;
}

void
control_prepare(void)
{
    const struct sigaction action = {.sa_handler = handle_snapshot_signal,
                                     .sa_flags = SA_RESTART};
    struct sigaction old;

    if (sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (signal_fd >= 0) {
        sigaction(SIGUSR2, &action, NULL);
    }
}

/* Print why the file of --control is refused. Returns false. */
static bool
fail_fifo(const struct recording *recording, const char *why)
{
    return cmd_refuse_value(recording->command, "--control",
                            recording->options->control, why);
}

/* Return whether the status is that of a FIFO which only this user, or root, can
 * replace. Otherwise prints an error line. */
static bool
check_fifo(const struct recording *recording, const struct stat *status)
{
    if (!S_ISFIFO(status->st_mode)) {
        return fail_fifo(recording, "is not a FIFO; make one: mkfifo FILE");
    }
    return status->st_uid == geteuid() ||
           fail_fifo(recording, "is another user's FIFO, who could read the lines and "
                                "replace it; make one: mkfifo FILE");
}

/* Open the FIFO of --control. Returns false after an error line. */
static bool
open_fifo(struct control *control)
{
    struct recording *const recording = control->recording;
    const char *const path = recording->options->control;
    struct stat status;
    char why[300] = "";

    /* Opening a device may do something, so its kind is checked before and after. */
    if (stat(path, &status) != 0) {
        return fail_fifo(recording, errno == ENOENT
                                        ? "there is no such file; make one: mkfifo FILE"
                                        : strerror(errno));
    }
    if (!check_fifo(recording, &status)) {
        return false;
    }
    control->fifo_fd =
        file_place_open(path, O_RDWR | O_NONBLOCK | O_NOCTTY, why, sizeof(why));
    if (control->fifo_fd < 0 || fstat(control->fifo_fd, &status) != 0) {
        return fail_fifo(recording, why[0] != '\0' ? why : strerror(errno));
    }
    return check_fifo(recording, &status);
}

/* Have poll_fd report when fd is readable; fd < 0 is none. Returns false with errno. */
static bool
watch_fd(const struct control *control, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd < 0 || epoll_ctl(control->poll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool
control_open(struct control *control, struct recording *recording)
{
    *control = (struct control){
        .recording = recording, .poll_fd = -1, .fifo_fd = -1, .adapt_fd = -1};
    control->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    control->adapt_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (recording->options->control != NULL && !open_fifo(control)) {
        return false;
    }
    control->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (control->timer_fd < 0 || control->adapt_fd < 0 || control->poll_fd < 0 ||
        !watch_fd(control, control->timer_fd) ||
        !watch_fd(control, control->adapt_fd) || !watch_fd(control, control->fifo_fd) ||
        !watch_fd(control, (int)signal_fd)) {
        cmd_fail(recording->command, "cannot wait for signals and times: %s",
                 strerror(errno));
        return false;
    }
    return true;
}

/* --- answers and timers --- */

/* Have a timer expire once after a time; 0 stops it. */
static void
set_timer(int timer_fd, uint64_t after_ns)
{
    const struct itimerspec timer = {.it_value = clock_timespec(after_ns)};

    /* It cannot fail with a time that is valid and a descriptor that is a timer. */
    (void)timerfd_settime(timer_fd, 0, &timer, NULL);
}

/* Print an answer, unless the user wants none. */
__attribute__((format(printf, 2, 3))) static void
answer(const struct control *control, const char *format, ...)
{
    va_list arguments;
    char text[512];

    if (control->recording->options->quiet) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    cmd_fail(control->recording->command, "%s", text);
}

/* Print why something cannot be done, unless the recording has ended: the keeper's
 * thread goes on a while after that. */
static void
refuse(const struct control *control, const char *what, const char *why)
{
    if (!collector_has_ended(control->recording->collector)) {
        cmd_fail(control->recording->command, "%s: %s", what, why);
    }
}

/* Return for how many seconds hits were counted so far. */
static double
counted_s(const struct control *control)
{
    return (double)control_counted_ns(control, clock_now_ns()) / 1e9;
}

/* --- commands --- */

/* Note that hits count from now on, stop the timer of --delay if it runs and, the first
 * time, start that of --duration, which then runs until its end. */
static void
start_counting(struct control *control)
{
    control->counting = true;
    control->since_ns = clock_now_ns();
    if (control->delayed) {
        control->delayed = false;
        set_timer(control->timer_fd, 0);
    }
    if (control->limited) {
        control->limited = false;
        set_timer(control->timer_fd, control->recording->options->duration_ns);
    }
}

/* Resume counting. Returns false if memory runs out or the recording has ended. */
static bool
resume(struct control *control)
{
    if (!collector_resume(control->recording->collector)) {
        return false;
    }
    start_counting(control);
    return true;
}

/* Pause counting. Returns false if memory runs out, counting goes on then, or the
 * recording has ended. */
static bool
pause_counting(struct control *control)
{
    if (!collector_pause(control->recording->collector)) {
        return false;
    }
    control->counted_ns = control_counted_ns(control, clock_now_ns());
    control->counting = false;
    control->changed = true;
    return true;
}

/* Obey the line start: resume counting. */
static void
obey_start(struct control *control)
{
    if (control->counting) {
        answer(control, "--control: start: counting already");
    } else if (resume(control)) {
        answer(control, "--control: start: counting");
    } else {
        refuse(control, "--control: start", "counting cannot start: memory ran out");
    }
}

/* Obey the line stop: pause counting, or cancel --delay. */
static void
obey_stop(struct control *control)
{
    if (control->delayed) {
        control->delayed = false;
        set_timer(control->timer_fd, 0);
        answer(control, "--control: stop: --delay will not start it");
    } else if (!control->counting) {
        answer(control, "--control: stop: not counting already");
    } else if (pause_counting(control)) {
        answer(control, "--control: stop: counted for %.3f s", counted_s(control));
    } else {
        refuse(control, "--control: stop", "counting goes on: memory ran out");
    }
}

/* Write a snapshot, and answer with its file or why there is none; asker is the
 * command, option or signal that asked for it. */
static void
take_snapshot(struct control *control, const char *asker)
{
    char shown[256];
    struct pprof_error error;

    if (recording_snapshot(control->recording, &error)) {
        answer(control, "%s: profile of %.3f s in %s", asker, counted_s(control),
               text_show(shown, sizeof(shown), control->recording->options->output));
    } else {
        cmd_fail(control->recording->command, "%s: no snapshot: %s", asker, error.text);
    }
}

/* Set the timer for the next adaptation of the interval, unless after_ns is 0. The
 * caller begins with a short time and doubles it each time, up to adapt_most_ns. */
static void
adapt_later(struct control *control, uint64_t after_ns)
{
    if (after_ns != 0) {
        control->adapt_ns = after_ns < adapt_most_ns ? after_ns : adapt_most_ns;
        set_timer(control->adapt_fd, control->adapt_ns);
    }
}

/* Obey the line interval TIME, whose TIME is text. */
static void
obey_interval(struct control *control, const char *text)
{
    const char *const command = control->recording->command;
    uint64_t ns;
    uint64_t granted;
    char what[CONTROL_LINE_MAX + 32];

    if (!number_parse_ns(text, &ns) || ns < 100) {
        cmd_refuse_value(command, "--control: interval", text,
                         "not a time of 100ns or more; such as 1ms or 250us");
    } else if (!recording_set_interval(control->recording, ns / 100, &granted)) {
        /* text is a number, which needs no escapes */
        snprintf(what, sizeof(what), "--control: interval %s", text);
        refuse(control, what, "source time is not recorded, or has no other interval");
    } else {
        adapt_later(control, pace_adapts_ns(&control->recording->pace));
        answer(control, "--control: interval: %.1f us, %.0f Hz", (double)granted / 10,
               1e7 / (double)granted);
    }
}

/* Do what a line of --control asks for. */
static void
obey(struct control *control, const char *line)
{
    static const char interval[] = "interval ";

    if (strcmp(line, "start") == 0) {
        obey_start(control);
    } else if (strcmp(line, "stop") == 0) {
        obey_stop(control);
    } else if (strcmp(line, "snapshot") == 0) {
        take_snapshot(control, "--control: snapshot");
    } else if (strncmp(line, interval, sizeof(interval) - 1) == 0) {
        obey_interval(control, line + sizeof(interval) - 1);
    } else {
        cmd_refuse_value(control->recording->command, "--control:", line,
                         "no such line; there are: start, stop, snapshot and "
                         "interval TIME");
    }
}

/* --- reading commands --- */

/* Obey the line that was read, unless it is empty or has to be ignored. */
static void
end_line(struct control *control)
{
    control->line[control->length] = '\0';
    if (control->overlong) {
        cmd_fail(control->recording->command,
                 "--control: a line of more than %d bytes is ignored",
                 CONTROL_LINE_MAX);
    } else if (strlen(control->line) != control->length) {
        cmd_fail(control->recording->command,
                 "--control: a line with a byte of 0 is ignored");
    } else if (control->length > 0) {
        obey(control, control->line);
    }
    control->length = 0;
    control->overlong = false;
}

/* Read lines of the FIFO and obey them. Reads only one buffer in each call, so that a
 * writer without an end does not keep the thread. */
static void
read_fifo(struct control *control)
{
    char bytes[1024];
    const ssize_t got = read(control->fifo_fd, bytes, sizeof(bytes));

    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] == '\n') {
            end_line(control);
        } else if (control->length == CONTROL_LINE_MAX) {
            control->overlong = true;
        } else {
            control->line[control->length++] = bytes[i];
        }
    }
}

/* Start counting at the end of --delay, or pause it at the end of --duration. */
static void
handle_time(struct control *control)
{
    if (control->delayed) {
        if (!resume(control)) {
            refuse(control, "--delay", "counting cannot start: memory ran out");
        }
        return;
    }
    if (control->counting && !pause_counting(control)) {
        refuse(control, "--duration", "counting goes on: memory ran out");
        return;
    }
    if (recording_can_snapshot(control->recording)) {
        take_snapshot(control, "--duration");
    }
}

void
control_handle(struct control *control)
{
    struct epoll_event event;
    uint64_t count; /* what a timerfd gives, and the eventfd of SIGUSR2 */

    if (epoll_wait(control->poll_fd, &event, 1, 0) != 1) {
        return;
    }
    if (event.data.fd == control->fifo_fd) {
        read_fifo(control);
    } else if (read(event.data.fd, &count, sizeof(count)) == (ssize_t)sizeof(count)) {
        if (event.data.fd == control->timer_fd) {
            handle_time(control);
        } else if (event.data.fd == control->adapt_fd) {
            recording_adapt(control->recording);
            adapt_later(control, control->adapt_ns * 2);
        } else {
            take_snapshot(control, "SIGUSR2");
        }
    }
}

/* --- the recording --- */

int
control_begin(struct control *control)
{
    const struct record_options *const options = control->recording->options;

    adapt_later(control, pace_adapts_ns(&control->recording->pace));
    /* The end of attach and system is --duration itself: ending.h. */
    control->limited = options->syntax->options->program && options->duration_ns != 0;
    if (options->start_delay_ns == 0) {
        start_counting(control);
        return 0;
    }
    if (!collector_pause(control->recording->collector)) {
        return -ENOMEM;
    }
    control->changed = true;
    control->delayed = true;
    set_timer(control->timer_fd, options->start_delay_ns);
    return 0;
}

uint64_t
control_counted_ns(const struct control *control, uint64_t until_ns)
{
    return control->counted_ns + (control->counting && until_ns > control->since_ns
                                      ? until_ns - control->since_ns
                                      : 0);
}

static void
close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void
control_close(struct control *control)
{
    close_fd(&control->poll_fd);
    close_fd(&control->fifo_fd);
    close_fd(&control->timer_fd);
    close_fd(&control->adapt_fd);
}
