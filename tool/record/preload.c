/* SPDX-License-Identifier: MIT */
/* preload.c - sets LD_PRELOAD and the memory that the command inherits. */
#include "record/preload.h"
#include "base/command_log.h"
#include "record/child.h"
#include "record/collect/counts.h"
#include "record/loadable.h"
#include "record/program_file.h"
#include "record/record_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char preload_variable[] = "LD_PRELOAD=";

uint64_t
preload_tick_ns(void)
{
    struct timespec tick = {0, 0};

    clock_getres(CLOCK_REALTIME_COARSE, &tick);
    return tick.tv_nsec > 0 ? (uint64_t)tick.tv_nsec : 10000000;
}

/* ---- The environment ---- */

/* Whether a string of the environment is of a variable, given with its "=". */
static bool
is_of(const char *string, const char *variable)
{
    return strncmp(string, variable, strlen(variable)) == 0;
}

/* The variable that leads to the memory, and to the socket for stacks if there is one.
 * NULL: memory has run out. */
static char *
name_memory(const struct preload_memory *memory)
{
    char *text;
    const int length =
        memory->stack_bytes == 0
            ? asprintf(&text, PRELOAD_VARIABLE "=%d:%d", (int)getpid(), memory->fd)
            : asprintf(&text, PRELOAD_VARIABLE "=%d:%d:%d", (int)getpid(), memory->fd,
                       memory->socket.place);

    return length >= 0 ? text : NULL;
}

/* Make the environment of the command: ours, with our object before what is preloaded
 * already. preload_close frees it. Returns false if memory runs out. */
static bool
make_environment(struct preload *preload, const char *object)
{
    char **const given = child_environment();
    char *preloaded = NULL;
    const char *before = "";
    size_t count = 0;
    size_t kept = 0;

    while (given[count] != NULL) {
        count++;
    }
    preload->environment = calloc(count + 3, sizeof(char *));
    for (size_t i = 0; preload->environment != NULL && i < count; i++) {
        if (is_of(given[i], preload_variable)) {
            before = given[i] + strlen(preload_variable);
        } else if (!is_of(given[i], PRELOAD_VARIABLE "=")) {
            preload->environment[2 + kept++] = given[i];
        }
    }
    if (preload->environment == NULL ||
        asprintf(&preloaded, "%s%s%s%s", preload_variable, object,
                 before[0] != '\0' ? ":" : "", before) < 0) {
        return false;
    }
    preload->environment[0] = preloaded;
    preload->environment[1] = name_memory(&preload->memory);
    return preload->environment[1] != NULL;
}

/* ---- Trying ---- */

/* Try whether this process, as its children, may have a timer of a thread. Returns 0 or
 * a negative errno. */
static int
try_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    timer_t timer;

    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) {
        return -errno;
    }
    timer_delete(timer);
    return 0;
}

bool
preload_probe(char *why, size_t why_size, int *error)
{
    struct preload_memory memory;
    struct preload_object object;
    int failure;

    *error = 0;
    if (!preload_object_open(&object, /* i386 */ false, why, why_size)) {
        return false;
    }
    preload_object_close(&object);
    failure = try_timer();
    if (failure == 0) {
        failure = preload_memory_open(&memory, preload_tick_ns(), 0);
        if (failure == 0) {
            preload_memory_close(&memory);
            return true;
        }
        snprintf(why, why_size, "its memory cannot be made: %s", strerror(-failure));
    } else {
        snprintf(why, why_size,
                 "a thread may have no timer: %s; raise "
                 "RLIMIT_SIGPENDING, or allow timer_create",
                 strerror(-failure));
    }
    *error = -failure;
    return false;
}

/* ---- Opening ---- */

/* Check what was asked for against what timers can do. */
static bool
check_options(const struct record_options *options, char *why, size_t why_size)
{
    const char *what = NULL;

    if (!options->syntax->options->program) {
        what = "it counts only in programs that ntprof run starts";
    } else if (options->source_count != 1 ||
               !record_source_is_time(options->sources[0])) {
        what = "it counts only source time";
    } else if (options->region != NULL) {
        what = "it counts whole programs, and no region of its own";
    } else if (options->affinity_count != 0 || options->per_cpu) {
        what = "it does not know on which processor a hit was";
    } else if (options->threads) {
        what = "it does not know in which thread a hit was (--threads)";
    } else if (options->cgroup != NULL) {
        what = "it does not know control groups";
    } else if (options->kernel_only) {
        what = "it does not see the kernel";
    }
    snprintf(why, why_size, "%s", what != NULL ? what : "");
    return what == NULL;
}

