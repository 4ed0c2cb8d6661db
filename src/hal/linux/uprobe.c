/* SPDX-License-Identifier: MIT */
/* hal/linux/uprobe.c - makes trace events of uprobes in tracefs, and removes them. */
#include "hal/linux/uprobe.h"

#include "hal/linux/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GROUP "ntprof"

/* A trace event stays in use until the kernel has freed its last perf event: removing
 * it is tried this often, with this pause. */
enum { REMOVE_ATTEMPTS = 40, REMOVE_PAUSE_NS = 5000000 };

/* ---- tracefs ---- */

/* Open tracefs where it is mounted, or else mount an instance without a path. Returns a
 * descriptor or negative errno. */
static int
open_tracefs(void)
{
    int fd = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int context;

    if (fd >= 0 && faccessat(fd, "uprobe_events", F_OK, 0) == 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    context = fsopen("tracefs", FSOPEN_CLOEXEC);
    if (context < 0) {
        return -errno;
    }
    fd = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0
             ? fsmount(context, FSMOUNT_CLOEXEC, 0)
             : -1;
    if (fd < 0) {
        fd = -errno;
    }
    close(context);
    return fd;
}

/* Have tracefs make or remove an event. Returns 0 or negative errno. */
static int
write_command(int tracefs, const char *command)
{
    const size_t length = strlen(command);
    const int fd = openat(tracefs, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
    ssize_t written;
    int result;

    if (fd < 0) {
        return -errno;
    }
    written = write(fd, command, length);
    result = written < 0 ? -errno : written == (ssize_t)length ? 0 : -EIO;
    close(fd);
    return result;
}

/* Have tracefs remove an event. Returns 0 or negative errno. */
static int
remove_event(int tracefs, const char *event)
{
    char command[96];

    snprintf(command, sizeof(command), "-:" GROUP "/%s\n", event);
    return write_command(tracefs, command);
}

/* Remove trace events that exited processes of this pid namespace have left behind. */
static void
remove_of_dead(int tracefs)
{
    const uint64_t namespace = perf_procfs_pid_namespace(0);
    char *list;
    char *rest;
    char *line;

    /* In an unknown pid namespace a pid says nothing. */
    if (namespace == 0 || perf_read_text(tracefs, "uprobe_events", &list) < 0) {
        return;
    }
    rest = list;
    while ((line = strsep(&rest, "\n")) != NULL) {
        uint64_t maker_namespace;
        uint64_t number;
        char event[64];
        int pid;

        if (sscanf(line, "p:" GROUP "/u%" SCNu64 "_%d_%" SCNx64 " ", &maker_namespace,
                   &pid, &number) == 3 &&
            maker_namespace == namespace && pid > 0 && kill(pid, 0) < 0 &&
            errno == ESRCH) {
            snprintf(event, sizeof(event), "u%" PRIu64 "_%d_%016" PRIx64,
                     maker_namespace, pid, number);
            (void)remove_event(tracefs, event);
        }
    }
    free(list);
}

/* ---- one trace event ---- */

struct perf_uprobe *
perf_uprobe_create(const char *image, size_t image_bytes, uint64_t offset)
{
    struct perf_uprobe *uprobe = calloc(1, sizeof(*uprobe));

    if (uprobe == NULL) {
        return NULL;
    }
    uprobe->offset = offset;
    uprobe->image = strndup(image, image_bytes);
    if (uprobe->image == NULL) {
        free(uprobe);
        return NULL;
    }
    return uprobe;
}

/* Can a probe be placed in this file? Returns 0, or negative errno with the reason. */
static int
check_image(const struct perf_uprobe *uprobe, int image, char *reason,
            size_t reason_bytes)
{
    struct stat status;

    if (fstat(image, &status) < 0) {
        const int error = errno;

        snprintf(reason, reason_bytes, "the image's type and size cannot be read: %s",
                 strerror(error));
        return -error;
    }
    if (!S_ISREG(status.st_mode)) {
        snprintf(reason, reason_bytes, "the image is no regular file");
        return -EINVAL;
    }
    if (uprobe->offset >= (uint64_t)status.st_size) {
        snprintf(reason, reason_bytes, "the offset is past the end of the image");
        return -EINVAL;
    }
    return 0;
}

/* Open the file to probe. Returns a descriptor, or negative errno with the reason. */
static int
open_image(const struct perf_uprobe *uprobe, char *reason, size_t reason_bytes)
{
    const int fd = open(uprobe->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int result;

    if (fd < 0) {
        const int error = errno;

        snprintf(reason, reason_bytes, "the image cannot be opened: %s",
                 strerror(error));
        return -error;
    }
    result = check_image(uprobe, fd, reason, reason_bytes);
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

/* Does the kernel keep tracefs, which is then empty, from root too? */
static bool
is_locked_down(void)
{
    char *text;
    bool locked;

    if (perf_read_text(AT_FDCWD, "/sys/kernel/security/lockdown", &text) < 0) {
        return false;
    }
    locked = strstr(text, "[confidentiality]") != NULL;
    free(text);
    return locked;
}

/* Say why the event cannot be made. */
static void
explain(int error, char *reason, size_t reason_bytes)
{
    if ((error == -EACCES || error == -EPERM || error == -ENOENT) && is_locked_down()) {
        snprintf(reason, reason_bytes,
                 "kernel lockdown allows uprobes to nobody: boot without "
                 "lockdown=confidentiality, or count a breakpoint:0xADDRESS");
        return;
    }
    switch (-error) {
    case EACCES:
    case EPERM:
        snprintf(reason, reason_bytes,
                 "uprobes take root with CAP_SYS_ADMIN outside of user namespaces: run "
                 "ntprof as root, or count a breakpoint:0xADDRESS");
        break;
    case ENOENT:
    case ENODEV:
    case ENOSYS:
        snprintf(reason, reason_bytes,
                 "the kernel has no uprobe_events (CONFIG_UPROBE_EVENTS, and Linux 5.2 "
                 "where tracefs is not mounted)");
        break;
    default:
        snprintf(reason, reason_bytes, "the kernel makes no uprobe: %s",
                 strerror(-error));
        break;
    }
}

/* Make a trace event with a unique name, and read its id for perf_event_open. */
static int
make_event(struct perf_uprobe *uprobe, int tracefs, int image, uint64_t *id)
{
    char command[192];
    char path[96];
    char *text;
    uint64_t number;
    int result;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return -EAGAIN; /* no unique name: randomness is not ready, or refused */
    }
    uprobe->owner = getpid();
    snprintf(uprobe->event, sizeof(uprobe->event), "u%" PRIu64 "_%d_%016" PRIx64,
             perf_procfs_pid_namespace(0), (int)uprobe->owner, number);
    /* Name the image by its descriptor: the kernel would split a path at spaces and
     * colons. */
    snprintf(command, sizeof(command),
             "p:" GROUP "/%s /proc/self/fd/%d:0x%" PRIx64 "\n", uprobe->event, image,
             uprobe->offset);
    result = write_command(tracefs, command);
    if (result < 0) {
        uprobe->event[0] = '\0';
        return result;
    }
    snprintf(path, sizeof(path), "events/" GROUP "/%s/id", uprobe->event);
    result = perf_read_text(tracefs, path, &text);
    if (result < 0) {
        (void)remove_event(tracefs, uprobe->event);
        uprobe->event[0] = '\0';
        return result;
    }
    *id = strtoull(text, NULL, 10);
    free(text);
    return 0;
}

/* Map the instruction, so that opening the event fails if no probe can be placed on it.
 * On a file system mounted noexec mmap fails, and the probe is not tried. */
static void
map_instruction(struct perf_uprobe *uprobe, int image)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t offset = uprobe->offset / page_bytes * page_bytes;
    void *const page = mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, image,
                            (off_t)offset);

    uprobe->page = page != MAP_FAILED ? page : NULL;
}

int
perf_uprobe_make(struct perf_uprobe *uprobe, uint64_t *id, char *reason,
                 size_t reason_bytes)
{
    int image = open_image(uprobe, reason, reason_bytes);
    int tracefs;
    int result;

    if (image < 0) {
        return image;
    }
    tracefs = open_tracefs();
    result = tracefs;
    if (tracefs >= 0) {
        remove_of_dead(tracefs);
        result = make_event(uprobe, tracefs, image, id);
        close(tracefs);
    }
    if (result < 0) {
        explain(result, reason, reason_bytes);
    } else {
        map_instruction(uprobe, image);
    }
    close(image);
    return result;
}

/* Remove the trace event, unless a process that this one was forked from made it. */
static void
remove_own(struct perf_uprobe *uprobe)
{
    const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
    int tracefs;
    int result;

    if (uprobe->event[0] == '\0' || uprobe->owner != getpid()) {
        return;
    }
    tracefs = open_tracefs();
    if (tracefs < 0) {
        return;
    }
    result = remove_event(tracefs, uprobe->event);
    /* If it stays in use, it is left: after this process has exited, the next one that
     * makes a uprobe removes it. */
    for (int i = 0; result == -EBUSY && i < REMOVE_ATTEMPTS; i++) {
        nanosleep(&pause, NULL);
        result = remove_event(tracefs, uprobe->event);
    }
    uprobe->event[0] = '\0';
    close(tracefs);
}

void
perf_uprobe_tried(struct perf_uprobe *uprobe, bool works)
{
    if (uprobe->page != NULL) {
        munmap(uprobe->page, (size_t)sysconf(_SC_PAGESIZE));
        uprobe->page = NULL;
    }
    if (!works) {
        remove_own(uprobe);
    }
}

void
perf_uprobe_delete(struct perf_uprobe *uprobe)
{
    if (uprobe == NULL) {
        return;
    }
    perf_uprobe_tried(uprobe, /* works */ false);
    free(uprobe->image);
    free(uprobe);
}
