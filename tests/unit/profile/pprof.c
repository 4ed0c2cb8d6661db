/* SPDX-License-Identifier: MIT */
/* pprof.c - ours comes back exactly; foreign files with their stacks, bounded. */
#include "fixture.h"

#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/stack_ends.h"

#include <stdio.h>

static struct profile *
round_trip(const struct profile *profile)
{
    struct pprof_error error = {.text = ""};
    struct profile *back;
    void *bytes;
    size_t size;

    assert_true(pprof_encode(profile, &bytes, &size));
    assert_true(gzip_is(bytes, size));
    back = pprof_decode(bytes, size, &error);
    free(bytes);
    if (back == NULL) {
        fail_msg("%s", error.text);
    }
    return back;
}

static void
assert_comes_back(struct profile *profile)
{
    struct profile *back = round_trip(profile);

    fixture_assert_equal(profile, back);
    profile_delete(back);
    profile_delete(profile);
}

static void
round_trip__small__equal(void **state)
{
    (void)state;
    assert_comes_back(fixture_small());
}

static void
round_trip__sorted__equal(void **state)
{
    struct profile *profile = fixture_small();

    (void)state;
    assert_true(profile_add_hits(profile, 0, 0x2344, 0, 0, 0, 0, 1000));
    profile_sort(profile);
    assert_comes_back(profile);
}

static void
round_trip__stacks__equal(void **state)
{
    struct profile *profile = fixture_stacks();

    (void)state;
    assert_comes_back(profile);
    profile = fixture_stacks();
    profile_sort(profile);
    assert_comes_back(profile);
}

/* What is read and written again is the same, also with inlined callers. */
static void
round_trip__stacks_with_inlined_callers__equal_bytes(void **state)
{
    struct profile *profile = fixture_stacks();
    const struct profile_frame frame = {.function = 3, .line = 8};
    struct profile_call call = {
        .address = 0x1310, .image = 1, .function = 2, .line = 5};
    struct profile *back;
    void *bytes[2];
    size_t sizes[2];

    (void)state;
    assert_true(profile_add_frame(profile, &frame, &call.inlined));
    call.caller = fixture_end(profile, "[no unwind rules in /lib/libwork.so.6]");
    assert_true(profile_add_call(profile, &call, &call.caller));
    fixture_stack_hits(profile, call.caller, 4);
    back = round_trip(profile);
    fixture_assert_equal(profile, back);
    assert_true(pprof_encode(profile, &bytes[0], &sizes[0]));
    assert_true(pprof_encode(back, &bytes[1], &sizes[1]));
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
    profile_delete(back);
    profile_delete(profile);
}

/* Calls that no row has, as after a filter, are no locations. */
static void
encode__stacks_removed__as_without(void **state)
{
    struct profile *profile = fixture_small();
    struct profile *flat = fixture_small();
    void *bytes[2];
    size_t sizes[2];

    (void)state;
    fixture_stack_hits(
        profile, fixture_call(profile, 0x1600, 0, fixture_end(profile, "whole")), 7);
    fixture_stack_hits(flat, 0, 7);
    assert_true(profile_remove_stacks(profile));
    assert_true(pprof_encode(profile, &bytes[0], &sizes[0]));
    assert_true(pprof_encode(flat, &bytes[1], &sizes[1]));
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
    profile_delete(flat);
    profile_delete(profile);
}

static void
round_trip__deep_stack__bounded(void **state)
{
    struct profile *profile = fixture_small();
    uint32_t at = fixture_end(profile, PROFILE_STACK_WHOLE);
    struct profile *back;
    uint32_t depth = 0;

    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        at = fixture_call(profile, 0x2000 + i, 0, at);
    }
    fixture_stack_hits(profile, at, 1);
    back = round_trip(profile);
    assert_int_equal(back->row_count, 4);
    at = back->rows[3].stack;
    assert_int_equal(back->calls[at].address, 0x2000 + 4999);
    assert_string_equal(profile_end_of(back, at), PROFILE_STACK_DEEP);
    for (; back->calls[at].end == NULL; at = back->calls[at].caller) {
        depth++;
    }
    assert_int_equal(depth, PROFILE_STACK_CALLS_MAX);
    profile_delete(back);
    profile_delete(profile);
}

static void
round_trip__no_rows__equal(void **state)
{
    struct profile *profile = profile_new();

    (void)state;
    fixture_source(profile, "time", "100ns", 10000);
    profile->command = strdup("");
    profile->hal = strdup("");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    assert_comes_back(profile);
}

