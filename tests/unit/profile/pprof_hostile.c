/* SPDX-License-Identifier: MIT */
/* pprof_hostile.c - damaged and hostile bytes give an error in words or a profile, no
 * crash. */
#include "fixture.h"

#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/stack_ends.h"

#include <stdio.h>

/* Decodes a copy of exactly size bytes, so that a sanitizer sees any read behind them.
 */
static struct profile *
decode_copy(const uint8_t *bytes, size_t size, struct pprof_error *error)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    struct profile *profile;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    error->text[0] = '\0';
    profile = pprof_decode(copy, size, error);
    free(copy);
    return profile;
}

/* The fixture, compressed and not. */
static void
make_files(struct buffer *packed, struct buffer *plain)
{
    struct profile *profile = fixture_small();
    void *bytes;
    size_t size;

    memset(packed, 0, sizeof(*packed));
    memset(plain, 0, sizeof(*plain));
    assert_true(pprof_encode(profile, &bytes, &size));
    profile_delete(profile);
    assert_null(gzip_expand(bytes, size, UINT64_MAX, plain));
    buffer_append(packed, bytes, size);
    free(bytes);
}

static void
truncated__gzip_at_every_length__error(void **state)
{
    struct buffer packed;
    struct buffer plain;

    (void)state;
    make_files(&packed, &plain);
    for (size_t size = 0; size < packed.size; size++) {
        struct pprof_error error;

        assert_null(decode_copy(packed.data, size, &error));
        assert_true(strlen(error.text) > 5);
    }
    buffer_finish(&packed);
    buffer_finish(&plain);
}

static void
truncated__plain_at_every_length__error_or_profile(void **state)
{
    struct buffer packed;
    struct buffer plain;
    size_t errors = 0;

    (void)state;
    make_files(&packed, &plain);
    for (size_t size = 0; size < plain.size; size++) {
        struct pprof_error error;
        struct profile *profile = decode_copy(plain.data, size, &error);

        assert_int_equal(profile == NULL, strlen(error.text) > 5);
        errors += profile == NULL;
        profile_delete(profile);
    }
    /* Strings come last, so what is cut lacks some that are used. */
    assert_true(errors > plain.size * 9 / 10);
    buffer_finish(&packed);
    buffer_finish(&plain);
}

static void
flip_every_bit(const struct buffer *file)
{
    for (size_t bit = 0; bit < file->size * 8; bit++) {
        struct pprof_error error;
        struct profile *profile;
        void *again;
        size_t size;

        file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        profile = decode_copy(file->data, file->size, &error);
        file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(profile == NULL, strlen(error.text) > 5);
        if (profile != NULL) {
            assert_true(pprof_encode(profile, &again, &size));
            free(again);
        }
        profile_delete(profile);
    }
}

static void
flipped__every_bit_of_plain__error_or_profile(void **state)
{
    struct buffer packed;
    struct buffer plain;

    (void)state;
    make_files(&packed, &plain);
    flip_every_bit(&plain);
    buffer_finish(&packed);
    buffer_finish(&plain);
}

static void
flipped__every_bit_of_gzip__error_or_profile(void **state)
{
    struct buffer packed;
    struct buffer plain;

    (void)state;
    make_files(&packed, &plain);
    flip_every_bit(&packed);
    buffer_finish(&packed);
    buffer_finish(&plain);
}

static void
assert_refused(const void *bytes, size_t size, const char *words)
{
    struct pprof_error error;

    assert_null(decode_copy(bytes, size, &error));
    if (strstr(error.text, words) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", words, error.text);
    }
}

static void
foreign__other_files__not_a_profile(void **state)
{
    static const uint8_t elf[] = "\177ELF\2\1\1";
    static const uint8_t zeros[64];

    (void)state;
    assert_refused("", 0, "it is empty");
    assert_refused(elf, sizeof(elf), "not a profile");
    assert_refused(zeros, sizeof(zeros), "not a profile");
    assert_refused("hello, world\n", 13, "not a profile");
    assert_refused("{\"schema\":1}", 12, "not a profile");
    assert_refused("\x1f\x8bnonsense of sorts", 20, "damaged");
}

