/* SPDX-License-Identifier: MIT */
/* process.c - the template, and the processes that are forked from it. */
#include "sandbox/process.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "base/process_stat.h"
#include "sandbox/rights.h"
#include "sandbox/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of a process that could not give up its rights. */
enum { EXIT_RIGHTS = 70 };

/* How often a process that does not answer is checked, and at how many checks in a row
 * its clock may stand still, or it may also wait as for a file system, before it counts
 * as stuck. */
#ifndef NTPROF_TEST_HOSTILE
enum { CHECK_MS = 1000, QUIET_CHECKS = 30, WAITING_CHECKS = 5 };
#else
enum { CHECK_MS = 100, QUIET_CHECKS = 10, WAITING_CHECKS = 10 };
#endif

/* How long all processes together may still answer after sandbox_hurry. */
static const uint64_t hurry_ns = 5 * CLOCK_SECOND_NS;

/* How long sandbox_stop waits for the end of a process that it killed. */
static const uint64_t end_ns = CLOCK_SECOND_NS;

/* request - what the command sends to the template, with a socket. Pointers to
 * functions are valid there, since the template is a fork of the command. */
struct request {
    const struct module *module;
    sandbox_work *work;
    struct sandbox_limits limits;
};

/* The command's end of the template's socket; -1: there is none. */
static pthread_mutex_t template_lock = PTHREAD_MUTEX_INITIALIZER;
static int template_fd = -1;
static pid_t template_pid;
static bool template_lost;

/* The processes that run, and the processor time of those that ended. */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sandbox_process *running;
static uint64_t ended_cpu_ns;

/* The processes that were killed and did not end in time; they are reaped later. More
 * than LEFT_MAX at a time stay zombies until the command ends. */
enum { LEFT_MAX = 256 };
static pid_t left_pids[LEFT_MAX];
static size_t left_count;

/* Readable when the command has to end; or -1. */
static int hurry_fd = -1;

/* Until when processes may answer once the command ends; 0: it does not end yet. */
static _Atomic uint64_t hurry_until_ns;

/* --- in the template --- */

/* The main function of a process that a request asks for: give up all rights, then do
 * the work. fd is its end of the socket to the command. */
static _Noreturn void
reader_main(const struct request *request, int fd)
{
    /* The kernel's limit is in whole seconds, and above the one at which the command
     * kills the process. */
    const uint64_t seconds = request->limits.cpu_ns / CLOCK_SECOND_NS + 2;
    struct wire wire;

    if (prctl(PR_SET_NAME, "ntprof-reader") != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || dup2(fd, SANDBOX_SOCKET) < 0 ||
        close(fd) != 0 ||
        sandbox_drop_rights(request->limits.memory_bytes, seconds) != 0) {
        _exit(EXIT_RIGHTS);
    }
    wire_init(&wire, SANDBOX_SOCKET, /* wait */ NULL, /* context */ NULL);
    sandbox_stage("start", &wire);
    request->work(&wire);
    _exit(EXIT_SUCCESS);
}

/* Fork a reader, as a child of the command, not of the template (CLONE_PARENT, which
 * fork does not have). Returns its pid or a negative errno. */
static int64_t
fork_reader(const struct request *request, int fd)
{
    const long pid = syscall(SYS_clone, (unsigned long)(CLONE_PARENT | SIGCHLD), NULL,
                             NULL, NULL, NULL);

    if (pid == 0) {
        reader_main(request, fd);
    }
    return pid < 0 ? -errno : pid;
}

/* Move the socket to SANDBOX_SOCKET and close all other descriptors. Returns 0 or a
 * negative errno. */
static int
keep_socket(int fd)
{
    if (dup2(fd, SANDBOX_SOCKET) < 0) {
        return -errno;
    }
    for (int i = 0; i < SANDBOX_SOCKET; i++) {
        if (i != sandbox_errors_fd) {
            (void)close(i);
        }
    }
#ifdef SYS_close_range
    if (syscall(SYS_close_range, SANDBOX_SOCKET + 1, ~0u, 0) == 0) {
        return 0;
    }
#endif
    for (long i = sysconf(_SC_OPEN_MAX) - 1; i > SANDBOX_SOCKET; i--) {
        (void)close((int)i);
    }
    return 0;
}

static int
compare_numbers(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Call functions of libraries that make a forbidden system call only the first time, so
 * that they make it now: qsort asks for the amount of memory before it sorts more than
 * a kilobyte. */
static void
warm_up(void)
{
    uint64_t numbers[256] = {0};

    qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]),
          compare_numbers);
}