static void
round_trip__hostile_names__equal(void **state)
{
    struct profile *profile = profile_new();
    uint32_t source;
    uint32_t image;
    uint32_t process;
    uint32_t function;

    (void)state;
    assert_non_null(profile);
    profile->command = strdup(HOSTILE_NAME);
    profile->hal = strdup("ntprof.hal " HOSTILE_NAME);
    profile->limits = strdup("ntprof.source x column=0\nntprof.format 9");
    profile->gaps = strdup("");
    source = fixture_source(profile, HOSTILE_NAME " lost=7", "a b=c", 1);
    image = fixture_image(profile, HOSTILE_NAME, "not hex \xff");
    process = fixture_process(profile, HOSTILE_NAME);
    function = fixture_function(profile, HOSTILE_NAME, "\\x00\\x5c");
    assert_true(profile_add_hits(profile, image, 0x1000, process, function,
                                 UINT32_MAX / 2, source, 3));
    assert_comes_back(profile);
}

static void
round_trip__several_sources__own_columns(void **state)
{
    struct profile *profile = profile_new();
    uint32_t faults;
    uint32_t time;
    uint32_t cpu;

    (void)state;
    profile->command = strdup("c");
    profile->hal = strdup("perf");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    faults = fixture_source(profile, "page-faults", "events", 1);
    time = fixture_source(profile, "time", "100ns", 10030);
    cpu = fixture_source(profile, "cpu", "events", 1000);
    fixture_image(profile, "/bin/p", "ab");
    fixture_image(profile, "", "");
    fixture_process(profile, "p");
    fixture_process(profile, "");
    assert_true(profile_add_hits(profile, 0, 4, 0, 0, 0, faults, 7));
    assert_true(profile_add_hits(profile, 0, 4, 0, 0, 0, time, 9));
    assert_true(profile_add_hits(profile, 0, 4, 0, 0, 0, cpu, 11));
    assert_true(profile_add_hits(profile, 1, 8, 1, 0, 0, cpu, 13));
    assert_true(profile_add_hits(profile, 1, 12, 1, 0, 0, time, 0));
    profile->sources[faults].lost = 1;
    profile->sources[time].throttled = 2;
    profile->sources[cpu].excluded = UINT64_MAX;
    profile->sources[time].taken = profile->sources[time].outside = UINT64_MAX;
    profile->sources[time].outside_kernel = UINT64_MAX;
    profile->sources[faults].taken = profile->sources[faults].outside = 5;
    profile->sources[faults].outside_kernel = 3;
    assert_comes_back(profile);
}

static void
round_trip__extreme_numbers__equal(void **state)
{
    struct profile *profile = fixture_small();
    const struct profile_image image = {.path = "[kernel]",
                                        .build_id = "",
                                        .start = UINT64_C(0xffffffff81000000),
                                        .limit = UINT64_MAX,
                                        .offset = 0};
    uint32_t index;

    (void)state;
    assert_true(profile_add_image(profile, &image, &index));
    /* The other rows have 200. */
    assert_true(profile_add_hits(profile, index, UINT64_MAX & ~UINT64_C(3), 0, 0, 0, 0,
                                 INT64_MAX - 200));
    profile->time_ns = INT64_MAX;
    profile->duration_ns = INT64_MAX;
    profile->bucket_bytes = UINT32_C(1) << 31;
    profile->sources[0].measured = 1e-300;
    profile->sources[0].granted = UINT64_MAX;
    assert_comes_back(profile);
}

static void
round_trip__one_address_in_two_processes__one_location(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t other = fixture_process(profile, "other");

    (void)state;
    assert_true(profile_add_hits(profile, 1, 0x1200, other, 1, 12, 0, 5));
    assert_comes_back(profile);
}

/* A row three deep, one that shares the outer two, and one of the same function that is
 * not inlined. */
/* Threads and processors make rows of their own, and share the location. */
static void
round_trip__labels_and_units__equal(void **state)
{
    struct profile *const profile = fixture_small();
    struct profile_place place = {.image = 0, .address = 0x1204};
    struct pprof_error error;
    struct profile *read;
    void *bytes;
    size_t size;

    (void)state;
    assert_true(profile_set_label(profile, PROFILE_LABEL_HOST, "other"));
    assert_true(profile_set_label(profile, PROFILE_LABEL_HOST, HOSTILE_NAME));
    assert_true(profile_set_label(profile, "a key", ""));
    assert_true(profile_set_label(profile, PROFILE_LABEL_EPOCH, "1"));
    assert_true(profile_add_unit(profile, HOSTILE_NAME, &place.unit));
    assert_true(profile_add_hits_at(profile, &place, 0, 7));
    assert_true(pprof_encode(profile, &bytes, &size));
    read = pprof_decode(bytes, size, &error);
    assert_non_null(read);
    assert_int_equal(read->label_count, 3);
    assert_string_equal(profile_label(read, PROFILE_LABEL_HOST), HOSTILE_NAME);
    assert_string_equal(profile_label(read, "a key"), "");
    assert_string_equal(profile_label(read, PROFILE_LABEL_EPOCH), "1");
    assert_null(profile_label(read, "none"));
    assert_int_equal(read->unit_count, 2);
    assert_string_equal(read->units[1], HOSTILE_NAME);
    free(bytes);
    profile_delete(read);
    profile_delete(profile);
}

