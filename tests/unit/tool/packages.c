/* SPDX-License-Identifier: MIT */
/* packages.c - debug packages by the databases below a root that the test makes. */
#include "packages/packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"

static char root[64];

static int
make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/ntprof-packages-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static int
remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Make the folders of a path below the root; path: out, the whole path. */
static void
make_folders(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void
put(const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *file;

    make_folders(path, sizeof(path), name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void
put_program(const char *name, const char *text)
{
    char path[PATH_MAX];

    put(name, text);
    snprintf(path, sizeof(path), "%s%s", root, name);
    assert_int_equal(chmod(path, 0755), 0);
}

static struct package_file
ask(const char *path)
{
    struct package_file file = {.path = path, .owner = "x", .advice = "x"};

    packages_advise(root, &file, 1);
    return file;
}

static void
assert_advice(const char *path, const char *part)
{
    const struct package_file file = ask(path);

    if (strstr(file.advice, part) == NULL) {
        fail_msg("\"%s\" does not have \"%s\"", file.advice, part);
    }
}

static void
put_debian(void)
{
    put("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
                           "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\n"
                           "ID=debian\n");
    put("/var/lib/dpkg/status",
        "Package: zlib1g\nStatus: install ok installed\nArchitecture: amd64\n"
        "Source: zlib\nVersion: 1:1.2.13.dfsg-1\n\n"
        "Package: python3.11-minimal\nStatus: install ok installed\n"
        "Source: python3.11 (3.11.2-6)\nVersion: 3.11.2-6+deb12u6\n\n"
        "Package: other\nStatus: install ok installed\nVersion: 9\n");
    put("/var/lib/dpkg/info/zlib1g:amd64.list",
        "/.\n/lib\n/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu/libz.so.1.2.13\n");
    put("/var/lib/dpkg/info/python3.11-minimal.list",
        "/.\n/usr/bin/python3.11\n/usr/lib/python3.11/last.so");
    put("/var/lib/dpkg/info/other.list", "/.\n" LIBRARY ".debug\n/usr/bin\n");
    put("/var/lib/dpkg/info/other.md5sums", LIBRARY "\n");
}

static void
dpkg__path_in_either_form__its_package(void **state)
{
    struct package_file files[] = {
        {.path = LIBRARY},
        {.path = "/lib/x86_64-linux-gnu/libz.so.1.2.13"},
        {.path = "/usr/bin/python3.11"},
        {.path = "/bin/python3.11"},
        {.path = "/usr/lib/python3.11/last.so"},
        {.path = "/usr/lib/x86_64-linux-gnu/libz.so.1"},
        {.path = "/opt/own"},
        {.path = "/usr/bin/python3.11\n/usr/lib"},
    };

    (void)state;
    put_debian();
    packages_advise(root, files, sizeof(files) / sizeof(files[0]));
    assert_string_equal(files[0].owner, "zlib1g");
    assert_string_equal(files[0].source, "zlib");
    assert_string_equal(files[0].version, "1:1.2.13.dfsg-1");
    assert_string_equal(files[1].owner, "zlib1g");
    assert_string_equal(files[2].owner, "python3.11-minimal");
    assert_string_equal(files[2].source, "python3.11");
    assert_string_equal(files[3].owner, "python3.11-minimal");
    assert_string_equal(files[4].owner, "python3.11-minimal");
    for (size_t i = 5; i < 8; i++) {
        assert_string_equal(files[i].owner, "");
        assert_non_null(strstr(files[i].advice, "no package owns it"));
        assert_string_equal(files[i].server, "");
    }
}

static void
dpkg__both_forms_are_listed__the_file_itself(void **state)
{
    (void)state;
    put_debian();
    put("/var/lib/dpkg/info/aaa.list", "/.\n/lib/two.so\n");
    put("/var/lib/dpkg/info/mmm.list", "/.\n/usr/lib/two.so\n");
    put("/var/lib/dpkg/info/zzz.list", "/.\n/lib/two.so\n");
    assert_string_equal(ask("/usr/lib/two.so").owner, "mmm");
    assert_string_not_equal(ask("/lib/two.so").owner, "mmm");
}

static void
dpkg__no_list_has_a_debug_package__the_archive_of_the_distribution(void **state)
{
    static const struct {
        const char *release;
        const char *advice;
        const char *server;
    } cases[] = {
        {"ID=debian\nVERSION_CODENAME=bookworm\n",
         "install zlib1g-dbgsym, version 1:1.2.13.dfsg-1, from Debian's archive of "
         "debug symbols (debian-debug, suite bookworm-debug)",
         "https://debuginfod.debian.net"},
        {"ID=debian\n", "unstable-debug", "https://debuginfod.debian.net"},
        {"ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\n",
         "(deb http://ddebs.ubuntu.com jammy main universe)",
         "https://debuginfod.ubuntu.com"},
        {"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nUBUNTU_CODENAME='jammy'\n"
         "VERSION_CODENAME=vera\n",
         "(deb http://ddebs.ubuntu.com jammy main universe)",
         "https://debuginfod.ubuntu.com"},
        {"ID=kali\nID_LIKE=debian\nNAME=\"Kali\"\n", "from the debug archive of Kali",
         "https://debuginfod.debian.net"},
        {"", "install zlib1g-dbgsym", "https://debuginfod.elfutils.org"},
    };

    (void)state;
    put_debian();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put("/etc/os-release", cases[i].release);
        assert_advice(LIBRARY, cases[i].advice);
        assert_string_equal(ask(LIBRARY).server, cases[i].server);
    }
}

static void
dpkg__lists_have_a_debug_package__that_one(void **state)
{
    (void)state;
    put_debian();
    put("/var/lib/apt/lists/a_main_binary-amd64_Packages",
        "Package: python3.11-dbg-not\n\nPackage: python3.11-dbg\nVersion: 3\n\n"
        "Package: zlib1g-dbg\n");
    assert_advice("/usr/bin/python3.11",
                  "install python3.11-dbg, version 3.11.2-6+deb12u6");
    assert_null(strstr(ask("/usr/bin/python3.11").advice, "archive"));
    assert_advice(LIBRARY, "install zlib1g-dbg, version");
    /* The usual name is better, and its list is compressed. */
    put("/var/lib/apt/lists/b_Packages.lz4", "Package: zlib1g-dbgsym\n");
    put_program("/usr/lib/apt/apt-helper",
                "#!/bin/sh\n[ \"$1\" = cat-file ] && exec /bin/cat \"$2\"\n");
    assert_advice(LIBRARY, "install zlib1g-dbgsym, version 1:1.2.13.dfsg-1");
    assert_null(strstr(ask(LIBRARY).advice, "archive"));
}

static void
dpkg__debug_package_is_installed__said(void **state)
{
    (void)state;
    put_debian();
    put("/var/lib/dpkg/status",
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1\n\n"
        "Package: zlib1g-dbgsym\nStatus: install ok installed\nVersion: 2\n");
    assert_advice(LIBRARY, "zlib1g-dbgsym is installed: it has the names if it is of "
                           "version 1");
    put("/var/lib/dpkg/status",
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1\n\n"
        "Package: zlib1g-dbgsym\nStatus: deinstall ok config-files\nVersion: 2\n");
    assert_advice(LIBRARY, "install zlib1g-dbgsym, version 1, from");
}

/* The package that is installed is not the one that the lists have. */
static void
dpkg__another_debug_package_is_installed__the_installed_one(void **state)
{
    (void)state;
    put_debian();
    put("/var/lib/apt/lists/a_Packages", "Package: zlib1g-dbg\n");
    put("/var/lib/dpkg/status",
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1\n\n"
        "Package: zlib1g-dbgsym\nStatus: install ok installed\nVersion: 1\n");
    assert_advice(LIBRARY, "zlib1g-dbgsym is installed");
    put("/var/lib/dpkg/status",
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1\n\n"
        "Package: zlib1g-dbg\nStatus: install ok installed\nVersion: 1\n");
    assert_advice(LIBRARY, "zlib1g-dbg is installed");
}

static size_t
count_bytes(const char *name)
{
    struct stat status;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s%s", root, name);
    return stat(path, &status) == 0 ? (size_t)status.st_size : 0;
}

/* Each run of the helper adds a byte to a file. */
static void
dpkg__helper_of_apt__run_only_if_needed_and_in_time(void **state)
{
    char helper[256];

    (void)state;
    put_debian();
    put("/var/lib/apt/lists/a_Packages.lz4", "");
    put("/var/lib/apt/lists/b_Packages.lz4", "");
    snprintf(helper, sizeof(helper),
             "#!/bin/sh\nprintf x >> %s/runs\nexec sleep 1000\n", root);
    put_program("/usr/lib/apt/apt-helper", helper);
    assert_advice("/opt/own", "no package owns it");
    assert_int_equal(count_bytes("/runs"), 0);
    assert_advice(LIBRARY, "install zlib1g-dbgsym, version");
    assert_int_equal(count_bytes("/runs"), 1);
}

static void
dpkg__what_is_no_list__is_left_out(void **state)
{
    char path[PATH_MAX];
    struct package_file file;

    (void)state;
    put_debian();
    put("/var/lib/dpkg/info/a folder.list/x", "");
    make_folders(path, sizeof(path), "/var/lib/dpkg/info/fifo.list");
    assert_int_equal(mkfifo(path, 0644), 0);
    make_folders(path, sizeof(path), "/var/lib/apt/lists/x_Packages");
    assert_int_equal(mkfifo(path, 0644), 0);
    put("/var/lib/dpkg/info/\033[31m.list", "/.\n/usr/bin/red\n");
    put("/var/lib/dpkg/info/.list", "/usr/bin/none\n");
    assert_string_equal(ask(LIBRARY).owner, "zlib1g");
    file = ask("/usr/bin/red");
    assert_string_equal(file.owner, "");
    assert_null(strchr(file.advice, '\033'));
    assert_string_equal(ask("/usr/bin/none").owner, "");
}

static void
dpkg__hostile_texts__nothing_of_them_is_said(void **state)
{
    char *const line = malloc(1 << 20);
    struct package_file file;

    (void)state;
    assert_non_null(line);
    put_debian();
    memset(line, 'x', (1 << 20) - 1);
    line[(1 << 20) - 1] = '\0';
    put("/var/lib/apt/lists/long_Packages", line);
    memcpy(line, "Version: ", 9);
    put("/var/lib/dpkg/status", line);
    free(line);
    assert_advice(LIBRARY, "install zlib1g-dbgsym, from");
    put("/var/lib/dpkg/status", "Package: zlib1g\nVersion: 1\033[31m\n"
                                "Source: $(reboot)\nPackage: \033\nVersion: 2\n");
    put("/etc/os-release", "ID=debian\nVERSION_CODENAME=a\033b\nNAME=\033\n");
    file = ask(LIBRARY);
    assert_string_equal(file.version, "");
    assert_string_equal(file.source, "");
    assert_null(strchr(file.advice, '\033'));
}

static void
rpm__asked_by_its_path__its_package(void **state)
{
    (void)state;
    put("/etc/os-release", "ID=fedora\n");
    put_program("/usr/bin/rpm",
                "#!/bin/sh\n[ \"$1\" = -qf ] && [ \"$4\" = -- ] || exit 1\n"
                "case $5 in /usr/lib64/libz.so.1) echo 'ntprof zlib';;\n"
                "*) echo \"file $5 is not owned by any package\"; exit 1;; esac\n");
    assert_advice("/usr/lib64/libz.so.1", "(dnf debuginfo-install zlib)");
    assert_string_equal(ask("/usr/lib64/libz.so.1").server,
                        "https://debuginfod.fedoraproject.org");
    assert_advice("/opt/own", "no package owns it");
    put("/etc/os-release", "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n");
    assert_advice("/usr/lib64/libz.so.1", "install zlib-debuginfo (zypper");
    /* rpm is a package of Debian's, too. */
    put_debian();
    assert_string_equal(ask("/usr/lib64/libz.so.1").owner, "");
    assert_string_equal(ask(LIBRARY).owner, "zlib1g");
}

static void
rpm__prints_without_end_or_nothing__given_up(void **state)
{
    (void)state;
    put("/etc/os-release", "ID=fedora\n");
    put_program("/usr/bin/rpm", "#!/bin/sh\nwhile :; do echo 0123456789; done\n");
    assert_string_equal(ask("/usr/lib64/libz.so.1").advice, "");
    put_program("/usr/bin/rpm", "#!/bin/sh\nexec sleep 1000\n");
    assert_string_equal(ask("/usr/lib64/libz.so.1").advice, "");
    put_program("/usr/bin/rpm", "#!/bin/sh\necho 'ntprof -rf;x'\n");
    assert_string_equal(ask("/usr/lib64/libz.so.1").owner, "");
    put_program("/usr/bin/rpm", "#!/bin/sh\necho 'error: no database'\nexit 1\n");
    assert_string_equal(ask("/usr/lib64/libz.so.1").advice, "");
}

static void
none__no_database__no_package_is_named(void **state)
{
    (void)state;
    assert_string_equal(ask(LIBRARY).owner, "");
    assert_string_equal(ask(LIBRARY).advice, "");
    put("/etc/os-release", "ID=arch\n");
    assert_advice(LIBRARY, "a server of debug files");
    assert_string_equal(ask(LIBRARY).server, "https://debuginfod.archlinux.org");
}

#define root_test(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        root_test(dpkg__path_in_either_form__its_package),
        root_test(dpkg__both_forms_are_listed__the_file_itself),
        root_test(dpkg__no_list_has_a_debug_package__the_archive_of_the_distribution),
        root_test(dpkg__lists_have_a_debug_package__that_one),
        root_test(dpkg__debug_package_is_installed__said),
        root_test(dpkg__another_debug_package_is_installed__the_installed_one),
        root_test(dpkg__helper_of_apt__run_only_if_needed_and_in_time),
        root_test(dpkg__what_is_no_list__is_left_out),
        root_test(dpkg__hostile_texts__nothing_of_them_is_said),
        root_test(rpm__asked_by_its_path__its_package),
        root_test(rpm__prints_without_end_or_nothing__given_up),
        root_test(none__no_database__no_package_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
