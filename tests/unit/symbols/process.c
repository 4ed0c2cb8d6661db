/* SPDX-License-Identifier: MIT */
/*
 * process.c - what a process without rights reads is what is read here, whoever asks
 * and however; what ends it costs names, and is said. Arguments: sample programs.
 */
#include "fixture.h"

#include "sandbox/process.h"
#include "symbols/client/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *sample;

static struct sym_image *
open_image(const char *path, const struct sym_settings *settings)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct sym_image *image;

    assert_true(fd >= 0);
    image = sym_image_open(fd, path, "", settings);
    assert_non_null(image);
    return image;
}

static void
assert_same(const struct sym_name *got, const struct sym_name *wanted)
{
    assert_int_equal(got->address, wanted->address);
    assert_int_equal(got->line, wanted->line);
    assert_int_equal(got->start_line, wanted->start_line);
    assert_string_equal(got->file, wanted->file);
    assert_string_equal(got->definition, wanted->definition);
    assert_int_equal(got->has_start, wanted->has_start);
    assert_int_equal(got->start, wanted->start);
    assert_int_equal(got->name == NULL, wanted->name == NULL);
    if (wanted->name != NULL) {
        assert_string_equal(got->name, wanted->name);
        assert_string_equal(got->system_name, wanted->system_name);
    }
    assert_int_equal(got->at, wanted->at);
    assert_int_equal(got->code_start, wanted->code_start);
    assert_int_equal(got->code_end, wanted->code_end);
    assert_int_equal(got->frame_count, wanted->frame_count);
    for (size_t i = 0; i < got->frame_count; i++) {
        assert_string_equal(got->frames[i].name, wanted->frames[i].name);
        assert_string_equal(got->frames[i].system_name, wanted->frames[i].system_name);
        assert_int_equal(got->frames[i].start_line, wanted->frames[i].start_line);
    }
    assert_int_equal(got->caller_count, wanted->caller_count);
    for (size_t i = 0; i < got->caller_count; i++) {
        assert_string_equal(got->callers[i].name, wanted->callers[i].name);
        assert_string_equal(got->callers[i].file, wanted->callers[i].file);
        assert_int_equal(got->callers[i].line, wanted->callers[i].line);
        assert_string_equal(got->callers[i].definition, wanted->callers[i].definition);
    }
}

static void
names__many_at_once_and_one_by_one__those_of_the_reader(void **state)
{
    struct sym_reader *const reader = fixture_open(sample, "");
    struct sym_image *const image = open_image(sample, NULL);
    uint64_t start;
    uint64_t end;
    uint64_t places[64];
    uint64_t first;

    (void)state;
    assert_string_equal(sym_image_build_id(image), sym_reader_build_id(reader));
    assert_true(
        fixture_address(reader, fixture_offset_of(sample, "sample_global"), &first));
    first -= 32;
    for (uint64_t i = 0; i < 64; i++) {
        places[i] = first + i;
    }
    for (int once = 0; once < 2; once++) {
        if (once != 0) {
            sym_image_expect(image, false, places, 64, 4);
        }
        for (size_t i = 0; i < 64; i++) {
            struct sym_name got;
            struct sym_name wanted;
            const bool named = sym_reader_lookup_bucket(reader, places[i], 4, &wanted);

            assert_int_equal(sym_image_lookup_bucket(image, places[i], 4, &got), named);
            assert_same(&got, &wanted);
            if (places[i] == first + 32) {
                assert_true(got.has_start);
                assert_int_equal(got.start, first + 32);
                assert_non_null(strstr(got.definition, "/sample.c"));
            }
        }
    }
    assert_true(sym_image_range(image, first + 32, &start, &end));
    assert_int_equal(start, first + 32);
    assert_true(sym_image_has_symbols(image));
    assert_false(sym_image_is_bounded(image));
    assert_string_equal(sym_image_note(image), "");
    sym_image_close(image);
    sym_reader_close(reader);
}

