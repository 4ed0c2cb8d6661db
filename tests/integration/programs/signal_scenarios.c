/* SPDX-License-Identifier: MIT */
/*
 * signal_scenarios.c - programs that use signals and timers themselves, in ways that a
 * profiler's signals could disturb.
 *
 * usage: signal_scenarios [SCENARIO], by default a list of them
 */
#include "scenarios.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static volatile sig_atomic_t value_sum;

static void
count_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    value_sum += info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
    seen++;
}

/* ---- handlers ---- */

static void
raise_signals(void)
{
    handle(SIGUSR1, count_signal, 0);
    handle(SIGUSR2, count_signal, (int)SA_RESETHAND);
    for (int i = 0; i < 20; i++) {
        burn(2);
        raise(SIGUSR1);
    }
    raise(SIGUSR2);
    struct sigaction now;
    must(sigaction(SIGUSR2, NULL, &now) == 0, "sigaction");
    printf("%d signals, then %s\n", (int)seen,
           now.sa_handler == SIG_DFL ? "the default action" : "a handler");
}

/* Each real-time signal is the program's own, the profiler's one too. */
static void
all_realtime_signals(void)
{
    const int count = SIGRTMAX - SIGRTMIN + 1;

    burn(10);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        handle(number, count_signal, SA_RESTART);
    }
    burn(20);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        must(sigqueue(getpid(), number,
                      (union sigval){.sival_int = number - SIGRTMIN + 1}) == 0,
             "sigqueue");
        burn(1);
    }
    printf("%s, sum of values is %s\n",
           seen == count ? "each came once" : "not each once",
           value_sum == count * (count + 1) / 2 ? "right" : "wrong");
}

static void *
wait_at_barrier(void *argument)
{
    burn(5);
    pthread_barrier_wait(argument);
    return NULL;
}

static void *
burn_shortly(void *argument)
{
    burn(20);
    return argument;
}

/* The profiler may lose its signal: then each of the three threads counts as such. */
static void
all_realtime_signals_in_a_thread(void)
{
    static pthread_barrier_t end;
    pthread_t threads[2];

    must(pthread_barrier_init(&end, NULL, 2) == 0, "pthread_barrier_init");
    must(pthread_create(&threads[0], NULL, wait_at_barrier, &end) == 0,
         "pthread_create");
    all_realtime_signals();
    must(pthread_create(&threads[1], NULL, burn_shortly, NULL) == 0, "pthread_create");
    pthread_barrier_wait(&end);
    for (int i = 0; i < 2; i++) {
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    }
}

static void
count_plain(int number)
{
    (void)number;
    seen++;
}

/* What signal() is in a program that is compiled as plain ISO C. */
extern sighandler_t __sysv_signal(int number, sighandler_t handler);

static void
all_realtime_signals_in_plain_c(void)
{
    burn(10);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        must(__sysv_signal(number, count_plain) == SIG_DFL, "signal");
    }
    burn(20);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        raise(number);
        burn(1);
    }
    puts(seen == SIGRTMAX - SIGRTMIN + 1 ? "each came once" : "not each once");
}

static void
signals_at_start(void)
{
    sigset_t mask;
    sigset_t pending;

    must(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0, "pthread_sigmask");
    must(sigpending(&pending) == 0, "sigpending");
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;

        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            printf("%d ignored\n", number);
        }
        if (sigismember(&mask, number) == 1 || sigismember(&pending, number) == 1) {
            printf("%d blocked or pending\n", number);
        }
    }
}

/* ---- waiting for signals ---- */

static sem_t taken; /* posted for each signal that wait_for_all() has printed */

/* A thread that takes all signals, as servers have it. */
static void *
wait_for_all(void *argument)
{
    sigset_t all;

    (void)argument;
    sigfillset(&all);
    for (;;) {
        int number = 0;

        must(sigwait(&all, &number) == 0, "sigwait");
        printf("got %s\n", strsignal(number));
        sem_post(&taken);
        if (number == SIGTERM) {
            return NULL;
        }
    }
}

