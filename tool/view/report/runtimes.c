/* SPDX-License-Identifier: MIT */
/*
 * runtimes.c - recognises runtimes and interpreters by the files of their code.
 *
 * A flat profile of an interpreter shows the interpreter's own functions. Those of a
 * script would be seen in its stack only, even with the perf map of python3 -X perf.
 */
#include "view/report/runtimes.h"

#include "base/arithmetic.h"
#include "base/path.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Share of hits from which on an interpreter is mentioned. */
enum { INTERPRETER_PERCENT_MIN = 20 };

enum { FILES_MAX = 6 };

/* jit_runtime - a runtime that compiles while it runs. A file is a program or library;
 * a version after its name is ignored, and with * everything after it. */
struct jit_runtime {
    const char *files[FILES_MAX];
    const char *option;
};

static const struct jit_runtime jit_runtimes[] = {
    {{"node", "nodejs", "libnode"}, "start node with --perf-basic-prof"},
    {{"deno"}, "start deno with --v8-flags=--perf-basic-prof"},
    {{"libjvm", "java"},
     "start java (17 or later) with -XX:+UnlockDiagnosticVMOptions "
     "-XX:+DumpPerfMapAtExit"},
    {{"libcoreclr", "libclrjit", "dotnet"}, "set DOTNET_PerfMapEnabled=1 for .NET"},
    {{"luajit", "libluajit"},
     "build LuaJIT with -DLUAJIT_USE_PERFTOOLS, or use its own profiler, luajit -jp"},
    {{"beam.smp", "beam"}, "start erl (24 or later) with +JPperf true"},
    {{"php", "php-fpm", "php-cgi", "libphp", "opcache"},
     "set opcache.jit_debug=16 for PHP"},
    {{"ruby", "libruby"}, "start ruby (3.3 or later) with --yjit-perf"},
    {{"wasmtime"}, "start wasmtime with --profile=perfmap"},
    {{"qemu-*"}, "start qemu (8.0 or later) with -perfmap"},
};

/* interpreter - a runtime that executes scripts by its own functions, without compiling
 * them. */
struct interpreter {
    const char *files[FILES_MAX];
    const char *language;
    const char *instead;
};

static const struct interpreter interpreters[] = {
    {{"python", "libpython"},
     "Python",
     "py-spy shows them, as do the stacks of perf record -g with python3 -X perf (3.12 "
     "or later)"},
    {{"ruby", "libruby"},
     "Ruby",
     "rbspy shows them; code that YJIT compiles has names with ruby --yjit-perf (3.3 "
     "or later)"},
    {{"php", "php-fpm", "php-cgi", "libphp"},
     "PHP",
     "Xdebug or SPX shows them; code that its JIT compiles has names with "
     "opcache.jit_debug=16"},
    {{"perl", "libperl"}, "Perl", "Devel::NYTProf shows them"},
};

enum { INTERPRETERS = sizeof(interpreters) / sizeof(interpreters[0]) };

/* Whether the rest after a file's name is a version, a suffix or nothing. */
static bool
is_version(const char *rest)
{
    return rest[0] == '\0' || rest[0] == '.' || rest[0] == ' ' ||
           isdigit((unsigned char)rest[0]) ||
           (rest[0] == '-' && isdigit((unsigned char)rest[1]));
}

static bool
matches(const char *const files[static FILES_MAX], const char *name)
{
    for (size_t i = 0; i < FILES_MAX && files[i] != NULL; i++) {
        const size_t length = strcspn(files[i], "*");

        if (strncmp(name, files[i], length) == 0 &&
            (files[i][length] == '*' || is_version(name + length))) {
            return true;
        }
    }
    return false;
}

/* Find the process with the most hits without a name in an image. hits: by process, all
 * 0; they are counted there. */
static uint32_t
find_process(const struct profile *profile, size_t image, uint64_t *hits)
{
    uint32_t most = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (row->image == image && row->function == 0 &&
            !__builtin_add_overflow(hits[row->process], row->hits[0],
                                    &hits[row->process]) &&
            hits[row->process] > hits[most]) {
            most = row->process;
        }
    }
    return most;
}

/* Return how the runtime of a process is made to name its code; NULL: it is no known
 * runtime. It is recognised by the name of the process, or of a file in which it has
 * hits (used, by image). */
static const char *
find_option(const struct profile *profile, uint32_t process, const bool *used)
{
    const size_t count = sizeof(jit_runtimes) / sizeof(jit_runtimes[0]);

    for (size_t i = 0; i < count; i++) {
        if (matches(jit_runtimes[i].files, profile->processes[process])) {
            return jit_runtimes[i].option;
        }
        for (size_t k = 0; k < profile->image_count; k++) {
            if (used[k] && matches(jit_runtimes[i].files,
                                   path_file_name(profile->images[k].path))) {
                return jit_runtimes[i].option;
            }
        }
    }
    return NULL;
}

bool
runtimes_find_option(const struct profile *profile, size_t image, const char **option)
{
    uint64_t *const hits = calloc(profile->process_count + 1, sizeof(*hits));
    bool *const used = calloc(profile->image_count + 1, sizeof(*used));
    const bool complete = hits != NULL && used != NULL;

    *option = NULL;
    if (complete && profile->process_count > 0) {
        const uint32_t process = find_process(profile, image, hits);

        for (size_t i = 0; i < profile->row_count; i++) {
            const struct profile_row *const row = &profile->rows[i];

            used[row->image] = used[row->image] || row->process == process;
        }
        *option = find_option(profile, process, used);
    }
    free(hits);
    free(used);
    return complete;
}

/* Return the interpreter that a file is of, or INTERPRETERS. */
static size_t
find_interpreter(const char *path)
{
    const char *const name = path_file_name(path);
    size_t at = 0;

    while (at < INTERPRETERS && !matches(interpreters[at].files, name)) {
        at++;
    }
    return at;
}

void
runtimes_put_scripts(struct buffer *line, const struct profile *profile, uint64_t total)
{
    size_t *const of_image = calloc(profile->image_count + 1, sizeof(*of_image));
    uint64_t hits[INTERPRETERS + 1] = {0};
    size_t most = 0;

    if (of_image == NULL) {
        line->failed = true;
        return;
    }
    for (size_t i = 0; i < profile->image_count; i++) {
        of_image[i] = find_interpreter(profile->images[i].path);
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        add_clamped(&hits[of_image[profile->rows[i].image]], profile->rows[i].hits[0]);
    }
    free(of_image);
    for (size_t i = 1; i < INTERPRETERS; i++) {
        most = hits[i] > hits[most] ? i : most;
    }
    if (total > 0 &&
        (double)hits[most] * 100 / (double)total >= INTERPRETER_PERCENT_MIN) {
        buffer_print(line,
                     "ntprof: functions of %s scripts are not seen, %.0f%% of the hits "
                     "are in the interpreter: %s\n",
                     interpreters[most].language,
                     (double)hits[most] * 100 / (double)total,
                     interpreters[most].instead);
    }
}
