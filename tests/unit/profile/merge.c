/* SPDX-License-Identifier: MIT */
/* merge.c - profiles added up: exact sums, however they are bracketed, and what is
 * refused. */
#include "fixture.h"

#include "base/buffer.h"
#include "profile/join.h"
#include "profile/merge.h"

#include <math.h>
#include <stdio.h>

/* --- what a profile says, whatever the order of its tables --- */

static int
compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A call or an end, after those that are further in. */
static char *
call_text(const struct profile *profile, const struct profile_call *call,
          const char *inner)
{
    char *text = NULL;

    if (call->end != NULL) {
        assert_true(asprintf(&text, "%s;%s", inner, call->end) > 0);
        return text;
    }
    assert_true(
        asprintf(
            &text, "%s;%s %s %llx %s:%u<%s", inner, profile->images[call->image].path,
            profile->images[call->image].build_id, (unsigned long long)call->address,
            profile->functions[call->function].name, call->line,
            profile->functions[profile->frames[call->inlined].function].name) > 0);
    return text;
}

static char *
row_line(const struct profile *profile, const struct profile_row *row)
{
    const struct profile_image *image = &profile->images[row->image];
    char *line = NULL;
    char callers[256] = "";
    char hits[256] = "";
    char *stack = strdup("");

    for (uint32_t at = row->stack; at != 0; at = profile->calls[at].caller) {
        char *const inner = stack;

        stack = call_text(profile, &profile->calls[at], inner);
        free(inner);
    }
    for (uint32_t at = row->caller; at != 0; at = profile->frames[at].caller) {
        const struct profile_frame *frame = &profile->frames[at];

        snprintf(callers + strlen(callers), sizeof(callers) - strlen(callers), "<%s:%u",
                 profile->functions[frame->function].name, frame->line);
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        snprintf(hits + strlen(hits), sizeof(hits) - strlen(hits), " %s=%llu",
                 profile->sources[i].name, (unsigned long long)row->hits[i]);
    }
    assert_true(
        asprintf(&line, "%s %s %llx-%llx+%llx %llx %s:%u%s %s %s %u%s%s\n", image->path,
                 image->build_id, (unsigned long long)image->start,
                 (unsigned long long)image->limit, (unsigned long long)image->offset,
                 (unsigned long long)row->address,
                 profile->functions[row->function].name, row->line, callers,
                 profile->processes[row->process], profile->threads[row->thread],
                 row->cpu_plus_1, hits, stack) > 0);
    free(stack);
    return line;
}

/* A stack of three calls, which is not whole in one variant. */
static uint32_t
variant_stack(struct profile *made, unsigned number, uint32_t library,
              const struct profile_place *place)
{
    uint32_t at = fixture_end(made, number == 1 ? "[cut at 16 kB]" : "whole");
    struct profile_call call = {
        .image = library,
        .address = 0x2400,
        .function = fixture_function(made, "start", "start"),
        .line = number,
        .caller = at,
    };

    assert_true(profile_add_call(made, &call, &call.caller));
    call.image = place->image;
    call.address = 0x1500;
    call.function = place->function;
    call.line = place->line;
    call.inlined = place->caller;
    assert_true(profile_add_call(made, &call, &call.caller));
    call.address = 0x1600;
    assert_true(profile_add_call(made, &call, &at));
    return at;
}

/* All rows as lines in order of the alphabet; to be freed. */
static char *
rows_text(const struct profile *profile)
{
    char **lines = calloc(profile->row_count + 1, sizeof(*lines));
    struct buffer text = {0};

    assert_non_null(lines);
    for (size_t i = 0; i < profile->row_count; i++) {
        lines[i] = row_line(profile, &profile->rows[i]);
    }
    qsort(lines, profile->row_count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < profile->row_count; i++) {
        buffer_append_text(&text, lines[i]);
        free(lines[i]);
    }
    free(lines);
    assert_non_null(buffer_text(&text));
    return (char *)text.data;
}

static void
assert_same(const struct profile *a, const struct profile *b)
{
    char *a_rows = rows_text(a);
    char *b_rows = rows_text(b);

    assert_string_equal(a_rows, b_rows);
    free(a_rows);
    free(b_rows);
    fixture_assert_sources_equal(a, b);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->hal, b->hal);
    assert_string_equal(a->limits, b->limits);
    assert_string_equal(a->gaps, b->gaps);
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->bucket_bytes, b->bucket_bytes);
}

