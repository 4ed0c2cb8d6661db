/* SPDX-License-Identifier: MIT */
/*
 * stack_scenarios.c - work whose callers are known, on stacks of several kinds.
 *
 * usage: stack_scenarios SCENARIO. Prints "end".
 */
#include "scenarios.h"

#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 18 };

/* Something after each call, so that it is no jump. */
#define CALLER(name, milliseconds)                   \
    __attribute__((noinline)) static void name(void) \
    {                                                \
        burn(milliseconds);                          \
        scenario_sink++;                             \
    }

CALLER(in_first_thread, 300)
CALLER(in_thread_a, 300)
CALLER(in_thread_b, 300)
CALLER(in_thread_c, 300)
CALLER(in_parent, 300)
CALLER(in_child, 300)
CALLER(in_short_child, 20)
CALLER(in_handler, 300)
CALLER(on_another_stack, 300)
CALLER(without_rights, 300)

/* ---- threads ---- */

static void *
run_function(void *argument)
{
    void (*const *const function)(void) = argument;

    (*function)();
    scenario_sink++;
    return NULL;
}

static void
threads(void)
{
    static void (*functions[])(void) = {in_thread_a, in_thread_b, in_thread_c};
    pthread_t ids[3];

    for (size_t i = 0; i < 3; i++) {
        must(pthread_create(&ids[i], NULL, run_function, &functions[i]) == 0,
             "pthread_create");
    }
    in_first_thread();
    for (size_t i = 0; i < 3; i++) {
        must(pthread_join(ids[i], NULL) == 0, "pthread_join");
    }
}

/* ---- processes ---- */

static void
run_in_child(void (*function)(void))
{
    const pid_t child = fork();

    must(child >= 0, "fork");
    if (child == 0) {
        function();
        _exit(0);
    }
    must(waitpid(child, NULL, 0) == child, "waitpid");
}

static void
forks(void)
{
    in_parent();
    run_in_child(in_child);
}

static void
fork_in_thread(void)
{
    static void (*function)(void) = forks;
    pthread_t id;

    must(pthread_create(&id, NULL, run_function, &function) == 0, "pthread_create");
    must(pthread_join(id, NULL) == 0, "pthread_join");
}

static void
short_children(void)
{
    for (int i = 0; i < 30; i++) {
        run_in_child(in_short_child);
    }
}

static void
child_of_nobody(void)
{
    must(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    run_in_child(without_rights);
}

/* A child that gives up root's rights, and one of its own. */
static void
gives_up_rights(void)
{
    run_in_child(child_of_nobody);
    in_parent();
}

/* ---- other stacks ---- */

static void
handle_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    in_handler();
}

static void
handler(void)
{
    handle(SIGUSR1, handle_signal, 0);
    must(raise(SIGUSR1) == 0, "raise");
}

static void
alternate_stack(void)
{
    const stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};

    must(stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0, "sigaltstack");
    handle(SIGUSR1, handle_signal, SA_ONSTACK);
    must(raise(SIGUSR1) == 0, "raise");
}

static void
contexts(void)
{
    ucontext_t here;
    ucontext_t other;

    must(getcontext(&other) == 0, "getcontext");
    other.uc_stack.ss_sp = malloc(STACK_BYTES);
    other.uc_stack.ss_size = STACK_BYTES;
    other.uc_link = &here;
    must(other.uc_stack.ss_sp != NULL, "malloc");
    makecontext(&other, on_another_stack, 0);
    must(swapcontext(&here, &other) == 0, "swapcontext");
}

static const struct scenario scenarios[] = {
    {"threads", threads},
    {"forks", forks},
    {"fork-in-thread", fork_in_thread},
    {"short-children", short_children},
    {"gives-up-rights", gives_up_rights},
    {"handler", handler},
    {"alternate-stack", alternate_stack},
    {"contexts", contexts},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return run_scenario(scenarios, argc, argv);
}
