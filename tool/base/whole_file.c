/* SPDX-License-Identifier: MIT */
/*
 * whole_file.c - writes files completely or not at all.
 *
 * Invariant: until the last rename FILE is unchanged; a reader never sees a partial or
 * missing one. A file that is open for writing is in one of three states:
 *
 *   in place    in_place is set; the file has its own name already
 *   nameless    made with O_TMPFILE; temporary is NULL
 *   named       temporary is its name: from the start where O_TMPFILE does not work,
 *               and in whole_file_replace, if there is an old file, until it is renamed
 */
#include "base/whole_file.h"

#include "base/text.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_TRIED = 100,
    NAME_BYTES_KEPT = 200, /* bytes of FILE in .FILE.XXXXXX, to stay below NAME_MAX */
    STREAM_BYTES = 64 * 1024,
    COPY_BYTES = 1024 * 1024,
};

/* --- messages and small helpers --- */

/* Set error to "PATH: WHAT". Keeps errno. Returns false, so that callers can return its
 * value. */
__attribute__((format(printf, 3, 4))) static bool
fail_text(struct whole_file_error *error, const char *path, const char *format, ...)
{
    const int number = errno;
    char shown[256];
    char what[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(error->text, sizeof(error->text), "%s: %s",
             text_show(shown, sizeof(shown), path), what);
    errno = number;
    return false;
}

static void
close_keeping_errno(int fd)
{
    const int number = errno;

    close(fd);
    errno = number;
}

/* Other commands take a file of such a name for an option, and it is rarely meant. */
#define LIKE_AN_OPTION "starts with -, as options do; if it is a file's name, type ./-x"
#define IS_FOLDER "is a folder; name a file"

static bool
fail_write(const struct whole_file *file, struct whole_file_error *error)
{
    return fail_text(error, file->path, "cannot write the %s: %s", file->noun,
                     text_errno(errno));
}

/* Set the error that no file can be made. A check names the folder only, since nothing
 * is written yet. */
static bool
fail_folder(const struct whole_file *file, bool check, struct whole_file_error *error)
{
    return check ? fail_text(error, file->path, "no file can be made in its folder: %s",
                             text_errno(errno))
                 : fail_write(file, error);
}

/* Set the error of file_place_find, which gave why. */
static bool
fail_place(const struct whole_file *file, bool check, const char *why,
           struct whole_file_error *error)
{
    struct stat status;

    if (file->path[0] == '\0') {
        return fail_text(error, file->path, "an empty name");
    }
    if (errno == EISDIR) {
        return fail_text(error, file->path, "%s",
                         stat(file->path, &status) == 0 ? IS_FOLDER
                                                        : "there is no such folder");
    }
    if (errno == ENOENT) {
        return fail_folder(file, check, error);
    }
    return why[0] != '\0' ? fail_text(error, file->path, "%s", why)
                          : fail_write(file, error);
}

/* --- temporary names --- */

/* A temporary name is ".NAME", this mark and RANDOM_LETTERS of these letters. */
static const char temporary_mark[] = ".ntprof-";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
enum { RANDOM_LETTERS = 6 };

/* Return a random temporary name, for free(). */
static char *
temporary_name(const char *name)
{
    char chosen[RANDOM_LETTERS + 1] = "";
    char *made = NULL;
    uint32_t random;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < (ssize_t)sizeof(random)) {
        random = (uint32_t)getpid(); /* early at boot */
    }
    for (int i = 0; i < RANDOM_LETTERS; i++) {
        chosen[i] = letters[random >> (5 * i) & 31];
    }
    return asprintf(&made, ".%.*s%s%s", NAME_BYTES_KEPT, name, temporary_mark, chosen) <
                   0
               ? NULL
               : made;
}

static bool
is_temporary_name(const char *name, const char *found)
{
    const size_t kept = strnlen(name, NAME_BYTES_KEPT);
    const size_t mark = sizeof(temporary_mark) - 1;
    const char *const random = found + 1 + kept + mark;

    return found[0] == '.' && strncmp(found + 1, name, kept) == 0 &&
           strncmp(found + 1 + kept, temporary_mark, mark) == 0 &&
           strspn(random, letters) == RANDOM_LETTERS && random[RANDOM_LETTERS] == '\0';
}

/*
 * Remove a temporary file without a lock. A writer holds a lock on its new file while
 * it runs, so this is the file of a writer that was killed. If it cannot be removed, it
 * does no harm.
 */
static void
remove_if_dead(int folder, const char *name)
{
    struct stat status;
    int fd;

    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
        return;
    }
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)unlinkat(folder, name, 0);
        }
        close(fd);
    }
}

