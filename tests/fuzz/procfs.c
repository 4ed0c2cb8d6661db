/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - fuzz target: forged files of /proc and /sys, through everything that reads
 * them.
 *
 * An input is texts that end with a NUL, one for each of the files below and in their
 * order; what it has no text for is not there. The readers open their files as always;
 * the linker has them ask here first.
 */
#include "hal/linux/procfs.h"
#include "hal/linux/refusal.h"
#include "hal/perf/perf.h"
#include "host/linux/linuxp.h"
#include "record/cgroup.h"
#include "record/collect/usage.h"
#include "record/record_options.h"
#include "record/record_rows.h"
#include "symbols/client/kernel.h"
#include "symbols/client/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The ends of their names. */
static const char *const files[] = {"/kallsyms", "/modules", "/status",  "/maps",
                                    "/stat",     "/online",  "/comm",    "/children",
                                    "/uid_map",  "/mounts",  "/paranoid"};

enum { FILES = sizeof(files) / sizeof(files[0]) };

static struct text {
    const uint8_t *bytes; /* NULL: there is no such file */
    size_t size;
} texts[FILES];

static bool forging;

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* --- what the readers call instead of libc --- */

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__real_setmntent(const char *path, const char *mode);
FILE *__wrap_setmntent(const char *path, const char *mode);
int __wrap_cmd_fail(const char *command, const char *format, ...);

static int
open_text(const struct text *text)
{
    int fd;

    if (text->bytes == NULL) {
        errno = ENOENT;
        return -1;
    }
    fd = memfd_create("forged", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, text->bytes, text->size) == (ssize_t)text->size &&
            lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* The text of a file, or NULL: it is none of ours. */
static const struct text *
find_text(const char *path)
{
    if (!forging ||
        (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0)) {
        return NULL;
    }
    for (size_t i = 0; i < FILES; i++) {
        const size_t length = strlen(files[i]);

        if (strlen(path) > length &&
            strcmp(path + strlen(path) - length, files[i]) == 0) {
            return &texts[i];
        }
    }
    return NULL;
}

int
__wrap_open64(const char *path, int flags, ...)
{
    const struct text *const text = find_text(path);
    va_list arguments;
    mode_t mode;

    if (text != NULL) {
        return open_text(text);
    }
    va_start(arguments, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return __real_open64(path, flags, mode);
}

static FILE *
stream_text(const struct text *text)
{
    const int fd = open_text(text);

    return fd < 0 ? NULL : fdopen(fd, "r");
}

FILE *
__wrap_fopen64(const char *path, const char *mode)
{
    const struct text *const text = find_text(path);

    return text != NULL ? stream_text(text) : __real_fopen64(path, mode);
}

FILE *
__wrap_setmntent(const char *path, const char *mode)
{
    const struct text *const text = find_text(path);

    return text != NULL ? stream_text(text) : __real_setmntent(path, mode);
}

/* Messages go to terminals. */
int
__wrap_cmd_fail(const char *command, const char *format, ...)
{
    char line[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    for (const char *at = line; *at != '\0'; at++) {
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
    require(command != NULL);
    return 125;
}

/* --- the command's readers --- */

static void
look_at_kernel(void)
{
    uint64_t begin;
    uint64_t end;
    struct sym_map *const map = sym_map_open_kernel(NULL, &begin, &end);

    if (map != NULL) {
        struct sym_name name;
        const char *module;

        (void)sym_map_lookup(map, begin, &name, &module);
        (void)sym_map_lookup(map, end - 1, &name, &module);
    }
    sym_map_close(map);
}

static void
look_at_perf_map(void)
{
    struct sym_perf_target target;
    struct sym_perf_file file;

    if (sym_perf_target_read((uint32_t)getpid(), &target) != 0) {
        return;
    }
    if (sym_perf_file_open(&target, &file) == 0) {
        close(file.fd);
    }
    if (target.folder >= 0) {
        close(target.folder);
    }
}

static void
look_at_cgroup(const char *name)
{
    char error[512] = "";
    char *const found = cgroup_find(name, error, sizeof(error));

    require(found != NULL || error[0] != '\0');
    require(strnlen(error, sizeof(error)) < sizeof(error));
    for (const char *at = error; *at != '\0'; at++) {
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
    free(found);
}

/* Options whose check reads of the machine. */
static void
look_at_processors(char *option, char *value)
{
    static const struct options_syntax taken = {
        .command = "run",
        .groups = {{record_hit_rows, 0}, {record_file_rows, 0}},
        .program = true,
    };
    static const struct record_syntax syntax = {.options = &taken};
    char run[] = "run";
    char program[] = "true";
    char *words[] = {run, option, value, program, NULL};
    struct record_options options;
    int exit_status;

    if (record_options_take(&options, &syntax, 4, words, &exit_status)) {
        require(options.affinity_count > 0 &&
                options.affinity_count <= RECORD_GROUPS_MAX);
    }
    record_options_finish(&options);
}

static void
read_by_command(void)
{
    char letter[] = "-C";
    char some[] = "0-1,3";
    char word[] = "--per";
    char cpu[] = "cpu";

    look_at_kernel();
    (void)usage_bytes();
    look_at_perf_map();
    look_at_cgroup("nowhere");
    look_at_processors(letter, some);
    look_at_processors(word, cpu);
}

/* --- the library's readers --- */

static void
look_at_host(void)
{
    struct host_processors processors = {.read_ms = -1};
    HOST_PROCESS process;
    struct host_linux host = {0};

    require(host_processors_refresh(&processors) == 0 && processors.count > 0);
    host_processors_finish(&processors);
    if (host_open_process(&host, 1, &process) == STATUS_SUCCESS) {
        (void)host_is_process_gone(&host, &process);
        host_close_process(&host, &process);
    }
}

static void
look_at_process(void)
{
    const uint32_t self = (uint32_t)getpid();
    struct perf_reading reading;
    struct perf_tids children = {0};

    if (perf_procfs_read(self, &reading) == 0) {
        require(strnlen(reading.name, sizeof(reading.name)) < sizeof(reading.name));
        require(strchr(reading.name, '\n') == NULL && reading.tids.count > 0);
        for (size_t i = 0; i < reading.mappings.count; i++) {
            const struct perf_mapping *mapping = &reading.mappings.items[i];

            require(mapping->length > 0 &&
                    mapping->base + mapping->length - 1 >= mapping->base);
            require(i == 0 || mapping[-1].base + mapping[-1].length <= mapping->base);
        }
    }
    perf_reading_finish(&reading);
    (void)perf_procfs_children(self, &children);
    perf_tids_finish(&children);
}

static void
read_by_library(void)
{
    look_at_host();
    look_at_process();
    (void)perf_procfs_setting("kernel/paranoid", 0);
    (void)perf_refusal_can_monitor();
    (void)perf_refusal_is_filtered();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *const end = size > 0 ? memchr(data, 0, size) : NULL;

        texts[i].bytes = size > 0 ? data : NULL;
        texts[i].size = end != NULL ? (size_t)(end - data) : size;
        data = end != NULL ? end + 1 : data;
        size = end != NULL ? size - texts[i].size - 1 : 0;
    }
    forging = true;
    read_by_command();
    read_by_library();
    forging = false;
    return 0;
}
