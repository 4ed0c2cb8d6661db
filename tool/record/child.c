/* SPDX-License-Identifier: MIT */
/*
 * child.c - starts the command of ntprof run and waits for it.
 *
 * The handlers below receive signals from the fork on. The pid that they forward to is
 * set only until the child is reaped, so they never signal an unrelated process.
 */
#include "record/child.h"
#include "record/signals.h"

#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that are ignored until the command execs, so that write() returns an error
 * instead. */
static const int ignored_signals[] = {SIGPIPE, SIGXFSZ};

enum { IGNORED = sizeof(ignored_signals) / sizeof(ignored_signals[0]) };

/* What the command gets back: as it was before child_prepare. */
static struct rlimit saved_files;
static struct sigaction saved_ignored[IGNORED];
static struct sigaction saved_child; /* of SIGCHLD */
static char **saved_environment;

/* Signals with handlers of ours, and the actions and mask from before the fork. */
static sigset_t handled_signals;
static struct sigaction saved_actions[NSIG];
static sigset_t saved_mask;

/* The child that signals are forwarded to; 0: none. */
static volatile sig_atomic_t target_pid;

/* --- before the fork --- */

void
child_prepare(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    size_t count = 0;

    /* A copy of the pointers: setenv changes those of environ. */
    while (environ[count] != NULL) {
        count++;
    }
    saved_environment = calloc(count + 1, sizeof(*saved_environment));
    if (saved_environment != NULL) {
        memcpy(saved_environment, environ, count * sizeof(*saved_environment));
    }
    getrlimit(RLIMIT_NOFILE, &saved_files);
    /* Where SIGCHLD is ignored, the exit status of a child is lost. */
    sigaction(SIGCHLD, &standard, &saved_child);
    for (size_t i = 0; i < IGNORED; i++) {
        sigaction(ignored_signals[i], &ignore, &saved_ignored[i]);
    }
}

char **
child_environment(void)
{
    return saved_environment != NULL ? saved_environment : environ;
}

rlim_t
child_file_limit(void)
{
    return saved_files.rlim_cur;
}

/* --- signals --- */

/*
 * Whether a signal is forwarded. Signals that processes send are; so are those of
 * timers and descriptors, which the program that executed ntprof may have set up. Not
 * forwarded are signals of the terminal, which the command receives too, SIGXCPU, which
 * is about our own time, and our own abort().
 */
static bool
is_for_command(int signal_number, const siginfo_t *info)
{
    if (info->si_code <= 0) {
        return signal_number != SIGABRT || info->si_code != SI_TKILL;
    }
    return signal_number == SIGALRM || signal_number == SIGVTALRM ||
           signal_number == SIGPROF || signal_number == SIGIO ||
           signal_number >= SIGRTMIN;
}

/* Handle a signal by sending it to the child, if it is for the command. */
static void
forward_signal(int signal_number, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    const pid_t pid = (pid_t)target_pid;

    (void)context;
    if (pid > 0 && is_for_command(signal_number, info)) {
        kill(pid, signal_number);
    }
    errno = saved_errno;
}

/* Install forward_signal with these flags for the signals of set that have their
 * default action. Ignored signals, as under nohup, stay ignored here and in the
 * command; SIGUSR2 keeps the handler of control.c. */
static void
handle_set(const sigset_t *set, unsigned flags)
{
    struct sigaction action = {.sa_sigaction = forward_signal,
                               .sa_flags = (int)(SA_SIGINFO | flags)};

    sigfillset(&action.sa_mask);
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(set, i) == 1 && saved_actions[i].sa_handler == SIG_DFL) {
            sigaction(i, &action, NULL);
        }
    }
}

/* Save the actions of all signals that may be forwarded, and handle them. */
static void
handle_signals(void)
{
    sigset_t termination;
    sigset_t others;

    signals_termination(&termination);
    signals_others(&others);
    sigorset(&handled_signals, &termination, &others);
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(&handled_signals, i) == 1) {
            sigaction(i, NULL, &saved_actions[i]);
        }
    }
    handle_set(&handled_signals, SA_RESTART);
}

/* Restore the actions that handle_signals saved. */
static void
restore_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(&handled_signals, i) == 1) {
            sigaction(i, &saved_actions[i], NULL);
        }
    }
}

/*
 * Handle signals while the report is written, after the command's end. The first
 * termination signal of each kind is ignored, except that it interrupts a blocking
 * call, such as waiting for the reader of a FIFO: it may be the one that ended the
 * command and was sent to the whole group. The second one ends ntprof. Other signals
 * are ignored.
 */