static void
remove_left_over(const struct file_place *place)
{
    const int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const entries = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (entries == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while ((entry = readdir(entries)) != NULL) {
        if (is_temporary_name(place->name, entry->d_name)) {
            remove_if_dead(place->folder, entry->d_name);
        }
    }
    closedir(entries);
}

/* --- writing in place --- */

/* Whether a file of this status is open as standard input, output or error already. */
static bool
is_standard_stream(const struct stat *status)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        struct stat own;

        if (fstat(fd, &own) == 0 && own.st_dev == status->st_dev &&
            own.st_ino == status->st_ino) {
            return true;
        }
    }
    return false;
}

/* Whether a file that is not regular is written in place, as devices and pipes are;
 * otherwise *why is set. The pipe of another user is refused, since that user could
 * read the data or block the command for ever. */
static bool
may_write_in_place(const struct stat *status, const char **why)
{
    if (S_ISCHR(status->st_mode)) {
        return true;
    }
    if (!S_ISFIFO(status->st_mode)) {
        *why = S_ISDIR(status->st_mode)   ? IS_FOLDER
               : S_ISBLK(status->st_mode) ? "is a block device; name a file"
                                          : "is a socket; name a file";
        return false;
    }
    if (status->st_uid != geteuid() && !is_standard_stream(status)) {
        *why = "is a pipe of another user: not written; name a file";
        return false;
    }
    return true;
}

