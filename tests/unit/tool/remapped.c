/* SPDX-License-Identifier: MIT */
/*
 * remapped.c - code of a file in anonymous memory is found by what was mapped there.
 *
 * The process is this one, and the file its executable.
 */
#include "record/collect/collectorp.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t page = 4096;

/* fixture - this process as a collector knows it: its executable is mapped. */
struct fixture {
    struct collector *collector;
    struct process process;
    struct image file;
    struct image anonymous;
    struct mapping text; /* of the file */
};

/* Reads the line of /proc/self/maps with the code of main. */
static void
read_text(struct fixture *fixture, const void *code)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[5000];
    uint64_t end = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        struct mapping *const text = &fixture->text;

        assert_int_equal(sscanf(line,
                                "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %" SCNx32
                                ":%" SCNx32 " %" SCNu64,
                                &text->base, &end, &text->place,
                                &fixture->file.device_major,
                                &fixture->file.device_minor, &fixture->file.inode),
                         6);
        if ((uintptr_t)code >= text->base && (uintptr_t)code < end) {
            text->length = end - text->base;
            break;
        }
    }
    fclose(maps);
    assert_true(fixture->text.length >= page);
}

static struct fixture
begin(void)
{
    struct fixture fixture = {.collector = calloc(1, sizeof(struct collector)),
                              .process = {.pid = (uint32_t)getpid()},
                              .file = {.kind = IMAGE_FILE},
                              .anonymous = {.kind = IMAGE_ANONYMOUS}};

    assert_non_null(fixture.collector);
    read_text(&fixture, (const void *)(uintptr_t)begin);
    return fixture;
}

static ntprof_notification
change(const struct fixture *fixture, uint64_t time_ns)
{
    return (ntprof_notification){.pid = fixture->process.pid, .time_ns = time_ns};
}

/* The part of anonymous memory at base, cut. */
static struct mapping
cut(struct fixture *fixture, const struct process *parent, uint64_t time_ns,
    uint64_t base, uint64_t length)
{
    const ntprof_notification map = change(fixture, time_ns);
    struct mapping part = {
        .base = base, .length = length, .place = base, .image = &fixture->anonymous};

    fixture->text.image = &fixture->file;
    remapped_cut(fixture->collector, &fixture->process, parent, &map, &part);
    return part;
}

static void
replace_text(struct fixture *fixture, uint64_t time_ns)
{
    const ntprof_notification unmap = change(fixture, time_ns);

    fixture->text.image = &fixture->file;
    replaced_add(&fixture->collector->replaced, &unmap, &fixture->text);
}

static void
assert_part(const struct mapping *part, const struct image *image, uint64_t place,
            uint64_t length)
{
    assert_ptr_equal(part->image, image);
    assert_int_equal(part->place, place);
    assert_int_equal(part->length, length);
}

static void
cut__all_of_a_file__its_place(void **state)
{
    struct fixture fixture = begin();
    struct mapping *const text = &fixture.text;
    struct mapping part;

    (void)state;
    replace_text(&fixture, 7);
    part = cut(&fixture, NULL, 7, text->base, text->length);
    assert_part(&part, &fixture.file, text->place, text->length);
    replace_text(&fixture, 8);
    part = cut(&fixture, NULL, 8, text->base + 16, page - 16);
    assert_part(&part, &fixture.file, text->place + 16, page - 16);
    free(fixture.collector);
}

static void
cut__more_than_the_file_had__in_parts(void **state)
{
    struct fixture fixture = begin();
    struct mapping *const text = &fixture.text;
    const uint64_t begin = text->base - page;
    const uint64_t end = text->base + text->length + page;
    struct mapping part;

    (void)state;
    replace_text(&fixture, 7);
    part = cut(&fixture, NULL, 7, begin, end - begin);
    assert_part(&part, &fixture.anonymous, begin, page);
    part = cut(&fixture, NULL, 7, text->base, end - text->base);
    assert_part(&part, &fixture.file, text->place, text->length);
    part = cut(&fixture, NULL, 7, end - page, page);
    assert_part(&part, &fixture.anonymous, end - page, page);
    free(fixture.collector);
}

static void
cut__at_another_time__is_code_of_the_process(void **state)
{
    struct fixture fixture = begin();
    struct mapping part;

    (void)state;
    replace_text(&fixture, 7);
    part = cut(&fixture, NULL, 8, fixture.text.base, page);
    assert_part(&part, &fixture.anonymous, fixture.text.base, page);
    free(fixture.collector);
}

/* As after dlclose: nothing else of the file is mapped, or at other addresses. */
static void
cut__file_is_not_mapped_any_more__is_code_of_the_process(void **state)
{
    struct fixture fixture = begin();
    const uint64_t elsewhere = fixture.text.base ^ UINT64_C(1) << 40;
    struct mapping part;

    (void)state;
    fixture.file.inode++;
    replace_text(&fixture, 7);
    part = cut(&fixture, NULL, 7, fixture.text.base, page);
    assert_part(&part, &fixture.anonymous, fixture.text.base, page);
    fixture.file.inode--;
    fixture.text.base = elsewhere;
    replace_text(&fixture, 8);
    part = cut(&fixture, NULL, 8, elsewhere, page);
    assert_part(&part, &fixture.anonymous, elsewhere, page);
    free(fixture.collector);
}

static void
cut__parent_has_moved_it__in_its_child_too(void **state)
{
    struct fixture fixture = begin();
    struct process parent = {.mappings = &fixture.text, .mapping_count = 1};
    struct mapping part;

    (void)state;
    part = cut(&fixture, &parent, 7, fixture.text.base, page);
    assert_part(&part, &fixture.file, fixture.text.place, page);
    fixture.process.execed = true;
    part = cut(&fixture, &parent, 7, fixture.text.base, page);
    assert_part(&part, &fixture.anonymous, fixture.text.base, page);
    free(fixture.collector);
}

/* More than are remembered: the rest is code of the process. */
static void
add__many_mappings__the_first_are_kept(void **state)
{
    struct fixture fixture = begin();

    (void)state;
    for (int i = 0; i < 2 * REPLACED_MAX; i++) {
        replace_text(&fixture, 7);
    }
    assert_int_equal(fixture.collector->replaced.count, REPLACED_MAX);
    replace_text(&fixture, 8);
    assert_int_equal(fixture.collector->replaced.count, 1);
    free(fixture.collector);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut__all_of_a_file__its_place),
        cmocka_unit_test(cut__more_than_the_file_had__in_parts),
        cmocka_unit_test(cut__at_another_time__is_code_of_the_process),
        cmocka_unit_test(cut__file_is_not_mapped_any_more__is_code_of_the_process),
        cmocka_unit_test(cut__parent_has_moved_it__in_its_child_too),
        cmocka_unit_test(add__many_mappings__the_first_are_kept),
    };

    return cmocka_run_group_tests_name("remapped", tests, NULL, NULL);
}
