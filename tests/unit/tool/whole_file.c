/* SPDX-License-Identifier: MIT */
/*
 * whole_file.c - files that are written whole or not at all, where the system refuses
 * links too.
 *
 * pprof_file.c of the profile's tests has the rest: links, devices, folders, rights.
 * Linked with --wrap for linkat, openat, flock and fchown.
 */
#include "base/whole_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int __real_linkat(int from_folder, const char *from, int to_folder, const char *to,
                  int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to,
                  int flags);

int __real_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...);

static bool links_refused;
static bool nameless_refused;
static bool locks_refused;
static bool groups_refused;
static int temporary_links; /* links that were made to temporary names */
static mode_t first_modes;  /* of files that were made, all of them */

int
__wrap_linkat(int from_folder, const char *from, int to_folder, const char *to,
              int flags)
{
    temporary_links += to[0] == '.';
    if (links_refused) {
        errno = EPERM;
        return -1;
    }
    return __real_linkat(from_folder, from, to_folder, to, flags);
}

/* As a file system without O_TMPFILE answers: of network, FAT ... */
int
__wrap_openat64(int folder, const char *path, int flags, ...)
{
    mode_t mode = 0;
    struct stat status;
    va_list arguments;
    int fd;

    if ((flags & O_TMPFILE) == O_TMPFILE && nameless_refused) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    fd = __real_openat64(folder, path, flags, mode);
    if ((flags & O_CREAT) != 0 && fd >= 0 && fstat(fd, &status) == 0) {
        first_modes |= status.st_mode & 0777;
    }
    return fd;
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int
__wrap_flock(int fd, int operation)
{
    if (locks_refused) {
        errno = ENOLCK;
        return -1;
    }
    return __real_flock(fd, operation);
}

int __real_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group);

int
__wrap_fchown(int fd, uid_t user, gid_t group)
{
    if (groups_refused) {
        errno = EPERM;
        return -1;
    }
    return __real_fchown(fd, user, group);
}

static int
enter_folder(void **state)
{
    char folder[] = "/tmp/ntprof-test-XXXXXX";

    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return -1;
    }
    *state = strdup(folder);
    return *state != NULL ? 0 : -1;
}

static int
leave_folder(void **state)
{
    char command[256];

    links_refused = false;
    nameless_refused = false;
    locks_refused = false;
    groups_refused = false;
    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static size_t
count_entries(void)
{
    DIR *entries = opendir(".");
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

/* More than a stream holds back, ended by text. */
static void
write_text(struct whole_file *file, const char *path, const char *text)
{
    struct whole_file_error error;

    assert_true(whole_file_open(file, path, "text", &error));
    for (int i = 0; i < 100000; i++) {
        fputs("line\n", file->stream);
    }
    fputs(text, file->stream);
}

static void
assert_holds(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    struct stat status;
    char found[16] = "";

    assert_non_null(file);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 500000 + (off_t)strlen(text));
    assert_int_equal(fseek(file, 500000, SEEK_SET), 0);
    assert_int_equal(fread(found, 1, sizeof(found), file), strlen(text));
    assert_string_equal(found, text);
    fclose(file);
}

static void
replace__without_keeping__old_is_gone(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    write_text(&file, "f", "two");
    assert_holds("f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    assert_holds("f", "two");
    assert_int_equal(count_entries(), 1);
}

static void
replace__links_refused__copied_and_whole(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    links_refused = true;
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "one");
    write_text(&file, "f", "two");
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "two");
    assert_holds("f.old", "one");
    assert_int_equal(count_entries(), 2);
}

/* So a writer that is killed at any time leaves nothing. */
static void
replace__no_old_file__no_temporary_name_ever(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    temporary_links = 0;
    write_text(&file, "f", "one");
    if (count_entries() != 0) {
        whole_file_discard(&file);
        print_message("no O_TMPFILE in /tmp\n");
        skip();
    }
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "one");
    assert_int_equal(temporary_links, 0);
    /* Somebody makes the file meanwhile: then it is replaced, and kept. */
    write_text(&file, "g", "two");
    assert_int_equal(rename("f", "g"), 0);
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("g", "two");
    assert_holds("g.old", "one");
    assert_int_equal(count_entries(), 2);
}

