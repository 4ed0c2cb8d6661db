/* SPDX-License-Identifier: MIT */
/*
 * whole_file.c - writes files completely or not at all.
 *
 * Invariant: until the last rename FILE is unchanged; a reader never sees a partial or
 * missing one. An open file has one of three states: written in place, without a name
 * (temporary is NULL), or with a temporary name.
 */
#include "base/whole_file.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_TRIED = 100,
    NAME_BYTES_KEPT = 200, /* bytes of FILE in .FILE.XXXXXX, to stay below NAME_MAX */
    STREAM_BYTES = 64 * 1024,
};

#define STANDARD_OUTPUT "standard output"

/* Set error to "PATH: WHAT: reason", with the reason from errno, which is kept. Returns
 * false, so that callers can return its value. */
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
             text_show(shown, sizeof(shown), path), what, text_errno(number));
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

/* A new file is named ".NAME", this mark and RANDOM_LETTERS letters until it is
 * renamed. */
static const char temporary_mark[] = ".ntprof-";
enum { RANDOM_LETTERS = 6 };

/* Return an unused name in the folder of name; malloc'd. */
static char *
temporary_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[RANDOM_LETTERS] = {0};
    char *made = NULL;

    if (getrandom(random, sizeof(random), GRND_NONBLOCK) < (ssize_t)sizeof(random)) {
        const unsigned pid = (unsigned)getpid();

        memcpy(random, &pid, sizeof(pid));
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        random[i] = (unsigned char)letters[random[i] % 32];
    }
    if (asprintf(&made, ".%.*s%s%.6s", NAME_BYTES_KEPT, name, temporary_mark,
                 (const char *)random) < 0) {
        return NULL;
    }
    return made;
}

