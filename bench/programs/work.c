/* SPDX-License-Identifier: MIT */
/*
 * work.c - the work that is profiled: a fixed number of rounds over several kinds of
 * functions.
 *
 *   work ROUNDS [THREADS]
 *
 * Each thread does all ROUNDS. Prints one line: what it took, wall and processor time,
 * and a number that depends on all of the work. The wall time begins in main, so that
 * it is the program's alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    ORDER = 48,
    SIEVE_LIMIT = 1 << 15,
    TEXT_BYTES = 1 << 15,
    KEYS = 1 << 11,
    LINKS = 1 << 16,
    STEPS = 1 << 12,
    THREADS_MAX = 256
};

struct worker {
    unsigned rounds;
    uint64_t result;
    double left[ORDER][ORDER];
    double right[ORDER][ORDER];
    double product[ORDER][ORDER];
    uint8_t composite[SIEVE_LIMIT];
    char text[TEXT_BYTES];
    uint32_t keys[KEYS];
    uint32_t links[LINKS];
};

#define NOT_INLINED __attribute__((noinline))

static NOT_INLINED uint64_t
multiply_matrices(struct worker *worker)
{
    for (int row = 0; row < ORDER; row++) {
        for (int column = 0; column < ORDER; column++) {
            double sum = 0;

            for (int i = 0; i < ORDER; i++) {
                sum += worker->left[row][i] * worker->right[i][column];
            }
            worker->product[row][column] = sum;
        }
    }
    return (uint64_t)worker->product[ORDER / 2][ORDER / 3];
}

static NOT_INLINED uint64_t
count_primes(struct worker *worker)
{
    uint64_t primes = 0;

    memset(worker->composite, 0, sizeof(worker->composite));
    for (size_t n = 2; n < SIEVE_LIMIT; n++) {
        if (worker->composite[n] != 0) {
            continue;
        }
        primes++;
        for (size_t multiple = n * n; multiple < SIEVE_LIMIT; multiple += n) {
            worker->composite[multiple] = 1;
        }
    }
    return primes;
}

static NOT_INLINED uint64_t
hash_text(const struct worker *worker, uint64_t seed)
{
    uint64_t hash = seed ^ 14695981039346656037u;

    for (size_t i = 0; i < TEXT_BYTES; i++) {
        hash = (hash ^ (uint8_t)worker->text[i]) * 1099511628211u;
    }
    return hash;
}

static NOT_INLINED uint64_t
follow_links(const struct worker *worker, uint64_t seed)
{
    uint32_t at = (uint32_t)seed % LINKS;

    for (int i = 0; i < STEPS; i++) {
        at = worker->links[at];
    }
    return at;
}

static NOT_INLINED int
compare_keys(const void *one, const void *other)
{
    const uint32_t a = *(const uint32_t *)one;
    const uint32_t b = *(const uint32_t *)other;

    return (a > b) - (a < b);
}

static NOT_INLINED uint64_t
sort_keys(struct worker *worker, uint64_t seed)
{
    uint64_t state = seed | 1;

    for (size_t i = 0; i < KEYS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        worker->keys[i] = (uint32_t)(state >> 33);
    }
    qsort(worker->keys, KEYS, sizeof(worker->keys[0]), compare_keys);
    return worker->keys[KEYS / 2];
}

/* One cycle through all links (Sattolo), the same in every run. */
static void
make_links(struct worker *worker)
{
    uint64_t state = 1;

    for (uint32_t i = 0; i < LINKS; i++) {
        worker->links[i] = i;
    }
    for (uint32_t i = LINKS - 1; i > 0; i--) {
        uint32_t other;
        uint32_t link;

        state = state * 6364136223846793005u + 1442695040888963407u;
        other = (uint32_t)(state >> 33) % i;
        link = worker->links[i];
        worker->links[i] = worker->links[other];
        worker->links[other] = link;
    }
}

static void
worker_prepare(struct worker *worker, unsigned rounds)
{
    worker->rounds = rounds;
    for (int i = 0; i < ORDER * ORDER; i++) {
        worker->left[i / ORDER][i % ORDER] = i % 7;
        worker->right[i / ORDER][i % ORDER] = i % 5;
    }
    for (int i = 0; i < TEXT_BYTES; i++) {
        worker->text[i] = (char)('a' + i % 26);
    }
    make_links(worker);
}

static void *
worker_run(void *argument)
{
    struct worker *const worker = argument;
    uint64_t result = 1;

    for (unsigned i = 0; i < worker->rounds; i++) {
        result += multiply_matrices(worker);
        result += count_primes(worker);
        result = hash_text(worker, result);
        result ^= follow_links(worker, result);
        result += sort_keys(worker, result);
    }
    worker->result = result;
    return NULL;
}

static uint64_t
wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processor time of this process, from before its exec on. */
static uint64_t
cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* Thread 0 is the main thread. Returns 0 or an errno. */
static int
run_all(struct worker *workers, unsigned count)
{
    pthread_t threads[THREADS_MAX];
    unsigned started = 1;
    int failure = 0;

    while (started < count && failure == 0) {
        failure =
            pthread_create(&threads[started], NULL, worker_run, &workers[started]);
        started += failure == 0;
    }
    if (failure == 0) {
        worker_run(&workers[0]);
    }
    for (unsigned i = 1; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return failure;
}

int
main(int argc, char **argv)
{
    const uint64_t begun_ns = wall_ns();
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    struct worker *workers;
    uint64_t result = 0;
    int failure;

    if (rounds == 0 || rounds > UINT32_MAX || threads == 0 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: work ROUNDS [THREADS]\n");
        return 2;
    }
    workers = calloc(threads, sizeof(*workers));
    failure = workers == NULL ? ENOMEM : 0;
    for (unsigned long i = 0; failure == 0 && i < threads; i++) {
        worker_prepare(&workers[i], (unsigned)rounds);
    }
    if (failure == 0) {
        failure = run_all(workers, (unsigned)threads);
    }
    if (failure != 0) {
        fprintf(stderr, "work: %s\n", strerror(failure));
        free(workers);
        return 1;
    }
    for (unsigned long i = 0; i < threads; i++) {
        result += workers[i].result;
    }
    free(workers);
    printf("work rounds=%lu threads=%lu wall_ns=%" PRIu64 " cpu_ns=%" PRIu64
           " result=%016" PRIx64 "\n",
           rounds, threads, wall_ns() - begun_ns, cpu_ns(), result);
    return 0;
}
