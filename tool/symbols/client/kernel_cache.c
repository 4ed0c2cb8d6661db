/* SPDX-License-Identifier: MIT */
/* kernel_cache.c - reads and writes the file "kernel" in a folder of root's. */
#include "symbols/client/kernel_cache.h"

#include "base/command_log.h"
#include "base/whole_file.h"
#include "symbols/border/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger file is not read. Real ones have 4 MB. */
#define FILE_BYTES_MAX (UINT64_C(1) << 26)

/* header - of the file. The symbols and names follow. */
struct header {
    char magic[16];
    char boot[KERNEL_BOOT_BYTES];
    uint64_t symbols_bytes;
    uint64_t names_bytes;
    struct kernel_text core;
};

static const char magic[16] = "ntprof kernel 2";

bool
kernel_cache_boot(char boot[KERNEL_BOOT_BYTES])
{
    FILE *const file = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool read;

    memset(boot, 0, KERNEL_BOOT_BYTES);
    read = file != NULL && fgets(boot, KERNEL_BOOT_BYTES, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return read;
}

/* --- files --- */

/* Whether what a descriptor leads to is of this type (S_IF...), the caller's, and for
 * nobody else. */
static bool
is_own(int fd, mode_t type, struct stat *status)
{
    return fstat(fd, status) == 0 && (status->st_mode & S_IFMT) == type &&
           status->st_uid == geteuid() && (status->st_mode & 077) == 0;
}

/* Open the folder. Returns its descriptor, or -1 with *why set. */
static int
open_folder(const char *path, const char **why)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (folder < 0) {
        *why = strerror(errno);
    } else if (!is_own(folder, S_IFDIR, &status)) {
        *why = "the folder is not the caller's alone";
        close(folder);
        return -1;
    }
    return folder;
}

static bool
read_all(int fd, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        const ssize_t got = read(fd, at, size);

        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        at += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool
read_buffer(int fd, struct buffer *buffer, uint64_t size)
{
    uint8_t *const room = buffer_reserve(buffer, (size_t)size);

    if (room == NULL || !read_all(fd, room, (size_t)size)) {
        return false;
    }
    buffer->size = (size_t)size;
    return true;
}

/* --- reading --- */

/* Whether a header is of this boot, and the parts that it names are together what is
 * behind it. */
static bool
fits(const struct header *header, const char *boot, uint64_t file_bytes)
{
    const uint64_t behind = file_bytes - sizeof(*header);

    return memcmp(header->magic, magic, sizeof(magic)) == 0 &&
           memcmp(header->boot, boot, sizeof(header->boot)) == 0 &&
           header->symbols_bytes <= behind &&
           header->names_bytes == behind - header->symbols_bytes &&
           header->symbols_bytes % sizeof(struct kernel_symbol) == 0;
}

/* Linux's names have at most 511 characters. */
enum { NAME_BYTES_MAX = 1024 };

/* Whether names are strings, none of which is long, the first one "". */
static bool
are_names(const struct buffer *names)
{
    size_t start = 0;

    if (names->size == 0 || names->data[0] != '\0') {
        return false;
    }
    for (size_t i = 0; i < names->size; i++) {
        if (i - start >= NAME_BYTES_MAX) {
            return false;
        }
        start = names->data[i] == '\0' ? i + 1 : start;
    }
    return start == names->size;
}

/* Whether a table is as kernel_table.h says. */
static bool
is_valid(const struct kernel_table *table)
{
    const struct buffer *const names = &table->names;
    size_t count;
    const struct kernel_symbol *const symbols = kernel_table_symbols(table, &count);

    if (!are_names(names)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].name >= names->size || symbols[i].module != 0 ||
            symbols[i].rank > SYM_RANK_GLOBAL || symbols[i].sought ||
            (i > 0 && symbols[i].address < symbols[i - 1].address)) {
            return false;
        }
    }
    return true;
}