static void
appended__second_file__refused(void **state)
{
    struct buffer packed;
    struct buffer plain;
    struct buffer twice = {0};

    (void)state;
    make_files(&packed, &plain);
    buffer_append(&twice, packed.data, packed.size);
    buffer_append(&twice, packed.data, packed.size);
    assert_refused(twice.data, twice.size, "two profiles were appended");
    twice.size = packed.size;
    buffer_append_text(&twice, "junk");
    assert_refused(twice.data, twice.size, "bytes after its end");
    buffer_finish(&twice);
    buffer_finish(&packed);
    buffer_finish(&plain);
}

static void
expand__many_members__joined(void **state)
{
    struct buffer file = {0};
    struct buffer plain = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct gzip_writer writer;

        assert_true(gzip_begin(&writer, &file));
        gzip_put(&writer, "abc", 3);
        assert_true(gzip_end(&writer));
    }
    assert_null(gzip_expand(file.data, file.size, UINT64_MAX, &plain));
    assert_int_equal(plain.size, 9);
    assert_memory_equal(plain.data, "abcabcabc", 9);
    buffer_finish(&file);
    buffer_finish(&plain);
}

/* A gibibyte of zeros in a megabyte of many members: noticed after a part of it. */
static void
bomb__ratio__refused(void **state)
{
    static uint8_t zeros[1 << 24];
    struct gzip_writer writer;
    struct buffer member = {0};
    struct buffer file = {0};
    struct buffer plain = {0};

    (void)state;
    assert_true(gzip_begin(&writer, &member));
    gzip_put(&writer, zeros, sizeof(zeros));
    assert_true(gzip_end(&writer));
    for (int i = 0; i < 66; i++) {
        buffer_append(&file, member.data, member.size);
    }
    assert_true(file.size < sizeof(zeros) / 10);
    assert_refused(file.data, file.size, "expands to more than 100 times");
    assert_non_null(gzip_expand(file.data, file.size, UINT64_MAX, &plain));
    assert_true(plain.size < GZIP_BOMB_BYTES + (1 << 20));
    plain.size = 0;
    assert_non_null(gzip_expand(file.data, file.size, 1 << 20, &plain));
    assert_true(plain.size < 2 << 20);
    buffer_finish(&plain);
    buffer_finish(&file);
    buffer_finish(&member);
}

/* A profile that has an entry of a table count times, compressed. */
static void
make_repeated(struct buffer *file, uint32_t field, size_t count)
{
    struct gzip_writer writer;
    struct buffer plain = {0};

    memset(file, 0, sizeof(*file));
    protobuf_put_bytes(&plain, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(&plain, PROFILE_STRING_TABLE, "", 0);
    for (size_t i = 0; i < count; i++) {
        protobuf_put_bytes(&plain, field, "", 0);
    }
    assert_false(plain.failed);
    assert_true(gzip_begin(&writer, file));
    gzip_put(&writer, plain.data, plain.size);
    assert_true(gzip_end(&writer));
    buffer_finish(&plain);
}

/* Two bytes each in the file, many times that in memory; few enough bytes to be no
 * bomb. */
static void
entries__more_than_memory_for_them__refused(void **state)
{
    static const uint32_t fields[] = {PROFILE_STRING_TABLE, PROFILE_MAPPING,
                                      PROFILE_FUNCTION};

    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct buffer file;

        make_repeated(&file, fields[i], 9000000);
        assert_true(file.size < 1 << 20);
        assert_refused(file.data, file.size, "more memory than a file of its size may");
        buffer_finish(&file);
    }
}

/* As tools write that know no addresses. Finding a row must not take longer the more
 * there are. */
static void
functions__many_at_one_address__a_row_each(void **state)
{
    enum { FUNCTIONS = 100000 };
    struct buffer file = {0};
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    protobuf_put_bytes(&file, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, "", 0);
    for (uint64_t id = 1; id <= FUNCTIONS; id++) {
        struct buffer part = {0};
        struct buffer line = {0};
        char name[24];

        snprintf(name, sizeof(name), "f%u", (unsigned)id);
        protobuf_put_bytes(&file, PROFILE_STRING_TABLE, name, strlen(name));
        protobuf_put_number(&part, FUNCTION_ID, id);
        protobuf_put_number(&part, FUNCTION_NAME, id);
        protobuf_put_bytes(&file, PROFILE_FUNCTION, part.data, part.size);
        part.size = 0;
        protobuf_put_number(&line, LINE_FUNCTION_ID, id);
        protobuf_put_number(&part, LOCATION_ID, id);
        protobuf_put_bytes(&part, LOCATION_LINE, line.data, line.size);
        protobuf_put_bytes(&file, PROFILE_LOCATION, part.data, part.size);
        part.size = 0;
        protobuf_put_number(&part, SAMPLE_LOCATION_ID, id);
        protobuf_put_number(&part, SAMPLE_VALUE, 1);
        protobuf_put_bytes(&file, PROFILE_SAMPLE, part.data, part.size);
        buffer_finish(&part);
        buffer_finish(&line);
    }
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_int_equal(profile->row_count, FUNCTIONS);
    profile_delete(profile);
    buffer_finish(&file);
}

