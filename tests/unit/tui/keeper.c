/* SPDX-License-Identifier: MIT */
/* keeper.c - the process that gives a terminal back when its owner is killed. */
#include "tui/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char undo[] = "main screen";

enum { WAIT_MS = 20000 };

struct terminal {
    int master;
    int slave;
    struct termios saved;
};

static struct terminal
open_terminal(void)
{
    struct terminal terminal;

    assert_int_equal(openpty(&terminal.master, &terminal.slave, NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(terminal.slave, &terminal.saved), 0);
    return terminal;
}

static void
close_terminal(const struct terminal *terminal)
{
    close(terminal->master);
    close(terminal->slave);
}

static struct termios
without_lines(const struct termios *saved)
{
    struct termios changed = *saved;

    changed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    return changed;
}

static void
enter(const struct tui_keeper *keeper, const struct terminal *terminal)
{
    const struct termios changed = without_lines(&terminal->saved);

    tui_keeper_enter(keeper, &changed, undo, sizeof(undo) - 1);
    tcsetattr(terminal->slave, TCSANOW, &changed);
}

/* Runs owner in a child, whose keeper becomes ours to wait for; until both have ended. */
static void
run_owner(const struct terminal *terminal,
          void (*owner)(const struct terminal *terminal, struct tui_keeper *keeper))
{
    pid_t child;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tui_keeper keeper;

        if (tui_keeper_start(&keeper, terminal->slave) == 0) {
            owner(terminal, &keeper);
        }
        _exit(1);
    }
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
    }
    assert_int_equal(errno, ECHILD);
}

/* What was written to the terminal. */
static const char *
written(const struct terminal *terminal)
{
    static char text[100];
    struct pollfd ready = {.fd = terminal->master, .events = POLLIN};
    ssize_t got = 0;

    if (poll(&ready, 1, 0) == 1) {
        got = read(terminal->master, text, sizeof(text) - 1);
    }
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static void
assert_restored(const struct terminal *terminal)
{
    struct termios now;

    assert_int_equal(tcgetattr(terminal->slave, &now), 0);
    assert_int_equal(now.c_lflag, terminal->saved.c_lflag);
    assert_int_equal(now.c_iflag, terminal->saved.c_iflag);
}

static void
killed_owner(const struct terminal *terminal, struct tui_keeper *keeper)
{
    enter(keeper, terminal);
    raise(SIGKILL);
}

/* The keeper is in the same process group at first: its group is killed all the same. */
static void
killed_group(const struct terminal *terminal, struct tui_keeper *keeper)
{
    char name[64] = "";

    setpgid(0, 0);
    enter(keeper, terminal);
    while (strcmp(name, "ntprof-terminal\n") != 0) {
        char path[64];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/comm", keeper->pid);
        file = fopen(path, "re");
        if (file == NULL || fgets(name, sizeof(name), file) == NULL) {
            _exit(1);
        }
        fclose(file);
    }
    kill(0, SIGKILL);
}

static void
owner_that_left(const struct terminal *terminal, struct tui_keeper *keeper)
{
    enter(keeper, terminal);
    tui_keeper_leave(keeper);
    raise(SIGKILL);
}

static void
owner_whose_shell_was_first(const struct terminal *terminal, struct tui_keeper *keeper)
{
    struct termios others = without_lines(&terminal->saved);

    enter(keeper, terminal);
    others.c_lflag &= ~(tcflag_t)ISIG;
    tcsetattr(terminal->slave, TCSANOW, &others);
    raise(SIGKILL);
}

static void
owner_that_ends_well(const struct terminal *terminal, struct tui_keeper *keeper)
{
    enter(keeper, terminal);
    tcsetattr(terminal->slave, TCSANOW, &terminal->saved);
    tui_keeper_leave(keeper);
    tui_keeper_stop(keeper);
    _exit(kill(keeper->pid, 0) < 0 && keeper->fd == -1 ? 0 : 1);
}

static void
keeper__owner_killed__settings_and_screen_are_back(void **state)
{
    const struct terminal terminal = open_terminal();

    (void)state;
    run_owner(&terminal, killed_owner);
    assert_restored(&terminal);
    assert_string_equal(written(&terminal), undo);
    close_terminal(&terminal);
}

static void
keeper__process_group_killed__settings_and_screen_are_back(void **state)
{
    const struct terminal terminal = open_terminal();

    (void)state;
    run_owner(&terminal, killed_group);
    assert_restored(&terminal);
    assert_string_equal(written(&terminal), undo);
    close_terminal(&terminal);
}

static void
keeper__owner_left_before__nothing_is_touched(void **state)
{
    const struct terminal terminal = open_terminal();
    struct termios now;

    (void)state;
    run_owner(&terminal, owner_that_left);
    assert_string_equal(written(&terminal), "");
    assert_int_equal(tcgetattr(terminal.slave, &now), 0);
    assert_int_equal(now.c_lflag & ICANON, 0);
    close_terminal(&terminal);
}

static void
keeper__settings_changed_by_others__stay_theirs(void **state)
{
    const struct terminal terminal = open_terminal();
    struct termios now;

    (void)state;
    run_owner(&terminal, owner_whose_shell_was_first);
    assert_string_equal(written(&terminal), undo);
    assert_int_equal(tcgetattr(terminal.slave, &now), 0);
    assert_int_equal(now.c_lflag & (ICANON | ISIG), 0);
    close_terminal(&terminal);
}

static void
keeper__stopped__ends_and_writes_nothing(void **state)
{
    const struct terminal terminal = open_terminal();

    (void)state;
    run_owner(&terminal, owner_that_ends_well);
    assert_restored(&terminal);
    assert_string_equal(written(&terminal), "");
    close_terminal(&terminal);
}

static void
keeper_start__no_terminal__refused_and_none_left(void **state)
{
    const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct tui_keeper keeper;

    (void)state;
    assert_int_equal(tui_keeper_start(&keeper, null_fd), -ENOTTY);
    assert_int_equal(keeper.fd, -1);
    tui_keeper_stop(&keeper);
    assert_int_equal(tui_keeper_start(&keeper, -1), -EBADF);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    close(null_fd);
}

static void
keeper__killed__owner_is_not_disturbed(void **state)
{
    const struct terminal terminal = open_terminal();
    struct tui_keeper keeper;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(tui_keeper_start(&keeper, terminal.slave), 0);
    kill(keeper.pid, SIGKILL);
    assert_int_equal(waitpid(keeper.pid, NULL, 0), keeper.pid);
    enter(&keeper, &terminal);
    tui_keeper_leave(&keeper);
    tui_keeper_stop(&keeper);
    assert_int_equal(keeper.fd, -1);
    close_terminal(&terminal);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeper__owner_killed__settings_and_screen_are_back),
        cmocka_unit_test(keeper__process_group_killed__settings_and_screen_are_back),
        cmocka_unit_test(keeper__owner_left_before__nothing_is_touched),
        cmocka_unit_test(keeper__settings_changed_by_others__stay_theirs),
        cmocka_unit_test(keeper__stopped__ends_and_writes_nothing),
        cmocka_unit_test(keeper_start__no_terminal__refused_and_none_left),
        cmocka_unit_test(keeper__killed__owner_is_not_disturbed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
