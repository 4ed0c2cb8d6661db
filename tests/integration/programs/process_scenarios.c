/* SPDX-License-Identifier: MIT */
/*
 * process_scenarios.c - programs that make processes and threads, and replace or close
 * what a profiler may rely on.
 *
 * usage: process_scenarios [SCENARIO], by default a list of them
 */
#include "scenarios.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Wait for a child and say how it ended. */
static void
print_end(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        must(errno == EINTR, "waitpid");
    }
    if (WIFSIGNALED(status)) {
        printf("child killed: %s\n", strsignal(WTERMSIG(status)));
    } else {
        printf("child's status %d\n", WEXITSTATUS(status));
    }
}

/* Run this program's scenario in this process. */
static void
exec_scenario(const char *name)
{
    char *words[] = {"process_scenarios", (char *)(uintptr_t)name, NULL};

    fflush(stdout);
    execve("/proc/self/exe", words, environ);
}

/* ---- processes ---- */

static void
fork_children(void)
{
    for (int i = 0; i < 8; i++) {
        pid_t child;

        burn(3);
        fflush(stdout);
        child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            burn(15);
            _exit(i);
        }
        print_end(child);
    }
}

/* Each process makes the next one; the last one's depth comes back through all. */
static int
depth_below(int depth)
{
    int status = 0;
    pid_t child;

    burn(8);
    if (depth == 6) {
        return depth;
    }
    fflush(stdout);
    child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        _exit(depth_below(depth + 1));
    }
    must(waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
fork_in_turn(void)
{
    printf("%d deep\n", depth_below(0));
}

static void *
burn_on(void *argument)
{
    for (;;) {
        burn(1);
        pthread_testcancel();
    }
    return argument;
}

/* The child of a process with threads has the calling one only. */
static void
fork_with_threads(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        must(pthread_create(&threads[i], NULL, burn_on, NULL) == 0, "pthread_create");
    }
    for (int i = 0; i < 10; i++) {
        pid_t child;

        fflush(stdout);
        child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            pthread_t one;

            must(pthread_create(&one, NULL, burn_on, NULL) == 0, "pthread_create");
            burn(5);
            pthread_cancel(one);
            pthread_join(one, NULL);
            _exit(i);
        }
        print_end(child);
    }
    for (int i = 0; i < 4; i++) {
        pthread_cancel(threads[i]);
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    }
}

static void
vfork_children(void)
{
    for (volatile int i = 0; i < 10; i++) {
        pid_t child;

        burn(3);
        child = vfork();
        must(child >= 0, "vfork");
        if (child == 0) {
            if (i % 2 == 0) {
                execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
            }
            _exit(i);
        }
        print_end(child);
    }
}

/* As a child does that tries each folder of PATH, but more often than the profiler
 * has records of processes. */
static void
vfork_child_with_failing_execs(void)
{
    pid_t child;

    burn(10);
    child = vfork();
    must(child >= 0, "vfork");
    if (child == 0) {
        for (int i = 0; i < 40000; i++) {
            execl("/nonexistent/sh", "sh", (char *)NULL);
        }
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(6);
    }
    print_end(child);
}

static void
spawn_children(void)
{
    char *words[] = {"sh", "-c", "kill -USR1 $$; exit 9", NULL};
    posix_spawnattr_t attributes;
    sigset_t set;

    must(posix_spawnattr_init(&attributes) == 0, "posix_spawnattr_init");
    for (int i = 0; i < 6; i++) {
        pid_t child;

        burn(3);
        sigfillset(&set);
        must(posix_spawnattr_setsigdefault(&attributes, &set) == 0, "setsigdefault");
        if (i % 2 == 0) {
            sigemptyset(&set); /* or all stay blocked */
        }
        must(posix_spawnattr_setsigmask(&attributes, &set) == 0, "setsigmask");
        must(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETSIGMASK) == 0,
             "setflags");
        must(posix_spawn(&child, "/bin/sh", NULL, &attributes, words, environ) == 0,
             "posix_spawn");
        print_end(child);
    }
    posix_spawnattr_destroy(&attributes);
}

static void
shell_children(void)
{
    char line[64];
    FILE *pipe;

    burn(10);
    printf("system: %d\n", WEXITSTATUS(system("exit 3")));
    pipe = popen("echo from the shell", "r");
    must(pipe != NULL && fgets(line, sizeof(line), pipe) != NULL, "popen");
    printf("%sclosed: %d\n", line, pclose(pipe));
}

/* The kernel's own fork, of which libc tells nobody. */
static void
raw_fork(void)
{
    for (int i = 0; i < 5; i++) {
        pid_t child;

        burn(5);
        fflush(stdout);
        child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
        must(child >= 0, "clone");
        if (child == 0) {
            burn(15);
            syscall(SYS_exit_group, i);
        }
        print_end(child);
    }
}

static int
work_apart(void *argument)
{
    burn(20);
    *(int *)argument = 11;
    return 4;
}