/* Overwrite the arguments and the environment where the kernel put them, also strings
 * that were removed from the environment since: they may hold secrets. */
static void
wipe_start(void)
{
    FILE *const file = fopen("/proc/self/stat", "re");
    unsigned long at[4] = {0};
    char line[2048];
    size_t size = 0;
    const char *bounds;

    if (file != NULL) {
        size = fread(line, 1, sizeof(line) - 1, file);
        fclose(file);
    }
    line[size] = '\0';
    bounds = process_stat_field(line, PROCESS_STAT_BOUNDS);
    if (bounds != NULL &&
        sscanf(bounds, "%lu %lu %lu %lu", &at[0], &at[1], &at[2], &at[3]) == 4) {
        for (int i = 0; i < 4; i += 2) {
            if (at[i] != 0 && at[i] < at[i + 1]) {
                explicit_bzero((char *)at[i], at[i + 1] - at[i]);
            }
        }
    }
}

/* Overwrite the environment, which may hold secrets: the strings that it has now, which
 * setenv may have put anywhere, and those that the kernel put on the stack. */
static void
wipe_environment(void)
{
    static char *none[1];

    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        explicit_bzero(*variable, strlen(*variable));
    }
    environ = none;
    wipe_start();
}

/* Fork the reader that is asked for, and send its pid to the command; or a negative
 * errno and why its module cannot be loaded. reader is the socket that it gets. */
static void
answer(struct wire *wire, const struct request *request, int reader)
{
    char why[MODULE_WHY_BYTES] = "";
    int64_t result = 0;

    if (request->module != NULL &&
        module_load(request->module, why, sizeof(why)) == NULL) {
        result = -errno;
    }
    wire_put(wire, (uint64_t)(result == 0 ? fork_reader(request, reader) : result));
    wire_put_text(wire, why);
    wire_send(wire, -1);
}

/* The main function of the template: answer requests until the command closes its end
 * of the socket. */
static _Noreturn void
template_main(int fd)
{
    struct wire wire;

    command_log_stop();
    wipe_environment();
    if (prctl(PR_SET_NAME, "ntprof-template") != 0 || sandbox_keep_to_itself() != 0 ||
        keep_socket(fd) != 0) {
        _exit(EXIT_RIGHTS);
    }
    warm_up();
    wire_init(&wire, SANDBOX_SOCKET, /* wait */ NULL, /* context */ NULL);
    for (;;) {
        struct request request;
        size_t size;
        const struct request *const got = wire_get_bytes(&wire, sizeof(request), &size);
        const int reader = wire_take_fd(&wire);

        if (got == NULL || size != sizeof(request) || reader < 0) {
            _exit(EXIT_SUCCESS);
        }
        request = *got;
        answer(&wire, &request, reader);
        close(reader);
    }
}

/* --- in the command --- */

/* Move a descriptor above those of the standard streams, since the command may have
 * been started without some of them. fd is closed; it may be -1. Returns the new
 * descriptor, or -1. */
static int
move_up(int fd)
{
    const int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd >= 0) {
        close(fd);
    }
    return moved;
}

/* Make a socket with two ends. Returns 0 or a negative errno. */
static int
make_ends(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -errno;
    }
    ends[0] = move_up(ends[0]);
    ends[1] = move_up(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) {
            close(ends[i]);
        }
    }
    return -EMFILE;
}

/* Fork the template, unless there is one. template_lock is held. Returns 0 or a
 * negative errno. */
static int
prepare_locked(void)
{
    int ends[2];
    int error;

    if (template_fd >= 0) {
        return 0;
    }
    if (template_lost) {
        return -ECHILD; /* by now there may be threads, whose locks a fork would copy */
    }
    error = make_ends(ends);
    if (error != 0) {
        return error;
    }
    template_pid = fork();
    if (template_pid == 0) {
        template_main(ends[1]);
    }
    error = template_pid < 0 ? -errno : 0;
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return error;
    }
    template_fd = ends[0];
    return 0;
}

int
sandbox_prepare(void)
{
    int error;

    pthread_mutex_lock(&template_lock);
    error = prepare_locked();
    pthread_mutex_unlock(&template_lock);
    return error;
}