/* Each signal is sent when the one before was taken: of several that wait, sigwait
 * takes the lowest number first. */
static void
sigwait_thread(void)
{
    const int numbers[] = {SIGUSR1, SIGHUP, SIGTERM};
    pthread_t thread;
    sigset_t all;

    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    must(sem_init(&taken, 0, 0) == 0, "sem_init");
    must(pthread_create(&thread, NULL, wait_for_all, NULL) == 0, "pthread_create");
    for (int i = 0; i < 3; i++) {
        burn(15);
        must(pthread_kill(thread, numbers[i]) == 0, "pthread_kill");
        while (sem_wait(&taken) != 0) {
            must(errno == EINTR, "sem_wait");
        }
    }
    must(pthread_join(thread, NULL) == 0, "pthread_join");
}

/* Blocks all, works, and asks what came: nothing. */
static void
wait_for_nothing(void)
{
    const struct timespec shortly = {.tv_nsec = 5000000};
    sigset_t all;
    int number;

    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    burn(30);
    number = sigtimedwait(&all, NULL, &shortly);
    printf("%s\n", number < 0 && errno == EAGAIN ? "no signal" : "a signal");
    burn(10);
    raise(SIGUSR1);
    printf("%s\n", sigwaitinfo(&all, NULL) == SIGUSR1 ? "SIGUSR1" : "another");
}

static void
read_signalfd(void)
{
    struct signalfd_siginfo info;
    sigset_t all;
    int fd;

    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    must(fd >= 0, "signalfd");
    burn(30);
    printf("%s\n", read(fd, &info, sizeof(info)) < 0 && errno == EAGAIN ? "nothing"
                                                                        : "a signal");
    raise(SIGUSR2);
    burn(10);
    must(read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info), "read");
    printf("%s\n", info.ssi_signo == SIGUSR2 ? "SIGUSR2" : "another");
}

