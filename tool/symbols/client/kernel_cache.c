/* SPDX-License-Identifier: MIT */
/* kernel_cache.c - reads and writes the file "kernel" in a folder of root's. */
#include "symbols/client/kernel_cache.h"

#include "base/command_log.h"
#include "base/private_folder.h"
#include "base/whole_file.h"
#include "symbols/border/table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

/* --- reading --- */

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
read_table(int fd, uint64_t file_bytes, const char *boot, struct kernel_table *table)
{
    struct header header;

    if (file_bytes < sizeof(header) || file_bytes > FILE_BYTES_MAX ||
        !read_all(fd, &header, sizeof(header)) || !fits(&header, boot, file_bytes)) {
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
    const int folder_fd = private_folder_open(folder, &why);
    struct stat status;
    const int fd = folder_fd < 0
                       ? -1
                       : private_folder_open_file(folder_fd, "kernel", &status, &why);
    const bool read = fd >= 0 && read_table(fd, (uint64_t)status.st_size, boot, table);

    if (fd >= 0) {
        why = "it is not of this boot, or not in order";
        close(fd);
    }
    if (folder_fd >= 0) {
        close(folder_fd);
    }
    COMMAND_LOG("symbols of the kernel: %s %s/kernel%s%s",
                read ? "read from" : "not from", folder, read ? "" : ": ",
                read ? "" : why);
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
    if (core.symbols.failed || core.names.failed) {
        strcpy(error->text, "out of memory");
    } else if (core.symbols.size == 0) {
        strcpy(error->text, "there are no symbols outside of modules");
    } else if (whole_file_check(path, "cache", error) &&
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
    const int folder_fd = private_folder_make(folder, &why);
    struct whole_file_error error = {""};
    char path[PATH_MAX];
    bool written = false;

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