/* --- merging --- */

/* As it comes back from a file, between two calls of the command; takes it. */
static struct profile *
copy(struct profile *profile)
{
    struct pprof_error error = {.text = ""};
    struct profile *back;
    void *bytes;
    size_t size;

    assert_true(pprof_encode(profile, &bytes, &size));
    back = pprof_decode(bytes, size, &error);
    free(bytes);
    profile_delete(profile);
    if (back == NULL) {
        fail_msg("%s", error.text);
    }
    return back;
}

/* The sum; takes both. */
static struct profile *
add(struct profile *a, struct profile *b)
{
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {.text = ""};
    struct profile *sum;

    assert_non_null(merger);
    if (!profile_merger_add(merger, a, &error) ||
        !profile_merger_add(merger, b, &error)) {
        fail_msg("%s", error.text);
    }
    sum = profile_merger_take(merger, &error);
    assert_non_null(sum);
    profile_merger_delete(merger);
    return sum;
}

/* Adding b to a is refused with these words; takes both. */
static void
assert_refused(struct profile *a, struct profile *b, const char *words)
{
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {.text = ""};

    assert_non_null(merger);
    assert_true(profile_merger_add(merger, a, &error));
    assert_false(profile_merger_add(merger, b, &error));
    assert_non_null(strstr(error.text, words));
    profile_merger_delete(merger);
}

static uint64_t
total_hits(const struct profile *profile, size_t source)
{
    uint64_t total = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        total += profile->rows[i].hits[source];
    }
    return total;
}

static void
merge__one_profile__is_that_profile(void **state)
{
    struct profile_merger *merger = profile_merger_new();
    struct profile *profile = fixture_small();
    struct profile *expected = fixture_small();
    struct pprof_error error;
    struct profile *sum;

    (void)state;
    assert_true(profile_merger_add(merger, profile, &error));
    sum = profile_merger_take(merger, &error);
    fixture_assert_equal(sum, expected);
    profile_delete(sum);
    profile_delete(expected);
    profile_merger_delete(merger);
}

static void
merge__none__said(void **state)
{
    struct profile_merger *merger = profile_merger_new();
    struct pprof_error error = {.text = ""};

    (void)state;
    assert_null(profile_merger_take(merger, &error));
    assert_string_equal(error.text, "there is no profile to merge");
    profile_merger_delete(merger);
}

static void
merge__twice_the_same__doubles_hits_and_statistics(void **state)
{
    struct profile *sum = add(fixture_small(), fixture_small());
    const struct profile_source *time = &sum->sources[0];

    (void)state;
    assert_int_equal(sum->row_count, 3);
    assert_int_equal(sum->rows[0].hits[0], 300);
    assert_int_equal(sum->rows[2].hits[0], 40);
    assert_int_equal(time->expected, 400);
    assert_int_equal(time->taken, 400);
    assert_int_equal(time->counted, 400);
    assert_true(time->measured == 10039.795);
    assert_int_equal(sum->duration_ns, 2 * UINT64_C(2000000001));
    assert_string_equal(sum->command, "work --hard");
    assert_string_equal(sum->gaps, "2 programs could not be followed");
    profile_delete(sum);
}

static void
merge__other_texts__all_kept_once(void **state)
{
    struct profile *other = fixture_small();
    struct profile *sum;

    (void)state;
    free(other->command);
    other->command = strdup("rest --long");
    free(other->hal);
    other->hal = strdup("bpf");
    free(other->gaps);
    other->gaps = strdup("");
    other->time_ns = 17;
    sum = add(fixture_small(), other);
    assert_string_equal(sum->command, "work --hard | rest --long");
    assert_string_equal(sum->hal, "perf, bpf");
    assert_string_equal(sum->gaps, "2 programs could not be followed");
    assert_int_equal(sum->time_ns, 17);
    profile_delete(sum);
}