static void
suspend_until_signal(void)
{
    sigset_t block;
    sigset_t before;

    handle(SIGALRM, count_signal, 0);
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    must(sigprocmask(SIG_BLOCK, &block, &before) == 0, "sigprocmask");
    for (int i = 0; i < 5; i++) {
        const struct itimerval soon = {.it_value = {.tv_usec = 3000}};

        must(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
        burn(8);
        while (seen == i) {
            sigsuspend(&before);
        }
    }
    printf("%d alarms\n", (int)seen);
}

/* Block some signals, the numbers of which a 0 ends. */
static sigset_t
block(const int *numbers)
{
    sigset_t set;

    sigemptyset(&set);
    for (; *numbers != 0; numbers++) {
        sigaddset(&set, *numbers);
    }
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    return set;
}

/* Say what comes of these signals, soon. */
static void
print_next(const sigset_t *set)
{
    const struct timespec shortly = {.tv_nsec = 5000000};
    const int number = sigtimedwait(set, NULL, &shortly);

    must(number > 0 || errno == EAGAIN, "sigtimedwait");
    printf("%s\n", number > 0 ? strsignal(number) : "none");
}

/* The highest numbers: a profiler may use one of them until the program does. */

static void
block_two_realtime_signals(void)
{
    const sigset_t both = block((int[]){SIGRTMAX - 1, SIGRTMAX, 0});

    for (int number = SIGRTMAX - 1; number <= SIGRTMAX; number++) {
        burn(15);
        must(kill(getpid(), number) == 0, "kill");
        print_next(&both);
    }
}

static void
block_two_realtime_signals_in_turn(void)
{
    const sigset_t highest = block((int[]){SIGRTMAX, 0});

    burn(10);
    block((int[]){SIGRTMAX - 1, 0});
    burn(10);
    must(kill(getpid(), SIGRTMAX) == 0, "kill");
    print_next(&highest);
}

/* The next program begins with the signal blocked. */
static void
exec_with_realtime_signal_blocked(void)
{
    static char *const words[] = {"signal_scenarios", "blocked-before-exec", NULL};
    static const char variable[] = "BLOCKED_BEFORE_EXEC";
    sigset_t set;

    if (getenv(variable) == NULL) {
        block((int[]){SIGRTMAX, 0});
        burn(10);
        must(setenv(variable, "1", 1) == 0, "setenv");
        execv("/proc/self/exe", words);
        must(0, "execv");
    }
    burn(20);
    must(kill(getpid(), SIGRTMAX) == 0, "kill");
    burn(10);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    print_next(&set);
}

static sigset_t
all_but(int number)
{
    sigset_t set;

    sigfillset(&set);
    sigdelset(&set, number);
    return set;
}

/* The work that a profiler has to see too, after the signals were blocked twice. */
__attribute__((noinline)) static void
work_later(void)
{
    for (volatile int i = 0; i < 200000000; i++) {
    }
}

static void
block_all_but_one_twice(void)
{
    const sigset_t set = all_but(SIGRTMIN + 2);

    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    burn(20);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    work_later();
    print_next(&set);
    for (int number = SIGRTMAX - 1; number <= SIGRTMAX; number++) {
        must(kill(getpid(), number) == 0, "kill");
        burn(10);
        print_next(&set);
    }
}

/* All real-time signals are the program's, but it handles or blocks each. */
static void
block_all_but_the_handled_one(void)
{
    const sigset_t set = all_but(SIGRTMIN + 2);

    handle(SIGRTMIN + 2, count_signal, SA_RESTART);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    burn(20);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    work_later();
    raise(SIGRTMIN + 2);
    printf("%d signals\n", (int)seen);
}

/* The same in the other order. */
static void
block_all_but_the_one_handled_next(void)
{
    const sigset_t set = all_but(SIGRTMIN + 2);

    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    burn(20);
    handle(SIGRTMIN + 2, count_signal, SA_RESTART);
    work_later();
    raise(SIGRTMIN + 2);
    printf("%d signals\n", (int)seen);
}

/* A profiler that used the highest one has to use another, which is blocked. */
static void
block_all_and_handle_one(void)
{
    sigset_t set;

    sigfillset(&set);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    burn(20);
    handle(SIGRTMAX, count_signal, SA_RESTART);
    work_later();
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    must(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0, "pthread_sigmask");
    raise(SIGRTMAX);
    printf("%d signals\n", (int)seen);
}

static void
wait_for_all_but_the_handled_one(void)
{
    const sigset_t set = all_but(SIGRTMIN + 2);

    handle(SIGRTMIN + 2, count_signal, SA_RESTART);
    burn(20);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    print_next(&set);
    for (int number = SIGRTMAX - 2; number <= SIGRTMAX; number++) {
        must(kill(getpid(), number) == 0, "kill");
        burn(10);
        print_next(&set);
    }
}

/* ---- timers ---- */

static void
interval_timers(void)
{
    const int which[] = {ITIMER_PROF, ITIMER_VIRTUAL, ITIMER_REAL};
    const int numbers[] = {SIGPROF, SIGVTALRM, SIGALRM};

    for (int i = 0; i < 3; i++) {
        const struct itimerval each = {{.tv_usec = 2000}, {.tv_usec = 2000}};
        const struct itimerval none = {0};

        seen = 0;
        handle(numbers[i], count_signal, SA_RESTART);
        must(setitimer(which[i], &each, NULL) == 0, "setitimer");
        while (seen < 5) {
            burn(1);
        }
        must(setitimer(which[i], &none, NULL) == 0, "setitimer");
        printf("%s came five times\n", strsignal(numbers[i]));
    }
}

static sem_t expired;

static void
post_expired(union sigval value)
{
    (void)value;
    sem_post(&expired);
}

static void
posix_timers(void)
{
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID};
    const struct itimerspec each = {{.tv_nsec = 2000000}, {.tv_nsec = 2000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    timer_t timer;

    handle(SIGRTMIN + 3, count_signal, SA_RESTART);
    for (int i = 0; i < 3; i++) {
        seen = 0;
        must(timer_create(clocks[i], &event, &timer) == 0, "timer_create");
        must(timer_settime(timer, 0, &each, NULL) == 0, "timer_settime");
        while (seen < 5) {
            burn(1);
        }
        must(timer_delete(timer) == 0, "timer_delete");
    }
    puts("three clocks, five signals each");
    must(sem_init(&expired, 0, 0) == 0, "sem_init");
    event = (struct sigevent){.sigev_notify = SIGEV_THREAD,
                              .sigev_notify_function = post_expired};
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    must(timer_settime(timer, 0, &each, NULL) == 0, "timer_settime");
    for (int i = 0; i < 5; i++) {
        burn(3);
        while (sem_wait(&expired) != 0) {
            must(errno == EINTR, "sem_wait");
        }
    }
    must(timer_delete(timer) == 0, "timer_delete");
    puts("five times in a thread");
}

/* ---- calls that a handler interrupts ---- */

/* How many of some waits failed with EINTR, with no signal of the program's own. */
static int
interrupted_waits(int kind)
{
    const struct timespec shortly = {.tv_nsec = 1000000};
    int count = 0;
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    must(epoll >= 0, "epoll_create1");
    for (int i = 0; i < 30; i++) {
        struct timeval select_time = {.tv_usec = 1000};
        struct epoll_event ready;
        int result = 0;

        burn(1);
        switch (kind) {
        case 0:
            result = poll(NULL, 0, 1);
            break;
        case 1:
            result = select(0, NULL, NULL, NULL, &select_time);
            break;
        case 2:
            result = epoll_wait(epoll, &ready, 1, 1);
            break;
        case 3:
            result = nanosleep(&shortly, NULL);
            break;
        default:
            result = usleep(1000);
            break;
        }
        count += result < 0 && errno == EINTR;
    }
    close(epoll);
    return count;
}

static void
waits_without_signals(void)
{
    static const char *const names[] = {"poll", "select", "epoll_wait", "nanosleep",
                                        "usleep"};

    for (int kind = 0; kind < 5; kind++) {
        printf("%s: %d interrupted\n", names[kind], interrupted_waits(kind));
    }
}

/* An alarm without SA_RESTART ends a read; errno stays what a call has set. Alarms go
 * on: on a busy machine the first may come before the read. */
static void
interrupted_read(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 20000},
                                   .it_interval = {.tv_usec = 20000}};
    int ends[2];
    char byte;
    ssize_t got;

    handle(SIGALRM, count_signal, 0);
    must(pipe(ends) == 0, "pipe");
    must(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
    got = read(ends[0], &byte, 1);
    printf("read %zd: %s\n", got, got < 0 ? strerror(errno) : "");
    errno = EXDEV;
    burn(30);
    printf("errno %s\n", errno == EXDEV ? "kept" : "changed");
}

/* ---- other stacks, other contexts ---- */

static sigjmp_buf out;

static void
jump_out(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    siglongjmp(out, 1);
}

static void
jump_out_of_handlers(void)
{
    volatile int jumps = 0;

    handle(SIGALRM, jump_out, 0);
    handle(SIGSEGV, jump_out, 0);
    while (jumps < 10) {
        if (sigsetjmp(out, 1) == 0) {
            const struct itimerval soon = {.it_value = {.tv_usec = 2000}};

            must(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
            for (;;) {
                burn(1);
            }
        }
        jumps++;
    }
    while (jumps < 20) {
        if (sigsetjmp(out, 1) == 0) {
            burn(1);
            *(volatile char *)8 = 1;
        } else {
            jumps++;
        }
    }
    printf("%d jumps\n", jumps);
}

/* Grow the stack until it ends. */
__attribute__((noinline)) static int
overflow(int depth)
{
    volatile char space[4096];

    space[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + space[0];
}

static void
overflow_on_alternate_stack(void)
{
    static char stack[65536];
    const stack_t ours = {.ss_sp = stack, .ss_size = sizeof(stack)};
    stack_t now;

    must(sigaltstack(&ours, NULL) == 0, "sigaltstack");
    handle(SIGSEGV, jump_out, SA_ONSTACK);
    for (int i = 0; i < 3; i++) {
        burn(5);
        if (sigsetjmp(out, 1) == 0) {
            overflow(0);
        }
    }
    must(sigaltstack(NULL, &now) == 0, "sigaltstack");
    printf("the stack is %s\n", now.ss_sp == stack ? "ours" : "another");
}

static ucontext_t main_context;
static ucontext_t contexts[8];
static int turns;

static void
take_turns(int index)
{
    for (int i = 0; i < 20; i++) {
        burn(1);
        turns++;
        must(swapcontext(&contexts[index], &contexts[(index + 1) % 8]) == 0,
             "swapcontext");
    }
    must(setcontext(&main_context) == 0, "setcontext");
}

static void
switch_contexts(void)
{
    for (volatile int i = 0; i < 8; i++) {
        must(getcontext(&contexts[i]) == 0, "getcontext");
        contexts[i].uc_stack.ss_size = 16384;
        contexts[i].uc_stack.ss_sp = malloc(contexts[i].uc_stack.ss_size);
        must(contexts[i].uc_stack.ss_sp != NULL, "malloc");
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))take_turns, 1, i);
    }
    must(swapcontext(&main_context, &contexts[0]) == 0, "swapcontext");
    printf("%d turns\n", turns);
}