static void
round_trip__threads_and_processors__equal(void **state)
{
    struct profile *profile = fixture_small();
    struct profile_place place = {.image = 1, .address = 0x1200, .function = 1};

    (void)state;
    for (uint32_t cpu_plus_1 = 0; cpu_plus_1 < 3; cpu_plus_1++) {
        place.cpu_plus_1 = cpu_plus_1;
        assert_true(profile_add_hits_at(profile, &place, 0, 5));
    }
    assert_int_equal(profile->row_count, 5);
    assert_int_equal(profile->rows[0].hits[0], 155);
    assert_true(profile_add_thread(profile, HOSTILE_NAME, &place.thread));
    assert_int_equal(place.thread, 1);
    assert_true(profile_add_hits_at(profile, &place, 0, 7));
    assert_int_equal(profile->row_count, 6);
    place.thread = 2;
    assert_false(profile_add_hits_at(profile, &place, 0, 7));
    place.thread = 0;
    place.cpu_plus_1 = UINT32_MAX;
    assert_true(profile_add_hits_at(profile, &place, 0, 1));
    assert_comes_back(profile);
}

static void
round_trip__inlined_chains__equal(void **state)
{
    struct profile *profile = fixture_small();
    const uint32_t inner = fixture_function(profile, "inner", "inner");
    const uint32_t middle = fixture_function(profile, "middle", "_Z6middlev");
    const struct profile_frame outer_call = {.function = 1, .line = 77};
    struct profile_frame middle_call = {.function = middle, .line = 33};
    struct profile_place place = {
        .image = 1, .address = 0x1400, .function = inner, .line = 5};
    uint32_t outer;
    uint32_t again;

    (void)state;
    assert_true(profile_add_frame(profile, &outer_call, &outer));
    assert_true(profile_add_frame(profile, &outer_call, &again));
    assert_int_equal(outer, again);
    middle_call.caller = outer;
    assert_true(profile_add_frame(profile, &middle_call, &place.caller));
    assert_true(profile_add_hits_at(profile, &place, 0, 9));
    place = (struct profile_place){
        .image = 1, .address = 0x1404, .function = middle, .line = 34, .caller = outer};
    assert_true(profile_add_hits_at(profile, &place, 0, 8));
    place = (struct profile_place){
        .image = 1, .address = 0x1408, .function = middle, .line = 34};
    assert_true(profile_add_hits_at(profile, &place, 0, 7));
    assert_comes_back(profile);
}

static void
round_trip__many_rows__equal(void **state)
{
    enum { ROWS = 200000 };
    struct profile *profile = fixture_small();

    (void)state;
    for (uint64_t i = 0; i < ROWS; i++) {
        assert_true(profile_add_hits(profile, (uint32_t)(i % 2), 0x10000 + i * 4, 0,
                                     (uint32_t)(i % 3), (uint32_t)i, 0, i + 1));
    }
    assert_comes_back(profile);
}

static void
encode__same_profile__same_bytes(void **state)
{
    struct profile *profile = fixture_small();
    void *bytes[2];
    size_t size[2];

    (void)state;
    assert_true(pprof_encode(profile, &bytes[0], &size[0]));
    assert_true(pprof_encode(profile, &bytes[1], &size[1]));
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
    profile_delete(profile);
}

/* --- foreign files, made by hand --- */

struct foreign {
    struct buffer bytes;
    struct buffer part;
    struct buffer strings;
    uint64_t string_count;
};

static uint64_t
foreign_string(struct foreign *foreign, const char *text)
{
    protobuf_put_bytes(&foreign->strings, PROFILE_STRING_TABLE, text, strlen(text));
    return foreign->string_count++;
}

static void
foreign_begin(struct foreign *foreign)
{
    memset(foreign, 0, sizeof(*foreign));
    foreign_string(foreign, "");
}

static void
foreign_put(struct foreign *foreign, uint32_t field)
{
    protobuf_put_bytes(&foreign->bytes, field, foreign->part.data, foreign->part.size);
    foreign->part.size = 0;
}

static void
foreign_type(struct foreign *foreign, uint32_t field, const char *type,
             const char *unit)
{
    protobuf_put_number(&foreign->part, VALUE_TYPE_TYPE, foreign_string(foreign, type));
    protobuf_put_number(&foreign->part, VALUE_TYPE_UNIT, foreign_string(foreign, unit));
    foreign_put(foreign, field);
}

static void
foreign_function(struct foreign *foreign, uint64_t id, const char *name)
{
    protobuf_put_number(&foreign->part, FUNCTION_ID, id);
    protobuf_put_number(&foreign->part, FUNCTION_NAME, foreign_string(foreign, name));
    foreign_put(foreign, PROFILE_FUNCTION);
}

