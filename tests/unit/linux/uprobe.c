/* SPDX-License-Identifier: MIT */
/* uprobe.c - why a file cannot be probed; tests/integration/uprobes.c has what can. */
#include "cmocka_all.h"

#include "hal/linux/uprobe.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int fstat_error; /* 0: the kernel answers */

int __real_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status);

int
__wrap_fstat64(int fd, struct stat *status)
{
    if (fstat_error != 0) {
        errno = fstat_error;
        return -1;
    }
    return __real_fstat64(fd, status);
}

static void
assert_refused(const char *image, uint64_t offset, int result, const char *reason)
{
    struct perf_uprobe *const uprobe = perf_uprobe_create(image, strlen(image), offset);
    char said[200] = "";
    uint64_t id;

    assert_non_null(uprobe);
    assert_int_equal(perf_uprobe_make(uprobe, &id, said, sizeof(said)), result);
    assert_string_equal(said, reason);
    assert_string_equal(uprobe->event, "");
    perf_uprobe_delete(uprobe);
}

static void
make__fstat_fails__its_error_is_the_reason(void **state)
{
    (void)state;
    fstat_error = EIO;
    assert_refused("/proc/self/exe", 0x10, -EIO,
                   "the image's type and size cannot be read: Input/output error");
    fstat_error = ENOMEM;
    assert_refused("/proc/self/exe", 0x10, -ENOMEM,
                   "the image's type and size cannot be read: Cannot allocate memory");
    fstat_error = 0;
}

static void
make__no_file_to_probe__the_reason_is_told(void **state)
{
    (void)state;
    assert_refused("/nowhere/none", 0, -ENOENT,
                   "the image cannot be opened: No such file or directory");
    assert_refused("/", 0, -EINVAL, "the image is no regular file");
    assert_refused("/dev/null", 0, -EINVAL, "the image is no regular file");
    assert_refused("/proc/self/exe", UINT64_MAX, -EINVAL,
                   "the offset is past the end of the image");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__fstat_fails__its_error_is_the_reason),
        cmocka_unit_test(make__no_file_to_probe__the_reason_is_told),
    };

    return cmocka_run_group_tests_name("uprobe", tests, NULL, NULL);
}