/* Many samples that all name one huge string must not copy it each time. */
static void
huge_string__used_by_many__read_once(void **state)
{
    enum { LENGTH = 1 << 20, SAMPLES = 20000 };
    struct buffer file = {0};
    struct buffer sample = {0};
    struct buffer label = {0};
    struct pprof_error error;
    struct profile *profile;
    char *name = malloc(LENGTH);

    (void)state;
    assert_non_null(name);
    memset(name, 'n', LENGTH);
    protobuf_put_bytes(&file, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, "", 0);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, LABEL_PROCESS,
                       strlen(LABEL_PROCESS));
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, name, LENGTH);
    protobuf_put_number(&label, LABEL_KEY, 1);
    protobuf_put_number(&label, LABEL_STR, 2);
    protobuf_put_bytes(&sample, SAMPLE_VALUE, "\1", 1);
    protobuf_put_bytes(&sample, SAMPLE_LABEL, label.data, label.size);
    for (int i = 0; i < SAMPLES; i++) {
        protobuf_put_bytes(&file, PROFILE_SAMPLE, sample.data, sample.size);
    }
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_int_equal(profile->row_count, 1);
    assert_int_equal(profile->rows[0].hits[0], SAMPLES);
    assert_int_equal(strlen(profile->processes[0]), LENGTH);
    profile_delete(profile);
    buffer_finish(&file);
    buffer_finish(&sample);
    buffer_finish(&label);
    free(name);
}

/* Append a location at address id whose lines have functions 1, 2, 1, 2 ... and last 3.
 */
static void
put_location(struct buffer *file, uint64_t id, size_t lines)
{
    struct buffer location = {0};
    struct buffer line = {0};

    protobuf_put_number(&location, LOCATION_ID, id);
    protobuf_put_number(&location, LOCATION_ADDRESS, id);
    for (size_t i = 0; i < lines; i++) {
        line.size = 0;
        protobuf_put_number(&line, LINE_FUNCTION_ID, i + 1 < lines ? 1 + i % 2 : 3);
        protobuf_put_number(&line, LINE_LINE, i + 1);
        protobuf_put_bytes(&location, LOCATION_LINE, line.data, line.size);
    }
    protobuf_put_bytes(file, PROFILE_LOCATION, location.data, location.size);
    buffer_finish(&line);
    buffer_finish(&location);
}

/* Append a sample with a location, and a second one that many times. */
static void
put_stack(struct buffer *file, uint64_t leaf, uint64_t caller, size_t callers)
{
    struct buffer sample = {0};

    protobuf_put_number(&sample, SAMPLE_LOCATION_ID, leaf);
    for (size_t i = 0; i < callers; i++) {
        protobuf_put_number(&sample, SAMPLE_LOCATION_ID, caller);
    }
    protobuf_put_number(&sample, SAMPLE_VALUE, 1);
    protobuf_put_bytes(file, PROFILE_SAMPLE, sample.data, sample.size);
    buffer_finish(&sample);
}