/* A location with one or two lines, innermost first. */
static void
foreign_location(struct foreign *foreign, uint64_t id, uint64_t mapping,
                 uint64_t address, const uint64_t *functions, size_t count)
{
    protobuf_put_number(&foreign->part, LOCATION_ID, id);
    protobuf_put_number(&foreign->part, LOCATION_MAPPING_ID, mapping);
    protobuf_put_number(&foreign->part, LOCATION_ADDRESS, address);
    for (size_t i = 0; i < count; i++) {
        struct buffer line = {0};

        protobuf_put_number(&line, LINE_FUNCTION_ID, functions[i]);
        protobuf_put_number(&line, LINE_LINE, 40 + i);
        protobuf_put_bytes(&foreign->part, LOCATION_LINE, line.data, line.size);
        buffer_finish(&line);
    }
    foreign_put(foreign, PROFILE_LOCATION);
}

/* Numbers one by one, as writers without packing do. */
static void
foreign_sample(struct foreign *foreign, const uint64_t *stack, size_t depth,
               const uint64_t *values, size_t value_count)
{
    for (size_t i = 0; i < depth; i++) {
        protobuf_put_number(&foreign->part, SAMPLE_LOCATION_ID, stack[i]);
    }
    for (size_t i = 0; i < value_count; i++) {
        protobuf_put_varint(&foreign->part, SAMPLE_VALUE << 3);
        protobuf_put_varint(&foreign->part, values[i]);
    }
    foreign_put(foreign, PROFILE_SAMPLE);
}

static void
foreign_mapping(struct foreign *foreign, uint64_t id, const char *path)
{
    protobuf_put_number(&foreign->part, MAPPING_ID, id);
    protobuf_put_number(&foreign->part, MAPPING_MEMORY_START, 0x400000);
    protobuf_put_number(&foreign->part, MAPPING_FILENAME,
                        foreign_string(foreign, path));
    foreign_put(foreign, PROFILE_MAPPING);
}

/* Strings last, as a hint that order must not matter. */
static struct profile *
foreign_decode(struct foreign *foreign, struct pprof_error *error)
{
    struct profile *profile;

    buffer_append(&foreign->bytes, foreign->strings.data, foreign->strings.size);
    assert_false(foreign->bytes.failed);
    memset(error, 0, sizeof(*error));
    profile = pprof_decode(foreign->bytes.data, foreign->bytes.size, error);
    buffer_finish(&foreign->bytes);
    buffer_finish(&foreign->strings);
    buffer_finish(&foreign->part);
    return profile;
}