static void
handle_signals_once(void)
{
    sigset_t termination;

    signals_termination(&termination);
    handle_set(&termination, SA_RESETHAND);
}

/* --- the child --- */

/* Run in the child: restore what ntprof changed, wait until the command may exec, and
 * exec it. If that fails, write errno to result_fd. Makes only async-signal-safe calls,
 * since other threads of ntprof may have held locks when it forked. */
static void
child_main(int go_fd, int result_fd, char **command,
           const struct child_setting *setting)
{
    char go;
    ssize_t got;
    int failure;

    restore_signals();
    sigaction(SIGCHLD, &saved_child, NULL);
    for (size_t i = 0; i < IGNORED; i++) {
        sigaction(ignored_signals[i], &saved_ignored[i], NULL);
    }
    sigprocmask(SIG_SETMASK, &saved_mask, NULL);
    for (size_t i = 0; i < sizeof(setting->inherited) / sizeof(int); i++) {
        if (setting->inherited[i] >= 0) {
            fcntl(setting->inherited[i], F_SETFD, 0);
        }
    }
    setrlimit(RLIMIT_NOFILE, &saved_files);
    do {
        got = read(go_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1) {
        execvpe(command[0], command,
                setting->environment != NULL ? setting->environment
                                             : child_environment());
        failure = errno;
        got = write(result_fd, &failure, sizeof(failure));
    }
    _exit(127);
}

int
child_fork(struct child *child, char **command, const struct child_setting *setting)
{
    sigset_t all;
    int go[2];
    int result[2];

    if (pipe2(go, O_CLOEXEC) < 0) {
        return -errno;
    }
    if (pipe2(result, O_CLOEXEC) < 0) {
        const int failure = errno;

        close(go[0]);
        close(go[1]);
        return -failure;
    }
    /* Signals stay blocked until the child has restored its handlers and the parent has
     * the pid to forward to. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &saved_mask);
    handle_signals();
    child->pid = fork();
    if (child->pid == 0) {
        close(go[1]);
        close(result[0]);
        child_main(go[0], result[1], command, setting);
    }
    target_pid = child->pid > 0 ? child->pid : 0;
    if (child->pid < 0) {
        const int failure = errno;

        restore_signals();
        sigprocmask(SIG_SETMASK, &saved_mask, NULL);
        close(go[0]);
        close(go[1]);
        close(result[0]);
        close(result[1]);
        return -failure;
    }
    sigprocmask(SIG_SETMASK, &saved_mask, NULL);
    close(go[0]);
    close(result[1]);
    child->go_fd = go[1];
    child->result_fd = result[0];
    return 0;
}

/* --- its exec and end --- */

/* Wait for the end of the child without reaping it, stop forwarding to it, and reap it:
 * its pid is not free to be used again before that. */
static void
child_reap(struct child *child)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    target_pid = 0;
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) {
    }
}

int
child_exec(struct child *child)
{
    int failure;
    ssize_t got;
    /* It fails only if a signal has ended the child: child_wait reports that. */
    const ssize_t written = write(child->go_fd, "", 1);

    (void)written;
    close(child->go_fd);
    child->go_fd = -1;
    do {
        got = read(child->result_fd, &failure, sizeof(failure));
    } while (got < 0 && errno == EINTR);
    close(child->result_fd);
    child->result_fd = -1;
    if (got == (ssize_t)sizeof(failure)) {
        child_reap(child);
        restore_signals();
        return -failure;
    }
    return 0;
}

void
child_abandon(struct child *child)
{
    close(child->go_fd); /* the child reads end of file and exits */
    close(child->result_fd);
    child_reap(child);
    restore_signals();
}

void
child_wait(struct child *child)
{
    child_reap(child);
    handle_signals_once();
}

int
child_pass_on(const struct child *child)
{
    const struct rlimit no_core = {0, 0};
    sigset_t one;
    int signal_number;

    if (WIFEXITED(child->status)) {
        return WEXITSTATUS(child->status);
    }
    signal_number = WTERMSIG(child->status);
    (void)fflush(NULL);
    apart_finish(); /* as at any other end */
    /* The command had its own core dump. A program that core_pattern names gets one of
     * ntprof too, whatever the limit is, unless ntprof is not dumpable. */
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(signal_number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(signal_number);
    return 128 + signal_number; /* reached only if the signal does not end a process */
}