/* What put_location and put_stack need: a column, and functions f1, f2 and f3. */
static void
put_tables(struct buffer *file)
{
    struct buffer function = {0};

    protobuf_put_bytes(file, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(file, PROFILE_STRING_TABLE, "", 0);
    for (uint64_t i = 1; i <= 3; i++) {
        const char name[] = {'f', (char)('0' + i)};

        protobuf_put_bytes(file, PROFILE_STRING_TABLE, name, sizeof(name));
        function.size = 0;
        protobuf_put_number(&function, FUNCTION_ID, i);
        protobuf_put_number(&function, FUNCTION_NAME, i);
        protobuf_put_bytes(file, PROFILE_FUNCTION, function.data, function.size);
    }
    buffer_finish(&function);
}

static size_t
count_functions(const struct profile *profile, uint32_t frame)
{
    size_t count = 1;

    for (; frame != 0; frame = profile->frames[frame].caller) {
        count++;
    }
    return count;
}

static void
location__many_lines__innermost_and_outermost_stay_and_it_is_said(void **state)
{
    struct buffer file = {0};
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    put_tables(&file);
    put_location(&file, 1, 100000);
    put_location(&file, 2, PROFILE_PLACE_FUNCTIONS_MAX);
    put_stack(&file, 1, 0, 0);
    put_stack(&file, 2, 0, 0);
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_int_equal(profile->row_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct profile_row *const row = &profile->rows[i];

        assert_int_equal(row->line, 1);
        assert_int_equal(profile->frames[row->caller].line, 2);
        assert_int_equal(count_functions(profile, row->caller),
                         PROFILE_PLACE_FUNCTIONS_MAX);
        assert_string_equal(
            profile->functions[profile_outer_function(profile, row)].name, "f3");
    }
    assert_non_null(strstr(profile->gaps, "of more than 512 functions inlined at one "
                                          "place some were left out, at 1 of 2"));
    profile_delete(profile);
    buffer_finish(&file);
}

static void
stack__many_functions_at_its_places__ends_before_them(void **state)
{
    enum { FIT = PROFILE_STACK_FUNCTIONS_MAX / PROFILE_PLACE_FUNCTIONS_MAX };
    struct buffer file = {0};
    struct pprof_error error;
    struct profile *profile;
    size_t functions = 0;
    uint32_t at;

    (void)state;
    put_tables(&file);
    put_location(&file, 1, 1);
    put_location(&file, 2, 100000);
    put_stack(&file, 1, 2, 100);
    put_stack(&file, 1, 2, FIT);
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_int_equal(profile->row_count, 2);
    at = profile->rows[0].stack;
    assert_string_equal(profile_end_of(profile, at), PROFILE_STACK_LARGE);
    for (; profile->calls[at].end == NULL; at = profile->calls[at].caller) {
        functions += count_functions(profile, profile->calls[at].inlined);
    }
    assert_int_equal(functions, PROFILE_STACK_FUNCTIONS_MAX);
    assert_string_equal(profile_end_of(profile, profile->rows[1].stack),
                        PROFILE_STACK_WHOLE);
    profile_delete(profile);
    buffer_finish(&file);
}

/* A sample is forgotten when it has been read, however many there are: together, these
 * have more locations than the memory may hold. */
static void
samples__of_many_dropped_frames__one_at_a_time(void **state)
{
    enum { DEPTH = 100000, SAMPLES = 350 };
    static uint8_t stack[DEPTH];
    struct buffer sample = {0};
    struct buffer plain = {0};
    struct buffer file = {0};
    struct gzip_writer writer;
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    memset(stack, 1, sizeof(stack)); /* ids of locations */
    stack[DEPTH - 1] = 2;
    protobuf_put_bytes(&sample, SAMPLE_LOCATION_ID, stack, sizeof(stack));
    protobuf_put_bytes(&sample, SAMPLE_VALUE, "\x01", 1);
    protobuf_put_bytes(&plain, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(&plain, PROFILE_STRING_TABLE, "", 0);
    protobuf_put_bytes(&plain, PROFILE_STRING_TABLE, "dropped", 7);
    protobuf_put_number(&plain, PROFILE_DROP_FRAMES, 1);
    protobuf_put_bytes(&plain, PROFILE_FUNCTION, "\x08\x01\x10\x01", 4);
    protobuf_put_bytes(&plain, PROFILE_LOCATION, "\x08\x01\x22\x02\x08\x01", 6);
    protobuf_put_bytes(&plain, PROFILE_LOCATION, "\x08\x02", 2);
    for (int i = 0; i < SAMPLES; i++) {
        protobuf_put_bytes(&plain, PROFILE_SAMPLE, sample.data, sample.size);
    }
    assert_false(plain.failed);
    assert_true(DEPTH * SAMPLES * sizeof(uint64_t) > PPROF_MEMORY_BASE);
    assert_true(gzip_begin(&writer, &file));
    gzip_put(&writer, plain.data, plain.size);
    assert_true(gzip_end(&writer));
    profile = decode_copy(file.data, file.size, &error);
    if (profile == NULL) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(profile->row_count, 1);
    assert_int_equal(profile->rows[0].hits[0], SAMPLES);
    profile_delete(profile);
    buffer_finish(&sample);
    buffer_finish(&plain);
    buffer_finish(&file);
}

/* Each sample is a few bytes of the file, and thousands in a tree of stacks. */
static void
stacks__many_of_many_functions__refused(void **state)
{
    struct buffer file = {0};

    (void)state;
    put_tables(&file);
    put_location(&file, 1, PROFILE_PLACE_FUNCTIONS_MAX);
    for (uint64_t i = 0; i < 30000; i++) {
        put_location(&file, 2 + i, 2);
        put_stack(&file, 2 + i, 1,
                  PROFILE_STACK_FUNCTIONS_MAX / PROFILE_PLACE_FUNCTIONS_MAX);
    }
    assert_refused(file.data, file.size, "more memory than a file of its size may");
    buffer_finish(&file);
}

static void
sums__beyond_the_format__refused(void **state)
{
    struct buffer file = {0};
    struct buffer sample = {0};
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    protobuf_put_bytes(&file, PROFILE_SAMPLE_TYPE, "", 0);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, "", 0);
    protobuf_put_number(&sample, SAMPLE_VALUE, INT64_MAX);
    protobuf_put_bytes(&file, PROFILE_SAMPLE, sample.data, sample.size);
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_int_equal(profile->rows[0].hits[0], INT64_MAX);
    profile_delete(profile);
    sample.size = 0;
    protobuf_put_number(&sample, SAMPLE_VALUE, 1);
    protobuf_put_bytes(&sample, SAMPLE_LABEL, "", 0);
    protobuf_put_bytes(&file, PROFILE_SAMPLE, sample.data, sample.size);
    assert_refused(file.data, file.size, "add up to more than a file holds");
    buffer_finish(&file);
    buffer_finish(&sample);
}

static void
string__with_zero_inside__shown_escaped(void **state)
{
    struct buffer file = {0};
    struct pprof_error error;
    struct profile *profile;

    (void)state;
    protobuf_put_bytes(&file, PROFILE_SAMPLE_TYPE, "\x08\x01", 2);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, "", 0);
    protobuf_put_bytes(&file, PROFILE_STRING_TABLE, "a\0b", 3);
    profile = decode_copy(file.data, file.size, &error);
    assert_non_null(profile);
    assert_string_equal(profile->sources[0].name, "a\\x00b");
    profile_delete(profile);
    buffer_finish(&file);
}