static void
foreign_cpu_profile(struct foreign *foreign)
{
    static const uint64_t inlined[] = {22, 11};
    static const uint64_t stack[] = {7, 9};
    static const uint64_t values[] = {3, 30000000};
    static const uint64_t caller[] = {9};

    foreign_begin(foreign);
    foreign_sample(foreign, stack, 2, values, 2);
    foreign_sample(foreign, caller, 1, values, 2);
    foreign_location(foreign, 9, 5, 0x400200, &inlined[1], 1);
    foreign_location(foreign, 7, 5, 0x400100, inlined, 2);
    foreign_mapping(foreign, 5, "/opt/foreign");
    foreign_function(foreign, 22, "inner");
    foreign_function(foreign, 11, "outer");
    foreign_type(foreign, PROFILE_SAMPLE_TYPE, "samples", "count");
    foreign_type(foreign, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    foreign_type(foreign, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
    protobuf_put_number(&foreign->bytes, PROFILE_PERIOD, 10000000);
    protobuf_put_number(&foreign->bytes, PROFILE_DURATION_NANOS, 5000000000);
}

static void
foreign__cpu_profile__leaf_innermost_line_and_callers(void **state)
{
    struct foreign foreign;
    struct pprof_error error;
    const struct profile_call *call;
    struct profile *profile;

    (void)state;
    foreign_cpu_profile(&foreign);
    profile = foreign_decode(&foreign, &error);
    assert_non_null(profile);
    assert_int_equal(profile->source_count, 1);
    assert_string_equal(profile->sources[0].name, "time");
    assert_string_equal(profile->sources[0].unit, "100ns");
    assert_int_equal(profile->sources[0].granted, 100000);
    assert_int_equal(profile->row_count, 2);
    assert_int_equal(profile->rows[0].address, 0x400100);
    assert_int_equal(profile->rows[0].hits[0], 3);
    assert_int_equal(profile->rows[0].line, 40);
    assert_string_equal(profile->functions[profile->rows[0].function].name, "inner");
    assert_string_equal(profile->functions[profile->rows[1].function].name, "outer");
    assert_int_equal(profile->frames[profile->rows[0].caller].function,
                     profile->rows[1].function);
    assert_int_equal(profile->frames[profile->rows[0].caller].line, 41);
    assert_int_equal(profile->rows[1].caller, 0);
    call = &profile->calls[profile->rows[0].stack];
    assert_int_equal(call->address, 0x400200);
    assert_int_equal(call->function, profile->rows[1].function);
    assert_int_equal(call->line, 40);
    assert_int_equal(call->image, profile->rows[0].image);
    assert_string_equal(profile->calls[call->caller].end, PROFILE_STACK_WHOLE);
    assert_int_equal(profile->rows[1].stack, 0);
    assert_string_equal(profile->images[profile->rows[0].image].path, "/opt/foreign");
    assert_string_equal(profile->hal, "");
    assert_int_equal(profile->duration_ns, 5000000000);
    profile_delete(profile);
}

/* Adds a label to the sample at hand: text, or a number if text is NULL. */
static void
foreign_label(struct foreign *foreign, const char *key, const char *text,
              uint64_t number)
{
    struct buffer label = {0};

    protobuf_put_number(&label, LABEL_KEY, foreign_string(foreign, key));
    if (text != NULL) {
        protobuf_put_number(&label, LABEL_STR, foreign_string(foreign, text));
    } else {
        protobuf_put_number(&label, LABEL_NUM, number);
    }
    protobuf_put_bytes(&foreign->part, SAMPLE_LABEL, label.data, label.size);
    buffer_finish(&label);
}

static const char long_name[] =
    "a name that is longer than any thread of Linux has, and than what is copied";

/* One sample for each way in which labels tell who was hit. */
static void
foreign_labels(struct foreign *foreign)
{
    static const uint64_t stack[] = {1};
    static const uint64_t values[] = {1};

    foreign_begin(foreign);
    foreign_type(foreign, PROFILE_SAMPLE_TYPE, "samples", "count");
    foreign_location(foreign, 1, 0, 0x1000, NULL, 0);
    /* as perf_to_profile */
    foreign_label(foreign, "pid", NULL, 100);
    foreign_label(foreign, "tid", NULL, 101);
    foreign_label(foreign, "comm", "server", 0);
    foreign_label(foreign, "thread_comm", "worker", 0);
    foreign_label(foreign, "cpu", NULL, 3);
    foreign_sample(foreign, stack, 1, values, 1);
    /* as agents with words for numbers */
    foreign_label(foreign, "thread_id", "77", 0);
    foreign_label(foreign, "cpu", "12", 0);
    foreign_sample(foreign, stack, 1, values, 1);
    foreign_label(foreign, "thread name", "io", 0);
    foreign_label(foreign, "cpu", "12th", 0);
    foreign_sample(foreign, stack, 1, values, 1);
    foreign_label(foreign, "pid", NULL, 100);
    foreign_label(foreign, "thread", NULL, 5);
    foreign_label(foreign, "cpu", NULL, UINT64_MAX);
    foreign_sample(foreign, stack, 1, values, 1);
    foreign_label(foreign, "thread_name", long_name, 0);
    foreign_label(foreign, "tid", NULL, 6);
    foreign_sample(foreign, stack, 1, values, 1);
}

static void
foreign__labels__process_thread_and_processor(void **state)
{
    static const struct {
        const char *process;
        const char *thread;
        uint32_t cpu_plus_1;
    } expected[] = {
        {"server", "worker (101)", 4}, {"", "77", 13},     {"", "io", 0},
        {"pid 100", "5", 0},           {"", long_name, 0},
    };
    struct foreign foreign;
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    foreign_labels(&foreign);
    profile = foreign_decode(&foreign, &error);
    assert_string_equal(error.text, "");
    assert_non_null(profile);
    assert_int_equal(profile->row_count, 5);
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];

        assert_string_equal(profile->processes[row->process], expected[i].process);
        assert_string_equal(profile->threads[row->thread], expected[i].thread);
        assert_int_equal(row->cpu_plus_1, expected[i].cpu_plus_1);
    }
    profile_delete(profile);
}

static void
foreign__no_counts__every_column_a_source(void **state)
{
    static const uint64_t function[] = {1};
    static const uint64_t stack[] = {1};
    static const uint64_t values[] = {4096, 64};
    struct foreign foreign;
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    foreign_begin(&foreign);
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
    foreign_function(&foreign, 1, "allocate");
    foreign_location(&foreign, 1, 0, 0, function, 1);
    foreign_location(&foreign, 2, 0, 0, function, 1);
    foreign_sample(&foreign, stack, 1, values, 2);
    profile = foreign_decode(&foreign, &error);
    assert_non_null(profile);
    assert_int_equal(profile->source_count, 2);
    assert_string_equal(profile->sources[1].name, "inuse_space");
    assert_int_equal(profile->rows[0].hits[0], 4096);
    assert_int_equal(profile->rows[0].hits[1], 64);
    profile_delete(profile);
}

