/* SPDX-License-Identifier: MIT */
/*
 * whole_file.c - files that are written whole or not at all.
 *
 * Invariant: until the last rename FILE is what it was; a reader never sees a torn or missing one. An
 * open file is one of three: in place, nameless (temporary NULL) or named.
 */
#include "util/whole_file.h"

#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_MAX = 40, /* as the kernel's own limit */
    NAMES_TRIED = 100,
    NAME_BYTES_KEPT = 200, /* of FILE in .FILE.XXXXXX, to stay below NAME_MAX */
    STREAM_BYTES = 64 * 1024,
};

#define STANDARD_OUTPUT "standard output"

/* Always false, for return: "PATH: WHAT: reason of errno", which is kept. */
__attribute__((format(printf, 3, 4))) static bool
fail_errno(struct whole_file_error *error, const char *path, const char *format, ...)
{
    const int number = errno;
    char shown[256];
    char what[128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(error->text, sizeof(error->text), "%s: %s: %s",
             text_show(shown, sizeof(shown), path), what, strerror(number));
    errno = number;
    return false;
}

static bool
fail_text(struct whole_file_error *error, const char *path, const char *what)
{
    char shown[256];

    snprintf(error->text, sizeof(error->text), "%s: %s",
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
    errno = ENOMEM;
    return NULL;
}

/* Devices, pipes and sockets keep their place in the file system. */
static bool
is_in_place(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode);
}

/* The file that is replaced, or what is written in place: the text of a link to an open pipe is no name. */
static char *
find_target(const char *path)
{
    return is_in_place(path) ? strdup(path) : follow_links(path);
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

/* --- the new file --- */

static bool
write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* A new file with a temporary name beside path; *name is malloc'd. -1 with errno. */
static int
open_named(const char *path, char **name)
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

/* A file without a name in path's folder, which can be read too. -1: not possible here. */
static int
open_nameless(const char *path)
{
    char *folder = folder_of(path);
    int fd = -1;

    if (folder != NULL) {
        fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    }
    free(folder);
    return fd;
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

static bool
copy_bytes(int from, int to)
{
    char bytes[16 * 1024];
    off_t at = 0;

    for (;;) {
        const ssize_t size = pread(from, bytes, sizeof(bytes), at);

        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return size == 0;
        }
        if (!write_all(to, bytes, (size_t)size)) {
            return false;
        }
        at += size;
    }
}

/* Copies the nameless file, which cannot be linked here, to one with a name. */
static bool
copy_nameless(struct whole_file *file)
{
    const int fd = open_named(file->target, &file->temporary);

    if (fd < 0) {
        return false;
    }
    if (!copy_bytes(file->fd, fd)) {
        close(fd);
        return false;
    }
    close(file->fd);
    file->fd = fd;
    return true;
}

/* Sees to it that the new file has a name. */
static bool
name_new_file(struct whole_file *file)
{
    if (file->temporary == NULL) {
        file->temporary = link_nameless(file->fd, file->target);
    }
    return file->temporary != NULL || copy_nameless(file);
}

/* --- the stream --- */

/* The first failure sticks: what comes behind a hole is not written. */
static ssize_t
write_stream(void *context, const char *bytes, size_t size)
{
    struct whole_file *file = context;

    if (file->write_errno == 0 && !write_all(file->fd, bytes, size)) {
        file->write_errno = errno;
    }
    errno = file->write_errno;
    return file->write_errno == 0 ? (ssize_t)size : 0;
}

static bool
open_stream(struct whole_file *file)
{
    static const cookie_io_functions_t functions = {.write = write_stream};

    file->stream = fopencookie(file, "w", functions);
    if (file->stream == NULL) {
        return false;
    }
    setvbuf(file->stream, NULL, _IOFBF, STREAM_BYTES);
    return true;
}

/* False with the errno of the first write that failed. */
static bool
close_stream(struct whole_file *file)
{
    if (file->stream != NULL) {
        fclose(file->stream); /* failure is in write_errno */
        file->stream = NULL;
    }
    errno = file->write_errno;
    return file->write_errno == 0;
}

/* --- open, replace, discard --- */

/* Whatever is left of it. Keeps errno. */
static void
finish(struct whole_file *file)
{
    const int number = errno;

    close_stream(file);
    if (file->fd >= 0 && file->fd != STDOUT_FILENO) {
        close(file->fd);
    }
    if (file->temporary != NULL) {
        unlink(file->temporary);
    }
    free(file->temporary);
    free(file->target);
    memset(file, 0, sizeof(*file));
    file->fd = -1;
    errno = number;
}

static bool
open_target(struct whole_file *file)
{
    file->target = find_target(file->path);
    if (file->target == NULL) {
        return false;
    }
    if (is_in_place(file->target)) {
        file->in_place = true;
        file->fd = open(file->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return file->fd >= 0;
    }
    file->fd = open_nameless(file->target);
    if (file->fd < 0) {
        file->fd = open_named(file->target, &file->temporary);
    }
    return file->fd >= 0;
}

bool
whole_file_open(struct whole_file *file, const char *path, const char *noun,
                struct whole_file_error *error)
{
    const bool standard = is_standard(path);

    *file = (struct whole_file){
        .noun = noun,
        .path = standard ? STANDARD_OUTPUT : path,
        .in_place = standard,
        .fd = standard ? STDOUT_FILENO : -1,
    };
    if ((standard || open_target(file)) && open_stream(file)) {
        return true;
    }
    if (file->target == NULL && !standard) {
        fail_errno(error, path, "cannot follow the link");
    } else {
        fail_errno(error, file->path, "cannot write the %s", noun);
    }
    finish(file);
    return false;
}

void
whole_file_discard(struct whole_file *file)
{
    finish(file);
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

static bool
is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Keeps what target's name leads to as target.old. *moved as in keep_old. */
static bool
keep(const struct whole_file *file, bool *moved, struct whole_file_error *error)
{
    char *old = NULL;
    bool kept;

    if (access(file->target, F_OK) != 0) {
        return true;
    }
    if (is_folder(file->target)) {
        return fail_text(error, file->target, "is a folder; name a file");
    }
    if (asprintf(&old, "%s.old", file->target) < 0) {
        return fail_text(error, file->target, "out of memory");
    }
    kept = keep_old(file->target, old, moved) ||
           fail_errno(error, old, "cannot keep the old %s there", file->noun);
    free(old);
    return kept;
}

/* Takes the move to target.old back. */
static void
move_back(const struct whole_file *file)
{
    char *old = NULL;

    if (asprintf(&old, "%s.old", file->target) >= 0) {
        rename(old, file->target);
        free(old);
    }
}

/* Puts the new file, which has a name, in the place of target. */
static bool
rename_new_file(struct whole_file *file, bool keep_it, struct whole_file_error *error)
{
    bool moved = false;

    if (keep_it && !keep(file, &moved, error)) {
        return false;
    }
    if (rename(file->temporary, file->target) != 0) {
        fail_errno(error, file->target, "cannot rename the new %s to it", file->noun);
        if (moved) {
            move_back(file);
        }
        return false;
    }
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

/* All bytes are in the file, and it has a name. NFS and quotas tell their errors at close. */
static bool
complete(struct whole_file *file)
{
    int fd;

    if (!close_stream(file) || (!file->in_place && !name_new_file(file))) {
        return false;
    }
    fd = file->fd;
    file->fd = -1;
    return fd == STDOUT_FILENO || close(fd) == 0;
}

bool
whole_file_replace(struct whole_file *file, bool keep_it,
                   struct whole_file_error *error)
{
    bool done = complete(file) ||
                fail_errno(error, file->path, "cannot write the %s", file->noun);

    if (done && !file->in_place) {
        done = rename_new_file(file, keep_it, error);
    }
    finish(file);
    return done;
}

/* --- can it be written? --- */

static bool
check_standard(const char *noun, struct whole_file_error *error)
{
    char why[128];

    if (isatty(STDOUT_FILENO)) {
        snprintf(why, sizeof(why),
                 "is a terminal; a %s is not written there: name a file by -o, or use "
                 "a pipe",
                 noun);
        return fail_text(error, STANDARD_OUTPUT, why);
    }
    return fcntl(STDOUT_FILENO, F_GETFD) >= 0 ||
           fail_errno(error, STANDARD_OUTPUT, "cannot write the %s", noun);
}

/* Makes a file beside path and takes it away; one without a name, should we be killed. */
static bool
check_folder(const char *path, struct whole_file_error *error)
{
    char *name;
    int fd = open_nameless(path);

    if (fd >= 0) {
        close(fd);
        return true;
    }
    fd = open_named(path, &name);
    if (fd < 0) {
        return fail_errno(error, path, "no file can be made in its folder");
    }
    close(fd);
    unlink(name);
    free(name);
    return true;
}

static bool
check_target(const char *path, const char *noun, struct whole_file_error *error)
{
    struct stat status;

    if (path[0] == '\0') {
        return fail_text(error, path, "an empty name");
    }
    if (stat(path, &status) != 0) {
        if (errno != ENOENT) {
            return fail_errno(error, path, "cannot write the %s", noun);
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
               fail_errno(error, path, "cannot write the %s", noun);
    }
    return check_folder(path, error);
}

bool
whole_file_check(const char *path, const char *noun, struct whole_file_error *error)
{
    char *target;
    bool good;

    if (is_standard(path)) {
        return check_standard(noun, error);
    }
    target = find_target(path);
    if (target == NULL) {
        return fail_errno(error, path, "cannot follow the link");
    }
    good = check_target(target, noun, error);
    free(target);
    return good;
}