/* Three profiles with sources, images, names, threads of their own. */
static struct profile *
variant(unsigned number)
{
    struct profile *profile = fixture_small();
    struct profile *made = profile_new();
    const char *const extra[] = {"page-faults", "cycles", "page-faults"};
    const uint32_t time = fixture_source(made, "time", "100ns", 10030);
    const uint32_t other =
        fixture_source(made, extra[number], "events", 1 + number % 2);
    const uint32_t library = fixture_image(made, "/lib/libwork.so.6", "");
    const uint32_t program = fixture_image(
        made, number == 1 ? "/opt/bin/work" : "/usr/bin/work", "0123456789abcdef0123");
    const uint32_t newer = fixture_image(made, "/usr/bin/work", "fedcba");
    const uint32_t kernel = fixture_image(made, "[kernel]", "");
    const uint32_t worker = fixture_process(made, "work");
    const uint32_t outer = fixture_function(made, "outer", "outer");
    struct profile_frame frame = {.function = outer, .line = 5};
    struct profile_place place = {
        .image = program, .address = 0x1400, .process = worker};
    char name[32];

    made->command = profile->command;
    made->hal = profile->hal;
    made->limits = profile->limits;
    made->gaps = profile->gaps;
    profile->command = profile->hal = profile->limits = profile->gaps = NULL;
    profile_delete(profile);
    made->time_ns = 1000 - number;
    made->duration_ns = 10 + number;
    made->bucket_bytes = 4;
    snprintf(name, sizeof(name), "kernel_%u", number);
    /* One has no name for it, one the function, one where it was inlined into. */
    if (number > 0) {
        place.function = fixture_function(made, "inner", "inner");
        place.line = number;
    }
    if (number > 1) {
        assert_true(profile_add_frame(made, &frame, &place.caller));
    }
    assert_true(profile_add_hits_at(made, &place, time, 7 + number));
    place.cpu_plus_1 = 1 + number % 2;
    assert_true(profile_add_thread(made, name, &place.thread));
    assert_true(profile_add_hits_at(made, &place, other, 60));
    place.stack = variant_stack(made, number, library, &place);
    assert_true(profile_add_hits_at(made, &place, other, 40));
    assert_true(profile_add_hits(made, newer, 0x1200, worker,
                                 fixture_function(made, "work(int)", "_Z4worki"), 9,
                                 time, 11));
    assert_true(profile_add_hits(made, kernel, 0x2000, worker,
                                 fixture_function(made, name, name), 0, time, 3));
    assert_true(
        profile_add_hits(made, library, 0x2344 + 4 * number, worker, 0, 0, other, 2));
    made->images[program].limit += 0x1000 * number;
    made->images[program].start -= 0x100 * number;
    made->images[program].offset -= 0x100 * number;
    fixture_statistics(made, time, 21 + number);
    made->sources[time].lost = number;
    made->sources[time].expected += number;
    fixture_statistics(made, other, 102);
    return made;
}

static void
merge__bracketed_otherwise__same_sum(void **state)
{
    struct profile *left;
    struct profile *right;

    (void)state;
    for (unsigned first = 0; first < 3; first++) {
        const unsigned second = (first + 1) % 3;
        const unsigned third = (first + 2) % 3;

        left = copy(add(copy(add(variant(first), variant(second))), variant(third)));
        right = copy(add(variant(first), copy(add(variant(second), variant(third)))));
        assert_same(left, right);
        assert_int_equal(total_hits(left, 0), 21 + 22 + 23);
        assert_int_equal(left->sources[0].taken, 21 + 22 + 23);
        assert_int_equal(left->sources[0].expected, 21 + 22 + 23 + 0 + 1 + 2);
        assert_int_equal(left->source_count, 3);
        profile_delete(left);
        profile_delete(right);
    }
}

/* Calls are equal by caller, image and address, so stacks are those of one file. */
static void
merge__stacks__once_and_flat_sums_stay(void **state)
{
    struct profile *sum = add(fixture_stacks(), fixture_stacks());
    struct profile *flat = fixture_stacks();
    struct profile *flat_sum;
    const size_t calls = sum->call_count;

    (void)state;
    assert_int_equal(sum->row_count, flat->row_count);
    assert_int_equal(calls, flat->call_count);
    assert_int_equal(total_hits(sum, 0), 2 * total_hits(flat, 0));

    assert_true(profile_remove_stacks(flat));
    flat_sum = fixture_stacks();
    assert_true(profile_remove_stacks(flat_sum));
    flat_sum = add(flat_sum, flat);
    assert_true(profile_remove_stacks(sum));
    assert_same(sum, flat_sum);
    profile_delete(sum);
    profile_delete(flat_sum);
}

