/* SPDX-License-Identifier: MIT */
/* preload.c - see preload.h. */
#include "record/preload.h"
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
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char agent_file[] = "libntprof-agent.so";
static const char agent_file_i386[] = "libntprof-agent-i386.so"; /* 32-bit programs */
static const char preload_variable[] = "LD_PRELOAD=";

/* From the folder of this program, in the build folder and when installed. */
static const char *const agent_folders[] = {"../preload", NTPROF_AGENT_FOLDER};

uint64_t
preload_tick_ns(void)
{
    struct timespec tick = {0, 0};

    clock_getres(CLOCK_REALTIME_COARSE, &tick);
    return tick.tv_nsec > 0 ? (uint64_t)tick.tv_nsec : 10000000;
}

/* ---- Finding the agent ---- */

/* The folder of this program, and the owner of its file. Without /proc, the kernel says
 * how it was called. */
static bool
find_own_folder(char *folder, size_t size, uid_t *owner)
{
    struct stat status;
    const ssize_t length = readlink("/proc/self/exe", folder, size);
    const char *const called = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char resolved[PATH_MAX];
    char *slash;

    if (length > 0 && (size_t)length < size) {
        folder[length] = '\0';
    } else if (called == NULL || realpath(called, resolved) == NULL ||
               snprintf(folder, size, "%s", resolved) >= (int)size) {
        return false;
    }
    *owner = stat(folder, &status) == 0 ? status.st_uid : geteuid();
    slash = strrchr(folder, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/* Whether only root, we or the owner of this program can have put the agent there: the
 * folder beside that of the program may be anybody's, as in /tmp. */
static bool
is_trusted(const char *agent, uid_t owner)
{
    const int length = (int)(strrchr(agent, '/') - agent);
    char folder[PATH_MAX + 2];
    const char *const places[] = {agent, folder};

    snprintf(folder, sizeof(folder), "%.*s/.", length, agent);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct stat status;

        if (stat(places[i], &status) != 0 ||
            (status.st_uid != 0 && status.st_uid != geteuid() &&
             status.st_uid != owner)) {
            return false;
        }
    }
    return true;
}

/* Find an agent: agent_file, or agent_file_i386. */
static bool
find_agent(const char *name, char *path, char *why, size_t why_size)
{
    char folder[PATH_MAX];
    char file[2 * PATH_MAX];
    uid_t owner;

    snprintf(why, why_size, "its agent %s is not installed; %s", name,
             name == agent_file
                 ? "install ntprof again"
                 : "build ntprof where the compiler makes 32-bit programs too");
    if (!find_own_folder(folder, sizeof(folder), &owner)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(agent_folders) / sizeof(agent_folders[0]); i++) {
        snprintf(file, sizeof(file), "%s/%s/%s", folder, agent_folders[i], name);
        if (realpath(file, path) == NULL || access(path, R_OK) != 0) {
            continue;
        }
        if (!is_trusted(path, owner)) {
            snprintf(why, why_size,
                     "its agent %s belongs to another user; install ntprof again",
                     name);
            continue;
        }
        if (strpbrk(path, ": \t\n") == NULL) {
            return true;
        }
        snprintf(
            why, why_size,
            "the path of its agent has a blank or a colon, which separate names in "
            "LD_PRELOAD; install ntprof elsewhere");
        return false;
    }
    return false;
}

/* ---- The environment ---- */

/* Whether a string of the environment is of a variable, given with its "=". */
static bool
is_of(const char *string, const char *variable)
{
    return strncmp(string, variable, strlen(variable)) == 0;
}

/* Make the environment of the command: ours, with the agent before what is preloaded
 * already. */
static bool
make_environment(struct preload *preload, const char *agent)
{
    char **const given = child_environment();
    char *preloaded = NULL;
    char *memory = NULL;
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
        asprintf(&preloaded, "%s%s%s%s", preload_variable, agent,
                 before[0] != '\0' ? ":" : "", before) < 0) {
        return false;
    }
    preload->environment[0] = preloaded;
    if (asprintf(&memory, PRELOAD_VARIABLE "=%d:%d", (int)getpid(),
                 preload->memory.fd) < 0) {
        return false;
    }
    preload->environment[1] = memory;
    return true;
}

/* ---- Trying ---- */

/* Whether this process, as its children, may have a timer of a thread. */
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
    struct agent_memory memory;
    char agent[PATH_MAX];
    int failure;

    *error = 0;
    if (!find_agent(agent_file, agent, why, why_size)) {
        return false;
    }
    failure = try_timer();
    if (failure == 0) {
        failure = agent_memory_open(&memory, preload_tick_ns(), 0);
        if (failure == 0) {
            agent_memory_close(&memory);
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

    if (!options->syntax->program) {
        what = "it counts only in programs that ntprof run starts";
    } else if (options->source_count != 1 ||
               !record_source_is_time(options->sources[0])) {
        what = "it counts only source time";
    } else if (options->region != NULL) {
        what = "it counts whole programs, and no region of its own";
    } else if (options->affinity_count != 0 || options->per_cpu) {
        what = "it does not know on which processor a hit was";
    } else if (options->cgroup != NULL) {
        what = "it does not know control groups";
    } else if (options->kernel_only) {
        what = "it does not see the kernel";
    }
    snprintf(why, why_size, "%s", what != NULL ? what : "");
    return what == NULL;
}

/* Check that an agent can be loaded into the program, and find it. */
static bool
choose_agent(const struct record_options *options, char *agent, char *why,
             size_t why_size)
{
    const struct program_choice choice = {.program = options->program[0]};
    enum loadable loadable;
    char path[PATH_MAX];

    if (!program_file_find(&choice, "", path, sizeof(path), why, why_size) ||
        access(path, X_OK) != 0) {
        /* Executing it fails, with the reason. */
        return find_agent(agent_file, agent, why, why_size);
    }
    loadable = loadable_check(path);
    if (loadable == LOADABLE_YES || loadable == LOADABLE_I386) {
        return find_agent(loadable == LOADABLE_YES ? agent_file : agent_file_i386,
                          agent, why, why_size);
    }
    snprintf(why, why_size, "%s", loadable_reason(loadable));
    return false;
}

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
    char agent[PATH_MAX];
    int failure;

    *preload = (struct preload){.memory = {.fd = -1}};
    if (!check_options(options, why, why_size) ||
        !choose_agent(options, agent, why, why_size)) {
        return false;
    }
    if (__builtin_mul_overflow(interval_100ns, 100, &interval_ns)) {
        interval_ns = UINT64_MAX;
    }
    failure = agent_memory_open(&preload->memory,
                                interval_ns > tick_ns ? interval_ns : tick_ns,
                                counted_log2(options->bucket_bytes));
    if (failure != 0) {
        snprintf(why, why_size, "its memory cannot be made: %s", strerror(-failure));
        return false;
    }
    if (!make_environment(preload, agent)) {
        preload_close(preload);
        snprintf(why, why_size, "out of memory");
        return false;
    }
    preload->used = true;
    return true;
}

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
        agent_memory_close(&preload->memory);
    }
    preload->used = false;
}