static bool
is_temporary_name(const char *name, const char *found)
{
    const size_t kept = strnlen(name, NAME_BYTES_KEPT);
    const size_t mark = sizeof(temporary_mark) - 1;
    const char *const random = found + 1 + kept + mark;

    return found[0] == '.' && strncmp(found + 1, name, kept) == 0 &&
           strncmp(found + 1 + kept, temporary_mark, mark) == 0 &&
           strspn(random, "abcdefghijklmnopqrstuvwxyz012345") == RANDOM_LETTERS &&
           random[RANDOM_LETTERS] == '\0';
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

/* Whether it is open as standard input, output or error already. */
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

/* Whether the file is written in place: devices and pipes are. The pipe of another user
 * is refused, since that user could read the data or block us for ever. */
static bool
may_write_in_place(const struct stat *status, const char **why)
{
    if (S_ISCHR(status->st_mode)) {
        return true;
    }
    if (!S_ISFIFO(status->st_mode)) {
        *why = S_ISBLK(status->st_mode) ? "is a block device; name a file"
                                        : "is a socket; name a file";
        return false;
    }
    if (status->st_uid != geteuid() && !is_standard_stream(status)) {
        *why = "is a pipe of another user: not written; name a file";
        return false;
    }
    return true;
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
        if (written < 0 && errno == EAGAIN) { /* a full pipe that does not block */
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
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

/* Take the lock that remove_if_dead checks. Returns false if remove_if_dead removed the
 * file before that. */
static bool
lock_new_file(int fd)
{
    struct stat status;

    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 &&
           status.st_nlink > 0;
}

/* Create a file with a temporary name; *name is malloc'd. Returns -1 with errno. */
static int
open_named(const struct file_place *place, char **name)
{
    for (int i = 0; i < NAMES_TRIED; i++) {
        int fd;

        *name = temporary_name(place->name);
        if (*name == NULL) {
            errno = ENOMEM;
            return -1;
        }
        fd = openat(place->folder, *name,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 && lock_new_file(fd)) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
            errno = EEXIST;
        }
        free(*name);
        *name = NULL;
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

/* Create a file without a name in the folder, open for reading too. Returns -1 if that
 * is not possible here. */
static int
open_nameless(const struct file_place *place)
{
    const int fd = openat(place->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

    if (fd >= 0) {
        (void)flock(fd, LOCK_EX | LOCK_NB);
    }
    return fd;
}

/* Link the nameless file to a temporary name. Returns NULL if that is not possible
 * here. */
static char *
link_nameless(int fd, const struct file_place *place)
{
    char magic[64];

    snprintf(magic, sizeof(magic), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAMES_TRIED; i++) {
        char *name = temporary_name(place->name);

        if (name == NULL ||
            linkat(AT_FDCWD, magic, place->folder, name, AT_SYMLINK_FOLLOW) == 0) {
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

/* Copy the nameless file, which cannot be linked, to one with a name. */
static bool
copy_nameless(struct whole_file *file)
{
    struct stat status;
    const int fd = open_named(&file->place, &file->temporary);

    if (fd < 0) {
        return false;
    }
    if (fstat(file->fd, &status) == 0) {
        (void)fchmod(fd, status.st_mode & 0777);
    }
    if (!copy_bytes(file->fd, fd)) {
        close(fd);
        return false;
    }
    close(file->fd);
    file->fd = fd;
    return true;
}

/* Give the new file a name if it has none. */
static bool
name_new_file(struct whole_file *file)
{
    if (file->temporary == NULL) {
        file->temporary = link_nameless(file->fd, &file->place);
    }
    return file->temporary != NULL || copy_nameless(file);
}

/* --- the stream --- */

/* After a failure nothing more is written: the file would have a gap. */
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

/* --- open, replace, discard --- */

/* Release what is left of a file. Keeps errno. */
static void
finish(struct whole_file *file)
{
    const int number = errno;

    close_stream(file);
    if (file->fd >= 0 && file->fd != STDOUT_FILENO) {
        close(file->fd);
    }
    if (file->lock_fd >= 0) {
        close(file->lock_fd);
    }
    if (file->temporary != NULL) {
        unlinkat(file->place.folder, file->temporary, 0);
    }
    free(file->temporary);
    file_place_finish(&file->place);
    memset(file, 0, sizeof(*file));
    file->place.folder = -1;
    file->lock_fd = -1;
    file->fd = -1;
    errno = number;
}

/* Keep the mode of the caller's own file. The mode of another user's file only removes
 * rights: in a shared folder anyone could have created it with rights for all. */
static void
keep_mode(const struct whole_file *file, const struct stat *old)
{
    struct stat new;

    if (fstat(file->fd, &new) == 0) {
        (void)fchmod(file->fd, old->st_mode & 0777 &
                                   (old->st_uid == geteuid() ? 0777 : new.st_mode));
    }
}

/* Open the existing file through a path descriptor, so that it cannot be exchanged
 * after the check. */
static int
open_in_place(const struct file_place *place, const char **why)
{
    const int held = openat(place->folder, place->name,
                            O_PATH | O_CLOEXEC | (place->magic ? 0 : O_NOFOLLOW));
    struct stat status;
    char path[64];
    int fd = -1;

    if (held >= 0 && fstat(held, &status) == 0 && may_write_in_place(&status, why)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (held >= 0) {
        const int number = errno;

        close(held);
        errno = number;
    }
    return fd;
}

/* Open the file to write to. On failure *why is a text, or NULL if errno has the
 * reason. */
static bool
open_target(struct whole_file *file, const char **why, char *text, size_t text_bytes)
{
    struct stat status;
    bool there;

    if (!file_place_find(&file->place, file->path, text, text_bytes)) {
        *why = text[0] != '\0' ? text : NULL;
        return false;
    }
    there = file_place_status(&file->place, &status);
    if (there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        file->in_place = true;
        file->fd = open_in_place(&file->place, why);
        return file->fd >= 0;
    }
    file->fd = open_nameless(&file->place);
    if (file->fd < 0) {
        file->fd = open_named(&file->place, &file->temporary);
    }
    if (file->fd >= 0 && there && S_ISREG(status.st_mode)) {
        keep_mode(file, &status);
    }
    return file->fd >= 0;
}

bool
whole_file_open(struct whole_file *file, const char *path, const char *noun,
                struct whole_file_error *error)
{
    const bool standard = is_standard(path);
    const char *why = NULL;
    char text[400];

    *file = (struct whole_file){
        .noun = noun,
        .path = standard ? STANDARD_OUTPUT : path,
        .place.folder = -1,
        .lock_fd = -1,
        .in_place = standard,
        .fd = standard ? STDOUT_FILENO : -1,
    };
    if ((standard || open_target(file, &why, text, sizeof(text))) &&
        open_stream(file)) {
        return true;
    }
    if (why != NULL) {
        fail_text(error, path, why);
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
 * Give the file the second name old. Where hard links are not allowed, rename it and
 * set *moved: it is then missing for a moment.
 */
static bool
keep_old(const struct file_place *place, const char *old, bool *moved)
{
    const int folder = place->folder;
    bool kept = false;

    for (int i = 0; i < NAMES_TRIED; i++) {
        char *const name = temporary_name(place->name);
        int number;

        if (name == NULL) {
            errno = ENOMEM;
            return false;
        }
        if (linkat(folder, place->name, folder, name, 0) != 0) {
            free(name);
            kept = renameat(folder, place->name, folder, old) == 0;
            *moved = kept;
            return kept;
        }
        kept = renameat(folder, name, folder, old) == 0;
        number = errno;
        unlinkat(folder, name,
                 0); /* still there if old was a link to the same file already */
        free(name);
        errno = number;
        /* Another writer may have removed the name as left over. */
        if (kept || number != ENOENT) {
            break;
        }
    }
    return kept;
}

/* Keep the existing file as NAME.old. *moved is set as in keep_old. */
static bool
keep(const struct whole_file *file, bool *moved, struct whole_file_error *error)
{
    struct stat status;
    char *old = NULL;
    bool kept;

    if (!file_place_status(&file->place, &status)) {
        return true;
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_text(error, file->path, "is a folder; name a file");
    }
    if (asprintf(&old, "%s.old", file->place.name) < 0) {
        return fail_text(error, file->path, "out of memory");
    }
    kept = keep_old(&file->place, old, moved) ||
           fail_errno(error, old, "cannot keep the old %s there", file->noun);
    free(old);
    return kept;
}

/* Rename NAME.old back. */
static void
move_back(const struct file_place *place)
{
    char *old = NULL;

    if (asprintf(&old, "%s.old", place->name) >= 0) {
        renameat(place->folder, old, place->folder, place->name);
        free(old);
    }
}

/* Rename the new file, which has a name, to its place. */
static bool
rename_new_file(struct whole_file *file, bool keep_it, struct whole_file_error *error)
{
    const struct file_place *const place = &file->place;
    bool moved = false;

    if (keep_it && !keep(file, &moved, error)) {
        return false;
    }
    if (renameat(place->folder, file->temporary, place->folder, place->name) != 0) {
        fail_errno(error, file->path, "cannot rename the new %s to it", file->noun);
        if (moved) {
            move_back(place);
        }
        return false;
    }
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

/* Write everything to the file and give it a name. NFS and quotas report their errors
 * at close. */
static bool
complete(struct whole_file *file)
{
    int fd;

    if (!close_stream(file) || (!file->in_place && !name_new_file(file))) {
        return false;
    }
    fd = file->fd;
    file->fd = -1;
    /* The lock must last until the file is renamed. */
    file->lock_fd = file->in_place ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
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

/* --- checking in advance --- */

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

/* Check that a file can be created in the folder, and remove it. It has no name if
 * possible, so that nothing is left if ntprof is killed. */
static bool
check_folder(const struct file_place *place, const char *path,
             struct whole_file_error *error)
{
    char *name;
    int fd = open_nameless(place);

    if (fd >= 0) {
        close(fd);
        return true;
    }
    fd = open_named(place, &name);
    if (fd < 0) {
        return fail_errno(error, path, "no file can be made in its folder");
    }
    close(fd);
    unlinkat(place->folder, name, 0);
    free(name);
    return true;
}

static bool
check_place(const struct file_place *place, const char *path, const char *noun,
            struct whole_file_error *error)
{
    const char *why = NULL;
    struct stat status;

    if (!file_place_status(place, &status)) {
        return errno == ENOENT ? check_folder(place, path, error)
                               : fail_errno(error, path, "cannot write the %s", noun);
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_text(error, path, "is a folder; name a file");
    }
    if (S_ISREG(status.st_mode)) {
        return check_folder(place, path, error);
    }
    if (!may_write_in_place(&status, &why)) {
        return fail_text(error, path, why);
    }
    return faccessat(place->folder, place->name, W_OK, AT_EACCESS) == 0 ||
           fail_errno(error, path, "cannot write the %s", noun);
}

static bool
fail_place(struct whole_file_error *error, const char *path, const char *noun,
           const char *why)
{
    struct stat status;

    if (path[0] == '\0') {
        return fail_text(error, path, "an empty name");
    }
    if (errno == EISDIR) {
        return fail_text(error, path,
                         stat(path, &status) == 0 ? "is a folder; name a file"
                                                  : "there is no such folder");
    }
    if (errno == ENOENT) {
        return fail_errno(error, path, "no file can be made in its folder");
    }
    return why[0] != '\0' ? fail_text(error, path, why)
                          : fail_errno(error, path, "cannot write the %s", noun);
}

bool
whole_file_check(const char *path, const char *noun, struct whole_file_error *error)
{
    struct file_place place;
    char why[400];
    bool good;

    if (is_standard(path)) {
        return check_standard(noun, error);
    }
    if (!file_place_find(&place, path, why, sizeof(why))) {
        return fail_place(error, path, noun, why);
    }
    good = check_place(&place, path, noun, error);
    if (good && !place.magic) {
        remove_left_over(&place);
    }
    file_place_finish(&place);
    return good;
}