static void
foreign__locations_without_address__stay_apart(void **state)
{
    static const uint64_t functions[] = {1, 2};
    static const uint64_t stacks[] = {1, 2};
    static const uint64_t values[] = {1};
    struct foreign foreign;
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    foreign_begin(&foreign);
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, "samples", "count");
    foreign_function(&foreign, 1, "one");
    foreign_function(&foreign, 2, "two");
    for (size_t i = 0; i < 2; i++) {
        foreign_location(&foreign, i + 1, 0, 0, &functions[i], 1);
        foreign_sample(&foreign, &stacks[i], 1, values, 1);
    }
    foreign_sample(&foreign, NULL, 0, values, 1);
    profile = foreign_decode(&foreign, &error);
    assert_non_null(profile);
    assert_int_equal(profile->row_count, 3);
    assert_string_equal(profile->functions[profile->rows[1].function].name, "two");
    assert_int_equal(profile->rows[2].function, 0);
    profile_delete(profile);
}

/* A file of two columns, with a period; one sample with callers and one without. */
static struct profile *
foreign_columns(const char *const types[4], const char *const period[2], uint64_t every,
                const char *default_type, const uint64_t values[2])
{
    static const uint64_t functions[] = {1, 2};
    static const uint64_t stack[] = {1, 2};
    struct foreign foreign;
    struct pprof_error error;
    struct profile *profile;

    foreign_begin(&foreign);
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, types[0], types[1]);
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, types[2], types[3]);
    foreign_type(&foreign, PROFILE_PERIOD_TYPE, period[0], period[1]);
    protobuf_put_number(&foreign.bytes, PROFILE_PERIOD, every);
    protobuf_put_number(&foreign.bytes, PROFILE_DEFAULT_SAMPLE_TYPE,
                        foreign_string(&foreign, default_type));
    foreign_function(&foreign, 1, "one");
    foreign_function(&foreign, 2, "two");
    foreign_location(&foreign, 1, 0, 0x10, &functions[0], 1);
    foreign_location(&foreign, 2, 0, 0x10, &functions[1], 1);
    foreign_sample(&foreign, stack, 2, values, 2);
    foreign_sample(&foreign, &stack[1], 1, values, 2);
    profile = foreign_decode(&foreign, &error);
    if (profile == NULL) {
        fail_msg("%s", error.text);
    }
    return profile;
}

static void
foreign__other_names_at_one_address__stay_apart(void **state)
{
    static const char *const types[] = {"samples", "count", "cpu", "nanoseconds"};
    static const char *const period[] = {"cpu", "nanoseconds"};
    static const uint64_t values[] = {3, 30000000};
    struct profile *profile = foreign_columns(types, period, 10000000, "", values);

    (void)state;
    assert_int_equal(profile->row_count, 2);
    assert_int_equal(profile->rows[0].address, 0x10);
    assert_int_equal(profile->rows[1].address, 0x10);
    assert_int_equal(profile->rows[0].hits[0], 3);
    assert_string_equal(profile->gaps, "");
    assert_int_equal(profile->rows[1].stack, 0);
    assert_comes_back(profile);
}

static void
foreign__time_alone__hits_by_the_period(void **state)
{
    static const char *const types[] = {"cpu", "nanoseconds", "heat", "joules"};
    static const char *const period[] = {"cpu", "nanoseconds"};
    static const uint64_t values[] = {30000000, 7};
    static const uint64_t uneven[] = {30000001, 7};
    struct profile *profile = foreign_columns(types, period, 10000000, "", values);

    (void)state;
    assert_int_equal(profile->source_count, 2);
    assert_string_equal(profile->sources[0].name, "time");
    assert_int_equal(profile->sources[0].granted, 100000);
    assert_int_equal(profile->rows[0].hits[0], 3);
    assert_int_equal(profile->rows[0].hits[1], 7);
    assert_comes_back(profile);
    profile = foreign_columns(types, period, 10000000, "", uneven);
    assert_string_equal(profile->sources[0].name, "cpu");
    assert_string_equal(profile->sources[0].unit, "nanoseconds");
    assert_int_equal(profile->rows[0].hits[0], 30000001);
    profile_delete(profile);
}

static void
foreign__wall_clock_in_microseconds__a_source_of_its_own(void **state)
{
    static const char *const types[] = {"sample", "count", "wall", "microseconds"};
    static const char *const period[] = {"wall", "microseconds"};
    static const uint64_t values[] = {2, 20000};
    struct profile *profile = foreign_columns(types, period, 10000, "wall", values);

    (void)state;
    assert_int_equal(profile->source_count, 1);
    assert_string_equal(profile->sources[0].name, "wall");
    assert_string_equal(profile->sources[0].unit, "100ns");
    assert_int_equal(profile->sources[0].granted, 100000);
    assert_int_equal(profile->rows[0].hits[0], 2);
    assert_comes_back(profile);
}

/* Return whether a string table has a text. */
static bool
has_string(const struct buffer *bytes, const char *text)
{
    struct buffer wanted = {0};
    bool found;

    protobuf_put_bytes(&wanted, PROFILE_STRING_TABLE, text, strlen(text));
    found = memmem(bytes->data, bytes->size, wanted.data, wanted.size) != NULL;
    buffer_finish(&wanted);
    return found;
}