static void
names__asked_for_with_the_file__there_without_it(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    const uint64_t places[] = {offset, offset + 1};
    const struct sym_wanted wanted = {places, 2, 1};
    const char *const path = fixture_path("leaving");
    struct sym_image *image;
    struct sym_name name;
    uint64_t address;
    int fd;

    (void)state;
    assert_int_equal(fixture_run("cp '%s' '%s'", sample, path), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    image = sym_image_open_places(fd, path, "", NULL, &wanted);
    assert_non_null(image);
    assert_int_equal(truncate(path, 100), 0);
    assert_true(sym_image_address(image, offset, &address));
    for (size_t i = 0; i < 2; i++) {
        assert_true(sym_image_lookup_place(image, places[i], 1, &name));
        assert_string_equal(name.name, "sample_global");
        assert_int_equal(name.address, address + i);
    }
    assert_true(sym_image_has_symbols(image));
    assert_false(sym_image_is_bounded(image));
    assert_string_equal(sym_image_note(image), "");
    sym_image_close(image);
}

static void
names__asked_for_with_the_file_and_no_time__not_asked(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    const struct sym_wanted wanted = {&offset, 1, 1};
    struct sym_clock clock = {0};
    const struct sym_settings settings = {.clock = &clock};
    struct sym_image *image;
    struct sym_name name;

    (void)state;
    sym_clock_start(&clock, 0);
    image = sym_image_open_places(open(sample, O_RDONLY | O_CLOEXEC), sample, "",
                                  &settings, &wanted);
    assert_non_null(image);
    assert_false(sym_image_lookup_place(image, offset, 1, &name));
    assert_true(sym_image_is_bounded(image));
    sym_clock_start(&clock, 3600);
    assert_true(sym_image_lookup_place(image, offset, 1, &name));
    assert_false(sym_image_is_bounded(image));
    sym_image_end_lookups(image);
    assert_true(sym_image_lookup_place(image, offset, 1, &name));
    sym_image_close(image);
}

static void
file__shrinks_after_open__no_names_and_said(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    const char *const path = fixture_path("shrinking");
    struct sym_image *image;
    struct sym_name name;

    (void)state;
    assert_int_equal(fixture_run("cp '%s' '%s'", sample, path), 0);
    image = open_image(path, NULL);
    assert_int_equal(truncate(path, 100), 0);
    assert_false(sym_image_lookup_place(image, offset, 1, &name));
    assert_null(name.name);
    assert_false(sym_image_has_symbols(image));
    assert_true(sym_image_is_bounded(image));
    assert_non_null(strstr(sym_image_note(image), "shrinking"));
    sym_image_close(image);
}

static void
time__is_up__no_names_until_the_clock_is_started_again(void **state)
{
    const uint64_t offset = fixture_offset_of(sample, "sample_global");
    struct sym_clock clock = {0};
    const struct sym_settings settings = {.clock = &clock};
    struct sym_image *image;
    struct sym_name name;

    (void)state;
    sym_clock_start(&clock, 0);
    image = open_image(sample, &settings);
    assert_false(sym_image_lookup_place(image, offset, 1, &name));
    assert_non_null(strstr(sym_image_note(image), "no time is left"));
    sym_clock_start(&clock, 3600);
    assert_true(sym_image_lookup_place(image, offset, 1, &name));
    assert_string_equal(name.name, "sample_global");
    sym_image_close(image);
}

static void
no_program__not_opened(void **state)
{
    const char *const path = fixture_path("text");

    (void)state;
    fixture_write(path, "text\n", 5);
    assert_null(sym_image_open(open(path, O_RDONLY | O_CLOEXEC), path, "", NULL));
    assert_int_equal(errno, ENOEXEC);
    fixture_write(path, "", 0);
    assert_null(sym_image_open(open(path, O_RDONLY | O_CLOEXEC), path, "", NULL));
    assert_int_equal(errno, ENOEXEC);
}

/* The five seconds that sandbox_hurry leaves have to pass. */
static void
command_ends__not_opened_and_no_file_system_blamed(void **state)
{
    (void)state;
    sandbox_hurry();
    sleep(6);
    assert_null(sym_image_open(open(sample, O_RDONLY | O_CLOEXEC), sample, "", NULL));
    assert_int_equal(errno, ECANCELED);
    assert_non_null(strstr(sym_image_error(ECANCELED), "ended before"));
    sandbox_hurry_on(-1);
    sym_image_close(open_image(sample, NULL));
}

static void
processes__finished__none_is_left(void **state)
{
    (void)state;
    sandbox_finish();
    /* Every reader and the template were waited for. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int
main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__many_at_once_and_one_by_one__those_of_the_reader),
        cmocka_unit_test(names__asked_for_with_the_file__there_without_it),
        cmocka_unit_test(names__asked_for_with_the_file_and_no_time__not_asked),
        cmocka_unit_test(file__shrinks_after_open__no_names_and_said),
        cmocka_unit_test(time__is_up__no_names_until_the_clock_is_started_again),
        cmocka_unit_test(no_program__not_opened),
        cmocka_unit_test(command_ends__not_opened_and_no_file_system_blamed),
        cmocka_unit_test(processes__finished__none_is_left),
    };

    assert_true(count > 1);
    sample = words[1];
    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
