/* SPDX-License-Identifier: MIT */
/*
 * pprof_file.c - pprof files on disk.
 *
 * Invariant of writing: until the last rename, FILE is what it was; a reader never sees
 * a torn or missing one. New bytes go into a file without a name where the system has
 * such (so that a killed writer leaves nothing), else into .FILE.XXXXXX beside it.
 */
#include "profile/pprof.h"

#include "util/buffer.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_MAX = 40, /* as the kernel's own limit */
    NAMES_TRIED = 100,
    NAME_BYTES_KEPT = 200, /* of FILE in .FILE.XXXXXX, to stay below NAME_MAX */
    READ_STEP_BYTES = 64 * 1024,
};

/* What is read from a pipe or device, which tells no size. */
#define STREAM_BYTES_MAX (UINT64_C(1) << 30)

/* Always false, for return: "PATH: WHAT: reason of errno". */
static bool
fail_errno(struct pprof_error *error, const char *path, const char *what)
{
    const int number = errno;
    char shown[256];

    snprintf(error->text, sizeof(error->text), "%s: %s: %s",
             text_show(shown, sizeof(shown), path), what, strerror(number));
    return false;
}

static bool
fail_text(struct pprof_error *error, const char *path, const char *what)
{
    char shown[128];

    snprintf(error->text, sizeof(error->text), "%s: %.380s",
             text_show(shown, sizeof(shown), path), what);
    return false;
}

static bool
is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* --- names --- */

/* Bytes of path up to and with the last slash; 0: none. */
static size_t
folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The folder of path, to be opened; malloc'd. */
static char *
folder_of(const char *path)
{
    const size_t length = folder_length(path);

    return length == 0 ? strdup(".") : strndup(path, length);
}

/*
 * Where path leads if it is a symbolic link (also to what does not exist yet): the file
 * that is to be replaced, with the link kept. malloc'd; NULL with errno.
 */
static char *
follow_links(const char *path)
{
    char *current = strdup(path);

    for (int i = 0; current != NULL; i++) {
        char target[PATH_MAX];
        const ssize_t length = readlink(current, target, sizeof(target) - 1);
        char *next = NULL;

        if (length < 0) {
            return current; /* no link, or nothing there */
        }
        if (i == LINKS_MAX) {
            free(current);
            errno = ELOOP;
            return NULL;
        }
        target[length] = '\0';
        if (asprintf(&next, "%.*s%s",
                     target[0] == '/' ? 0 : (int)folder_length(current), current,
                     target) < 0) {
            next = NULL;
        }
        free(current);
        current = next;
    }
    return NULL;
}

/* A name beside path that nobody has yet: FOLDER/.NAME.XXXXXX; malloc'd. */
static char *
temporary_name(const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    const size_t folder = folder_length(path);
    unsigned char random[6] = {0};
    char *name = NULL;

    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < (ssize_t)sizeof(random)) {
        const unsigned pid = (unsigned)getpid();

        memcpy(random, &pid, sizeof(pid));
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        random[i] = (unsigned char)letters[random[i] % 32];
    }
    if (asprintf(&name, "%.*s.%.*s.%.6s", (int)folder, path, NAME_BYTES_KEPT,
                 path + folder, (const char *)random) < 0) {
        return NULL;
    }
    return name;
}

/* --- writing --- */

static bool
write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        const ssize_t written = write(fd, at, size);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* close that keeps the first error; NFS and quotas tell theirs here. */
static bool
close_written(int fd, bool good)
{
    const int number = errno;

    if (close(fd) != 0 && good) {
        return false;
    }
    errno = number;
    return good;
}

/* Makes a new file with a temporary name beside path; *name is malloc'd. -1 with errno.
 */
static int
open_temporary(const char *path, char **name)
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        int fd;

        *name = temporary_name(path);
        if (*name == NULL) {
            errno = ENOMEM;
            return -1;
        }
        fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            return fd;
        }
        free(*name);
        *name = NULL;
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

static char *
write_named(const char *path, const void *bytes, size_t size)
{
    char *name;
    const int fd = open_temporary(path, &name);

    if (fd < 0) {
        return NULL;
    }
    if (!close_written(fd, write_all(fd, bytes, size))) {
        const int number = errno;

        unlink(name);
        free(name);
        errno = number;
        return NULL;
    }
    return name;
}