/* Add hits to a stack of this caller, whose caller may be the other file's, too. */
static struct profile *
with_caller(uint64_t address, const char *end, uint64_t hits)
{
    struct profile *const profile = fixture_stacks();
    const uint32_t outermost = fixture_end(profile, end);

    fixture_stack_hits(
        profile,
        fixture_call(profile, address, 1,
                     fixture_call(profile, 0x1700,
                                  fixture_function(profile, "main", "main"),
                                  outermost)),
        hits);
    fixture_statistics(profile, 0, total_hits(profile, 0));
    profile->sources[0].contexts++;
    return profile;
}

/* A sum has all contexts of its parts, so that it does not depend on their order. */
static void
merge__other_stacks__all_of_them_in_either_order(void **state)
{
    struct profile *const one = with_caller(0x1a00, PROFILE_STACK_WHOLE, 20);
    struct profile *const other = with_caller(0x1b00, "[other callers]", 30);
    const size_t rows = one->row_count;
    const uint64_t hits = total_hits(one, 0) + total_hits(other, 0);
    struct profile *sum = add(one, other);
    struct profile *turned = add(with_caller(0x1b00, "[other callers]", 30),
                                 with_caller(0x1a00, PROFILE_STACK_WHOLE, 20));

    (void)state;
    assert_same(sum, turned);
    assert_int_equal(sum->row_count, rows + 1);
    assert_int_equal(total_hits(sum, 0), hits);
    assert_int_equal(sum->sources[0].contexts, 16);
    assert_int_equal(sum->sources[0].contexts_max, 2 * 262144);
    sum = copy(sum);
    turned = copy(turned);
    assert_same(sum, turned);
    profile_delete(sum);
    profile_delete(turned);
}

static const struct profile_row *
find_row(const struct profile *profile, const char *path, const char *build_id,
         uint64_t address, const char *function)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        if (strcmp(profile->images[row->image].path, path) == 0 &&
            strcmp(profile->images[row->image].build_id, build_id) == 0 &&
            row->address == address &&
            strcmp(profile->functions[row->function].name, function) == 0) {
            return row;
        }
    }
    return NULL;
}

static void
merge__same_build_elsewhere__one_image_that_covers_both(void **state)
{
    struct profile *sum = add(variant(0), variant(1));
    const struct profile_row *row =
        find_row(sum, "/usr/bin/work", "0123456789abcdef0123", 0x1400, "inner");

    (void)state;
    assert_non_null(row);
    assert_int_equal(row->hits[0],
                     7 + 8); /* that without a name took it from the other */
    assert_int_equal(row->line, 1);
    assert_int_equal(sum->images[row->image].start, 0xf00);
    assert_int_equal(sum->images[row->image].offset, 0xf00);
    assert_int_equal(sum->images[row->image].limit, 0xa000);
    assert_int_equal(sum->image_count, 4);
    profile_delete(sum);
}

static void
merge__segments_with_addresses_of_their_own__stay_apart(void **state)
{
    const struct profile_image segment = {.path = "/usr/bin/work",
                                          .build_id = "0123456789abcdef0123",
                                          .start = 0x20000,
                                          .limit = 0x30000,
                                          .offset = 0xb000};
    struct profile *profile = variant(0);
    const struct profile_row *row;
    uint32_t image;
    struct profile *sum;

    (void)state;
    assert_true(profile_add_image(profile, &segment, &image));
    assert_true(profile_add_hits(profile, image, 0x20010, 0, 0, 0, 0, 5));
    sum = add(profile, variant(1));
    row = find_row(sum, segment.path, segment.build_id, 0x20010, "");
    assert_non_null(row);
    assert_int_equal(sum->images[row->image].start, segment.start);
    assert_int_equal(sum->images[row->image].offset, segment.offset);
    assert_int_equal(sum->image_count, 5);
    profile_delete(sum);
}

static void
merge__other_build_of_one_path__stays_apart(void **state)
{
    struct profile *sum = add(variant(0), fixture_small());

    (void)state;
    assert_int_equal(
        find_row(sum, "/usr/bin/work", "fedcba", 0x1200, "work(int)")->hits[0], 11);
    assert_int_equal(
        find_row(sum, "/usr/bin/work", "0123456789abcdef0123", 0x1200, "work(int)")
            ->hits[0],
        150);
    profile_delete(sum);
}

