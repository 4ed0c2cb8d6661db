/* SPDX-License-Identifier: MIT */
/* command_log.c - writes lines of the log, each by one system call. */
#include "base/command_log.h"

#include "base/file_place.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 1900, LINE_BYTES = 2048 };

static const char *const level_names[] = {"error", "warning", "info", "debug"};

enum { LEVELS = sizeof(level_names) / sizeof(level_names[0]) };

int command_log_level = COMMAND_LOG_OFF;

static int log_fd = STDERR_FILENO;

/* ---- lines ---- */

/* Write a line. At the limit of a file's size the kernel also sends SIGXFSZ, which
 * would end the command: it is blocked, and consumed here. Returns false with errno. */
static bool
write_line(const char *line, size_t size)
{
    const struct timespec no_time = {0};
    sigset_t limit;
    sigset_t before;
    bool written;
    int error;

    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    written = whole_file_write(log_fd, line, size);
    error = errno;
    if (!written && error == EFBIG) {
        (void)sigtimedwait(&limit, NULL, &no_time);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* Make "TIME ntprof[PID] LEVEL: TEXT" and a line end. Returns its size. */
static size_t
make_line(char *line, size_t size, int level, const char *text)
{
    char shown[TEXT_BYTES];
    char date[32];
    struct timespec now;
    struct tm parts;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
    return (size_t)snprintf(line, size, "%s.%06ldZ ntprof[%ld] %s: %s\n", date,
                            now.tv_nsec / 1000, (long)getpid(), level_names[level],
                            text_show(shown, sizeof(shown), text));
}

void
command_log_write(int level, const char *format, ...)
{
    const int error = errno;
    char text[TEXT_BYTES];
    char line[LINE_BYTES];
    va_list arguments;

    if (!command_log_wants(level)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!write_line(line, make_line(line, sizeof(line), level, text))) {
        const char *const why = text_errno(errno);

        /* Only the first thread that finds out says so. */
        if (__atomic_exchange_n(&command_log_level, COMMAND_LOG_OFF,
                                __ATOMIC_RELAXED) != COMMAND_LOG_OFF &&
            log_fd != STDERR_FILENO) {
            fprintf(stderr, "ntprof: the log that NTPROF_LOG asks for ends here: %s\n",
                    why);
        }
    }
    errno = error;
}

void
command_log_stop(void)
{
    __atomic_store_n(&command_log_level, COMMAND_LOG_OFF, __ATOMIC_RELAXED);
}

/* ---- opening ---- */

/* Why opening fails with ELOOP: file_place_find leaves the last link of a path if it is
 * one of procfs to a stream. */
#define NOT_FOLLOWED                                                                   \
    "this link leads to a stream or in a circle and is not followed; a level without " \
    "a FILE logs to standard error"

static bool
refuse_setting(struct whole_file_error *error, const char *setting, const char *why)
{
    char shown[256];

    snprintf(error->text, sizeof(error->text), "NTPROF_LOG=%s: %s",
             text_show(shown, sizeof(shown), setting), why);
    return false;
}

/* Return why lines must not be appended to a file, or NULL if they may. */
static const char *
refuse_file(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "is no regular file";
    }
    if (status.st_uid != geteuid()) {
        return "belongs to another user";
    }
    return status.st_nlink != 1 ? "has other names, or none" : NULL;
}

/* Open a file for lines, and create it if it does not exist. Returns a descriptor above
 * those of the standard streams, some of which may be closed: messages for one of them
 * would go to the log. Returns -1 with errno if it fails. */
static int
open_place(const struct file_place *place)
{
    const int flags =
        O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = openat(place->folder, place->name, flags);
    int moved;

    if (fd < 0 && errno == ENOENT) {
        fd = openat(place->folder, place->name, flags | O_CREAT | O_EXCL, 0600);
    }
    if (fd < 0) {
        return -1;
    }
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

/* Whether standard error is the same file as fd: its messages, which are not appended,
 * would be written over lines of the log. */
static bool
is_standard_error(int fd)
{
    struct stat file;
    struct stat stream;

    return fstat(fd, &file) == 0 && fstat(STDERR_FILENO, &stream) == 0 &&
           file.st_dev == stream.st_dev && file.st_ino == stream.st_ino;
}

/* Make log_fd the file of path, or standard error if that is the same file. Returns
 * false with error set. */
static bool
open_file(const char *setting, const char *path, struct whole_file_error *error)
{
    struct file_place place = {.folder = -1};
    char why[256] = "";
    const char *refused;
    int fd;

    if (!file_place_find(&place, path, why, sizeof(why))) {
        return refuse_setting(error, setting, why[0] != '\0' ? why : text_errno(errno));
    }
    fd = open_place(&place);
    refused = fd >= 0          ? refuse_file(fd)
              : errno == ELOOP ? NOT_FOLLOWED
                               : text_errno(errno);
    file_place_finish(&place);
    if (refused != NULL) {
        if (fd >= 0) {
            close(fd);
        }
        snprintf(why, sizeof(why), "the file %s", refused);
        return refuse_setting(error, setting, fd >= 0 ? why : refused);
    }
    if (is_standard_error(fd)) {
        close(fd);
        fd = STDERR_FILENO;
    }
    log_fd = fd;
    return true;
}

bool
command_log_open(const char *setting, struct whole_file_error *error)
{
    const size_t length = strcspn(setting, ":");
    int level = 0;

    while (level < LEVELS && (strlen(level_names[level]) != length ||
                              memcmp(setting, level_names[level], length) != 0)) {
        level++;
    }
    if (level == LEVELS || strcmp(setting + length, ":") == 0) {
        return refuse_setting(
            error, setting,
            "it is LEVEL, or LEVEL:FILE for a file; LEVEL is error, warning, "
            "info or debug");
    }
    if (setting[length] == ':' && !open_file(setting, setting + length + 1, error)) {
        return false;
    }
    __atomic_store_n(&command_log_level, level, __ATOMIC_RELAXED);
    return true;
}