/* Gives the nameless file a temporary name. NULL: not possible here. */
static char *
link_nameless(int fd, const char *path)
{
    char magic[64];

    snprintf(magic, sizeof(magic), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAMES_TRIED; i++) {
        char *name = temporary_name(path);

        if (name == NULL ||
            linkat(AT_FDCWD, magic, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
            return name;
        }
        free(name);
        if (errno != EEXIST) {
            break;
        }
    }
    return NULL;
}

/* A file without a name in path's folder. -1: not possible here. */
static int
open_nameless(const char *path)
{
    char *folder = folder_of(path);
    int fd = -1;

    if (folder != NULL) {
        fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    }
    free(folder);
    return fd;
}

static char *
write_nameless(const char *path, const void *bytes, size_t size)
{
    char *name = NULL;
    const int fd = open_nameless(path);

    if (fd < 0) {
        return NULL;
    }
    if (write_all(fd, bytes, size)) {
        name = link_nameless(fd, path);
    }
    if (!close_written(fd, true) && name != NULL) {
        unlink(name);
        free(name);
        return NULL;
    }
    return name;
}

/* The bytes in a new file beside path; gives its name, malloc'd. NULL with errno. */
static char *
write_temporary(const char *path, const void *bytes, size_t size)
{
    char *name = write_nameless(path, bytes, size);

    return name != NULL ? name : write_named(path, bytes, size);
}

/*
 * Has path's file under the name old too. Where links are not allowed path is renamed:
 * then *moved is set, and it is missing for a moment.
 */
static bool
keep_old(const char *path, const char *old, bool *moved)
{
    char *name = temporary_name(path);
    bool kept;

    if (name == NULL) {
        errno = ENOMEM;
        return false;
    }
    if (link(path, name) != 0) {
        kept = rename(path, old) == 0;
        *moved = kept;
    } else {
        int number;

        kept = rename(name, old) == 0;
        number = errno;
        unlink(name); /* still there if old was a link to the same file already */
        errno = number;
    }
    free(name);
    return kept;
}

/* Puts the file called temporary in the place of path; with keep, what was there becomes
 * path.old. */
static bool
replace(const char *path, const char *temporary, bool keep, struct pprof_error *error)
{
    char *old = NULL;
    bool moved = false;
    bool done = false;

    if (keep && access(path, F_OK) == 0) {
        if (asprintf(&old, "%s.old", path) < 0) {
            return fail_text(error, path, "out of memory");
        }
        if (!keep_old(path, old, &moved)) {
            fail_errno(error, old, "cannot keep the old profile there");
            free(old);
            return false;
        }
    }
    done = rename(temporary, path) == 0;
    if (!done) {
        fail_errno(error, path, "cannot rename the new profile to it");
        if (moved) {
            rename(old, path);
        }
    }
    free(old);
    return done;
}

static bool
write_beside(const char *path, const void *bytes, size_t size, bool keep,
             struct pprof_error *error)
{
    char *temporary = write_temporary(path, bytes, size);
    bool done;

    if (temporary == NULL) {
        return fail_errno(error, path, "cannot write the profile");
    }
    done = replace(path, temporary, keep, error);
    if (!done) {
        unlink(temporary);
    }
    free(temporary);
    return done;
}

/* Devices, pipes and sockets keep their place in the file system. */
static bool
write_in_place(const char *path, const void *bytes, size_t size,
               struct pprof_error *error)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 || !close_written(fd, write_all(fd, bytes, size))) {
        return fail_errno(error, path, "cannot write the profile");
    }
    return true;
}

static bool
write_to(const char *path, const void *bytes, size_t size, bool keep,
         struct pprof_error *error)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) &&
        !S_ISDIR(status.st_mode)) {
        return write_in_place(path, bytes, size, error);
    }
    return write_beside(path, bytes, size, keep, error);
}

static bool
write_profile(const struct profile *profile, const char *path, bool keep,
              struct pprof_error *error)
{
    void *bytes;
    size_t size;
    char *target;
    bool done;

    if (!pprof_encode(profile, &bytes, &size)) {
        return fail_text(error, path, "out of memory for the profile");
    }
    if (is_standard(path)) {
        done = write_all(STDOUT_FILENO, bytes, size) ||
               fail_errno(error, "standard output", "cannot write the profile");
    } else if ((target = follow_links(path)) == NULL) {
        done = fail_errno(error, path, "cannot follow the link");
    } else {
        done = write_to(target, bytes, size, keep, error);
        free(target);
    }
    free(bytes);
    return done;
}