static void
replace__no_files_without_a_name__named_and_whole(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    nameless_refused = true;
    for (int round = 0; round < 2; round++) {
        assert_true(whole_file_check("f", "text", &error));
        assert_int_equal(count_entries(), 0);
        write_text(&file, "f", "one");
        assert_int_equal(count_entries(), 1);
        assert_true(whole_file_check("f", "text", &error)); /* spares the living one */
        whole_file_discard(&file);
        assert_int_equal(count_entries(), 0);
        write_text(&file, "f", "one");
        assert_true(whole_file_replace(&file, true, &error));
        write_text(&file, "f", "two");
        assert_holds("f", "one");
        assert_true(whole_file_replace(&file, true, &error));
        assert_holds("f", "two");
        assert_holds("f.old", "one");
        assert_int_equal(count_entries(), 2);
        assert_int_equal(system("rm f f.old"), 0);
        links_refused = true;
    }
}

/* As on NFS without its lock daemon. */
static void
replace__no_locks__named_and_whole(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    nameless_refused = true;
    locks_refused = true;
    assert_true(whole_file_check("f", "text", &error));
    assert_int_equal(count_entries(), 0);
    write_text(&file, "f", "one");
    assert_int_equal(count_entries(), 1);
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "one");
    assert_int_equal(count_entries(), 1);
}

/* Make file f of the caller, or of another user, with another group than new files. */
static void
make_of_group(uid_t user, gid_t group, mode_t mode)
{
    struct whole_file_error error;
    struct whole_file file;

    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    if (chown("f", user, group) != 0) {
        print_message("only root can give files to any group\n");
        skip();
    }
    assert_int_equal(chmod("f", mode), 0);
}

/* Replace f, and check the group and mode of the new one. */
static void
replace_and_check(gid_t group, mode_t mode)
{
    struct whole_file_error error;
    struct whole_file file;
    struct stat status;

    write_text(&file, "f", "two");
    assert_true(whole_file_replace(&file, false, &error));
    assert_int_equal(stat("f", &status), 0);
    assert_int_equal(status.st_gid, group);
    assert_int_equal(status.st_mode & 07777, mode);
}

/* Who could not read the old file cannot read the new one: whether it is made without a
 * name, copied to one, or has one from the start. */
static void
replace__file_of_another_group__is_for_no_other(void **state)
{
    const gid_t group = getegid() + 12345;

    (void)state;
    for (int way = 0; way < 3; way++) {
        links_refused = way == 1;
        nameless_refused = way == 2;
        make_of_group(geteuid(), group, 0640);
        replace_and_check(group, 0640);
        groups_refused = true;
        replace_and_check(getegid(), 0600);
        groups_refused = false;
        make_of_group(geteuid(), group, 0664);
        groups_refused = true;
        replace_and_check(getegid(), 0644);
        groups_refused = false;
        /* The group of another user's file gets nothing. */
        make_of_group(geteuid() + 12345, group, 0660);
        replace_and_check(getegid(), 0600);
    }
}

/* Who opens it before its mode is set can read what is written later. */
static void
replace__private_file__new_one_is_private_from_the_start(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    for (int way = 0; way < 2; way++) {
        links_refused = way == 0;
        nameless_refused = way == 1;
        write_text(&file, "f", "one");
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(chmod("f", 0600), 0);
        first_modes = 0;
        write_text(&file, "f", "two");
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(first_modes, 0600);
        assert_int_equal(unlink("f"), 0);
    }
}

static void
open__folder__refused(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    assert_int_equal(mkdir("f", 0755), 0);
    assert_false(whole_file_open(&file, "f", "text", &error));
    assert_string_equal(error.text, "f: is a folder; name a file");
    assert_false(whole_file_check("f", "text", &error));
    assert_string_equal(error.text, "f: is a folder; name a file");
    assert_int_equal(count_entries(), 1);
}