static void
merge__kernels_of_two_machines__other_names_at_one_address_stay_apart(void **state)
{
    struct profile *sum = copy(add(variant(0), copy(add(variant(1), variant(1)))));

    (void)state;
    assert_int_equal(find_row(sum, "[kernel]", "", 0x2000, "kernel_0")->hits[0], 3);
    assert_int_equal(find_row(sum, "[kernel]", "", 0x2000, "kernel_1")->hits[0], 6);
    profile_delete(sum);
}

/* A file of another tool: no buckets, addresses as it ran. */
static struct profile *
as_it_ran(uint64_t base, const char *build_id)
{
    struct profile *profile = profile_new();
    const uint32_t time = fixture_source(profile, "time", "100ns", 100000);
    const uint32_t image = fixture_image(profile, "/usr/bin/foreign", build_id);
    const uint32_t nobody = fixture_process(profile, "");

    profile->command = strdup("");
    profile->hal = strdup("");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    profile->images[image].start = base + 0x1000;
    profile->images[image].limit = base + 0x9000;
    assert_true(profile_add_hits(profile, image, base + 0x1234, nobody,
                                 fixture_function(profile, "main", "main"), 3, time,
                                 5));
    return profile;
}

static void
merge__one_build_at_random_places__addresses_of_the_first(void **state)
{
    struct profile *sum =
        add(as_it_ran(0x550000000000, "abcd"), as_it_ran(0x560000000000, "abcd"));

    (void)state;
    assert_int_equal(sum->row_count, 1);
    assert_int_equal(sum->rows[0].address, 0x550000001234);
    assert_int_equal(sum->rows[0].hits[0], 10);
    assert_int_equal(sum->images[0].start, 0x550000001000);
    assert_int_equal(sum->images[0].limit, 0x550000009000);
    profile_delete(sum);
}

static void
merge__unknown_builds_at_random_places__stay_apart(void **state)
{
    struct profile *sum =
        add(as_it_ran(0x550000000000, ""), as_it_ran(0x560000000000, ""));

    (void)state;
    assert_int_equal(sum->row_count, 2);
    assert_int_equal(sum->image_count, 2);
    profile_delete(sum);
}

static void
merge__what_does_not_add_up__refused(void **state)
{
    struct profile *other = fixture_small();

    (void)state;
    other->sources[0].granted = 0;
    assert_refused(fixture_small(), other,
                   "its source time has an interval that is not known, those before "
                   "have one: such hits do not add up");
    other = fixture_small();
    other->sources[0].unit = "events";
    assert_refused(fixture_small(), other, "its source time counts other units");
    assert_refused(fixture_small(), as_it_ran(0, ""), "of another tool");
}

/* A profile with one row of each hit, time at an interval. */
static struct profile *
at_interval(uint64_t interval, uint32_t bucket_bytes, uint64_t address, uint64_t hits)
{
    struct profile *profile = profile_new();
    const uint32_t time = fixture_source(profile, "time", "100ns", interval);
    const uint32_t image = fixture_image(profile, "/usr/bin/work", "0123");
    const uint32_t process = fixture_process(profile, "work");

    profile->command = strdup("work");
    profile->hal = strdup("perf");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    profile->bucket_bytes = bucket_bytes;
    assert_true(profile_add_hits(profile, image, address, process, 0, 0, time, hits));
    profile->sources[time].taken = hits + 1;
    profile->sources[time].counted = hits;
    profile->sources[time].expected = hits + 1;
    profile->sources[time].outside = 1;
    return profile;
}