/* Check that the program can load a preload object, and find it. */
static bool
choose_object(const struct record_options *options, struct preload_object *object,
              char *why, size_t why_size)
{
    const struct program_choice choice = {.program = options->program[0]};
    enum loadable loadable;
    char path[PATH_MAX];

    if (!program_file_find(&choice, "", path, sizeof(path), why, why_size) ||
        access(path, X_OK) != 0) {
        /* Executing it fails, with the reason. */
        return preload_object_open(object, /* i386 */ false, why, why_size);
    }
    loadable = loadable_check(path);
    if (loadable == LOADABLE_I386 && options->stacks) {
        snprintf(why, why_size, "it is a 32-bit program, whose stacks are not walked");
        return false;
    }
    if (loadable == LOADABLE_YES || loadable == LOADABLE_I386) {
        return preload_object_open(object, loadable == LOADABLE_I386, why, why_size);
    }
    snprintf(why, why_size, "%s", loadable_reason(loadable));
    return false;
}

/* Return how many address bits a counted bucket leaves out: as many as the one asked
 * for, up to COUNTED_LOG2_MAX. */
static uint32_t
counted_log2(uint32_t bucket_bytes)
{
    uint32_t log2 = 0;

    while ((UINT32_C(1) << log2) < bucket_bytes && log2 < COUNTED_LOG2_MAX) {
        log2++;
    }
    return log2;
}

bool
preload_open(struct preload *preload, const struct record_options *options,
             uint64_t interval_100ns, char *why, size_t why_size)
{
    const uint64_t tick_ns = preload_tick_ns();
    uint64_t interval_ns;
    int failure;

    *preload = (struct preload){.memory = {.fd = -1}, .object = {.fd = -1}};
    if (!check_options(options, why, why_size) ||
        !choose_object(options, &preload->object, why, why_size)) {
        return false;
    }
    if (__builtin_mul_overflow(interval_100ns, 100, &interval_ns)) {
        interval_ns = UINT64_MAX;
    }
    failure = preload_memory_open(&preload->memory,
                                  interval_ns > tick_ns ? interval_ns : tick_ns,
                                  counted_log2(options->bucket_bytes));
    if (failure != 0) {
        preload_object_close(&preload->object);
        snprintf(why, why_size, "its memory cannot be made: %s", strerror(-failure));
        return false;
    }
    if (options->stacks) {
        failure = preload_memory_add_stacks(&preload->memory,
                                            preload_stack_bytes(options->stack_bytes));
    }
    if (failure != 0) {
        preload_close(preload);
        snprintf(why, why_size,
                 "-g: its socket for stacks cannot be made in TMPDIR, /tmp or "
                 "/dev/shm: %s",
                 strerror(-failure));
        return false;
    }
    if (!make_environment(preload, preload->object.path)) {
        preload_close(preload);
        snprintf(why, why_size, "out of memory");
        return false;
    }
    preload->used = true;
    COMMAND_LOG("%s is preloaded, interval %" PRIu64 " ns", preload->object.path,
                interval_ns);
    return true;
}

uint32_t
preload_stack_bytes(uint32_t asked)
{
    return asked & ~UINT32_C(7);
}

/* tool/view/report/rates.c searches for "kernel tick". */
void
preload_describe(const struct preload *preload, char *text, size_t size)
{
    const uint64_t tick_ns = preload_tick_ns();

    snprintf(text, size,
             "%s%skernel tick %.3g ms (%.0f Hz) limits the rate; time in the kernel is "
             "at the system call",
             preload->better, preload->better[0] != '\0' ? "; " : "",
             (double)tick_ns / 1e6, 1e9 / (double)tick_ns);
}

void
preload_close(struct preload *preload)
{
    if (preload->environment != NULL) {
        free(preload->environment[0]);
        free(preload->environment[1]);
        free(preload->environment);
        preload->environment = NULL;
    }
    if (preload->used || preload->memory.shared != NULL) {
        preload_memory_close(&preload->memory);
        preload_object_close(&preload->object);
    }
    preload->used = false;
}