/* Kill the template rather than ask it to end, so that the command never waits. */
static void
end_template(void)
{
    close(template_fd);
    template_fd = -1;
    (void)kill(template_pid, SIGKILL);
    while (waitpid(template_pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void
sandbox_finish(void)
{
    if (template_fd >= 0) {
        end_template();
    }
}

/* A wire_wait: wait for the template, for a limited time since it has little to do. */
static bool
wait_for_template(void *context, int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    int ready;

    (void)context;
    do {
        ready = poll(&polled, 1, CHECK_MS * QUIET_CHECKS);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Ask the template for a process that gets fd, an end of a socket. Returns its pid or a
 * negative errno; process->module_why then says if its module cannot be loaded. */
static int64_t
ask_template(struct sandbox_process *process, const struct request *request, int fd)
{
    struct wire wire;
    int64_t pid;

    pthread_mutex_lock(&template_lock);
    pid = prepare_locked();
    if (pid == 0) {
        wire_init(&wire, template_fd, wait_for_template, /* context */ NULL);
        wire_put_bytes(&wire, request, sizeof(*request));
        wire_send(&wire, fd);
        pid = (int64_t)wire_get(&wire);
        snprintf(process->module_why, sizeof(process->module_why), "%s",
                 wire_get_text(&wire, MODULE_WHY_BYTES));
        if (wire.failed) {
            pid = -ECHILD;
            template_lost = true;
            end_template();
        }
        wire_finish(&wire);
    }
    pthread_mutex_unlock(&template_lock);
    return pid;
}

uint64_t
sandbox_cpu_ns(const struct sandbox_process *process)
{
    return process->pid > 0 ? clock_ns(process->clock) : process->seen_ns;
}

uint64_t
sandbox_memory_bytes(const struct sandbox_process *process)
{
    unsigned long resident = 0;
    unsigned long shared = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)process->pid);
    file = process->pid > 0 ? fopen(path, "re") : NULL;
    if (file != NULL) {
        (void)!fscanf(file, "%*u %lu %lu", &resident, &shared);
        fclose(file);
    }
    return resident < shared
               ? 0
               : (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether a process is running or ready to run, or its state is not known; otherwise it
 * waits, as for a file system. */
static bool
is_runnable(const struct sandbox_process *process)
{
    char path[64];
    char line[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)process->pid);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fgets(line, sizeof(line), file);
        fclose(file);
    }
    state = process_stat_field(line, PROCESS_STAT_STATE);
    return state == NULL || state[0] == 'R';
}

/* Check a process that has not answered yet, and set late or stuck. Returns false if it
 * is one of them. */
static bool
check_process(struct sandbox_process *process)
{
    const uint64_t now_ns = sandbox_cpu_ns(process);

    process->quiet = now_ns == process->seen_ns ? process->quiet + 1 : 0;
    process->seen_ns = now_ns;
    process->late = now_ns > process->cpu_end_ns;
    process->waits =
        process->quiet == 0 || is_runnable(process) ? 0 : process->waits + 1;
    process->stuck = !process->patient && (process->quiet >= QUIET_CHECKS ||
                                           process->waits >= WAITING_CHECKS);
    return !process->late && !process->stuck;
}

void
sandbox_hurry(void)
{
    if (hurry_until_ns == 0) {
        hurry_until_ns = clock_now_ns() + hurry_ns;
    }
}

void
sandbox_hurry_on(int fd)
{
    hurry_fd = fd;
    hurry_until_ns = 0;
}

/* Whether sandbox_hurry was called and the time for answers is over. */
static bool
is_over(void)
{
    return hurry_until_ns != 0 && clock_now_ns() >= hurry_until_ns;
}

/* A wire_wait: wait until a process's socket is ready. Returns false if the process is
 * late or stuck, or the time after sandbox_hurry is over. */
static bool
wait_for(void *context, int fd, short events)
{
    struct sandbox_process *const process = context;
    struct pollfd polled[2] = {{.fd = fd, .events = events}, {.events = POLLIN}};
    int ready;

    do {
        polled[1].fd = hurry_until_ns == 0 ? hurry_fd : -1;
        ready = poll(polled, 2, CHECK_MS);
        if (ready > 0 && polled[1].revents != 0) {
            sandbox_hurry();
        }
        if (ready > 0 && polled[0].revents == 0) {
            ready = 0;
            continue; /* only hurry_fd was ready: to the condition below, and wait on */
        }
        process->stuck = ready == 0 && is_over();
    } while ((ready == 0 && !process->stuck && check_process(process)) ||
             (ready < 0 && errno == EINTR));
    process->quiet = 0;
    process->waits = 0;
    return ready > 0;
}

int
sandbox_start(struct sandbox_process *process, const struct module *module,
              sandbox_work *work, const struct sandbox_limits *limits)
{
    const struct request request = {module, work, *limits};
    int64_t pid;
    int ends[2];
    int error;

    *process = (struct sandbox_process){.cpu_end_ns = limits->cpu_ns};
    error = is_over() ? -ECANCELED : make_ends(ends);
    if (error != 0) {
        return error;
    }
    pid = ask_template(process, &request, ends[1]);
    close(ends[1]);
    if (pid <= 0 || clock_getcpuclockid((pid_t)pid, &process->clock) != 0) {
        close(ends[0]);
        return pid < 0 ? (int)pid : -ECHILD;
    }
    process->pid = (pid_t)pid;
    pthread_mutex_lock(&running_lock);
    process->next = running;
    running = process;
    pthread_mutex_unlock(&running_lock);
    wire_init(&process->wire, ends[0], wait_for, process);
    COMMAND_LOG("reader %ld: started, for at most %" PRIu64 " bytes of memory",
                (long)pid, limits->memory_bytes);
    return 0;
}

/* Remove a process from the list of those that run, and add up its processor time. */
static void
forget_running(struct sandbox_process *process)
{
    struct sandbox_process **next = &running;

    pthread_mutex_lock(&running_lock);
    while (*next != process) {
        next = &(*next)->next;
    }
    *next = process->next;
    ended_cpu_ns += sandbox_cpu_ns(process);
    pthread_mutex_unlock(&running_lock);
}

void
sandbox_get_usage(struct sandbox_usage *usage)
{
    clockid_t clock;

    pthread_mutex_lock(&running_lock);
    *usage = (struct sandbox_usage){.cpu_ns = ended_cpu_ns};
    for (const struct sandbox_process *process = running; process != NULL;
         process = process->next) {
        usage->cpu_ns += sandbox_cpu_ns(process);
        usage->memory_bytes += sandbox_memory_bytes(process);
    }
    pthread_mutex_unlock(&running_lock);
    pthread_mutex_lock(&template_lock);
    if (template_fd >= 0 && clock_getcpuclockid(template_pid, &clock) == 0) {
        usage->cpu_ns += clock_ns(clock);
    }
    pthread_mutex_unlock(&template_lock);
}

/* Reap those of left_pids that have ended. running_lock is held. */
static void
reap_left(void)
{
    for (size_t i = left_count; i > 0; i--) {
        if (waitpid(left_pids[i - 1], NULL, WNOHANG) != 0) {
            left_pids[i - 1] = left_pids[--left_count];
        }
    }
}

/* Wait for the end of a process that was killed: for a second, as one that waits for a
 * file system ends only when that answers. */
static void
wait_for_end(struct sandbox_process *process)
{
    const uint64_t until_ns = clock_now_ns() + end_ns;
    struct timespec pause = {.tv_nsec = 50000};
    pid_t ended;

    while ((ended = waitpid(process->pid, &process->status, WNOHANG)) == 0 &&
           clock_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 10000000 ? pause.tv_nsec * 2 : 10000000;
    }
    pthread_mutex_lock(&running_lock);
    reap_left();
    if (ended == 0 && left_count < LEFT_MAX) {
        left_pids[left_count++] = process->pid;
    }
    process->stuck |= ended == 0;
    pthread_mutex_unlock(&running_lock);
}

void
sandbox_stop(struct sandbox_process *process)
{
    if (process->pid <= 0) {
        return;
    }
    forget_running(process);
    process->seen_ns = sandbox_cpu_ns(process);
    close(process->wire.fd);
    wire_finish(&process->wire);
    (void)kill(process->pid, SIGKILL);
    wait_for_end(process);
    COMMAND_LOG("reader %ld: ended after %" PRIu64 " ms of processor time",
                (long)process->pid, process->seen_ns / 1000000);
    process->pid = 0;
}

const char *
sandbox_why(const struct sandbox_process *process)
{
    if (process->late ||
        (WIFSIGNALED(process->status) && WTERMSIG(process->status) == SIGXCPU)) {
        return "it takes too much processor time";
    }
    if (process->stuck) {
        return "it does not answer";
    }
    if (WIFEXITED(process->status) && WEXITSTATUS(process->status) == EXIT_RIGHTS) {
        return "it could not give up its rights";
    }
    if (WIFEXITED(process->status) && WEXITSTATUS(process->status) == ENOMEM) {
        return "it needs more memory than it may take";
    }
    if (!WIFSIGNALED(process->status) || WTERMSIG(process->status) == SIGKILL) {
        return "what it sends makes no sense, or it was killed";
    }
    return WTERMSIG(process->status) == SIGSYS ? "it tried what it has no right to"
                                               : strsignal(WTERMSIG(process->status));
}
