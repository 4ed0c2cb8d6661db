/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - profiles to test with: a small one with all that a run gives, and
 * comparison.
 */
#ifndef TESTS_PROFILE_FIXTURE_H
#define TESTS_PROFILE_FIXTURE_H

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Bytes that names may have and that hurt: control, escape, bad UTF-8, direction,
 * escapes. */
#define HOSTILE_NAME                                                   \
    "a\tb\n\033[31mred\033[0m \xff\xc3( \xe2\x80\xae<&\",'> \\x41 \\ " \
    "\xc2\x9b\xed\xa0\x80"

static inline uint32_t
fixture_source(struct profile *profile, const char *name, const char *unit,
               uint64_t interval)
{
    const struct profile_source source = {
        .name = name,
        .nt_name = strcmp(name, "time") == 0 ? "ProfileTime" : "",
        .unit = unit,
        .kernel_included = true,
        .asked = interval,
        .granted = interval,
    };
    uint32_t index;

    assert_true(profile_add_source(profile, &source, &index));
    return index;
}

static inline uint32_t
fixture_image(struct profile *profile, const char *path, const char *build_id)
{
    const struct profile_image image = {
        .path = path,
        .build_id = build_id,
        .start = 0x1000,
        .limit = 0x9000,
        .offset = 0x1000,
        .named = build_id[0] != '\0',
    };
    uint32_t index;

    assert_true(profile_add_image(profile, &image, &index));
    return index;
}

static inline uint32_t
fixture_function(struct profile *profile, const char *name, const char *system_name)
{
    const struct profile_function function = {
        .name = name,
        .system_name = system_name,
        .file = "src/work.c",
        .start_line = 10,
    };
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &index));
    return index;
}

static inline uint32_t
fixture_process(struct profile *profile, const char *name)
{
    uint32_t index;

    assert_true(profile_add_process(profile, name, &index));
    return index;
}

static inline void
fixture_statistics(struct profile *profile, uint32_t source, uint64_t taken)
{
    struct profile_source *statistics = &profile->sources[source];

    statistics->expected = statistics->taken = statistics->counted = taken;
    statistics->measured = (double)statistics->granted * 1.0009765625;
}

/* One source, two images, three rows, 200 hits. */
static inline struct profile *
fixture_small(void)
{
    struct profile *profile = profile_new();
    uint32_t time;
    uint32_t program;
    uint32_t library;
    uint32_t worker;

    assert_non_null(profile);
    profile->command = strdup("work --hard");
    profile->hal = strdup("perf");
    profile->limits = strdup("bpf: no right to load programs");
    profile->gaps = strdup("2 programs could not be followed");
    profile->time_ns = UINT64_C(1700000000123456789);
    profile->duration_ns = UINT64_C(2000000001);
    profile->bucket_bytes = 4;
    time = fixture_source(profile, "time", "100ns", 10030);
    library = fixture_image(profile, "/lib/libwork.so.6", "");
    program = fixture_image(profile, "/usr/bin/work", "0123456789abcdef0123");
    worker = fixture_process(profile, "work");
    assert_true(profile_add_hits(profile, program, 0x1200, worker,
                                 fixture_function(profile, "work(int)", "_Z4worki"), 12,
                                 time, 150));
    assert_true(profile_add_hits(profile, program, 0x1300, worker,
                                 fixture_function(profile, "rest", "rest"), 0, time,
                                 30));
    assert_true(profile_add_hits(profile, library, 0x2344, worker, 0, 0, time, 20));
    fixture_statistics(profile, time, 200);
    return profile;
}

/* Add an end of stacks. */
static inline uint32_t
fixture_end(struct profile *profile, const char *name)
{
    const struct profile_call end = {.end = name};
    uint32_t index;

    assert_true(profile_add_call(profile, &end, &index));
    return index;
}

/* Add a call from image 1. */
static inline uint32_t
fixture_call(struct profile *profile, uint64_t address, uint32_t function,
             uint32_t caller)
{
    const struct profile_call call = {.address = address,
                                      .image = 1,
                                      .function = function,
                                      .line = function != 0 ? 30 : 0,
                                      .caller = caller};
    uint32_t index;

    assert_true(profile_add_call(profile, &call, &index));
    return index;
}

/* Add hits to the row at 0x1200 on a stack. */
static inline void
fixture_stack_hits(struct profile *profile, uint32_t stack, uint64_t hits)
{
    const struct profile_place place = {
        .image = 1, .address = 0x1200, .function = 1, .line = 12, .stack = stack};

    assert_true(profile_add_hits_at(profile, &place, 0, hits));
}

/* fixture_small, whose program is called by main and by an unnamed function, directly
 * and by recursion, and has stacks that were cut. */
static inline struct profile *
fixture_stacks(void)
{
    struct profile *profile = fixture_small();
    const uint32_t main_function = fixture_function(profile, "main", "main");
    const uint32_t whole = fixture_end(profile, PROFILE_STACK_WHOLE);
    const uint32_t cut = fixture_end(profile, "[cut at 16 kB]");
    const uint32_t by_main = fixture_call(profile, 0x1500, main_function, whole);
    const uint32_t by_rest = fixture_call(profile, 0x1310, 2, by_main);

    fixture_stack_hits(profile, by_main, 40);
    fixture_stack_hits(profile, by_rest, 30);
    fixture_stack_hits(profile, fixture_call(profile, 0x1210, 1, by_rest), 9);
    fixture_stack_hits(profile, fixture_call(profile, 0x1600, 0, whole), 7);
    fixture_stack_hits(profile, fixture_call(profile, 0x1310, 2, cut), 5);
    fixture_stack_hits(profile, cut, 3);
    fixture_stack_hits(profile, whole, 2);
    fixture_statistics(profile, 0, 296);
    profile->sources[0].stack_bytes = 16384;
    profile->sources[0].contexts = 7;
    profile->sources[0].contexts_max = 262144;
    return profile;
}