/* A process in this one's memory, without libc's knowledge. */
static void
clone_in_same_memory(void)
{
    char *const stack = malloc(262144);
    int value = 0;
    pid_t child;

    must(stack != NULL, "malloc");
    fflush(stdout);
    child = clone(work_apart, stack + 262144, CLONE_VM | SIGCHLD, &value);
    must(child >= 0, "clone");
    print_end(child);
    printf("value %d\n", value);
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *
end_with_others(void *argument)
{
    burn(4);
    pthread_barrier_wait(&barrier);
    return argument;
}

static void
threads_end_at_once(void)
{
    enum { THREADS = 48 };
    pthread_t threads[THREADS];
    uintptr_t sum = 0;

    must(pthread_barrier_init(&barrier, NULL, THREADS) == 0, "pthread_barrier_init");
    for (uintptr_t i = 0; i < THREADS; i++) {
        must(pthread_create(&threads[i], NULL, end_with_others, (void *)i) == 0,
             "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;

        must(pthread_join(threads[i], &result) == 0, "pthread_join");
        sum += (uintptr_t)result;
    }
    printf("sum %lu\n", (unsigned long)sum);
}

/* The process ends while its threads work, some of them just beginning or ending. */
static void
exit_among_threads(void)
{
    pthread_attr_t detached;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 16; i++) {
        pthread_t thread;

        must(pthread_create(&thread, &detached, burn_on, NULL) == 0, "pthread_create");
    }
    burn(10);
}

static void *
say_last(void *argument)
{
    burn(30);
    puts("after main has ended");
    exit(6);
    return argument;
}

static void
main_thread_ends(void)
{
    pthread_t thread;

    burn(5);
    must(pthread_create(&thread, NULL, say_last, NULL) == 0, "pthread_create");
    pthread_exit(NULL);
}

static void *
exec_from_here(void *argument)
{
    burn(10);
    exec_scenario("after-exec");
    must(0, "execve");
    return argument;
}

static void
exec_from_thread(void)
{
    pthread_t threads[5];

    for (int i = 0; i < 4; i++) {
        must(pthread_create(&threads[i], NULL, burn_on, NULL) == 0, "pthread_create");
    }
    must(pthread_create(&threads[4], NULL, exec_from_here, NULL) == 0,
         "pthread_create");
    for (;;) {
        burn(1);
    }
}

static void
after_exec(void)
{
    sigset_t mask;
    int blocked = 0;

    burn(20);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        blocked += sigismember(&mask, number) == 1;
    }
    printf("after exec, %d signals blocked\n", blocked);
}

static void
failed_exec(void)
{
    char *words[] = {"nothing", NULL};

    for (int i = 0; i < 5; i++) {
        burn(5);
        must(execve("/nonexistent/nothing", words, environ) < 0, "execve");
    }
    printf("%s\n", strerror(errno));
    burn(20);
}

/* exec without an environment: nothing of it must be needed. */
static void
exec_without_environment(void)
{
    char *words[] = {"process_scenarios", "after-exec", NULL};
    char *none[] = {NULL};

    burn(10);
    fflush(stdout);
    execve("/proc/self/exe", words, none);
}

/* exec with arguments and an environment that are listed in the call. */
static void
exec_with_listed_environment(void)
{
    char *const environment[] = {"FIRST=1", "SECOND=2", NULL};

    burn(10);
    fflush(stdout);
    execle("/bin/sh", "sh", "-c", "echo $0 $1: $FIRST $SECOND", "given", "words",
           (char *)NULL, environment);
    must(0, "execle");
}

/* ---- descriptors ---- */

static void
close_all_descriptors(void)
{
    burn(10);
    for (int fd = 3; fd < 1024; fd++) {
        close(fd);
    }
    burn(20);
    printf("opened as %d\n", open("/dev/null", O_RDONLY));
    must(syscall(SYS_close_range, 3U, ~0U, 0U) == 0, "close_range");
    burn(20);
    printf("opened as %d\n", open("/dev/null", O_RDONLY));
}

/* Descriptors are given from the lowest, and those that are not open are not open. */
static void
lowest_descriptors(void)
{
    int open_ones = 0;

    for (int fd = 3; fd < 256; fd++) {
        open_ones += fcntl(fd, F_GETFD) >= 0;
    }
    printf("%d open, then", open_ones);
    for (int i = 0; i < 2; i++) {
        printf(" %d", open("/dev/null", O_RDONLY));
    }
    putchar('\n');
}

/* As a server goes into the background. */
static void
become_daemon(void)
{
    int ends[2];
    char text[32] = "";
    pid_t child;

    must(pipe(ends) == 0, "pipe");
    fflush(stdout);
    child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        const int end = dup2(ends[1], 200);

        setsid();
        umask(0);
        for (int fd = 0; fd < 200; fd++) {
            close(fd);
        }
        if (chdir("/") != 0 || fork() != 0) {
            _exit(0);
        }
        burn(30);
        _exit(write(end, "in the background", 17) == 17 ? 0 : 1);
    }
    close(ends[1]);
    print_end(child);
    must(read(ends[0], text, sizeof(text) - 1) > 0, "read");
    puts(text);
}

static const struct scenario scenarios[] = {
    {"fork", fork_children},
    {"nested-forks", fork_in_turn},
    {"fork-with-threads", fork_with_threads},
    {"vfork", vfork_children},
    {"vfork-failing-execs", vfork_child_with_failing_execs},
    {"posix_spawn", spawn_children},
    {"shell", shell_children},
    {"raw-fork", raw_fork},
    {"clone-vm", clone_in_same_memory},
    {"threads-end", threads_end_at_once},
    {"exit-among-threads", exit_among_threads},
    {"main-ends", main_thread_ends},
    {"exec-from-thread", exec_from_thread},
    {"after-exec", after_exec},
    {"failed-exec", failed_exec},
    {"bare-exec", exec_without_environment},
    {"execle", exec_with_listed_environment},
    {"close-all", close_all_descriptors},
    {"lowest", lowest_descriptors},
    {"daemon", become_daemon},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return run_scenario(scenarios, argc, argv);
}