bool
whole_file_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        const ssize_t written = write(fd, at, size);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0 && errno == EAGAIN) { /* a full pipe that does not block */
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
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

/* --- the new file --- */

/* Take the lock that remove_if_dead checks. Returns false if remove_if_dead of another
 * process holds the lock, or removed the file before. On a file system without locks
 * remove_if_dead removes nothing, so the new file is safe. */
static bool
lock_new_file(int fd)
{
    struct stat status;

    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           fstat(fd, &status) == 0 && status.st_nlink > 0;
}

/*
 * Link a file to an unused temporary name, which is malloc'd, or create a file of such
 * a name.
 *
 *   from  the file: an absolute path, whose links are followed; or a name in the
 *         folder, which is not followed; or NULL for a new file
 *   mode  of a new file, less the umask
 *
 * Returns the descriptor of a new file, 0 for a link, or -1 with errno.
 */
static int
make_temporary(const struct file_place *place, const char *from, mode_t mode,
               char **name)
{
    const int folder = place->folder;

    for (int i = 0; i < NAMES_TRIED; i++) {
        int made = -1;

        *name = temporary_name(place->name);
        if (*name == NULL) {
            errno = ENOMEM;
            return -1;
        }
        if (from != NULL) {
            made = linkat(folder, from, folder, *name,
                          from[0] == '/' ? AT_SYMLINK_FOLLOW : 0);
        } else {
            made = openat(folder, *name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        }
        if (made >= 0 && (from != NULL || lock_new_file(made))) {
            return made;
        }
        if (made >= 0) {
            close(made);
            errno = EEXIST;
        }
        free(*name);
        *name = NULL;
        if (errno != EEXIST) {
            break;
        }
    }
    return -1;
}

/* Create the new file: without a name, or with one if O_TMPFILE fails, whatever the
 * reason is: file systems and kernels without it disagree about errno. */
static bool
open_new_file(struct whole_file *file, mode_t mode)
{
    file->fd = openat(file->place.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (file->fd >= 0) {
        (void)flock(file->fd, LOCK_EX | LOCK_NB);
    } else {
        file->fd =
            make_temporary(&file->place, /* from */ NULL, mode, &file->temporary);
    }
    return file->fd >= 0;
}

/* Report now what NFS and quotas report at close. The descriptor stays open, for its
 * lock. */
static bool
flush_descriptor(int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return copy < 0 || close(copy) == 0;
}

/*
 * Set the mode of a new file to one that was meant for a group. If that cannot be the
 * file's, its own group gets no rights that others do not have.
 *
 *   give  the file to the group
 */
static void
set_rights(int fd, gid_t group, bool give, mode_t mode)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return;
    }
    if (status.st_gid != group && (!give || fchown(fd, (uid_t)-1, group) != 0)) {
        mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    }
    (void)fchmod(fd, mode);
}

/* Copy the nameless file, which cannot be linked, to one with a temporary name. */
static bool
copy_new_file(struct whole_file *file)
{
    const int fd =
        make_temporary(&file->place, /* from */ NULL, 0600, &file->temporary);
    struct stat status;
    off_t at = 0;
    ssize_t size;

    if (fd < 0) {
        return false;
    }
    if (fstat(file->fd, &status) == 0) {
        set_rights(fd, status.st_gid, /* give */ true, status.st_mode & 0777);
    }
    do {
        size = sendfile(fd, file->fd, &at, COPY_BYTES);
    } while (size > 0 || (size < 0 && errno == EINTR));
    close_keeping_errno(file->fd);
    file->fd = fd;
    return size == 0 && flush_descriptor(fd);
}

/* Give the new file its name, and set *placed, if it is nameless and there is no old
 * file; else a temporary name if it has none. */
static bool
name_new_file(struct whole_file *file, bool *placed)
{
    const struct file_place *const place = &file->place;
    char self[64];

    *placed = false;
    if (file->temporary != NULL) {
        return true;
    }
    snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
    *placed =
        linkat(AT_FDCWD, self, place->folder, place->name, AT_SYMLINK_FOLLOW) == 0;
    return *placed || make_temporary(place, self, 0, &file->temporary) >= 0 ||
           copy_new_file(file);
}

/* --- the stream --- */

/* Write bytes of the stream, for fopencookie: returns 0 for a failure. After one
 * nothing more is written: the file would have a gap. */
static ssize_t
write_stream(void *context, const char *bytes, size_t size)
{
    struct whole_file *file = context;

    if (file->write_errno == 0 && !whole_file_write(file->fd, bytes, size)) {
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

/* Close the stream. Returns false with the errno of the first write that failed. */
static bool
close_stream(struct whole_file *file)
{
    if (file->stream != NULL) {
        fclose(file->stream); /* write_errno has the failure */
        file->stream = NULL;
    }
    errno = file->write_errno;
    return file->write_errno == 0;
}

/* --- opening and checking --- */

/* Release what is left of a file. Keeps errno. */
static void
finish(struct whole_file *file)
{
    const int number = errno;

    close_stream(file);
    if (file->fd >= 0 && file->fd != STDOUT_FILENO) {
        close(file->fd);
    }
    if (file->temporary != NULL) {
        unlinkat(file->place.folder, file->temporary, 0);
    }
    free(file->temporary);
    file_place_finish(&file->place);
    *file = (struct whole_file){.place.folder = -1, .fd = -1};
    errno = number;
}

/* Return the mode to make a new file with. Between that and keep_mode nobody may open
 * it who cannot open the old one, unless that is another user's. No old file has mode
 * 0. */
static mode_t
first_mode(const struct stat *old)
{
    return old->st_mode == 0          ? 0666
           : old->st_uid == geteuid() ? 0600
                                      : old->st_mode & 0666;
}

/* Keep mode and group of the caller's own file. The mode of another user's file only
 * removes rights: in a shared folder anyone could have created it with rights for all,
 * or for a group. */
static void
keep_mode(const struct whole_file *file, const struct stat *old)
{
    const bool own = old->st_uid == geteuid();
    struct stat new;

    if (fstat(file->fd, &new) == 0) {
        set_rights(file->fd, old->st_gid, own,
                   old->st_mode & 0777 & (own ? 0777 : new.st_mode));
    }
}

/*
 * Find the file to write to. One that is written in place is held by fd, a path
 * descriptor; of any other *status has the owner and the mode, or no mode if it is not
 * there. check: nothing is written, which errors say otherwise (fail_folder).
 */
static bool
find_target(struct whole_file *file, bool check, struct stat *status,
            struct whole_file_error *error)
{
    const char *why = NULL;
    char text[400];

    status->st_mode = 0;
    if (!file_place_find(&file->place, file->path, text, sizeof(text))) {
        return fail_place(file, check, text, error);
    }
    file->fd = openat(file->place.folder, file->place.name,
                      O_PATH | O_CLOEXEC | (file->place.magic ? 0 : O_NOFOLLOW));
    if (file->fd < 0 && errno == ENOENT) {
        return true;
    }
    if (file->fd < 0 || fstat(file->fd, status) != 0) {
        return fail_write(file, error);
    }
    if (S_ISREG(status->st_mode)) {
        close(file->fd);
        file->fd = -1;
        return true;
    }
    file->in_place = true;
    return may_write_in_place(status, &why) || fail_text(error, file->path, "%s", why);
}

/* Open a file that is written in place through its path descriptor, so that it cannot
 * be exchanged after it was judged. A check opens nothing, since a pipe waits for its
 * reader. */
static bool
open_in_place(struct whole_file *file, bool check)
{
    const int held = file->fd;
    char self[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", held);
    if (check) {
        return faccessat(AT_FDCWD, self, W_OK, AT_EACCESS) == 0;
    }
    file->fd = open(self, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    close_keeping_errno(held);
    return file->fd >= 0;
}

/* Check that standard output can be written to, and is no terminal. */
static bool
check_standard(const struct whole_file *file, struct whole_file_error *error)
{
    int flags;

    if (isatty(STDOUT_FILENO)) {
        return fail_text(error, file->path,
                         "is a terminal; a %s is not written there: name a file by -o, "
                         "or use a pipe",
                         file->noun);
    }
    flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF; /* with O_PATH too, as a closed stream is */
        flags = -1;
    }
    return flags >= 0 || fail_write(file, error);
}

/* Open what is written to, or check that this is possible. The file is to be finished
 * in any case. */
static bool
begin(struct whole_file *file, const char *path, const char *noun, bool check,
      struct whole_file_error *error)
{
    struct stat old;

    *file =
        (struct whole_file){.noun = noun, .path = path, .place.folder = -1, .fd = -1};
    if (strcmp(path, "-") == 0) {
        file->path = "standard output";
        file->in_place = true;
        file->fd = STDOUT_FILENO;
        return !check || check_standard(file, error);
    }
    if (path[0] == '-') {
        return fail_text(error, path, LIKE_AN_OPTION);
    }
    if (!find_target(file, check, &old, error)) {
        return false;
    }
    if (file->in_place) {
        return open_in_place(file, check) || fail_write(file, error);
    }
    if (!open_new_file(file, first_mode(&old))) {
        return fail_folder(file, check, error);
    }
    if (old.st_mode != 0) {
        keep_mode(file, &old);
    }
    return true;
}

bool
whole_file_open(struct whole_file *file, const char *path, const char *noun,
                struct whole_file_error *error)
{
    const bool good = begin(file, path, noun, /* check */ false, error) &&
                      (open_stream(file) || fail_write(file, error));

    if (!good) {
        finish(file);
    }
    return good;
}

void
whole_file_keep_private(struct whole_file *file)
{
    if (!file->in_place) {
        (void)fchmod(file->fd, 0600);
    }
}

/* To check that a file can be made, make the new file and remove it. */
bool
whole_file_check(const char *path, const char *noun, struct whole_file_error *error)
{
    struct whole_file file;
    const bool good = begin(&file, path, noun, /* check */ true, error);

    if (good && !file.in_place) {
        assert(file.place.name != NULL);
        remove_left_over(&file.place);
    }
    finish(&file);
    return good;
}

/* --- replacing --- */

/*
 * Give the file the second name old. Where hard links are not allowed, rename it and
 * set *moved: it is then missing for a moment.
 */
static bool
keep_old(const struct file_place *place, const char *old, bool *moved)
{
    const int folder = place->folder;
    int tries = NAMES_TRIED;
    bool kept;

    do {
        char *name;
        int number;

        if (make_temporary(place, place->name, 0, &name) < 0) {
            *moved = renameat(folder, place->name, folder, old) == 0;
            return *moved;
        }
        kept = renameat(folder, name, folder, old) == 0;
        number = errno;
        /* The name is still there if old was a link to the same file already. */
        unlinkat(folder, name, 0);
        free(name);
        errno = number;
        /* Another writer may have removed the name as left over. */
    } while (!kept && errno == ENOENT && --tries > 0);
    return kept;
}

/* Keep the existing file as *old, NAME.old, which is malloc'd. *moved is set as in
 * keep_old. */
static bool
keep_existing(const struct whole_file *file, char **old, bool *moved,
              struct whole_file_error *error)
{
    struct stat status;

    if (!file_place_status(&file->place, &status)) {
        return true;
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_text(error, file->path, IS_FOLDER);
    }
    if (asprintf(old, "%s.old", file->place.name) < 0) {
        *old = NULL;
        return fail_text(error, file->path, "out of memory");
    }
    return keep_old(&file->place, *old, moved) ||
           fail_text(error, *old, "cannot keep the old %s there: %s", file->noun,
                     text_errno(errno));
}

/* Rename the new file, which has a temporary name, to its place. */
static bool
rename_new_file(struct whole_file *file, bool keep_it, struct whole_file_error *error)
{
    const struct file_place *const place = &file->place;
    const int folder = place->folder;
    char *old = NULL;
    bool moved = false;
    bool done = !keep_it || keep_existing(file, &old, &moved, error);

    if (done && renameat(folder, file->temporary, folder, place->name) != 0) {
        done = fail_text(error, file->path, "cannot rename the new %s to it: %s",
                         file->noun, text_errno(errno));
        if (moved) {
            renameat(folder, old, folder, place->name);
        }
    }
    if (done) {
        free(file->temporary);
        file->temporary = NULL;
    }
    free(old);
    return done;
}

bool
whole_file_replace(struct whole_file *file, bool keep_it,
                   struct whole_file_error *error)
{
    bool placed = file->in_place;
    bool done = (close_stream(file) && flush_descriptor(file->fd) &&
                 (placed || name_new_file(file, &placed))) ||
                fail_write(file, error);

    if (done && !placed) {
        done = rename_new_file(file, keep_it, error);
    }
    finish(file);
    return done;
}

void
whole_file_discard(struct whole_file *file)
{
    finish(file);
}
