/* SPDX-License-Identifier: MIT */
/* pprof_file.c - pprof files on disk. */
#include "profile/pprof.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/command_log.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "profile/file_kind.h"
#include "profile/gzip.h"
#include "profile/transfer.h"
#include "sandbox/process.h"
#include "sandbox/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP_BYTES = 64 * 1024 };

/* Memory limit of the process that decodes a file: for the file, the decoded profile
 * and what is sent. */
#define READER_MEMORY_MAX (2 * FILE_BYTES_MAX + PPROF_MEMORY_MAX)
#define READER_CPU_NS_MAX (120 * CLOCK_SECOND_NS)

#define NOUN "profile"

/* Limit of the bytes read from a file: a sparse file may be of any size, and a pipe or
 * device has none. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

/* Set error to "PATH: WHAT: reason", with the reason from errno. Returns false, so that
 * callers can return its value. */
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

/* --- writing --- */

/* Copy the error of whole_file. Returns false, so that callers can return its value. */
static bool
pass_on(struct pprof_error *error, const struct whole_file_error *why)
{
    snprintf(error->text, sizeof(error->text), "%s", why->text);
    return false;
}

/* Write a whole file. keep: what is there becomes PATH.old. */
static bool
write_bytes(const char *path, const void *bytes, size_t size, bool keep,
            struct pprof_error *error)
{
    struct whole_file_error why;
    struct whole_file file;

    if (!whole_file_open(&file, path, NOUN, &why)) {
        return pass_on(error, &why);
    }
    fwrite(bytes, 1, size, file.stream);
    return whole_file_replace(&file, keep, &why) || pass_on(error, &why);
}

static bool
write_profile(const struct profile *profile, const char *path, bool keep,
              struct pprof_error *error)
{
    void *bytes;
    size_t size;
    bool done;

    if (!pprof_encode(profile, &bytes, &size)) {
        return fail_text(error, path, "out of memory for the profile");
    }
    done = write_bytes(path, bytes, size, keep, error);
    free(bytes);
    return done;
}

bool
pprof_write(const struct profile *profile, const char *path, struct pprof_error *error)
{
    return write_profile(profile, path, /* keep */ true, error);
}

bool
pprof_rewrite(const struct profile *profile, const char *path, bool *written,
              struct pprof_error *error)
{
    const bool done = write_profile(profile, path, !*written, error);

    *written = *written || done;
    return done;
}

bool
pprof_check_writable(const char *path, struct pprof_error *error)
{
    struct whole_file_error why;

    return whole_file_check(path, NOUN, &why) || pass_on(error, &why);
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

/* Whether the first field is one of an uncompressed profile: number 1..15 and type 0 or
 * 2. */
static bool
may_be_profile(const struct buffer *file)
{
    const uint8_t first = file->size > 0 ? file->data[0] : 0;

    return file->size == 0 || gzip_is(file->data, file->size) ||
           (first >= 0x08 && first < 0x80 && ((first & 7) == 0 || (first & 7) == 2));
}

/* Describe a file whose first bytes are not those of a profile; NULL if they may be. */
static const char *
what_else(const struct buffer *file)
{
    const char *what = file_kind_known(file->data, file->size);

    if (what == NULL && !may_be_profile(file)) {
        what = file_kind_guess(file->data, file->size);
        what = what != NULL ? what : "not a profile: neither gzip nor pprof";
    }
    return what;
}

/* Read a whole file. Returns false with the error set, also as soon as the first bytes
 * show that it is no profile. */
static bool
read_all(int fd, const char *path, struct buffer *file, struct pprof_error *error)
{
    for (;;) {
        const char *what;
        uint8_t *room = buffer_reserve(file, READ_STEP_BYTES);
        const ssize_t size = room != NULL ? read(fd, room, READ_STEP_BYTES) : 0;

        if (room == NULL) {
            return fail_text(error, path, "out of memory");
        }
        if (size < 0 && errno != EINTR) {
            return fail_errno(error, path, "cannot read it");
        }
        file->size += size > 0 ? (size_t)size : 0;
        /* A pipe may deliver less than it takes to see what it is. */
        what = size == 0 || file->size >= FILE_KIND_BYTES ? what_else(file) : NULL;
        if (what != NULL) {
            return fail_text(error, path, what);
        }
        if (size == 0) {
            return true;
        }
        if (file->size > FILE_BYTES_MAX) {
            return fail_text(error, path, "it is larger than 1 GiB");
        }
    }
}

/* Open a profile, but no pipe of another user: opening a pipe waits for its writer,
 * which may be for ever. Returns a descriptor, or -1 with the error set. */
static int
open_file(const char *path, struct pprof_error *error)
{
    const int path_fd = open(path, O_PATH | O_CLOEXEC);
    struct stat status;
    char link[64];
    int fd = -1;

    if (path_fd < 0 || fstat(path_fd, &status) != 0) {
        fail_errno(error, path, "cannot open it");
    } else if (S_ISFIFO(status.st_mode) && status.st_uid != geteuid()) {
        fail_text(error, path, "is a pipe of another user: not read");
    } else {
        /* By the descriptor, so that what was checked is what is opened. */
        snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
        fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0 && errno == ENOENT) {
            fail_text(error, path, "cannot open it with care: /proc is not mounted");
        } else if (fd < 0) {
            fail_errno(error, path, "cannot open it");
        }
    }
    if (path_fd >= 0) {
        close(path_fd);
    }
    return fd;
}