static void
discard__in_the_middle__nothing_left(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    for (int round = 0; round < 2; round++) {
        write_text(&file, "new", "one");
        whole_file_discard(&file);
        assert_int_equal(count_entries(), 0);
        links_refused = true;
    }
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    write_text(&file, "f", "two");
    whole_file_discard(&file);
    assert_holds("f", "one");
    assert_int_equal(count_entries(), 1);
}

static void
replace__folder_in_its_place__said_and_nothing_left(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "f", "one");
    assert_int_equal(mkdir("f", 0755), 0);
    assert_int_equal(mkdir("f/full", 0755), 0);
    assert_false(whole_file_replace(&file, false, &error));
    assert_non_null(strstr(error.text, "f: cannot rename the new text to it: "));
    assert_int_equal(count_entries(), 1);
    /* It is not moved out of the way as an old file is. */
    assert_int_equal(rename("f", "g"), 0);
    write_text(&file, "f", "one");
    assert_int_equal(rename("g", "f"), 0);
    assert_false(whole_file_replace(&file, true, &error));
    assert_string_equal(error.text, "f: is a folder; name a file");
    assert_int_equal(access("f/full", F_OK), 0);
    assert_int_equal(count_entries(), 1);
}

static void
replace__write_failed_early__first_reason_told(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "/dev/full", "one");
    assert_true(ferror(file.stream));
    errno = 0;
    assert_false(whole_file_replace(&file, false, &error));
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(error.text,
                        "/dev/full: cannot write the text: No space left on device");
}

/* As a shell's >(command) gives it: the link's text is no name. */
static void
open__link_to_a_pipe__written_in_place(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    char found[8] = "";
    char path[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
    assert_true(whole_file_check(path, "text", &error));
    assert_true(whole_file_open(&file, path, "text", &error));
    fputs("one", file.stream);
    assert_true(whole_file_replace(&file, true, &error));
    assert_int_equal(read(ends[0], found, sizeof(found) - 1), 3);
    assert_string_equal(found, "one");
    assert_int_equal(count_entries(), 0);
    close(ends[0]);
    close(ends[1]);
}

enum { OTHER_USER = 65533 };

static void
need_root(void)
{
    if (geteuid() != 0) {
        print_message("only root can make links of another user\n");
        skip();
    }
}

static void
assert_refused(const char *path, const char *words)
{
    struct whole_file_error error;
    struct whole_file file;

    assert_false(whole_file_check(path, "text", &error));
    assert_non_null(strstr(error.text, words));
    assert_false(whole_file_open(&file, path, "text", &error));
    assert_non_null(strstr(error.text, words));
}

/* Whatever fs.protected_symlinks is: as root it may be off, and the folder need not be
 * sticky. */
static void
links_of_others__in_a_shared_folder__refused(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    need_root();
    (void)state;
    for (mode_t sticky = 0; sticky <= S_ISVTX; sticky += S_ISVTX) {
        assert_int_equal(chmod(".", 0777 | sticky), 0);
        write_text(&file, "precious", "one");
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(chmod("precious", 0600), 0);
        assert_int_equal(symlink("precious", "trap"), 0);
        assert_int_equal(lchown("trap", OTHER_USER, OTHER_USER), 0);
        assert_refused("trap", "trap is a link of another user (uid 65533)");
        assert_int_equal(symlink("/tmp", "way"), 0); /* on the way, too */
        assert_int_equal(lchown("way", OTHER_USER, OTHER_USER), 0);
        assert_refused("way/x", "way is a link of another user");
        assert_int_equal(symlink("trap", "own"), 0);
        assert_refused("own", "trap is a link of another user");
        assert_holds("precious", "one");

        /* The caller's own link is followed, and stays. */
        assert_int_equal(unlink("own"), 0);
        assert_int_equal(symlink("precious", "own"), 0);
        write_text(&file, "own", "two");
        assert_true(whole_file_replace(&file, true, &error));
        assert_holds("precious", "two");
        assert_holds("precious.old", "one");
        assert_int_equal(count_entries(), 5);
        assert_int_equal(system("rm precious* trap way own"), 0);
    }
    /* Where nobody else may write, a link is of whoever owns the folder. */
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(symlink("f", "trusted"), 0);
    assert_int_equal(lchown("trusted", OTHER_USER, OTHER_USER), 0);
    write_text(&file, "trusted", "one");
    assert_true(whole_file_replace(&file, false, &error));
    assert_holds("f", "one");
}

static void
pipe__of_another_user__refused_before_it_is_opened(void **state)
{
    struct whole_file_error error;

    need_root();
    (void)state;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_true(whole_file_check("pipe", "text", &error)); /* our own */
    assert_int_equal(chown("pipe", OTHER_USER, OTHER_USER), 0);
    assert_refused("pipe", "is a pipe of another user");
}

static void
replaced_file__its_mode_is_kept(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0400, 0664};
    struct whole_file_error error;
    struct whole_file file;
    struct stat status;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(modes) / sizeof(modes[0]); i++) {
        links_refused = i % 2 != 0; /* also if it is copied */
        unlink("f");
        write_text(&file, "f", "one");
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(chmod("f", modes[i / 2]), 0);
        write_text(&file, "f", "two");
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(stat("f", &status), 0);
        assert_int_equal(status.st_mode & 07777, modes[i / 2]);
        assert_holds("f", "two");
    }
}

