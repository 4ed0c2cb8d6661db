/* SPDX-License-Identifier: MIT */
/* kernel_cache.c - reads and writes the file "kernel" in a folder of root's. */
#include "symbols/client/kernel_cache.h"

#include "base/command_log.h"
#include "base/whole_file.h"
#include "symbols/border/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger file is not read. Real ones have 5 MB. */
#define FILE_BYTES_MAX (UINT64_C(1) << 26)

/* header - of the file. The state, texts, symbols and names follow. */
struct header {
    char magic[16];
    uint64_t state_bytes;
    uint64_t texts_bytes;
    uint64_t symbols_bytes;
    uint64_t names_bytes;
    struct kernel_text core;
};

static const char magic[16] = "ntprof kernel 1";

/* --- states --- */

/* Append the boot's number. Returns false if it cannot be read. */
static bool
add_boot(struct buffer *state)
{
    FILE *const file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char line[64] = "";
    const bool read = file != NULL && fgets(line, sizeof(line), file) != NULL;

    if (file != NULL) {
        fclose(file);
    }
    buffer_append_text(state, line);
    return read;
}

/* Append what is known of a module by its line in /proc/modules, without how many use
 * it: a module that is loaded again has another folder in /sys. Returns false if the
 * line is none, or of a module that is being loaded or removed. */
static bool
add_module(struct buffer *state, const char *line)
{
    char path[256];
    char name[128];
    char size[32];
    char phase[16];
    char address[32];
    struct stat status;

    if (sscanf(line, "%127s %31s %*s %*s %15s %31s", name, size, phase, address) != 4 ||
        strcmp(phase, "Live") != 0 || strchr(name, '/') != NULL) {
        return false;
    }
    snprintf(path, sizeof(path), "/sys/module/%s", name);
    if (stat(path, &status) != 0) {
        return false;
    }
    buffer_print(state, "%s %s %s %llu\n", name, size, address,
                 (unsigned long long)status.st_ino);
    return true;
}

char *
kernel_cache_state(void)
{
    FILE *const modules = fopen("/proc/modules", "re"); /* NULL: there are none */
    struct buffer state = {.data = NULL};
    bool known = add_boot(&state);
    char *line = NULL;
    size_t room = 0;

    while (known && modules != NULL && getline(&line, &room, modules) > 0) {
        known = add_module(&state, line);
    }
    free(line);
    if (modules != NULL) {
        known &= ferror(modules) == 0;
        fclose(modules);
    }
    if (!known || buffer_text(&state) == NULL) {
        buffer_finish(&state);
        return NULL;
    }
    return (char *)state.data;
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

/* Open the folder. Returns its descriptor, or -1. */
static int
open_folder(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (folder >= 0 && !is_own(folder, S_IFDIR, &status)) {
        COMMAND_LOG("%s is not used: it is not the caller's alone", path);
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

/* Whether the parts that a header names are together what is behind it. */
static bool
fits(const struct header *header, uint64_t file_bytes)
{
    const uint64_t sizes[] = {header->state_bytes, header->texts_bytes,
                              header->symbols_bytes, header->names_bytes};
    uint64_t left = file_bytes - sizeof(*header);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] > left) {
            return false;
        }
        left -= sizes[i];
    }
    return left == 0 && memcmp(header->magic, magic, sizeof(magic)) == 0 &&
           header->texts_bytes % sizeof(struct kernel_text) == 0 &&
           header->symbols_bytes % sizeof(struct kernel_symbol) == 0;
}

/* Linux's names have at most 511 characters, also of modules. */
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
        if (symbols[i].name >= names->size || symbols[i].module >= names->size ||
            symbols[i].rank > SYM_RANK_GLOBAL || symbols[i].sought ||
            (i > 0 && symbols[i].address < symbols[i - 1].address)) {
            return false;
        }
    }
    return true;
}

/* Whether the next bytes are those of a text. */
static bool
read_same(int fd, const char *text, uint64_t size)
{
    char *const read_text = size == strlen(text) ? malloc((size_t)size + 1) : NULL;
    const bool same = read_text != NULL && read_all(fd, read_text, (size_t)size) &&
                      memcmp(read_text, text, (size_t)size) == 0;

    free(read_text);
    return same;
}