/* Called in a process without rights. Receives the value to choose or "", whether to
 * sum over stacks, a path for messages, and the file; sends the profile, or why there
 * is none. */
void
pprof_serve(struct wire *wire)
{
    char *const value = strdup(wire_get_text(wire, SIZE_MAX));
    struct pprof_choice choice = {.flat = wire_get_most(wire, 1) != 0};
    char *const path = strdup(wire_get_text(wire, SIZE_MAX));
    const int fd = wire_take_fd(wire);
    struct profile *profile = NULL;
    struct pprof_error error = {.text = "out of memory"};
    struct pprof_error inner;
    struct buffer file = {0};

    sandbox_stage("profile", wire);
    if (path != NULL && value != NULL && read_all(fd, path, &file, &error)) {
        choice.value = value[0] != '\0' ? value : NULL;
        profile = pprof_decode_choice(file.data, file.size, &choice, &inner);
        if (profile == NULL) {
            fail_text(&error, path, inner.text);
        }
    }
    wire_put(wire, profile != NULL);
    if (profile != NULL) {
        profile_send(profile, wire);
    } else {
        wire_put_text(wire, error.text);
    }
    sandbox_stage("answer", wire);
    wire_send(wire, -1);
    profile_delete(profile);
    buffer_finish(&file);
    free(path);
    free(value);
    close(fd);
}

/* Receive the profile. Returns NULL with the error set, which must be empty before:
 * that of the process, or that it failed. */
static struct profile *
receive(struct sandbox_process *process, const char *path, struct pprof_error *error)
{
    struct wire *const wire = &process->wire;
    struct profile *profile = NULL;
    char why[200];

    if (wire_get_most(wire, 1) != 0) {
        profile = profile_receive(wire);
    } else {
        snprintf(error->text, sizeof(error->text), "%s",
                 wire_get_text(wire, sizeof(error->text) - 1));
    }
    if (wire->failed || (profile == NULL && error->text[0] == '\0')) {
        sandbox_stop(process);
        snprintf(why, sizeof(why), "the process that read it failed: %s",
                 sandbox_why(process));
        fail_text(error, path, why);
        profile_delete(profile);
        return NULL;
    }
    return profile;
}

struct profile *
pprof_read(const char *path, struct pprof_error *error)
{
    const struct pprof_choice all = {0};

    return pprof_read_choice(path, &all, error);
}

struct profile *
pprof_read_choice(const char *path, const struct pprof_choice *choice,
                  struct pprof_error *error)
{
    const struct sandbox_limits limits = {READER_MEMORY_MAX, READER_CPU_NS_MAX};
    const bool standard = is_standard(path);
    const int fd = standard ? STDIN_FILENO : open_file(path, error);
    struct sandbox_process process;
    struct profile *profile;

    if (fd < 0) {
        return NULL;
    }
    errno = -sandbox_start(&process, /* module */ NULL, pprof_serve, &limits);
    if (errno != 0) {
        fail_errno(error, path, "no process to read it can be started");
        profile = NULL;
    } else {
        COMMAND_LOG("reader %ld: reads profile %s", (long)process.pid, path);
        process.patient = true;
        error->text[0] = '\0';
        wire_put_text(&process.wire, choice->value != NULL ? choice->value : "");
        wire_put(&process.wire, choice->flat);
        wire_put_text(&process.wire, path);
        wire_send(&process.wire, fd);
        profile = receive(&process, path, error);
        sandbox_stop(&process);
    }
    if (!standard) {
        close(fd);
    }
    return profile;
}
