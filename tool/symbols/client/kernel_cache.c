/* SPDX-License-Identifier: MIT */
/* kernel_cache.c - reads and writes the file "kernel" in a folder of root's. */
#include "symbols/client/kernel_cache.h"

#include "base/command_log.h"
#include "base/private_folder.h"
#include "base/whole_file.h"
#include "symbols/client/kernel_selection.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A larger file is not read. Real ones have 6 MB. */
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

/* Whether all wanted buckets are in the core's text. */
static bool
is_in_core(const struct kernel_text *core, const struct sym_wanted *wanted)
{
    bool all = true;

    for (size_t i = 0; all && i < wanted->count; i++) {
        const uint64_t place = wanted->places[i];

        all = place >= core->start && place < core->end &&
              wanted->bytes - 1 < core->end - place;
    }
    return all;
}

/* Get the wanted symbols from the bytes of a file. Returns as kernel_cache_find. */
static int
find_in(uint8_t *bytes, uint64_t count, const char *boot,
        const struct sym_wanted *wanted, struct kernel_table *table)
{
    const struct header *const header = (const void *)bytes;
    uint8_t *const symbols = bytes + sizeof(*header);
    struct kernel_table all = {.core = {0}};

    if (!fits(header, boot, count)) {
        return -EINVAL;
    }
    all.core = header->core;
    all.symbols = (struct buffer){.data = symbols, .size = header->symbols_bytes};
    all.names = (struct buffer){.data = symbols + header->symbols_bytes,
                                .size = header->names_bytes};
    if (all.names.size == 0 || all.names.data[0] != '\0' ||
        all.names.data[all.names.size - 1] != '\0') {
        return -EINVAL;
    }
    if (!is_in_core(&all.core, wanted)) {
        return -ENXIO;
    }
    table->core = all.core;
    return kernel_table_select(&all, wanted, table);
}

/* Map a file and get the wanted symbols. Returns as kernel_cache_find. */
static int
map_and_find(int fd, uint64_t file_bytes, const char *boot,
             const struct sym_wanted *wanted, struct kernel_table *table)
{
    void *mapped;
    int error;

    if (file_bytes < sizeof(struct header) || file_bytes > FILE_BYTES_MAX) {
        return -EINVAL;
    }
    mapped = mmap(NULL, (size_t)file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
        return -errno;
    }
    error = find_in(mapped, file_bytes, boot, wanted, table);
    munmap(mapped, (size_t)file_bytes);
    return error;
}

/* Return why nothing was found, for people. */
static const char *
explain(int error)
{
    switch (error) {
    case -EINVAL:
        return "it is not of this boot, or not in order";
    case -ENXIO:
        return "a hit is outside of the core";
    default:
        return strerror(-error);
    }
}

int
kernel_cache_find(const char *folder, const char *boot, const struct sym_wanted *wanted,
                  struct kernel_table *table)
{
    const char *why = "";
    const int folder_fd = private_folder_open(folder, &why);
    struct stat status;
    const int fd = folder_fd < 0
                       ? -1
                       : private_folder_open_file(folder_fd, "kernel", &status, &why);
    int error = -EINVAL;

    if (fd >= 0) {
        error = map_and_find(fd, (uint64_t)status.st_size, boot, wanted, table);
        why = error == 0 ? "" : explain(error);
        close(fd);
    }
    if (folder_fd >= 0) {
        close(folder_fd);
    }
    if (error != 0) {
        kernel_table_finish(table);
        *table = (struct kernel_table){.core = {0}};
    }
    COMMAND_LOG("symbols of the kernel: %s %s/kernel%s%s",
                error == 0 ? "read from" : "not from", folder, error == 0 ? "" : ": ",
                why);
    return error;
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
