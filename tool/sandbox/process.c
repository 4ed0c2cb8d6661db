/* SPDX-License-Identifier: MIT */
/* process.c - the template, and the processes that are forked from it. */
#include "sandbox/process.h"

#include "base/clock.h"
#include "sandbox/rights.h"
#include "sandbox/stage.h"

#include <errno.h>
#include <fcntl.h>
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

/* How often one that does not answer is looked at, and how often its clock may stand
 * still: a machine that is busy for so long is none that anybody waits for. */
#ifndef NTPROF_TEST_HOSTILE
enum { LOOK_MS = 1000, QUIET_LOOKS = 30 };
#else
enum { LOOK_MS = 100, QUIET_LOOKS = 10 };
#endif

/* request - to the template, with a socket. The template is a fork of the command, so
 * that a function is where it is there. */
struct request {
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

/* --- in the template --- */

static _Noreturn void
reader_main(const struct request *request, int fd)
{
    const uint64_t seconds = request->limits.cpu_ns / CLOCK_SECOND_NS + 2;
    struct wire wire;

    if (prctl(PR_SET_NAME, "ntprof-reader") != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || dup2(fd, SANDBOX_SOCKET) < 0 ||
        close(fd) != 0 ||
        sandbox_drop_rights(request->limits.memory_bytes, seconds) != 0) {
        _exit(EXIT_RIGHTS);
    }
    wire_init(&wire, SANDBOX_SOCKET, NULL, NULL);
    sandbox_stage("start", &wire);
    request->work(&wire);
    _exit(EXIT_SUCCESS);
}

/* A child of the command, not of the template. */
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

/* Closes all but the socket. */
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

/* What a library finds out once, by calls that readers have no right to: qsort asks how
 * much memory there is before it sorts more than a kilobyte. */
static void
warm_up(void)
{
    uint64_t numbers[256] = {0};

    qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]),
          compare_numbers);
}

static _Noreturn void
template_main(int fd)
{
    struct wire wire;

    if (prctl(PR_SET_NAME, "ntprof-template") != 0 ||
        sandbox_drop_capabilities() != 0 || keep_socket(fd) != 0) {
        _exit(EXIT_RIGHTS);
    }
    warm_up();
    wire_init(&wire, SANDBOX_SOCKET, NULL, NULL);
    for (;;) {
        struct request request;
        size_t size;
        const struct request *const got = wire_get_bytes(&wire, sizeof(request), &size);
        const int reader = wire_take_fd(&wire);

        if (got == NULL || size != sizeof(request) || reader < 0) {
            _exit(EXIT_SUCCESS);
        }
        request = *got;
        wire_put(&wire, (uint64_t)fork_reader(&request, reader));
        close(reader);
        wire_send(&wire, -1);
    }
}

/* --- in the command --- */

/* A descriptor above those of streams, which may be closed here; fd is closed. */
static int
move_up(int fd)
{
    const int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd >= 0) {
        close(fd);
    }
    return moved;
}

/* A socket with two ends. 0 or negative errno. */
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

/* Kill the template: it has nothing to lose, and nothing may keep a command waiting. */
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

/* Wait for the template, which has little to do. */
static bool
wait_for_template(void *context, int fd, short events)
{
    struct pollfd place = {.fd = fd, .events = events};
    int ready;

    (void)context;
    do {
        ready = poll(&place, 1, LOOK_MS * QUIET_LOOKS);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* The pid of a new process that has an end of a socket, or negative errno. */
static int64_t
ask_template(const struct request *request, int fd)
{
    struct wire wire;
    int64_t pid;

    pthread_mutex_lock(&template_lock);
    pid = prepare_locked();
    if (pid == 0) {
        wire_init(&wire, template_fd, wait_for_template, NULL);
        wire_put_bytes(&wire, request, sizeof(*request));
        wire_send(&wire, fd);
        pid = (int64_t)wire_get(&wire);
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

/* Looks at a process that does not answer. False: it has had its time. */
static bool
look_at(struct sandbox_process *process)
{
    const uint64_t now_ns = sandbox_cpu_ns(process);

    process->quiet = now_ns == process->seen_ns ? process->quiet + 1 : 0;
    process->seen_ns = now_ns;
    process->late = now_ns > process->cpu_end_ns;
    process->stuck = !process->patient && process->quiet >= QUIET_LOOKS;
    return !process->late && !process->stuck;
}

static bool
wait_for(void *context, int fd, short events)
{
    struct sandbox_process *const process = context;
    struct pollfd place = {.fd = fd, .events = events};
    int ready;

    do {
        ready = poll(&place, 1, LOOK_MS);
    } while ((ready == 0 && look_at(process)) || (ready < 0 && errno == EINTR));
    process->quiet = 0;
    return ready > 0;
}

int
sandbox_start(struct sandbox_process *process, sandbox_work *work,
              const struct sandbox_limits *limits)
{
    const struct request request = {work, *limits};
    int64_t pid;
    int ends[2];
    int error;

    *process = (struct sandbox_process){.cpu_end_ns = limits->cpu_ns};
    error = make_ends(ends);
    if (error != 0) {
        return error;
    }
    pid = ask_template(&request, ends[1]);
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
    return 0;
}

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
    while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR) {
    }
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