static inline void
fixture_assert_sources_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->source_count, b->source_count);
    for (size_t i = 0; i < a->source_count; i++) {
        const struct profile_source *x = &a->sources[i];
        const struct profile_source *y = &b->sources[i];

        assert_string_equal(x->name, y->name);
        assert_string_equal(x->nt_name, y->nt_name);
        assert_string_equal(x->unit, y->unit);
        assert_int_equal(x->kernel_included, y->kernel_included);
        assert_int_equal(x->asked, y->asked);
        assert_int_equal(x->granted, y->granted);
        assert_memory_equal(&x->measured, &y->measured, sizeof(x->measured));
        assert_int_equal(x->expected, y->expected);
        assert_int_equal(x->taken, y->taken);
        assert_int_equal(x->counted, y->counted);
        assert_int_equal(x->outside, y->outside);
        assert_int_equal(x->lost, y->lost);
        assert_int_equal(x->throttled, y->throttled);
        assert_int_equal(x->missed, y->missed);
        assert_int_equal(x->unfinished, y->unfinished);
        assert_int_equal(x->outside_kernel, y->outside_kernel);
        assert_int_equal(x->excluded, y->excluded);
        assert_int_equal(x->stack_bytes, y->stack_bytes);
        assert_int_equal(x->contexts, y->contexts);
        assert_int_equal(x->contexts_max, y->contexts_max);
    }
}

static inline void
fixture_assert_tables_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->image_count, b->image_count);
    for (size_t i = 0; i < a->image_count; i++) {
        assert_string_equal(a->images[i].path, b->images[i].path);
        assert_string_equal(a->images[i].build_id, b->images[i].build_id);
        assert_int_equal(a->images[i].start, b->images[i].start);
        assert_int_equal(a->images[i].limit, b->images[i].limit);
        assert_int_equal(a->images[i].offset, b->images[i].offset);
        assert_int_equal(a->images[i].named, b->images[i].named);
    }
    assert_int_equal(a->function_count, b->function_count);
    for (size_t i = 0; i < a->function_count; i++) {
        assert_string_equal(a->functions[i].name, b->functions[i].name);
        assert_string_equal(a->functions[i].system_name, b->functions[i].system_name);
        assert_string_equal(a->functions[i].file, b->functions[i].file);
        assert_int_equal(a->functions[i].start_line, b->functions[i].start_line);
    }
}

/* Both chains name the same functions and lines. Numbers of frames are of no concern.
 */
static inline void
fixture_assert_callers_equal(const struct profile *a, uint32_t at,
                             const struct profile *b, uint32_t bt)
{
    while (at != 0 && bt != 0) {
        assert_int_equal(a->frames[at].function, b->frames[bt].function);
        assert_int_equal(a->frames[at].line, b->frames[bt].line);
        at = a->frames[at].caller;
        bt = b->frames[bt].caller;
    }
    assert_int_equal(at, 0);
    assert_int_equal(bt, 0);
}

/* Both stacks have the same calls and the same end. Numbers of calls are of no concern.
 */
static inline void
fixture_assert_stacks_equal(const struct profile *a, uint32_t at,
                            const struct profile *b, uint32_t bt)
{
    while (at != 0 && bt != 0) {
        const struct profile_call *const x = &a->calls[at];
        const struct profile_call *const y = &b->calls[bt];

        assert_string_equal(x->end != NULL ? x->end : "call",
                            y->end != NULL ? y->end : "call");
        assert_int_equal(x->address, y->address);
        assert_int_equal(x->image, y->image);
        assert_int_equal(x->function, y->function);
        assert_int_equal(x->line, y->line);
        fixture_assert_callers_equal(a, x->inlined, b, y->inlined);
        at = x->caller;
        bt = y->caller;
    }
    assert_int_equal(at, 0);
    assert_int_equal(bt, 0);
}

static inline void
fixture_assert_rows_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->row_count, b->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        const struct profile_row *x = &a->rows[i];
        const struct profile_row *y = &b->rows[i];

        assert_int_equal(x->address, y->address);
        assert_int_equal(x->image, y->image);
        assert_int_equal(x->function, y->function);
        assert_int_equal(x->line, y->line);
        fixture_assert_callers_equal(a, x->caller, b, y->caller);
        fixture_assert_stacks_equal(a, x->stack, b, y->stack);
        assert_string_equal(a->processes[x->process], b->processes[y->process]);
        assert_string_equal(a->threads[x->thread], b->threads[y->thread]);
        assert_int_equal(x->cpu_plus_1, y->cpu_plus_1);
        assert_memory_equal(x->hits, y->hits, a->source_count * sizeof(*x->hits));
    }
}

/* All that a file keeps. Names of processes without hits are not kept. */
static inline void
fixture_assert_equal(const struct profile *a, const struct profile *b)
{
    if (a == NULL || b == NULL) {
        fail_msg("no profile");
        return;
    }
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->hal, b->hal);
    assert_string_equal(a->limits, b->limits);
    assert_string_equal(a->gaps, b->gaps);
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->bucket_bytes, b->bucket_bytes);
    fixture_assert_sources_equal(a, b);
    fixture_assert_tables_equal(a, b);
    fixture_assert_rows_equal(a, b);
}

#endif