static bool
read_table(int fd, const char *state, struct kernel_table *table)
{
    struct header header;
    struct stat status;

    if (!is_own(fd, S_IFREG, &status) || status.st_nlink != 1 ||
        status.st_size < (off_t)sizeof(header) ||
        (uint64_t)status.st_size > FILE_BYTES_MAX ||
        !read_all(fd, &header, sizeof(header)) ||
        !fits(&header, (uint64_t)status.st_size) ||
        !read_same(fd, state, header.state_bytes)) {
        return false;
    }
    table->core = header.core;
    return read_buffer(fd, &table->texts, header.texts_bytes) &&
           read_buffer(fd, &table->symbols, header.symbols_bytes) &&
           read_buffer(fd, &table->names, header.names_bytes) && is_valid(table);
}

bool
kernel_cache_read(const char *folder, const char *state, struct kernel_table *table)
{
    const int folder_fd = open_folder(folder);
    const int fd = folder_fd < 0
                       ? -1
                       : openat(folder_fd, "kernel",
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool read = fd >= 0 && read_table(fd, state, table);

    if (fd >= 0) {
        close(fd);
    }
    if (folder_fd >= 0) {
        close(folder_fd);
    }
    COMMAND_LOG("symbols of the kernel: %s %s/kernel", read ? "read from" : "not from",
                folder);
    return read;
}

/* --- writing --- */

/* Append the symbols in texts. */
static void
add_lasting(struct buffer *symbols, const struct kernel_table *table)
{
    size_t count;
    const struct kernel_symbol *const all = kernel_table_symbols(table, &count);

    for (size_t i = 0; i < count; i++) {
        if (kernel_table_text(table, all[i].address) != NULL) {
            buffer_append(symbols, &all[i], sizeof(all[i]));
        }
    }
}

static bool
write_table(int fd, const char *state, const struct kernel_table *table)
{
    struct buffer symbols = {.data = NULL};
    struct header header = {.state_bytes = strlen(state),
                            .texts_bytes = table->texts.size,
                            .names_bytes = table->names.size,
                            .core = table->core};
    bool written;

    memcpy(header.magic, magic, sizeof(magic));
    add_lasting(&symbols, table);
    header.symbols_bytes = symbols.size;
    written = !symbols.failed && whole_file_write(fd, &header, sizeof(header)) &&
              whole_file_write(fd, state, (size_t)header.state_bytes) &&
              whole_file_write(fd, table->texts.data, table->texts.size) &&
              whole_file_write(fd, symbols.data, symbols.size) &&
              whole_file_write(fd, table->names.data, table->names.size);
    buffer_finish(&symbols);
    return written;
}

/* Give a file without a name that of the cache. Returns false with errno. */
static bool
name_file(int folder, int fd)
{
    char way[40];
    char name[40];

    snprintf(way, sizeof(way), "/proc/self/fd/%d", fd);
    snprintf(name, sizeof(name), ".kernel-%ld", (long)getpid());
    /* Of a command that was killed between the two: it had this number. */
    (void)unlinkat(folder, name, 0);
    if (linkat(AT_FDCWD, way, folder, name, AT_SYMLINK_FOLLOW) != 0) {
        return false;
    }
    if (renameat(folder, name, folder, "kernel") != 0) {
        (void)unlinkat(folder, name, 0);
        return false;
    }
    return true;
}

void
kernel_cache_write(const char *folder, const char *state,
                   const struct kernel_table *table)
{
    const bool made = mkdir(folder, 0700) == 0 || errno == EEXIST;
    const int folder_fd = made ? open_folder(folder) : -1;
    const int fd = folder_fd < 0
                       ? -1
                       : openat(folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    const bool written =
        fd >= 0 && write_table(fd, state, table) && name_file(folder_fd, fd);

    COMMAND_LOG("symbols of the kernel: %s %s/kernel%s%s",
                written ? "written to" : "not written to", folder, written ? "" : ": ",
                written ? "" : strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    if (folder_fd >= 0) {
        close(folder_fd);
    }
}
