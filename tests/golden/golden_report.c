/* SPDX-License-Identifier: MIT */
/*
 * golden_report.c - makes the profile files that the golden tests show, and shows them.
 *
 *   golden-report make KIND FILE     KIND: usual, several, user, few, hostile, kernel,
 *                                    empty, foreign, events, threads, newer, long,
 *                                    stacks, stacks-removed and so on
 *   golden-report report|diff|merge ARGUMENT... as ntprof report and so on
 */
#include "cli/cmd.h"
#include "profile/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE "\033[31m\"red\"\033[0m,\n\xff\xe2\x80\xae'=1+1' \\x41"

static void
require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "golden-report: %s\n", what);
        exit(2);
    }
}

static uint32_t
add_source(struct profile *profile, const char *name, uint64_t interval)
{
    const bool time = strcmp(name, "time") == 0;
    const struct profile_source source = {
        .name = name,
        .nt_name = time ? "ProfileTime" : "",
        .unit = time ? "100ns" : "events",
        .kernel_included = true,
        .asked = interval,
        .granted = interval,
        .measured = (double)interval * 1.001,
    };
    uint32_t index;

    require(profile_add_source(profile, &source, &index), "source");
    return index;
}

static uint32_t
add_image(struct profile *profile, const char *path, const char *build_id,
          uint64_t start, uint64_t offset)
{
    const struct profile_image image = {.path = path,
                                        .build_id = build_id,
                                        .start = start,
                                        .limit = start + 0x100000,
                                        .offset = offset,
                                        .named = build_id[0] != '\0'};
    uint32_t index;

    require(profile_add_image(profile, &image, &index), "image");
    return index;
}

static uint32_t
add_function(struct profile *profile, const char *name, const char *system_name,
             const char *file, uint32_t line)
{
    const struct profile_function function = {
        .name = name, .system_name = system_name, .file = file, .start_line = line};
    uint32_t index;

    require(profile_add_function(profile, &function, &index), "function");
    return index;
}

static void
add_hits(struct profile *profile, uint32_t image, uint64_t address, const char *process,
         uint32_t function, uint32_t line, uint32_t source, uint64_t hits)
{
    uint32_t index;

    require(profile_add_process(profile, process, &index) &&
                profile_add_hits(profile, image, address, index, function, line, source,
                                 hits),
            "hits");
    profile->sources[source].counted += hits;
    profile->sources[source].taken += hits;
    profile->sources[source].expected += hits;
}

static struct profile *
begin(const char *summary)
{
    struct profile *profile = profile_new();

    require(profile != NULL, "profile");
    profile->command = strdup("python3 work.py --fast 'a b'");
    profile->hal = strdup("perf");
    profile->limits = strdup(summary);
    profile->gaps = strdup("");
    profile->time_ns = UINT64_C(1700000000123456789);
    profile->duration_ns = UINT64_C(5012345678);
    profile->bucket_bytes = 4;
    return profile;
}

