/* SPDX-License-Identifier: MIT */
/* loadable.c - which programs load a preload object, by the first bytes of their
 * file. */
#include "record/loadable.h"

#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct file {
    unsigned char bytes[LOADABLE_BYTES];
    char interpreter[LOADABLE_BYTES];
};

/* The first bytes of this program, which is like the preload object. */
static void
read_own(struct file *file)
{
    FILE *const self = fopen("/proc/self/exe", "re");

    assert_non_null(self);
    assert_int_equal(fread(file->bytes, 1, sizeof(file->bytes), self),
                     sizeof(file->bytes));
    fclose(self);
}

static enum loadable
judge(struct file *file)
{
    return loadable_judge(file->bytes, sizeof(file->bytes), file->interpreter);
}

static enum loadable
judge_text(struct file *file, const char *text)
{
    return loadable_judge((const unsigned char *)text, strlen(text), file->interpreter);
}

static void
program__like_this_one__loads(void **state)
{
    struct file file;

    (void)state;
    read_own(&file);
    assert_int_equal(judge(&file), LOADABLE_YES);
    assert_string_equal(file.interpreter, "");
}

static void
program__of_other_class_or_machine__is_foreign(void **state)
{
    struct file file;

    (void)state;
    read_own(&file);
    file.bytes[EI_CLASS] ^= 3;
    assert_int_equal(judge(&file), LOADABLE_FOREIGN);
    file.bytes[EI_CLASS] ^= 3;
    file.bytes[offsetof(ElfW(Ehdr), e_machine)] ^= 1;
    assert_int_equal(judge(&file), LOADABLE_FOREIGN);
}

#ifdef __x86_64__
static void
program__of_32_bits__loads_an_object_of_its_own(void **state)
{
    const Elf32_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32},
        .e_machine = EM_386,
        .e_phoff = sizeof(header),
        .e_phentsize = sizeof(Elf32_Phdr),
        .e_phnum = 2,
    };
    const Elf32_Phdr loader = {.p_type = PT_INTERP};
    struct file file = {0};

    (void)state;
    memcpy(file.bytes, &header, sizeof(header));
    assert_int_equal(judge(&file), LOADABLE_STATIC);
    memcpy(file.bytes + sizeof(header) + sizeof(loader), &loader, sizeof(loader));
    assert_int_equal(judge(&file), LOADABLE_I386);
    assert_int_equal(loadable_judge(file.bytes, sizeof(header), file.interpreter),
                     LOADABLE_STATIC);
    assert_int_equal(loadable_judge(file.bytes, sizeof(header) - 1, file.interpreter),
                     LOADABLE_UNKNOWN);
    file.bytes[offsetof(Elf32_Ehdr, e_phentsize)] ^= 1;
    assert_int_equal(judge(&file), LOADABLE_UNKNOWN);
}
#endif

static void
program__without_a_loader__is_static(void **state)
{
    struct file file;
    ElfW(Ehdr) header;

    (void)state;
    read_own(&file);
    memcpy(&header, file.bytes, sizeof(header));
    for (size_t i = 0; i < header.e_phnum; i++) {
        memset(file.bytes + header.e_phoff + i * header.e_phentsize, 0, 4);
    }
    assert_int_equal(judge(&file), LOADABLE_STATIC);
}

static void
program__whose_headers_are_elsewhere__is_not_read_beyond(void **state)
{
    struct file file;
    ElfW(Ehdr) header;

    (void)state;
    read_own(&file);
    memcpy(&header, file.bytes, sizeof(header));
    header.e_phoff = (ElfW(Off)) - 8;
    header.e_phnum = UINT16_MAX;
    memcpy(file.bytes, &header, sizeof(header));
    assert_int_equal(judge(&file), LOADABLE_STATIC);
    assert_int_equal(loadable_judge(file.bytes, sizeof(header) - 1, file.interpreter),
                     LOADABLE_UNKNOWN);
    header.e_phentsize = 1;
    memcpy(file.bytes, &header, sizeof(header));
    assert_int_equal(judge(&file), LOADABLE_UNKNOWN);
}

static void
script__names_what_runs_it(void **state)
{
    struct file file;

    (void)state;
    assert_int_equal(judge_text(&file, "#! /bin/sh -e\nexit\n"), LOADABLE_YES);
    assert_string_equal(file.interpreter, "/bin/sh");
    assert_int_equal(judge_text(&file, "#!/bin/sh\n"), LOADABLE_YES);
    assert_string_equal(file.interpreter, "/bin/sh");
    assert_int_equal(judge_text(&file, "#!\n"), LOADABLE_UNKNOWN);
    assert_int_equal(judge_text(&file, "#!/without/end"), LOADABLE_UNKNOWN);
    assert_int_equal(judge_text(&file, "#!"), LOADABLE_UNKNOWN);
}

static void
other_files__are_unknown(void **state)
{
    struct file file;

    (void)state;
    assert_int_equal(judge_text(&file, ""), LOADABLE_UNKNOWN);
    assert_int_equal(judge_text(&file, "MZ"), LOADABLE_UNKNOWN);
    assert_int_equal(loadable_check("/"), LOADABLE_UNKNOWN);
    assert_int_equal(loadable_check("/dev/null"), LOADABLE_UNKNOWN);
    assert_int_equal(loadable_check("/proc/self/exe"), LOADABLE_YES);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program__like_this_one__loads),
        cmocka_unit_test(program__of_other_class_or_machine__is_foreign),
#ifdef __x86_64__
        cmocka_unit_test(program__of_32_bits__loads_an_object_of_its_own),
#endif
        cmocka_unit_test(program__without_a_loader__is_static),
        cmocka_unit_test(program__whose_headers_are_elsewhere__is_not_read_beyond),
        cmocka_unit_test(script__names_what_runs_it),
        cmocka_unit_test(other_files__are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
