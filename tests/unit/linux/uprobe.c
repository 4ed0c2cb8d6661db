/* SPDX-License-Identifier: MIT */
/* uprobe.c - why a file cannot be probed; tests/integration/uprobes.c has what can. */
#include "cmocka_all.h"

#include "hal/linux/uprobe.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int fstat_error;      /* 0: the kernel answers */
static int tracefs_error;    /* what opening tracefs fails with */
static const char *lockdown; /* the file's text; NULL: there is none */

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

int __wrap_faccessat(int directory, const char *path, int mode, int flags);
int __wrap_fsopen(const char *type, unsigned flags);
int __wrap_perf_read_text(int directory, const char *path, char **text);

int
__wrap_faccessat(int directory, const char *path, int mode, int flags)
{
    (void)directory;
    (void)path;
    (void)mode;
    (void)flags;
    errno = tracefs_error;
    return -1;
}

int
__wrap_fsopen(const char *type, unsigned flags)
{
    (void)type;
    (void)flags;
    errno = tracefs_error;
    return -1;
}

int
__wrap_perf_read_text(int directory, const char *path, char **text)
{
    (void)directory;
    assert_string_equal(path, "/sys/kernel/security/lockdown");
    *text = lockdown != NULL ? strdup(lockdown) : NULL;
    return *text != NULL ? 0 : -ESRCH;
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

/* Root has every right, and the advice to be root would be of no use. */
static void
make__kernel_locked_down__the_reason_says_so(void **state)
{
    static const char *const locked =
        "kernel lockdown allows uprobes to nobody: boot without "
        "lockdown=confidentiality, or count a breakpoint:0xADDRESS";
    static const char *const rights =
        "uprobes take root with CAP_SYS_ADMIN outside of user namespaces: run ntprof "
        "as root, or count a breakpoint:0xADDRESS";
    static const int errors[] = {EPERM, EACCES, ENOENT};

    (void)state;
    lockdown = "none integrity [confidentiality]\n";
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        tracefs_error = errors[i];
        assert_refused("/proc/self/exe", 0x10, -errors[i], locked);
    }
    tracefs_error = ENOMEM;
    assert_refused("/proc/self/exe", 0x10, -ENOMEM,
                   "the kernel makes no uprobe: Cannot allocate memory");
    tracefs_error = EPERM;
    lockdown = "none [integrity] confidentiality\n";
    assert_refused("/proc/self/exe", 0x10, -EPERM, rights);
    lockdown = NULL;
    assert_refused("/proc/self/exe", 0x10, -EPERM, rights);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__fstat_fails__its_error_is_the_reason),
        cmocka_unit_test(make__no_file_to_probe__the_reason_is_told),
        cmocka_unit_test(make__kernel_locked_down__the_reason_says_so),
    };

    return cmocka_run_group_tests_name("uprobe", tests, NULL, NULL);
}
