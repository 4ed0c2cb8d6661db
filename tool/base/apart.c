/* SPDX-License-Identifier: MIT */
/*
 * apart.c - makes the processes, waits for them and adds up their processor time.
 *
 * Each apart_start starts a thread of the command, the keeper, that makes the process
 * and waits for its end. The process uses the keeper's thread-local storage: so the
 * keeper makes no call of the C library that uses that storage (errno, malloc)
 * meanwhile. posix_spawn does the same.
 * A keeper waits in a call that any fatal signal ends, and the process is killed with
 * it.
 */
#include "base/apart.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Address and thread sanitizers follow threads, but not such processes. gcc defines
 * macros for them, clang has features. */
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#if SANITIZED
enum { OWN_PROCESS = 0 };
#else
enum { OWN_PROCESS = 1 };
#endif

/* Stack of a process: more than SQLite and libcurl need. Pages that are not used take
 * no memory. */
enum { STACK_BYTES = 1024 * 1024 };

struct apart {
    struct apart *next; /* of those that run */
    pthread_t keeper;
    void (*run)(void *);
    void *argument;
    char name[16];
    bool detached; /* with running_lock: the last of keeper and apart_leave frees it */
    bool ended;    /* with running_lock: the keeper uses it no more */
    pid_t command;
    pid_t pid; /* of the process; 0: there is none yet */
};

/* The processes that run, and the processor time of those that exited. */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static struct apart *running;
static uint64_t ended_cpu_ns;

/* Return the processor time of a process, also of one that ended and was not waited
 * for. */
static uint64_t
read_cpu_ns(pid_t pid)
{
    clockid_t clock;

    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

static void
call_run(struct apart *apart)
{
    (void)pthread_setname_np(pthread_self(), apart->name);
    apart->run(apart->argument);
}

/* Whether run is called in a process, and not on the keeper's thread: under Valgrind it
 * is not, which follows such a process as if it were a thread. Valgrind is recognised
 * by the libraries that it preloads. */
static bool
has_own_process(void)
{
    const char *const preloaded = getenv("LD_PRELOAD");

    return OWN_PROCESS &&
           (preloaded == NULL || strstr(preloaded, "/vgpreload_") == NULL);
}

/* The main function of the process: call run. The process ends with its keeper, so with
 * the command. Returns its exit status. */
static int
process_main(void *argument)
{
    struct apart *const apart = argument;

    /* The signal is sent when the keeper ends. If it has ended before this call, the
     * whole command has. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != apart->command) {
        return 1;
    }
    (void)prctl(PR_SET_NAME, apart->name);
    apart->run(apart->argument);
    return 0;
}

/* Wait for the end of the process, and leave a zombie, whose processor time can be
 * read. If a signal killed the process, send the same signal to the command: it would
 * have ended the command, had run been called on a thread. */
static void
wait_for(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    long result;

    do {
        result =
            syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT | __WALL, NULL);
    } while (result != 0 && info.si_pid == 0 && errno == EINTR);
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        (void)kill(getpid(), info.si_status);
        abort(); /* if the command ignores that signal */
    }
}

/* Call run in a process of its own, and wait for the end of that. Returns false if no
 * process can be made. */
static bool
run_process(struct apart *apart)
{
    char *const stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pid_t pid = -1;

    if (stack == MAP_FAILED) {
        return false;
    }
    /* The lowest page is a guard: run faults if it needs more stack, and does not write
     * into other memory. */
    if (mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE) != 0) {
        munmap(stack, STACK_BYTES);
        return false;
    }
    apart->command = getpid();
    /* The flags name no signal for the end of the process, so that waits for children
     * elsewhere in the command, which have no __WALL, do not reap it. */
    pid = clone(process_main, stack + STACK_BYTES,
                CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM, apart);
    if (pid >= 0) {
        __atomic_store_n(&apart->pid, pid, __ATOMIC_RELAXED);
        wait_for(pid);
    }
    munmap(stack, STACK_BYTES);
    return pid >= 0;
}

/* Remove a handle from the list, add the processor time of its exited process to the
 * sum, and reap that process. */
static void
remove_running(struct apart *apart)
{
    struct apart **next = &running;

    pthread_mutex_lock(&running_lock);
    while (*next != apart) {
        next = &(*next)->next;
    }
    *next = apart->next;
    ended_cpu_ns += read_cpu_ns(apart->pid);
    pthread_mutex_unlock(&running_lock);
    if (apart->pid > 0) { /* only now may its number be used again */
        while (waitpid(apart->pid, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
}

/* Run the call in a process of its own, or on this thread where that is impossible, and
 * wait for its end. */
static void *
keeper_main(void *argument)
{
    struct apart *const apart = argument;
    bool detached;

    if (!has_own_process() || !run_process(apart)) {
        call_run(apart);
    }
    remove_running(apart);
    pthread_mutex_lock(&running_lock);
    apart->ended = true;
    detached = apart->detached;
    pthread_mutex_unlock(&running_lock);
    if (detached) {
        free(apart);
    }
    return NULL;
}

/* Start the keeper, with all signals blocked. Returns an error number. */
static int
start_keeper(struct apart *apart)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t old;
    int error;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, apart->detached ? PTHREAD_CREATE_DETACHED
                                                             : PTHREAD_CREATE_JOINABLE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&apart->keeper, &attributes, keeper_main, apart);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

struct apart *
apart_start(const char *name, void (*run)(void *), void *argument, bool detached)
{
    struct apart *const apart = calloc(1, sizeof(*apart));
    int error;

    if (apart == NULL) {
        return NULL;
    }
    apart->run = run;
    apart->argument = argument;
    apart->detached = detached;
    strncpy(apart->name, name, sizeof(apart->name) - 1);
    pthread_mutex_lock(&running_lock);
    apart->next = running;
    running = apart;
    pthread_mutex_unlock(&running_lock);
    error = start_keeper(apart);
    if (error != 0) {
        remove_running(apart);
        free(apart);
        errno = error;
        return NULL;
    }
    return apart;
}

void
apart_join(struct apart *apart)
{
    pthread_join(apart->keeper, NULL);
    free(apart);
}

void
apart_leave(struct apart *apart)
{
    bool ended;

    (void)pthread_detach(apart->keeper);
    pthread_mutex_lock(&running_lock);
    ended = apart->ended;
    apart->detached = true;
    pthread_mutex_unlock(&running_lock);
    if (ended) {
        free(apart);
    }
}

uint64_t
apart_cpu_ns(void)
{
    uint64_t cpu_ns;

    pthread_mutex_lock(&running_lock);
    cpu_ns = ended_cpu_ns;
    for (const struct apart *each = running; each != NULL; each = each->next) {
        cpu_ns += read_cpu_ns(__atomic_load_n(&each->pid, __ATOMIC_RELAXED));
    }
    pthread_mutex_unlock(&running_lock);
    return cpu_ns;
}

static bool
apart_runs(void)
{
    bool runs;

    pthread_mutex_lock(&running_lock);
    runs = running != NULL;
    pthread_mutex_unlock(&running_lock);
    return runs;
}

/* Give the standard streams back while processes apart still run. They are replaced and
 * not closed: the next file that such a process opens, such as the store, would get the
 * number of standard error, and messages. */
void
apart_finish(void)
{
    const int null =
        has_own_process() && apart_runs() ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

    if (null >= 0) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            (void)dup2(null, fd);
        }
    }
}
