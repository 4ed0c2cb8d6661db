/* SPDX-License-Identifier: MIT */
/* Source files as lines, and what is refused as one. */
#include "fixture.h"

#include "view/listing/source_text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];

static const char *
in_folder(const char *name)
{
    static char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void
write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "we");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void
assert_line(const struct source_text *text, uint32_t line, const char *wanted)
{
    size_t size = 0;
    const char *bytes = source_text_line(text, line, &size);

    assert_non_null(bytes);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(bytes, wanted, size);
}

static void
lines__of_either_ending__without_it(void **state)
{
    static const char bytes[] = "one\ntwo\r\n\n\tfour";
    struct source_text text;
    size_t size;

    (void)state;
    write_file("a.c", bytes, sizeof(bytes) - 1);
    assert_int_equal(source_text_read(&text, in_folder("a.c")), 0);
    assert_int_equal(text.count, 4);
    assert_line(&text, 1, "one");
    assert_line(&text, 2, "two");
    assert_line(&text, 3, "");
    assert_line(&text, 4, "\tfour");
    assert_null(source_text_line(&text, 0, &size));
    assert_null(source_text_line(&text, 5, &size));
    assert_null(source_text_line(&text, UINT32_MAX, &size));
    source_text_finish(&text);
}

static void
empty_file__read__no_lines(void **state)
{
    struct source_text text;
    size_t size;

    (void)state;
    write_file("empty.c", "", 0);
    assert_int_equal(source_text_read(&text, in_folder("empty.c")), 0);
    assert_int_equal(text.count, 0);
    assert_null(source_text_line(&text, 1, &size));
    source_text_finish(&text);
}

static void
long_line__read__cut(void **state)
{
    static char bytes[3 * SOURCE_TEXT_COLUMNS_MAX];
    struct source_text text;
    size_t size;

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    write_file("long.c", bytes, sizeof(bytes));
    assert_int_equal(source_text_read(&text, in_folder("long.c")), 0);
    assert_non_null(source_text_line(&text, 1, &size));
    assert_int_equal(size, SOURCE_TEXT_COLUMNS_MAX);
    source_text_finish(&text);
}

static void
what_is_no_text__read__refused(void **state)
{
    struct source_text text;

    (void)state;
    write_file("binary.c", "a\0b", 3);
    assert_int_equal(source_text_read(&text, in_folder("binary.c")), -EILSEQ);
    assert_null(text.bytes);
    write_file("large.c", "", 0);
    assert_int_equal(truncate(in_folder("large.c"), SOURCE_TEXT_BYTES_MAX + 1), 0);
    assert_int_equal(source_text_read(&text, in_folder("large.c")), -EFBIG);
    assert_int_equal(mkfifo(in_folder("fifo.c"), 0600), 0);
    assert_int_equal(source_text_read(&text, in_folder("fifo.c")), -EINVAL);
    assert_int_equal(source_text_read(&text, folder), -EINVAL);
    assert_int_equal(source_text_read(&text, "/dev/zero"), -EINVAL);
    assert_int_equal(symlink("loop.c", in_folder("loop.c")), 0);
    assert_int_equal(source_text_read(&text, in_folder("loop.c")), -ELOOP);
    assert_int_equal(source_text_read(&text, in_folder("none.c")), -ENOENT);
    assert_null(text.bytes);
    assert_null(text.starts);
}

static int
make_folder(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/ntprof-source-XXXXXX",
             base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int
remove_folder(void **state)
{
    static const char *const names[] = {"a.c",     "empty.c", "long.c", "binary.c",
                                        "large.c", "fifo.c",  "loop.c"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__of_either_ending__without_it),
        cmocka_unit_test(empty_file__read__no_lines),
        cmocka_unit_test(long_line__read__cut),
        cmocka_unit_test(what_is_no_text__read__refused),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
