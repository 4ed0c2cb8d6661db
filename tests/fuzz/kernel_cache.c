/* SPDX-License-Identifier: MIT */
/* kernel_cache.c - fuzz target: a forged cache of the kernel's functions. */
#include "symbols/client/kernel_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/ntprof-fuzz-XXXXXX";

static void
remove_folder(void)
{
    char path[sizeof(folder) + 8];

    strcpy(path, folder);
    unlink(strcat(path, "/kernel"));
    rmdir(folder);
}

/* Write the file anew: its mode is what the cache demands. */
static void
write_file(const uint8_t *data, size_t size)
{
    static bool made;
    char path[sizeof(folder) + 8];
    int fd;

    if (!made && (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)) {
        abort();
    }
    made = true;
    strcpy(path, folder);
    fd = open(strcat(path, "/kernel"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0) {
        abort();
    }
}

/* Whatever was read can be looked up: names are parts of the file, of this size. */
static void
look_around(const struct sym_wanted *wanted, size_t size)
{
    static const char boot[KERNEL_BOOT_BYTES] = "boot\n";
    struct kernel_table table = {.core = {0}};
    struct sym_map *map;
    uint64_t begin;
    uint64_t end;

    if (kernel_cache_find(folder, boot, wanted, &table) != 0) {
        return;
    }
    map = kernel_table_map(&table, &begin, &end);
    for (size_t i = 0; map != NULL && i < map->table.range_count; i++) {
        const struct sym_range range = map->table.ranges[i];
        struct sym_name name;
        const char *module;

        if (range.start >= range.end ||
            !sym_map_lookup(map, range.start, &name, &module) ||
            strlen(name.name) + strlen(module) > size) {
            abort();
        }
    }
    sym_map_close(map);
}

/* Places are looked for one by one, since all must be in the text that the file says
 * is the core's. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t places[] = {0, 0x10, 0x1000, 0xffffffff81000000,
                                      0xffffffff81000508};
    static const uint64_t sizes[] = {1, 8, 0x1000};

    write_file(data, size);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            look_around(&(struct sym_wanted){&places[i], 1, sizes[j]}, size);
        }
    }
    return 0;
}