/* ---- ends by a signal ---- */

static void
die_by_realtime_signal(void)
{
    burn(20);
    puts("now");
    fflush(stdout);
    raise(SIGRTMIN + 5);
}

static void
die_by_abort(void)
{
    burn(20);
    puts("now");
    fflush(stdout);
    abort();
}

static void
die_by_fault(void)
{
    burn(20);
    puts("now");
    fflush(stdout);
    *(volatile char *)8 = 1;
}

static const struct scenario scenarios[] = {
    {"raise", raise_signals},
    {"all-realtime", all_realtime_signals},
    {"all-realtime-in-a-thread", all_realtime_signals_in_a_thread},
    {"all-realtime-in-plain-c", all_realtime_signals_in_plain_c},
    {"at-start", signals_at_start},
    {"sigwait", sigwait_thread},
    {"wait-for-nothing", wait_for_nothing},
    {"signalfd", read_signalfd},
    {"sigsuspend", suspend_until_signal},
    {"two-blocked", block_two_realtime_signals},
    {"two-blocked-in-turn", block_two_realtime_signals_in_turn},
    {"blocked-before-exec", exec_with_realtime_signal_blocked},
    {"all-but-one", block_all_but_one_twice},
    {"all-but-handled", block_all_but_the_handled_one},
    {"all-but-handled-next", block_all_but_the_one_handled_next},
    {"all-and-handled", block_all_and_handle_one},
    {"wait-for-all-but-handled", wait_for_all_but_the_handled_one},
    {"setitimer", interval_timers},
    {"timer_create", posix_timers},
    {"waits", waits_without_signals},
    {"interrupted-read", interrupted_read},
    {"longjmp", jump_out_of_handlers},
    {"sigaltstack", overflow_on_alternate_stack},
    {"contexts", switch_contexts},
    {"realtime-death", die_by_realtime_signal},
    {"abort", die_by_abort},
    {"fault", die_by_fault},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return run_scenario(scenarios, argc, argv);
}