static bool
read_table(int fd, const char *boot, struct kernel_table *table)
{
    struct header header;
    struct stat status;

    if (!is_own(fd, S_IFREG, &status) || status.st_nlink != 1 ||
        status.st_size < (off_t)sizeof(header) ||
        (uint64_t)status.st_size > FILE_BYTES_MAX ||
        !read_all(fd, &header, sizeof(header)) ||
        !fits(&header, boot, (uint64_t)status.st_size)) {
        return false;
    }
    table->core = header.core;
    return read_buffer(fd, &table->symbols, header.symbols_bytes) &&
           read_buffer(fd, &table->names, header.names_bytes) && is_valid(table);
}

bool
kernel_cache_read(const char *folder, const char *boot, struct kernel_table *table)
{
    const char *why = "";
    const int folder_fd = open_folder(folder, &why);
    const int fd = folder_fd < 0
                       ? -1
                       : openat(folder_fd, "kernel",
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool read = fd >= 0 && read_table(fd, boot, table);

    if (folder_fd >= 0 && !read) {
        why = fd >= 0 ? "it is not of this boot, or not in order" : strerror(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (folder_fd >= 0) {
        close(folder_fd);
    }
    COMMAND_LOG("symbols of the kernel: %s %s/kernel%s%s",
                read ? "read from" : "not from", folder, read ? "" : ": ", why);
    return read;
}

/* --- writing --- */

/* Copy the symbols of the core. If memory runs out, symbols or names have failed. */
static void
copy_core(struct kernel_table *core, const struct kernel_table *table)
{
    uint32_t module = 0;
    size_t count;
    const struct kernel_symbol *const all = kernel_table_symbols(table, &count);

    core->core = table->core;
    for (size_t i = 0; i < count; i++) {
        struct kernel_symbol symbol = all[i];

        if (symbol.module == 0 && symbol.address >= core->core.start &&
            symbol.address < core->core.end) {
            kernel_table_add(core, &symbol, kernel_table_name(table, all[i].name), "",
                             &module);
        }
    }
}

static void
write_table(FILE *file, const char *boot, const struct kernel_table *table)
{
    struct header header = {.symbols_bytes = table->symbols.size,
                            .names_bytes = table->names.size,
                            .core = table->core};

    memcpy(header.magic, magic, sizeof(magic));
    memcpy(header.boot, boot, sizeof(header.boot));
    (void)fwrite(&header, sizeof(header), 1, file);
    (void)fwrite(table->symbols.data, 1, table->symbols.size, file);
    (void)fwrite(table->names.data, 1, table->names.size, file);
}

/* Write the file, in a folder of the caller's alone. */
static bool
write_file(const char *path, const char *boot, const struct kernel_table *table,
           struct whole_file_error *error)
{
    struct kernel_table core = {.core = {0}};
    struct whole_file file;
    bool written = false;

    copy_core(&core, table);
    if (!core.symbols.failed && !core.names.failed && core.symbols.size > 0 &&
        whole_file_check(path, "cache", error) &&
        whole_file_open(&file, path, "cache", error)) {
        whole_file_keep_private(&file);
        write_table(file.stream, boot, &core);
        written = whole_file_replace(&file, false, error);
    }
    kernel_table_finish(&core);
    return written;
}

void
kernel_cache_write(const char *folder, const char *boot,
                   const struct kernel_table *table)
{
    const char *why = "";
    struct whole_file_error error = {""};
    char path[PATH_MAX];
    int folder_fd = -1;
    bool written = false;

    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        why = strerror(errno);
    } else {
        folder_fd = open_folder(folder, &why);
    }
    if (folder_fd >= 0) {
        snprintf(path, sizeof(path), "%s/kernel", folder);
        written = write_file(path, boot, table, &error);
        why = error.text;
        close(folder_fd);
    }
    COMMAND_LOG("symbols of the kernel: %s %s/kernel%s%s",
                written ? "written to" : "not written to", folder, written ? "" : ": ",
                written ? "" : why);
}