static void
varint__too_long_or_cut__broken(void **state)
{
    static const uint8_t longest[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0x00};
    static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff, 0x02};
    struct protobuf_reader reader = {longest, longest + sizeof(longest)};
    uint64_t value = 0;

    (void)state;
    assert_true(protobuf_get_varint(&reader, &value));
    assert_int_equal(value, UINT64_MAX);
    assert_ptr_equal(reader.at, reader.end);
    reader = (struct protobuf_reader){too_long, too_long + sizeof(too_long)};
    assert_false(protobuf_get_varint(&reader, &value));
    reader = (struct protobuf_reader){too_large, too_large + sizeof(too_large)};
    assert_false(protobuf_get_varint(&reader, &value));
    reader = (struct protobuf_reader){longest, longest + 3};
    assert_false(protobuf_get_varint(&reader, &value));
    assert_int_equal(value, UINT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated__gzip_at_every_length__error),
        cmocka_unit_test(truncated__plain_at_every_length__error_or_profile),
        cmocka_unit_test(flipped__every_bit_of_plain__error_or_profile),
        cmocka_unit_test(flipped__every_bit_of_gzip__error_or_profile),
        cmocka_unit_test(foreign__other_files__not_a_profile),
        cmocka_unit_test(appended__second_file__refused),
        cmocka_unit_test(expand__many_members__joined),
        cmocka_unit_test(bomb__ratio__refused),
        cmocka_unit_test(entries__more_than_memory_for_them__refused),
        cmocka_unit_test(functions__many_at_one_address__a_row_each),
        cmocka_unit_test(huge_string__used_by_many__read_once),
        cmocka_unit_test(
            location__many_lines__innermost_and_outermost_stay_and_it_is_said),
        cmocka_unit_test(stack__many_functions_at_its_places__ends_before_them),
        cmocka_unit_test(stacks__many_of_many_functions__refused),
        cmocka_unit_test(samples__of_many_dropped_frames__one_at_a_time),
        cmocka_unit_test(sums__beyond_the_format__refused),
        cmocka_unit_test(string__with_zero_inside__shown_escaped),
        cmocka_unit_test(varint__too_long_or_cut__broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