/* Names from several images and processes, code without names, a little outside. */
static void
fill(struct profile *profile, uint32_t source)
{
    const uint32_t python =
        add_image(profile, "/usr/bin/python3.11", "a1b2c3d4e5f6", 0x420000, 0x20000);
    const uint32_t libc = add_image(profile, "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                    "00ff00ff00ff", 0x26000, 0x26000);
    const uint32_t plain = add_image(profile, "/opt/app/plugin.so", "", 0x1000, 0x1000);
    const uint32_t kernel =
        add_image(profile, "[kernel]", "beef", UINT64_C(0xffffffff81000000), 0);
    const uint32_t eval =
        add_function(profile, "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault",
                     "Python/ceval.c", 1650);
    const uint32_t list = add_function(
        profile, "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "_ZNSt6vectorIiSaIiEE9push_backEOi", "", 0);
    const uint32_t copy = add_function(profile, "memcpy", "memcpy", "", 0);
    const uint32_t fault =
        add_function(profile, "clear_page_erms", "clear_page_erms", "", 0);

    add_hits(profile, python, 0x4f1230, "python3", eval, 1702, source, 2001);
    add_hits(profile, python, 0x4f1234, "python3", eval, 1703, source, 250);
    add_hits(profile, python, 0x4f1230, "worker", eval, 1702, source, 2);
    add_hits(profile, libc, 0xa4560, "python3", copy, 0, source, 420);
    add_hits(profile, plain, 0x1a40, "worker", 0, 0, source, 300);
    add_hits(profile, plain, 0x1a44, "worker", 0, 0, source, 11);
    add_hits(profile, plain, 0x1a80, "worker", list, 0, source, 310);
    add_hits(profile, kernel, UINT64_C(0xffffffff81abcdef), "python3", fault, 0, source,
             100);
}

static struct profile *
make_usual(void)
{
    struct profile *profile = begin("bpf: not built in");

    fill(profile, add_source(profile, "time", 10030));
    profile->sources[0].outside = 6;
    profile->sources[0].taken += 6;
    profile->sources[0].expected += 6;
    return profile;
}

static struct profile *
make_left_out(void)
{
    struct profile *profile = make_usual();

    free(profile->gaps);
    profile->gaps = strdup("2 mappings were left out when the memory of --max-memory "
                           "was used up: hits there are outside; raise it");
    return profile;
}

static struct profile *
make_several(void)
{
    struct profile *profile = begin("");
    const uint32_t time = add_source(profile, "time", 10000);
    const uint32_t faults = add_source(profile, "page-faults", 1);

    fill(profile, time);
    add_hits(profile, 1, 0xa4560, "python3", 3, 0, faults, 1234);
    add_hits(profile, 1, 0xa4570, "worker", 3, 0, faults, 6);
    profile->sources[time].asked = 100;
    profile->sources[time].lost = 17;
    profile->sources[time].throttled = 3;
    profile->sources[time].expected += 20;
    return profile;
}

static struct profile *
make_user(void)
{
    struct profile *profile =
        begin("user mode only: perf_event_paranoid is 2; 1 would allow the kernel");

    fill(profile, add_source(profile, "time", 10030));
    profile->sources[0].kernel_included = false;
    profile->sources[0].excluded = 77;
    profile->sources[0].expected += 77;
    return profile;
}

/* The user left the kernel out, and the limits have a text on the pace, too. */
static struct profile *
make_user_chosen(void)
{
    struct profile *profile =
        begin("the interval of time is the shortest at which a hit costs 5% or less; "
              "only user mode was profiled");
    const uint32_t faults = add_source(profile, "page-faults", 1);
    const uint32_t app = add_image(profile, "/opt/app/app", "a1", 0x1000, 0x1000);
    const uint32_t work = add_function(profile, "work", "work", "", 0);

    add_hits(profile, app, 0x1200, "app", work, 0, faults, 750);
    profile->sources[faults].kernel_included = false;
    return profile;
}

/* Sources of which every event is a hit, for a user without the right to the kernel. A
 * probe of a program has no hits in kernel mode. */
static struct profile *
make_user_events(void)
{
    struct profile *profile = begin("kernel.perf_event_paranoid is 2");
    const uint32_t faults = add_source(profile, "page-faults", 1);
    const uint32_t probe = add_source(profile, "uprobe:/opt/app/app+0x1000", 1);
    const uint32_t cycles = add_source(profile, "cycles", 1000000);
    const uint32_t never = add_source(profile, "alignment-faults", 1);
    const uint32_t app = add_image(profile, "/opt/app/app", "a1", 0x1000, 0x1000);
    const uint32_t work = add_function(profile, "work", "work", "", 0);

    add_hits(profile, app, 0x1200, "app", work, 0, faults, 75);
    add_hits(profile, app, 0x1000, "app", work, 0, probe, 1);
    add_hits(profile, app, 0x1230, "app", work, 0, cycles, 200);
    for (size_t i = faults; i <= never; i++) {
        profile->sources[i].kernel_included = false;
    }
    profile->sources[cycles].unfinished = 3;
    profile->sources[cycles].lost = 1;
    profile->sources[cycles].expected += 4;
    return profile;
}

static struct profile *
make_few(void)
{
    struct profile *profile = begin("");
    const uint32_t time = add_source(profile, "time", 20000000);

    profile->sources[time].asked = 0;
    add_hits(profile, add_image(profile, "/bin/true", "", 0x1000, 0x1000), 0x1abc,
             "true", 0, 0, time, 3);
    return profile;
}

/* A source that counts events, each hit for interval of them. */
static uint32_t
add_events(struct profile *profile, const char *name, const char *nt_name,
           uint64_t interval)
{
    const struct profile_source source = {
        .name = name,
        .nt_name = nt_name,
        .unit = "events",
        .kernel_included = true,
        .asked = interval,
        .granted = interval,
        .measured = (double)interval,
    };
    uint32_t index;

    require(profile_add_source(profile, &source, &index), "source");
    return index;
}

/* What a processor counts: enough hits for a ratio in some rows, too few in others. */
static struct profile *
make_events(void)
{
    struct profile *profile = begin("");
    const uint32_t cycles =
        add_events(profile, "cycles", "ProfileTotalCycles", 1000000);
    const uint32_t instructions =
        add_events(profile, "instructions", "ProfileTotalIssues", 2000000);
    const uint32_t misses =
        add_events(profile, "cache-misses", "ProfileCacheMisses", 10000);
    const uint32_t branch_misses =
        add_events(profile, "branch-misses", "ProfileBranchMispredictions", 20000);
    const uint32_t image =
        add_image(profile, "/usr/bin/solver", "0badcafe", 0x1000, 0x1000);
    const uint32_t walk = add_function(profile, "walk_list", "walk_list", "list.c", 7);
    const uint32_t add = add_function(profile, "add_all", "add_all", "sum.c", 3);
    const uint32_t rare = add_function(profile, "rare", "rare", "rare.c", 90);

    add_hits(profile, image, 0x1100, "solver", walk, 9, cycles, 9000);
    add_hits(profile, image, 0x1100, "solver", walk, 9, instructions, 500);
    add_hits(profile, image, 0x1100, "solver", walk, 9, misses, 4000);
    add_hits(profile, image, 0x1100, "solver", walk, 9, branch_misses, 19);
    add_hits(profile, image, 0x1200, "solver", add, 4, cycles, 3000);
    add_hits(profile, image, 0x1200, "solver", add, 5, instructions, 6000);
    add_hits(profile, image, 0x1200, "solver", add, 5, branch_misses, 30);
    add_hits(profile, image, 0x1300, "solver", rare, 91, cycles, 12);
    add_hits(profile, image, 0x1300, "solver", rare, 91, instructions, 40);
    return profile;
}

static void
add_hits_of(struct profile *profile, const char *thread, uint32_t cpu_plus_1,
            uint64_t address, uint64_t hits)
{
    struct profile_place place = {
        .address = address, .function = 1, .cpu_plus_1 = cpu_plus_1};

    require(profile_add_thread(profile, thread, &place.thread) &&
                profile_add_hits_at(profile, &place, 0, hits),
            "hits");
    profile->sources[0].counted += hits;
    profile->sources[0].taken += hits;
    profile->sources[0].expected += hits;
}

/* Hits of threads on processors, some not told; in buckets of 16 bytes. */
static struct profile *
make_threads(void)
{
    struct profile *profile = begin("");
    uint32_t process;

    profile->bucket_bytes = 16;
    add_source(profile, "time", 10000);
    add_image(profile, "/opt/server", "5e17e1", 0x1000, 0x1000);
    add_function(profile, "serve", "serve", "serve.c", 10);
    require(profile_add_process(profile, "server", &process), "process");
    add_hits_of(profile, "worker (101)", 1, 0x1100, 12000);
    add_hits_of(profile, "worker (102)", 4, 0x1100, 7000);
    add_hits_of(profile, "worker (102)", 1, 0x1110, 900);
    add_hits_of(profile, "\033[2Jcleaner", 4, 0x1100, 80);
    add_hits_of(profile, "", 4, 0x1110, 20);
    add_hits_of(profile, "late", 0, 0x1110, 10);
    return profile;
}

/* Buckets that hold many functions, one of them without one at an end. */
static struct profile *
make_wide(void)
{
    struct profile *profile = begin("");
    const uint32_t source = add_source(profile, "time", 10000);
    const uint32_t image = add_image(profile, "/opt/tiny", "7177", 0x1000, 0x0);

    profile->bucket_bytes = 65536;
    add_hits(profile, image, 0x1000, "tiny", 0, 0, source, 300);
    add_hits(profile, image, 0x11000, "tiny",
             add_function(profile, "work", "work", "", 0), 0, source, 700);
    return profile;
}

/* Names a hundred thousand bytes long of all that has a name, and many rows beside
 * them. */
static struct profile *
make_long(void)
{
    enum { BYTES = 100000, ROWS = 200 };
    struct profile *profile = begin("");
    char *name = calloc(1, BYTES + 1);
    uint32_t process;
    uint32_t source;

    require(name != NULL, "name");
    memset(name, 'n', BYTES);
    source = add_source(profile, name, 1);
    add_hits(profile, add_image(profile, name, "", 0x1000, 0x1000), 0x1000, name,
             add_function(profile, name, name, name, 1), 2, source, 1);
    require(profile_add_process(profile, "short", &process), "process");
    for (uint32_t row = 0; row < ROWS; row++) {
        add_hits(profile, add_image(profile, "/bin/short", "", 0x1000, 0x1000),
                 0x2000 + row, "short", 0, 0, source, 1000);
    }
    free(name);
    return profile;
}

static struct profile *
make_hostile(void)
{
    struct profile *profile = begin(HOSTILE);
    const uint32_t source = add_source(profile, HOSTILE, 1);
    const uint32_t image = add_image(profile, "/tmp/" HOSTILE, HOSTILE, 0, 0);

    free(profile->command);
    profile->command = strdup(HOSTILE);
    add_hits(profile, image, 0x10, HOSTILE,
             add_function(profile, HOSTILE, HOSTILE, HOSTILE, 1), 2, source, 100);
    add_hits(profile, image, 0x20, "", 0, 0, source, 50);
    return profile;
}

/* A busy kernel as a virtual machine shows it. */
static struct profile *
make_kernel(void)
{
    struct profile *profile = begin("");
    const uint32_t source = add_source(profile, "time", 10000);
    const uint32_t kernel =
        add_image(profile, "[kernel]", "beef", UINT64_C(0xffffffff81000000), 0);

    add_hits(profile, kernel, UINT64_C(0xffffffff81000010), "cat",
             add_function(profile, "clear_page_erms", "clear_page_erms", "", 0), 0,
             source, 700);
    add_hits(profile, kernel, UINT64_C(0xffffffff81000020), "cat",
             add_function(profile, "finish_task_switch.isra.0",
                          "finish_task_switch.isra.0", "", 0),
             0, source, 300);
    return profile;
}

/* A kernel whose code was not found: all but a tenth of the hits are in it. */
static struct profile *
make_lost_kernel(void)
{
    struct profile *profile = begin("");
    const uint32_t source = add_source(profile, "time", 10030);
    const uint32_t image = add_image(profile, "/opt/bin/copy", "ab", 0x1000, 0x1000);

    add_hits(profile, image, 0x1010, "copy",
             add_function(profile, "copy", "copy", "", 0), 0, source, 100);
    profile->sources[0].expected += 900;
    profile->sources[0].taken += 900;
    profile->sources[0].outside = 900;
    profile->sources[0].outside_kernel = 860;
    return profile;
}

/* The same by --kernel, which leaves out what is in user mode. */
static struct profile *
make_lost_kernel_alone(void)
{
    struct profile *profile = begin("");
    const uint32_t source = add_source(profile, "time", 10030);

    profile->sources[source].user_left_out = true;
    profile->sources[source].measured = 10030;
    profile->sources[source].expected = profile->sources[source].taken = 1000;
    profile->sources[source].outside = 1000;
    profile->sources[source].outside_kernel = 640;
    return profile;
}

static struct profile *
make_empty(void)
{
    struct profile *profile = begin("");

    add_source(profile, "time", 10030);
    profile->sources[0].measured = 0;
    return profile;
}

/* Not quite foreign, but without statistics, as those are. */
static struct profile *
make_foreign(void)
{
    struct profile *profile = make_usual();
    struct profile_source *source = &profile->sources[0];

    source->expected = source->taken = source->counted = source->outside = 0;
    profile->hal[0] = '\0';
    profile->limits[0] = '\0';
    return profile;
}

/* --- stacks --- */

static uint32_t
add_call(struct profile *profile, const struct profile_call *call)
{
    uint32_t index;

    require(profile_add_call(profile, call, &index), "call");
    return index;
}

/* Add hits of source 0 with a stack. */
static void
add_on_stack(struct profile *profile, struct profile_place place, const char *process,
             uint64_t hits)
{
    require(profile_add_process(profile, process, &place.process) &&
                profile_add_hits_at(profile, &place, 0, hits),
            "hits");
    profile->sources[0].counted += hits;
    profile->sources[0].taken += hits;
    profile->sources[0].expected += hits;
}

/*
 * Rows of (hits: functions, innermost first)
 *
 *   400: malloc parse parse main         100: work cut
 *   250: hot inlined in work, main        60: clear_page_erms malloc parse main
 *   150: malloc work main                 40: main
 *
 * With several, a tenth of them are page faults, too.
 */
static struct profile *
make_stacks_of(bool several)
{
    struct profile *profile = begin("");
    const uint32_t time = add_source(profile, "time", 10030);
    const uint32_t faults = several ? add_source(profile, "page-faults", 1) : time;
    const uint32_t app = add_image(profile, "/opt/app/app", "aa11", 0x1000, 0x1000);
    const uint32_t libc = add_image(profile, "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                    "00ff00ff00ff", 0x26000, 0x26000);
    const uint32_t kernel =
        add_image(profile, "[kernel]", "beef", UINT64_C(0xffffffff81000000), 0);
    const uint32_t outer = add_function(profile, "main", "main", "app.c", 90);
    const uint32_t parse = add_function(profile, "parse", "parse", "app.c", 40);
    const uint32_t work = add_function(profile, "work", "work", "app.c", 60);
    const uint32_t hot = add_function(profile, "hot", "hot", "app.c", 20);
    const uint32_t allocate = add_function(profile, "malloc", "malloc", "", 0);
    const uint32_t clear =
        add_function(profile, "clear_page_erms", "clear_page_erms", "", 0);
    const struct profile_frame in_work = {.function = work, .line = 63};
    struct profile_call call = {.end = PROFILE_STACK_WHOLE};
    const uint32_t whole = add_call(profile, &call);
    uint32_t by_main, by_parse, inlined, cut;

    call.end = "[cut at 16 kB]";
    cut = add_call(profile, &call);
    call = (struct profile_call){.image = app,
                                 .address = 0x1910,
                                 .function = outer,
                                 .line = 95,
                                 .caller = whole};
    by_main = add_call(profile, &call);
    call = (struct profile_call){.image = app,
                                 .address = 0x1410,
                                 .function = parse,
                                 .line = 44,
                                 .caller = by_main};
    by_parse = add_call(profile, &call);
    require(profile_add_frame(profile, &in_work, &inlined), "frame");
    add_on_stack(profile,
                 (struct profile_place){.image = app,
                                        .address = 0x1620,
                                        .function = hot,
                                        .line = 22,
                                        .caller = inlined,
                                        .stack = by_main},
                 "app", 250);
    add_on_stack(profile,
                 (struct profile_place){.image = app,
                                        .address = 0x1640,
                                        .function = work,
                                        .line = 65,
                                        .stack = cut},
                 "app", 100);
    add_on_stack(profile,
                 (struct profile_place){.image = app,
                                        .address = 0x1900,
                                        .function = outer,
                                        .line = 93,
                                        .stack = whole},
                 "app", 40);
    call.caller = by_parse;
    call.address = 0x1430;
    call.line = 47;
    add_on_stack(profile,
                 (struct profile_place){.image = libc,
                                        .address = 0x26100,
                                        .function = allocate,
                                        .stack = add_call(profile, &call)},
                 "app", 400);
    call = (struct profile_call){.image = app,
                                 .address = 0x1650,
                                 .function = work,
                                 .line = 66,
                                 .caller = by_main};
    add_on_stack(profile,
                 (struct profile_place){.image = libc,
                                        .address = 0x26100,
                                        .function = allocate,
                                        .stack = add_call(profile, &call)},
                 "worker", 150);
    call = (struct profile_call){
        .image = libc, .address = 0x26180, .function = allocate, .caller = by_parse};
    add_on_stack(profile,
                 (struct profile_place){.image = kernel,
                                        .address = UINT64_C(0xffffffff81abcdef),
                                        .function = clear,
                                        .stack = add_call(profile, &call)},
                 "app", 60);
    for (size_t i = 0; several && i < profile->row_count; i++) {
        profile->rows[i].hits[faults] = profile->rows[i].hits[time] / 10;
        profile->sources[faults].counted += profile->rows[i].hits[faults];
    }
    profile->sources[faults].taken = profile->sources[faults].counted;
    profile->sources[faults].expected = profile->sources[faults].counted;
    profile->sources[time].stack_bytes = 16384;
    profile->sources[time].contexts = 1234;
    profile->sources[time].contexts_max = 262144;
    return profile;
}

static struct profile *
make_stacks(void)
{
    return make_stacks_of(false);
}

static struct profile *
make_stacks_several(void)
{
    return make_stacks_of(true);
}

/* More of what parse calls, and less of malloc that work calls. */
static struct profile *
make_stacks_newer(void)
{
    struct profile *profile = make_stacks();

    for (size_t i = 0; i < profile->row_count; i++) {
        uint64_t *const hits = &profile->rows[i].hits[0];

        if (*hits == 400 || *hits == 150) {
            *hits = *hits == 400 ? 900 : 10;
        }
    }
    return profile;
}

/* The same without stacks. */
static struct profile *
make_stacks_removed(void)
{
    struct profile *profile = make_stacks();

    require(profile_remove_stacks(profile), "stacks");
    return profile;
}

/* --- newer --- */

/* The usual after a day's work: another build, taken at five times the rate. What takes
 * as long has five times the hits, more or less. */
static struct profile *
make_newer(void)
{
    struct profile *profile = begin("bpf: not built in");
    const uint32_t source = add_source(profile, "time", 2006);
    const uint32_t python =
        add_image(profile, "/opt/bin/python3.11", "9a8b7c6d", 0x500000, 0x30000);
    const uint32_t libc = add_image(profile, "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                    "00ff00ff00ff", 0x26000, 0x26000);
    const uint32_t plain = add_image(profile, "/opt/app/plugin.so", "", 0x1000, 0x1000);
    const uint32_t kernel =
        add_image(profile, "[kernel]", "beef", UINT64_C(0xffffffff91000000), 0);
    const uint32_t eval =
        add_function(profile, "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault",
                     "/build/Python/ceval.c", 1660);
    const uint32_t copy = add_function(profile, "memcpy", "memcpy", "", 0);
    const uint32_t resize =
        add_function(profile, "resize", "resize", "src/resize.c", 20);
    const uint32_t fault =
        add_function(profile, "clear_page_erms", "clear_page_erms", "", 0);

    add_hits(profile, python, 0x5f1230, "python3", eval, 1702, source, 5003);
    add_hits(profile, python, 0x5f1240, "worker", eval, 1703, source, 1240);
    add_hits(profile, libc, 0xa4560, "python3", copy, 0, source, 2150);
    add_hits(profile, plain, 0x2a44, "worker", 0, 0, source, 1560);
    add_hits(profile, plain, 0x2a80, "worker", resize, 0, source, 400);
    add_hits(profile, kernel, UINT64_C(0xffffffff91abcdef), "python3", fault, 0, source,
             2600);
    profile->duration_ns /= 2;
    return profile;
}

static int
make(const char *kind, const char *path)
{
    static const struct {
        const char *kind;
        struct profile *(*make)(void);
    } kinds[] = {
        {"usual", make_usual},
        {"left-out", make_left_out},
        {"several", make_several},
        {"user", make_user},
        {"user-chosen", make_user_chosen},
        {"user-events", make_user_events},
        {"few", make_few},
        {"hostile", make_hostile},
        {"empty", make_empty},
        {"kernel", make_kernel},
        {"foreign", make_foreign},
        {"events", make_events},
        {"threads", make_threads},
        {"newer", make_newer},
        {"long", make_long},
        {"wide", make_wide},
        {"lost-kernel", make_lost_kernel},
        {"lost-kernel-alone", make_lost_kernel_alone},
        {"stacks", make_stacks},
        {"stacks-several", make_stacks_several},
        {"stacks-newer", make_stacks_newer},
        {"stacks-removed", make_stacks_removed},
    };
    struct pprof_error error;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            struct profile *profile = kinds[i].make();

            profile_sort(profile);
            require(pprof_write(profile, path, &error), "write");
            profile_delete(profile);
            return 0;
        }
    }
    require(false, "no such kind");
    return 2;
}

int
main(int argc, char **argv)
{
    cmd_begin();
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        return make(argv[2], argv[3]);
    }
    if (argc >= 2 && strcmp(argv[1], "report") == 0) {
        return cmd_report(argc - 1, argv + 1);
    }
    if (argc >= 2 && strcmp(argv[1], "diff") == 0) {
        return cmd_diff(argc - 1, argv + 1);
    }
    if (argc >= 2 && strcmp(argv[1], "merge") == 0) {
        return cmd_merge(argc - 1, argv + 1);
    }
    fprintf(stderr, "usage: golden-report make KIND FILE | report ARGUMENT...\n");
    return 2;
}