static void
merge__several_intervals__each_a_column_and_values_add_up(void **state)
{
    struct profile *sum = copy(add(
        copy(add(at_interval(20000, 4, 0x1040, 3), at_interval(10000, 4, 0x1040, 5))),
        at_interval(20000, 4, 0x1080, 7)));
    struct pprof_error error;

    (void)state;
    assert_int_equal(sum->source_count, 2);
    assert_int_equal(sum->row_count, 2);
    assert_int_equal(sum->sources[0].granted, 20000);
    assert_int_equal(sum->sources[0].taken, 12);
    assert_int_equal(sum->sources[1].granted, 10000);
    assert_int_equal(sum->sources[1].taken, 6);

    assert_true(profile_join_intervals(sum, &error));
    assert_int_equal(sum->source_count, 1);
    assert_int_equal(sum->sources[0].granted, 10000);
    assert_int_equal(sum->sources[0].taken, 18);
    assert_int_equal(sum->sources[0].outside, 3);
    assert_int_equal(profile_outside(sum, &sum->sources[0]), 5);
    /* 7 * 2, and 3 * 2 + 5 */
    assert_int_equal(sum->rows[0].hits[0], 14);
    assert_int_equal(sum->rows[1].hits[0], 11);
    assert_int_equal(profile_hits(&sum->sources[0], 0, sum->rows[1].hits), 8);
    assert_true(fabs(profile_variance(&sum->sources[0], 0, sum->rows[1].hits) - 17) <
                1e-9);

    /* What is written of it is what was read. */
    sum = copy(sum);
    assert_int_equal(sum->source_count, 2);
    assert_true(profile_join_intervals(sum, &error));
    assert_int_equal(sum->rows[1].hits[0], 11);
    profile_delete(sum);
}

static void
merge__several_buckets__rows_keep_theirs_and_widest_is_known(void **state)
{
    struct profile *sum = copy(
        add(add(at_interval(10000, 4, 0x1044, 3), at_interval(10000, 64, 0x1040, 5)),
            at_interval(10000, 16, 0x1050, 7)));

    (void)state;
    assert_int_equal(sum->bucket_bytes, 64);
    assert_int_equal(sum->bucket_least, 4);
    assert_int_equal(sum->row_count, 3);
    assert_int_equal(sum->rows[0].address, 0x1044);
    assert_int_equal(sum->rows[2].address, 0x1050);
    profile_join_buckets(sum);
    for (size_t i = 0; i < sum->row_count; i++) {
        assert_int_equal(sum->rows[i].address, 0x1040);
    }
    profile_delete(sum);
}

/* A profile with one row of a function at 0x1040. */
static struct profile *
of_function(uint32_t bucket_bytes, const char *name, uint64_t hits)
{
    struct profile *const profile = at_interval(10000, bucket_bytes, 0x1040, hits);

    profile->rows[0].function = fixture_function(profile, name, name);
    return profile;
}

/* The wider of two buckets at one address has more of another function. */
static void
merge__several_buckets_at_an_address__each_keeps_its_function(void **state)
{
    struct profile *sum = of_function(4, "first", 3);

    (void)state;
    sum = add(sum, of_function(64, "second", 5));
    sum = add(sum, of_function(64, "second", 7));
    sum = copy(add(sum, of_function(4, "first", 11)));
    assert_int_equal(sum->row_count, 2);
    assert_string_equal(sum->functions[sum->rows[0].function].name, "first");
    assert_int_equal(sum->rows[0].hits[0], 14);
    assert_string_equal(sum->functions[sum->rows[1].function].name, "second");
    assert_int_equal(sum->rows[1].hits[0], 12);
    profile_delete(sum);
}

/* A profile with 10 hits of a function of a known build, and a call by it. A function
 * whose bounds only are known has no name. */
static struct profile *
of_bounds(uint32_t bucket_bytes, const char *name)
{
    struct profile *const profile = at_interval(10000, bucket_bytes, 0x1080, 1);
    const struct profile_function function = {
        .name = name, .system_name = name, .has_address = true, .address = 0x1040};
    struct profile_place place = {.image = profile->rows[0].image, .address = 0x1040};
    struct profile_call call = {.image = place.image, .address = 0x1044};

    assert_true(profile_add_function(profile, &function, &place.function));
    call.function = place.function;
    call.caller = fixture_end(profile, PROFILE_STACK_WHOLE);
    assert_true(profile_add_call(profile, &call, &place.stack));
    assert_true(profile_add_hits_at(profile, &place, 0, 10));
    return profile;
}

/* The name stays, whichever file comes first. */
static void
merge__bounds_without_name__named_by_the_other_file(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t second_bytes = i < 2 ? 4 : 64;
        struct profile *const sum =
            add(of_bounds(4, i % 2 == 0 ? "" : "named"),
                of_bounds(second_bytes, i % 2 == 0 ? "named" : ""));

        assert_int_equal(sum->row_count, 2);
        assert_int_equal(sum->rows[1].hits[0], 20);
        assert_string_equal(sum->functions[sum->rows[1].function].name, "named");
        assert_string_equal(
            sum->functions[sum->calls[sum->rows[1].stack].function].name, "named");
        profile_delete(sum);
    }
}

