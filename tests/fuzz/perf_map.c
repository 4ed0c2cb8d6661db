/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - fuzz target: a forged perf map; and the same bytes as the kernel's
 * symbols and as a mangled name.
 */
#include "symbols/border/demangle.h"
#include "symbols/border/name_map.h"
#include "symbols/client/kernel.h"
#include "symbols/reader/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *
copy_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL) {
        abort();
    }
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void
look_around(struct sym_map *map)
{
    if (map == NULL) {
        return;
    }
    for (size_t i = 0; i < map->table.range_count; i++) {
        const struct sym_range range = map->table.ranges[i];
        struct sym_name name;
        const char *module;

        if (range.start >= range.end ||
            (i > 0 && map->table.ranges[i - 1].end > range.start) ||
            !sym_map_lookup(map, range.start, &name, &module) ||
            !sym_map_lookup(map, range.end - 1, &name, &module)) {
            abort();
        }
    }
    sym_map_close(map);
}

static const uint64_t places[] = {
    0, 0x10, 0x1000, 0x1234, 0xffffffff81000010, UINT64_MAX - 64};

static const struct sym_wanted wanted = {places, sizeof(places) / sizeof(places[0]), 8};

static int
write_file(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("names", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
        lseek(fd, 0, SEEK_SET) != 0) {
        abort();
    }
    return fd;
}

/* The kernel's symbols, all or those wanted, and its modules from the same text. */
static void
read_kernel(const uint8_t *data, size_t size, const struct sym_wanted *some)
{
    FILE *const kallsyms = fdopen(write_file(data, size), "r");
    FILE *const modules = fdopen(write_file(data, size), "r");
    uint64_t begin;
    uint64_t end;

    if (kallsyms == NULL || modules == NULL) {
        abort();
    }
    look_around(sym_map_read_kernel(kallsyms, modules, some, &begin, &end));
    fclose(kallsyms);
    fclose(modules);
}

/* Each line that stays names a place. */
static void
read_perf(const uint8_t *data, size_t size)
{
    const int fd = write_file(data, size);
    struct sym_map *const map = sym_reader_perf_map(fd, size, &wanted);

    close(fd);
    if (map == NULL || map->table.range_count > 4 * wanted.count) {
        abort();
    }
    look_around(map);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy_text(data, size);

    read_perf(data, size);
    free(sym_demangle(text));
    free(text);
    read_kernel(data, size, NULL);
    read_kernel(data, size, &wanted);
    return 0;
}
