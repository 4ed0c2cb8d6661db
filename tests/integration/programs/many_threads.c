/* SPDX-License-Identifier: MIT */
/*
 * many_threads.c - eight threads, each with a function of its own, each making
 * short-lived threads that share another. Ends after 1600 milliseconds of processor
 * time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static long long
thread_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void *
short_thread(void *argument)
{
    uint64_t value = sink;

    (void)argument;
    for (int i = 0; i < 200000; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
    }
    sink = value;
    return NULL;
}

#define WORKER(name)                                                      \
    __attribute__((noinline)) static void *name(void *argument)           \
    {                                                                     \
        uint64_t value = sink;                                            \
        pthread_t thread;                                                 \
                                                                          \
        (void)argument;                                                   \
        while (thread_ms() < 150) {                                       \
            for (int i = 0; i < 500000; i++) {                            \
                value = value * UINT64_C(6364136223846793005) + 1;        \
            }                                                             \
            if (pthread_create(&thread, NULL, short_thread, NULL) == 0) { \
                pthread_join(thread, NULL);                               \
            }                                                             \
        }                                                                 \
        sink = value;                                                     \
        return NULL;                                                      \
    }

WORKER(worker_a)
WORKER(worker_b)
WORKER(worker_c)
WORKER(worker_d)
WORKER(worker_e)
WORKER(worker_f)
WORKER(worker_g)
WORKER(worker_h)

int
main(void)
{
    void *(*const workers[])(void *) = {worker_a, worker_b, worker_c, worker_d,
                                        worker_e, worker_f, worker_g, worker_h};
    pthread_t threads[8];

    for (int i = 0; i < 8; i++) {
        if (pthread_create(&threads[i], NULL, workers[i], NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