/* Other tools read "cpu" as time that the program used. */
static void
encode__wall_clock__no_processor_time(void **state)
{
    static const char *const types[] = {"sample", "count", "wall", "microseconds"};
    static const char *const period[] = {"wall", "microseconds"};
    static const uint64_t values[] = {2, 20000};
    struct profile *profile = foreign_columns(types, period, 10000, "wall", values);
    struct buffer plain = {0};
    void *bytes;
    size_t size;

    (void)state;
    assert_true(pprof_encode(profile, &bytes, &size));
    assert_null(gzip_expand(bytes, size, 1 << 20, &plain));
    assert_true(has_string(&plain, "wall"));
    assert_false(has_string(&plain, "cpu"));
    buffer_finish(&plain);
    free(bytes);
    profile_delete(profile);
}

static void
foreign__column_to_show_first__is_first_and_others_are_told(void **state)
{
    static const char *const types[] = {"allocated", "count", "in-use", "count"};
    static const char *const sizes[] = {"in-use", "bytes", "allocated", "count"};
    static const char *const period[] = {"space", "bytes"};
    static const uint64_t values[] = {5, 2};
    struct profile *profile = foreign_columns(types, period, 512, "in-use", values);

    (void)state;
    assert_int_equal(profile->source_count, 2);
    assert_string_equal(profile->sources[0].name, "in-use");
    assert_int_equal(profile->rows[0].hits[0], 2);
    assert_int_equal(profile->rows[0].hits[1], 5);
    profile_delete(profile);
    profile = foreign_columns(sizes, period, 512, "in-use", values);
    assert_int_equal(profile->source_count, 1);
    assert_non_null(
        strstr(profile->gaps, "values left out, which --value shows: in-use"));
    profile_delete(profile);
}

static void
foreign__two_columns_of_one_name__the_first_counts(void **state)
{
    static const char *const types[] = {"samples", "count", "samples", "count"};
    static const char *const period[] = {"", ""};
    static const uint64_t values[] = {5, 2};
    struct profile *profile = foreign_columns(types, period, 0, "", values);

    (void)state;
    assert_int_equal(profile->source_count, 1);
    assert_int_equal(profile->rows[0].hits[0], 5);
    profile_delete(profile);
}

enum mistake {
    NO_LOCATION,
    NO_FUNCTION,
    NO_MAPPING,
    ID_ZERO,
    ID_TWICE,
    VALUE_MISSING,
    NEGATIVE,
    TWO_TIMES,
    BAD_STRING,
    TOO_MANY_TYPES,
};

static void
foreign_add_mistake(struct foreign *foreign, enum mistake mistake)
{
    static const uint64_t stack[] = {7};
    static const uint64_t no_stack[] = {8};
    static const uint64_t no_function[] = {23};
    static const uint64_t values[] = {1, 1};
    static const uint64_t negative[] = {UINT64_MAX, 1};

    switch (mistake) {
    case NO_LOCATION:
        foreign_sample(foreign, no_stack, 1, values, 2);
        break;
    case NO_FUNCTION:
        foreign_location(foreign, 70, 5, 1, no_function, 1);
        break;
    case NO_MAPPING:
        foreign_location(foreign, 70, 6, 1, NULL, 0);
        break;
    case ID_ZERO:
        foreign_location(foreign, 0, 5, 1, NULL, 0);
        break;
    case ID_TWICE:
        foreign_function(foreign, 22, "again");
        break;
    case VALUE_MISSING:
        foreign_sample(foreign, stack, 1, values, 1);
        break;
    case NEGATIVE:
        foreign_sample(foreign, stack, 1, negative, 2);
        break;
    case TWO_TIMES:
        protobuf_put_number(&foreign->bytes, PROFILE_TIME_NANOS, 1);
        protobuf_put_number(&foreign->bytes, PROFILE_TIME_NANOS, 1);
        break;
    case BAD_STRING:
        protobuf_put_number(&foreign->part, FUNCTION_ID, 99);
        protobuf_put_number(&foreign->part, FUNCTION_NAME, 1000000);
        foreign_put(foreign, PROFILE_FUNCTION);
        break;
    case TOO_MANY_TYPES:
        for (int i = 0; i < 2000; i++) {
            foreign_put(foreign, PROFILE_SAMPLE_TYPE);
        }
        break;
    }
}

static void
foreign__mistakes__said_in_words(void **state)
{
    static const char *const words[] = {
        [NO_LOCATION] = "location 8 is used and not there",
        [NO_FUNCTION] = "function 23 is used and not there",
        [NO_MAPPING] = "mapping 6 is used and not there",
        [ID_ZERO] = "location id 0 is not allowed",
        [ID_TWICE] = "function id 22 is there twice",
        [VALUE_MISSING] = "sample 3 has 1 values for 2 sample types",
        [NEGATIVE] = "sample 3 is negative",
        [TWO_TIMES] = "two profiles were appended",
        [BAD_STRING] = "string 1000000 is used",
        [TOO_MANY_TYPES] = "more than 1025 kinds of values",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct foreign foreign;
        struct pprof_error error;

        foreign_cpu_profile(&foreign);
        foreign_add_mistake(&foreign, (enum mistake)i);
        assert_null(foreign_decode(&foreign, &error));
        if (strstr(error.text, words[i]) == NULL) {
            fail_msg("expected \"%s\", got \"%s\"", words[i], error.text);
        }
    }
}