static void
join__numbers_beyond_64_bits__refused(void **state)
{
    struct profile *sum = add(at_interval(INT64_MAX / 2, 4, 0x1040, INT64_MAX / 2),
                              at_interval(3, 4, 0x1040, 5));
    struct pprof_error error;

    (void)state;
    assert_false(profile_join_intervals(sum, &error));
    assert_non_null(strstr(error.text, "add up to more"));
    assert_int_equal(sum->source_count, 2);
    assert_int_equal(sum->rows[0].hits[0], INT64_MAX / 2);
    profile_delete(sum);
}

static void
merge__as_many_sources_as_a_file_holds__no_more(void **state)
{
    struct profile *sum = at_interval(1, 4, 0x1040, 3);

    (void)state;
    for (int interval = 2; interval <= PROFILE_SOURCES_MAX; interval++) {
        sum = add(sum, at_interval((uint64_t)interval, 4, 0x1080, 5));
    }
    sum = copy(sum);
    assert_int_equal(sum->source_count, PROFILE_SOURCES_MAX);
    assert_int_equal(sum->row_count, 2);
    assert_refused(sum, at_interval(PROFILE_SOURCES_MAX + 1, 4, 0x1040, 5),
                   "with those before it has more than 1024 sources");
}

/* Time has two columns. */
static void
merge__as_many_names_of_sources_as_a_file_holds__read_back(void **state)
{
    struct profile *sum = profile_new();

    (void)state;
    sum->hal = strdup("perf");
    sum->bucket_bytes = 4;
    for (int i = 1; i < PROFILE_SOURCES_MAX; i++) {
        char name[24];

        snprintf(name, sizeof(name), "event-%d", i);
        (void)fixture_source(sum, name, "events", 1);
    }
    sum = copy(add(sum, at_interval(10000, 4, 0x1040, 3)));
    assert_int_equal(sum->source_count, PROFILE_SOURCES_MAX);
    assert_int_equal(total_hits(sum, PROFILE_SOURCES_MAX - 1), 3);
    profile_delete(sum);
}

/* page-faults has one interval, so its hits stay as they are. */
static void
join__second_source_too_large__named(void **state)
{
    struct profile *sum = profile_new();
    struct pprof_error error;

    (void)state;
    fixture_source(sum, "page-faults", "events", 1);
    fixture_source(sum, "cycles", "events", INT64_MAX / 2);
    fixture_source(sum, "cycles", "events", 3);
    assert_true(profile_add_hits(sum, fixture_image(sum, "/usr/bin/work", ""), 0x1040,
                                 fixture_process(sum, "work"), 0, 0, 1, INT64_MAX / 2));
    assert_false(profile_join_intervals(sum, &error));
    assert_non_null(strstr(error.text, "of source cycles times their intervals"));
    profile_delete(sum);
}

static void
merge__sums_beyond_the_format__refused(void **state)
{
    struct profile *other = fixture_small();

    (void)state;
    other->rows[0].hits[0] = INT64_MAX - 249;
    assert_refused(fixture_small(), other, "the hits of source time add up");
    other = fixture_small();
    other->rows[0].hits[0] = INT64_MAX - 250;
    profile_delete(add(fixture_small(), other));
    other = fixture_small();
    other->sources[0].taken = UINT64_MAX - 199;
    assert_refused(fixture_small(), other, "statistics of source time");
    other = fixture_small();
    other->duration_ns = INT64_MAX;
    assert_refused(fixture_small(), other, "durations");
}

static void
merge__source_that_came_later__zero_before(void **state)
{
    struct profile *sum = add(add(fixture_small(), variant(0)), variant(1));

    (void)state;
    assert_int_equal(sum->source_count, 3);
    assert_int_equal(total_hits(sum, 0), 200 + 21 + 22);
    assert_int_equal(total_hits(sum, 1), 102);
    assert_int_equal(total_hits(sum, 2), 102);
    assert_int_equal(sum->sources[2].taken, 102);
    assert_string_equal(sum->sources[2].name, "cycles");
    profile_delete(sum);
}