/* In a folder for all another user may have made the old one, open to everybody. */
static void
replaced_file__of_another_user__its_mode_is_not_taken(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    struct stat status;
    const mode_t mask = umask(027);

    need_root();
    (void)state;
    assert_int_equal(close(creat("f", 0600)), 0);
    assert_int_equal(chown("f", OTHER_USER, OTHER_USER), 0);
    assert_int_equal(chmod("f", 0606), 0);
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    umask(mask);
    assert_int_equal(stat("f", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_uid, 0);
}

static void
private_file__whatever_the_old_mode_is__is_the_callers_alone(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    struct stat status;

    (void)state;
    for (int i = 0; i < 4; i++) {
        links_refused = i % 2 != 0; /* also if it is copied */
        unlink("f");
        if (i / 2 != 0) {
            assert_int_equal(close(creat("f", 0644)), 0);
        }
        write_text(&file, "f", "text");
        whole_file_keep_private(&file);
        assert_true(whole_file_replace(&file, false, &error));
        assert_int_equal(stat("f", &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_holds("f", "text");
    }
}

static atomic_bool exchange;

static void *
exchange_links(void *unused)
{
    while (exchange) {
        renameat2(AT_FDCWD, "out", AT_FDCWD, "trap", RENAME_EXCHANGE);
    }
    return unused;
}

/* The link that is judged is the one that is followed. */
static void
link_of_ones_own__exchanged_for_another_users__that_is_never_followed(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    pthread_t thread;
    int followed = 0;

    need_root();
    (void)state;
    assert_int_equal(chmod(".", 0777), 0);
    write_text(&file, "precious", "one");
    assert_true(whole_file_replace(&file, false, &error));
    assert_int_equal(symlink("mine", "out"), 0);
    assert_int_equal(symlink("precious", "trap"), 0);
    assert_int_equal(lchown("trap", OTHER_USER, OTHER_USER), 0);
    exchange = true;
    assert_int_equal(pthread_create(&thread, NULL, exchange_links, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        if (whole_file_open(&file, "out", "text", &error)) {
            fputs("two", file.stream);
            followed += whole_file_replace(&file, false, &error);
        }
    }
    exchange = false;
    pthread_join(thread, NULL);
    print_message("followed %d of 2000 times\n", followed);
    assert_holds("precious", "one");
}

/* /proc/PID/root is another process's root, whatever the link's text is. */
static void
path_through_the_root_of_a_process__leads_there(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    char path[PATH_MAX + 32];
    char folder[PATH_MAX];

    (void)state;
    assert_non_null(getcwd(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "/proc/self/cwd/f");
    write_text(&file, path, "one");
    assert_true(whole_file_replace(&file, false, &error));
    assert_holds("f", "one");
    snprintf(path, sizeof(path), "/proc/self/root%s/g", folder);
    write_text(&file, path, "two");
    assert_true(whole_file_replace(&file, false, &error));
    assert_holds("g", "two");
}

static int
in_another_root(pid_t *child)
{
    int go[2];
    char byte;

    assert_int_equal(pipe(go), 0);
    *child = fork();
    if (*child == 0) {
        const bool made = unshare(CLONE_NEWNS) == 0 &&
                          mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                          mount("none", "/mnt", "tmpfs", 0, NULL) == 0;

        byte = made ? 'y' : 'n';
        if (write(go[1], &byte, 1) == 1) {
            pause();
        }
        _exit(0);
    }
    assert_int_equal(read(go[0], &byte, 1), 1);
    close(go[0]);
    close(go[1]);
    return byte == 'y';
}

/* Where a mount covers the folder in that process's namespace only. */
static void
path_through_the_root_of_another_namespace__nothing_is_written_here(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    char path[64];
    pid_t child;
    bool made;

    need_root();
    (void)state;
    made = in_another_root(&child);
    if (made) {
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)child, "/mnt/ntprof-test");
        write_text(&file, path, "one");
        assert_true(whole_file_replace(&file, false, &error));
        assert_holds(path, "one");
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(access("/mnt/ntprof-test", F_OK), -1);
    if (!made) {
        print_message("no mount namespace here\n");
        skip();
    }
}

/* rule of whole_file.h: a writer that lives has its file locked. */
static void
left_over_file__of_a_dead_writer__removed_by_the_next(void **state)
{
    struct whole_file_error error;
    int live;

    (void)state;
    assert_int_equal(close(creat(".f.ntprof-abcdef", 0600)), 0);
    assert_int_equal(close(creat(".f.ntprof-abcdeF", 0600)), 0); /* not such a name */
    assert_int_equal(close(creat(".g.ntprof-abcdef", 0600)), 0);
    assert_int_equal(close(creat(".f.backup", 0600)), 0); /* a name that people use */
    live = creat(".f.ntprof-zyxwvu", 0600);
    assert_int_equal(flock(live, LOCK_EX), 0);
    assert_true(whole_file_check("f", "text", &error));
    assert_int_equal(access(".f.ntprof-abcdef", F_OK), -1);
    assert_int_equal(access(".f.ntprof-abcdeF", F_OK), 0);
    assert_int_equal(access(".g.ntprof-abcdef", F_OK), 0);
    assert_int_equal(access(".f.ntprof-zyxwvu", F_OK), 0);
    assert_int_equal(close(live), 0);
    assert_true(whole_file_check("f", "text", &error));
    assert_int_equal(access(".f.ntprof-zyxwvu", F_OK), -1);
    assert_int_equal(count_entries(), 3);
}

#define IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(replace__without_keeping__old_is_gone),
        IN_FOLDER(replace__links_refused__copied_and_whole),
        IN_FOLDER(replace__no_old_file__no_temporary_name_ever),
        IN_FOLDER(replace__no_files_without_a_name__named_and_whole),
        IN_FOLDER(replace__no_locks__named_and_whole),
        IN_FOLDER(replace__file_of_another_group__is_for_no_other),
        IN_FOLDER(replace__private_file__new_one_is_private_from_the_start),
        IN_FOLDER(open__folder__refused),
        IN_FOLDER(discard__in_the_middle__nothing_left),
        IN_FOLDER(replace__folder_in_its_place__said_and_nothing_left),
        IN_FOLDER(replace__write_failed_early__first_reason_told),
        IN_FOLDER(open__link_to_a_pipe__written_in_place),
        IN_FOLDER(links_of_others__in_a_shared_folder__refused),
        IN_FOLDER(pipe__of_another_user__refused_before_it_is_opened),
        IN_FOLDER(replaced_file__its_mode_is_kept),
        IN_FOLDER(replaced_file__of_another_user__its_mode_is_not_taken),
        IN_FOLDER(private_file__whatever_the_old_mode_is__is_the_callers_alone),
        IN_FOLDER(
            link_of_ones_own__exchanged_for_another_users__that_is_never_followed),
        IN_FOLDER(path_through_the_root_of_a_process__leads_there),
        IN_FOLDER(path_through_the_root_of_another_namespace__nothing_is_written_here),
        IN_FOLDER(left_over_file__of_a_dead_writer__removed_by_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