/* What `go tool pprof -proto a b` makes of two runs: comments of both, statistics to be
 * added. */
static void
merged__two_runs__statistics_added(void **state)
{
    static const char *const comments[] = {
        "ntprof.format 1",
        "ntprof.command first",
        "ntprof.command second",
        "ntprof.source time unit=100ns column=0 granted=10030 measured=10040 "
        "expected=7 taken=5 lost=2",
        "ntprof.source time unit=100ns column=0 granted=10030 measured=10068 "
        "expected=9 taken=9 later=1",
        "something else",
    };
    static const uint64_t values[] = {14, 140420};
    struct foreign foreign;
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    foreign_begin(&foreign);
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, "samples", "count");
    foreign_type(&foreign, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++) {
        protobuf_put_number(&foreign.bytes, PROFILE_COMMENT,
                            foreign_string(&foreign, comments[i]));
    }
    foreign_sample(&foreign, NULL, 0, values, 2);
    profile = foreign_decode(&foreign, &error);
    assert_non_null(profile);
    assert_int_equal(profile->source_count, 1);
    assert_int_equal(profile->sources[0].expected, 16);
    assert_int_equal(profile->sources[0].taken, 14);
    assert_int_equal(profile->sources[0].lost, 2);
    assert_true(profile->sources[0].measured == (5 * 10040.0 + 9 * 10068.0) / 14);
    assert_string_equal(profile->command, "first");
    assert_int_equal(profile->rows[0].hits[0], 14);
    profile_delete(profile);
}

/* A file of ours may have one more column, of time. */
static void
foreign__more_columns_than_sources_are_allowed__refused(void **state)
{
    (void)state;
    for (int count = PROFILE_SOURCES_MAX; count <= PROFILE_SOURCES_MAX + 1; count++) {
        struct foreign foreign;
        struct pprof_error error;
        struct profile *profile;

        foreign_begin(&foreign);
        for (int i = 0; i < count; i++) {
            char name[16];

            snprintf(name, sizeof(name), "value%d", i);
            foreign_type(&foreign, PROFILE_SAMPLE_TYPE, name, "bytes");
        }
        profile = foreign_decode(&foreign, &error);
        if (count <= PROFILE_SOURCES_MAX) {
            assert_non_null(profile);
            assert_int_equal(profile->source_count, count);
        } else {
            assert_null(profile);
            assert_non_null(strstr(error.text, "more than 1024 sources"));
        }
        profile_delete(profile);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip__small__equal),
        cmocka_unit_test(round_trip__sorted__equal),
        cmocka_unit_test(round_trip__stacks__equal),
        cmocka_unit_test(round_trip__stacks_with_inlined_callers__equal_bytes),
        cmocka_unit_test(encode__stacks_removed__as_without),
        cmocka_unit_test(round_trip__deep_stack__bounded),
        cmocka_unit_test(round_trip__no_rows__equal),
        cmocka_unit_test(round_trip__hostile_names__equal),
        cmocka_unit_test(round_trip__several_sources__own_columns),
        cmocka_unit_test(round_trip__extreme_numbers__equal),
        cmocka_unit_test(round_trip__one_address_in_two_processes__one_location),
        cmocka_unit_test(round_trip__labels_and_units__equal),
        cmocka_unit_test(round_trip__threads_and_processors__equal),
        cmocka_unit_test(round_trip__inlined_chains__equal),
        cmocka_unit_test(round_trip__many_rows__equal),
        cmocka_unit_test(encode__same_profile__same_bytes),
        cmocka_unit_test(foreign__cpu_profile__leaf_innermost_line_and_callers),
        cmocka_unit_test(foreign__labels__process_thread_and_processor),
        cmocka_unit_test(foreign__no_counts__every_column_a_source),
        cmocka_unit_test(foreign__locations_without_address__stay_apart),
        cmocka_unit_test(foreign__other_names_at_one_address__stay_apart),
        cmocka_unit_test(foreign__time_alone__hits_by_the_period),
        cmocka_unit_test(foreign__wall_clock_in_microseconds__a_source_of_its_own),
        cmocka_unit_test(encode__wall_clock__no_processor_time),
        cmocka_unit_test(foreign__column_to_show_first__is_first_and_others_are_told),
        cmocka_unit_test(foreign__two_columns_of_one_name__the_first_counts),
        cmocka_unit_test(foreign__mistakes__said_in_words),
        cmocka_unit_test(foreign__more_columns_than_sources_are_allowed__refused),
        cmocka_unit_test(merged__two_runs__statistics_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