static void
merge__rights_and_rates__only_what_all_had(void **state)
{
    struct profile *other = fixture_small();
    struct profile *sum;

    (void)state;
    other->sources[0].kernel_included = false;
    other->sources[0].asked = 0;
    sum = add(fixture_small(), other);
    assert_false(sum->sources[0].kernel_included);
    assert_int_equal(sum->sources[0].asked, 10030);
    profile_delete(sum);
}

static void
merge__labels__only_what_all_have(void **state)
{
    struct profile *a = fixture_small();
    struct profile *b = fixture_small();
    struct profile *sum;

    (void)state;
    assert_true(profile_set_label(a, "host", "x"));
    assert_true(profile_set_label(a, "site", "north"));
    assert_true(profile_set_label(a, "role", "web"));
    assert_true(profile_set_label(b, "host", "y"));
    assert_true(profile_set_label(b, "site", "north"));
    /* A sum is none of the windows that an agent's epoch identifies. */
    assert_true(profile_set_label(a, "epoch", "e"));
    assert_true(profile_set_label(b, "epoch", "e"));
    sum = add(a, b);
    assert_int_equal(sum->label_count, 1);
    assert_string_equal(profile_label(sum, "site"), "north");
    profile_delete(sum);
}

static void
merge__hostile_names__as_they_are(void **state)
{
    struct profile *a = fixture_small();
    struct profile *b = fixture_small();
    const uint32_t image = fixture_image(a, HOSTILE_NAME, HOSTILE_NAME);
    struct profile *sum;

    (void)state;
    assert_true(profile_add_hits(a, image, 4, fixture_process(a, HOSTILE_NAME),
                                 fixture_function(a, HOSTILE_NAME, ""), 1, 0, 1));
    free(b->command);
    b->command = strdup(HOSTILE_NAME);
    sum = copy(add(a, b));
    assert_non_null(find_row(sum, HOSTILE_NAME, HOSTILE_NAME, 4, HOSTILE_NAME));
    assert_non_null(strstr(sum->command, HOSTILE_NAME));
    profile_delete(sum);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge__one_profile__is_that_profile),
        cmocka_unit_test(merge__none__said),
        cmocka_unit_test(merge__stacks__once_and_flat_sums_stay),
        cmocka_unit_test(merge__other_stacks__all_of_them_in_either_order),
        cmocka_unit_test(merge__twice_the_same__doubles_hits_and_statistics),
        cmocka_unit_test(merge__other_texts__all_kept_once),
        cmocka_unit_test(merge__bracketed_otherwise__same_sum),
        cmocka_unit_test(merge__same_build_elsewhere__one_image_that_covers_both),
        cmocka_unit_test(merge__segments_with_addresses_of_their_own__stay_apart),
        cmocka_unit_test(merge__other_build_of_one_path__stays_apart),
        cmocka_unit_test(
            merge__kernels_of_two_machines__other_names_at_one_address_stay_apart),
        cmocka_unit_test(merge__one_build_at_random_places__addresses_of_the_first),
        cmocka_unit_test(merge__unknown_builds_at_random_places__stay_apart),
        cmocka_unit_test(merge__what_does_not_add_up__refused),
        cmocka_unit_test(merge__several_intervals__each_a_column_and_values_add_up),
        cmocka_unit_test(merge__several_buckets__rows_keep_theirs_and_widest_is_known),
        cmocka_unit_test(merge__several_buckets_at_an_address__each_keeps_its_function),
        cmocka_unit_test(merge__bounds_without_name__named_by_the_other_file),
        cmocka_unit_test(join__numbers_beyond_64_bits__refused),
        cmocka_unit_test(join__second_source_too_large__named),
        cmocka_unit_test(merge__as_many_sources_as_a_file_holds__no_more),
        cmocka_unit_test(merge__as_many_names_of_sources_as_a_file_holds__read_back),
        cmocka_unit_test(merge__sums_beyond_the_format__refused),
        cmocka_unit_test(merge__source_that_came_later__zero_before),
        cmocka_unit_test(merge__rights_and_rates__only_what_all_had),
        cmocka_unit_test(merge__labels__only_what_all_have),
        cmocka_unit_test(merge__hostile_names__as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