bool
pprof_write(const struct profile *profile, const char *path, struct pprof_error *error)
{
    return write_profile(profile, path, true, error);
}

bool
pprof_rewrite(const struct profile *profile, const char *path,
              struct pprof_error *error)
{
    return write_profile(profile, path, false, error);
}

/* --- can it be written? --- */

static bool
check_standard(struct pprof_error *error)
{
    if (isatty(STDOUT_FILENO)) {
        return fail_text(error, "standard output",
                         "is a terminal; a profile is not written there");
    }
    return fcntl(STDOUT_FILENO, F_GETFD) >= 0 ||
           fail_errno(error, "standard output", "cannot write the profile");
}

/* Makes a file beside path and takes it away; one without a name, should we be killed. */
static bool
check_folder(const char *path, struct pprof_error *error)
{
    char *name;
    int fd = open_nameless(path);

    if (fd >= 0) {
        close(fd);
        return true;
    }
    fd = open_temporary(path, &name);
    if (fd < 0) {
        return fail_errno(error, path, "no file can be made in its folder");
    }
    close(fd);
    unlink(name);
    free(name);
    return true;
}

static bool
check_target(const char *path, struct pprof_error *error)
{
    struct stat status;

    if (path[0] == '\0') {
        return fail_text(error, path, "an empty name");
    }
    if (stat(path, &status) != 0) {
        if (errno != ENOENT) {
            return fail_errno(error, path, "cannot write the profile");
        }
        return path[strlen(path) - 1] == '/'
                   ? fail_text(error, path, "there is no such folder")
                   : check_folder(path, error);
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_text(error, path, "is a folder; name a file");
    }
    if (!S_ISREG(status.st_mode)) {
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ||
               fail_errno(error, path, "cannot write the profile");
    }
    return check_folder(path, error);
}

bool
pprof_check_writable(const char *path, struct pprof_error *error)
{
    char *target;
    bool good;

    if (is_standard(path)) {
        return check_standard(error);
    }
    target = follow_links(path);
    if (target == NULL) {
        return fail_errno(error, path, "cannot follow the link");
    }
    good = check_target(target, error);
    free(target);
    return good;
}

bool
pprof_check_rewritable(const char *path, struct pprof_error *error)
{
    struct stat status;

    if (is_standard(path)) {
        return fail_text(error, "standard output", "cannot be written again and again");
    }
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return fail_text(error, path,
                         "is no regular file, and cannot be written again and again");
    }
    return true;
}

/* --- reading --- */

/* The first field of a profile that is not compressed has number 1..15 and type 0 or 2.
 */
static bool
may_be_profile(const struct buffer *file)
{
    const uint8_t first = file->size > 0 ? file->data[0] : 0;

    return (first == 0x1f && (file->size < 2 || file->data[1] == 0x8b)) ||
           (first >= 0x08 && first < 0x80 && ((first & 7) == 0 || (first & 7) == 2));
}

static bool
read_all(int fd, const char *path, struct buffer *file, struct pprof_error *error)
{
    struct stat status;
    uint64_t limit = STREAM_BYTES_MAX;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        limit = INT64_MAX;
    }
    for (;;) {
        uint8_t *room = buffer_reserve(file, READ_STEP_BYTES);
        const ssize_t size = room != NULL ? read(fd, room, READ_STEP_BYTES) : 0;

        if (room == NULL) {
            return fail_text(error, path, "out of memory");
        }
        if (size < 0 && errno != EINTR) {
            return fail_errno(error, path, "cannot read it");
        }
        if (size == 0) {
            return true;
        }
        file->size += size > 0 ? (size_t)size : 0;
        if (file->size > 0 && !may_be_profile(file)) {
            return fail_text(error, path, "not a profile: neither gzip nor pprof");
        }
        if (file->size > limit) {
            return fail_text(error, path,
                             "no end after 1 GiB; save it to a file first");
        }
    }
}

struct profile *
pprof_read(const char *path, struct pprof_error *error)
{
    const bool standard = is_standard(path);
    const int fd =
        standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct profile *profile = NULL;
    struct pprof_error inner;
    struct buffer file = {0};

    if (fd < 0) {
        fail_errno(error, path, "cannot open it");
        return NULL;
    }
    if (read_all(fd, path, &file, error)) {
        profile = pprof_decode(file.data, file.size, &inner);
        if (profile == NULL) {
            fail_text(error, path, inner.text);
        }
    }
    if (!standard) {
        close(fd);
    }
    buffer_finish(&file);
    return profile;
}
