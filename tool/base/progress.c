/* SPDX-License-Identifier: MIT */
/*
 * progress.c - the thread that draws the progress line. There is one terminal, so there
 * is one state.
 */
#include "base/progress.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t patience_ns = 1000000000;
static const uint64_t redraw_ns = 200000000;

/* progress - start_ns and running belong to the main thread; lock guards the rest. */
static struct {
    pthread_t thread;
    uint64_t start_ns; /* time of the first report of this command; 0: none yet */
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ending;
    bool changed; /* text differs from what is shown */
    char text[200];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
wait_until(uint64_t time_ns)
{
    const struct timespec until = clock_timespec(time_ns);

    while (!progress.ending && clock_now_ns() < time_ns) {
        pthread_cond_timedwait(&progress.wake, &progress.lock, &until);
    }
}

static void *
progress_main(void *argument)
{
    bool shown = false;

    (void)argument;
    pthread_mutex_lock(&progress.lock);
    wait_until(progress.start_ns + patience_ns);
    while (!progress.ending) {
        if (progress.changed) {
            fprintf(stderr, "\r\033[Kntprof: %s", progress.text);
            fflush(stderr);
            progress.changed = false;
            shown = true;
        }
        wait_until(clock_now_ns() + redraw_ns);
    }
    pthread_mutex_unlock(&progress.lock);
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    return NULL;
}

static void
start(void)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t old;

    if (progress.start_ns == 0) {
        progress.start_ns = clock_now_ns();
    }
    progress.ending = false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    progress.running = pthread_create(&progress.thread, NULL, progress_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool
progress_terminal_is_dumb(void)
{
    const char *const terminal = getenv("TERM");

    return terminal != NULL && strcmp(terminal, "dumb") == 0;
}

void
progress_report(const char *format, ...)
{
    va_list arguments;

    if (!isatty(STDERR_FILENO) || progress_terminal_is_dumb()) {
        return;
    }
    pthread_mutex_lock(&progress.lock);
    va_start(arguments, format);
    vsnprintf(progress.text, sizeof(progress.text), format, arguments);
    va_end(arguments);
    progress.changed = true;
    pthread_mutex_unlock(&progress.lock);
    if (!progress.running) {
        start();
    }
}

void
progress_report_file(const char *doing, const char *path)
{
    char shown[60];

    progress_report("%s %s", doing,
                    strcmp(path, "-") == 0 ? "standard input"
                                           : text_show(shown, sizeof(shown), path));
}

void
progress_end(void)
{
    if (!progress.running) {
        return;
    }
    pthread_mutex_lock(&progress.lock);
    progress.ending = true;
    pthread_cond_signal(&progress.wake);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.wake);
    progress.running = false;
}

void
progress_end_for_output(void)
{
    const int kept = errno;
    struct stat status;

    if (fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) {
        progress_end();
    }
    errno = kept; /* the caller's message may depend on errno */
}
