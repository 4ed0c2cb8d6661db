/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the process that gives the terminal back.
 *
 * It is a session of its own: signals to our process group and of the terminal do not reach it, and a
 * terminal that is not its own may be set by it from the background.
 */
#include "tui/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* At most PIPE_BUF, so that it is there whole or not at all. */
struct message {
    bool entered;
    struct termios ours;
    uint32_t size;
    char bytes[TUI_KEEPER_BYTES_MAX];
};

_Static_assert(sizeof(struct message) <= 4096, "a message is written at once");

static bool
same_settings(const struct termios *left, const struct termios *right)
{
    return left->c_iflag == right->c_iflag && left->c_oflag == right->c_oflag &&
           left->c_cflag == right->c_cflag && left->c_lflag == right->c_lflag &&
           memcmp(left->c_cc, right->c_cc, sizeof(left->c_cc)) == 0;
}

static void
restore(int terminal_fd, const struct termios *saved, const struct message *message)
{
    struct termios now;
    size_t written = 0;

    /* First the settings: a shell that comes meanwhile saves what it finds. */
    if (tcgetattr(terminal_fd, &now) == 0 && same_settings(&now, &message->ours)) {
        tcsetattr(terminal_fd, TCSANOW, saved);
    }
    while (written < message->size) {
        const ssize_t more =
            write(terminal_fd, message->bytes + written, message->size - written);

        if (more <= 0) {
            return; /* the terminal is gone too */
        }
        written += (size_t)more;
    }
}

static void
keeper_main(int terminal_fd, int pipe_fd, const struct termios *saved)
{
    struct message message = {0};
    struct message next;

    for (;;) {
        const ssize_t got = read(pipe_fd, &next, sizeof(next));

        if (got == (ssize_t)sizeof(next)) {
            message = next;
        } else if (got >= 0 || errno != EINTR) {
            break;
        }
    }
    if (message.entered) {
        restore(terminal_fd, saved, &message);
    }
    _exit(0);
}

/* In the child: keeps two descriptors, as 0 and 1, and no handler, signal or name of ours. */
static void
keeper_begin(int terminal_fd, int pipe_fd, const struct termios *saved)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigset_t none;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "ntprof-terminal");
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &by_default, NULL);
    }
    sigaction(SIGHUP, &ignored, NULL);
    sigaction(SIGPIPE, &ignored, NULL);
    sigaction(SIGTTOU, &ignored, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(terminal_fd, 0) < 0 || dup2(pipe_fd, 1) < 0) {
        _exit(1);
    }
    close_range(2, ~0u, 0);
    keeper_main(0, 1, saved);
}

/* Neither may be 0 or 1 where they are moved to, or one would take the other's place. */
static int
duplicate(int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    return copy < 0 ? -errno : copy;
}

int
tui_keeper_start(struct tui_keeper *keeper, int terminal_fd)
{
    struct termios saved;
    int ends[2];
    int failure = 0;
    const int copy = duplicate(terminal_fd);
    int reading;

    *keeper = (struct tui_keeper){.fd = -1};
    if (copy < 0) {
        return copy;
    }
    if (tcgetattr(terminal_fd, &saved) < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        failure = -errno;
        goto close_copy;
    }
    reading = duplicate(ends[0]);
    if (reading < 0) {
        failure = reading;
        goto close_pipe;
    }
    keeper->pid = fork();
    if (keeper->pid == 0) {
        keeper_begin(copy, reading, &saved);
    }
    close(reading);
    if (keeper->pid < 0) {
        failure = -errno;
        goto close_pipe;
    }
    close(ends[0]);
    close(copy);
    keeper->fd = ends[1];
    return 0;

close_pipe:
    close(ends[0]);
    close(ends[1]);
close_copy:
    close(copy);
    return failure;
}

static void
tell(const struct tui_keeper *keeper, const struct message *message)
{
    /* A keeper that was killed can be told nothing. */
    if (keeper->fd >= 0 && write(keeper->fd, message, sizeof(*message)) < 0) {
        return;
    }
}

void
tui_keeper_enter(const struct tui_keeper *keeper, const struct termios *ours,
                 const char *bytes, size_t size)
{
    struct message message;

    memset(&message, 0, sizeof(message)); /* with what is between its members */
    message.entered = true;
    message.ours = *ours;
    message.size =
        (uint32_t)(size < TUI_KEEPER_BYTES_MAX ? size : TUI_KEEPER_BYTES_MAX);
    memcpy(message.bytes, bytes, message.size);
    tell(keeper, &message);
}

void
tui_keeper_leave(const struct tui_keeper *keeper)
{
    struct message message;

    memset(&message, 0, sizeof(message));
    tell(keeper, &message);
}

void
tui_keeper_stop(struct tui_keeper *keeper)
{
    if (keeper->fd < 0) {
        return;
    }
    close(keeper->fd);
    keeper->fd = -1;
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
