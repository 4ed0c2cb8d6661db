/* SPDX-License-Identifier: MIT */
/* naming.c - addresses, functions and books for what was counted. */
#include "collect/naming.h"
#include "sym/sym.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* What names the places of an image: one of the two, or none. */
struct namer {
    struct sym_image *elf;
    struct sym_map *map;
    bool kernel;
};

bool
naming_add_source(struct profile *profile, ntprof_session *session,
                  KPROFILE_SOURCE source)
{
    ntprof_source_info info = {.size = sizeof(info)};
    struct profile_source column = {0};
    uint32_t index;

    if (!NT_SUCCESS(ntprof_source_get(session, source, &info))) {
        return false;
    }
    column.name = info.name;
    column.nt_name = info.nt_name;
    column.unit = info.unit == NTPROF_UNIT_100NS ? "100ns" : "events";
    return profile_add_source(profile, &column, &index);
}

bool
naming_read_books(struct profile *profile, ntprof_session *session,
                  const KPROFILE_SOURCE *sources, size_t source_count)
{
    for (size_t i = 0; i < source_count; i++) {
        ntprof_source_info info = {.size = sizeof(info)};
        struct profile_source *const column = &profile->sources[i];

        if (!NT_SUCCESS(ntprof_source_get(session, sources[i], &info))) {
            return false;
        }
        column->kernel_included = info.kernel_included != 0;
        column->asked = info.interval_asked;
        column->granted = info.interval_granted;
        column->measured = info.interval_measured;
        column->expected = info.expected;
        column->taken = info.taken;
        column->counted = info.counted;
        column->outside = info.outside;
        column->lost = info.lost;
        column->throttled = info.throttled;
        column->missed = info.missed;
        column->unfinished = info.unfinished;
        column->excluded = info.excluded;
    }
    return true;
}

/* Our own vdso is the one of all 64-bit processes: the kernel has one copy. */
static struct sym_image *
open_vdso(void)
{
    const uintptr_t begin = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct sym_image *image = NULL;
    FILE *const maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t capacity = 0;

    while (maps != NULL && image == NULL && getline(&line, &capacity, maps) > 0) {
        uintptr_t first;
        uintptr_t end;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) == 2 &&
            first == begin && begin != 0) {
            image = sym_image_open_memory((const void *)begin, end - first, "[vdso]");
        }
    }
    free(line);
    if (maps != NULL) {
        fclose(maps);
    }
    return image;
}

static void
namer_open(struct namer *namer, struct image *image)
{
    uint64_t begin;
    uint64_t end;

    switch (image->kind) {
    case IMAGE_FILE:
        if (image->fd >= 0) {
            namer->elf = sym_image_open(image->fd, image->path, "");
            image->fd = -1;
        }
        break;
    case IMAGE_VDSO:
        if (strcmp(image->path, "[vdso]") == 0) {
            namer->elf = open_vdso();
        }
        break;
    case IMAGE_ANONYMOUS:
        namer->map = sym_map_open_perf(image->pid);
        break;
    case IMAGE_KERNEL:
        namer->map = sym_map_open_kernel(&begin, &end);
        namer->kernel = true;
        break;
    case IMAGE_KERNEL_MAP:
        break; /* has no counts of its own */
    }
}

static void
namer_close(struct namer *namer)
{
    sym_image_close(namer->elf);
    sym_map_close(namer->map);
}

/* Address and, if it returns true, name of a place. */
static bool
namer_look_up(const struct namer *namer, uint64_t place, struct sym_name *name,
              const char **module)
{
    *name = (struct sym_name){.address = place};
    *module = "";
    if (namer->elf != NULL) {
        if (!sym_image_address(namer->elf, place, &name->address)) {
            name->address = place;
        }
        return sym_image_lookup(namer->elf, place, name);
    }
    return namer->map != NULL && sym_map_lookup(namer->map, place, name, module);
}

static bool
add_function(struct profile *profile, const struct sym_name *name, uint32_t *index)
{
    const struct profile_function function = {
        .name = name->name,
        .system_name = name->system_name,
        .file = name->file != NULL ? name->file : "",
    };

    return profile_add_function(profile, &function, index);
}

/* The module's image of a kernel row. */
static bool
add_module(struct profile *profile, const char *module, uint32_t *index)
{
    char path[80];
    const struct profile_image image = {.path = path, .build_id = "", .named = true};

    snprintf(path, sizeof(path), "[%s]", module);
    return profile_add_image(profile, &image, index);
}

static bool
add_image(struct profile *profile, const struct image *image, const struct namer *namer,
          uint32_t *index)
{
    const uint64_t page = UINT64_C(4096);
    const struct image_count *const last = &image->counts[image->count - 1];
    struct profile_image added = {.path = image->path, .build_id = ""};
    struct sym_name name;
    const char *module;

    added.offset = image->counts[0].place & ~(page - 1);
    (void)namer_look_up(namer, image->counts[0].place, &name, &module);
    added.start = name.address & ~(page - 1);
    (void)namer_look_up(namer, last->place, &name, &module);
    added.limit = (name.address | (page - 1)) + 1;
    if (image->kind != IMAGE_FILE) {
        added.offset = 0;
    }
    if (namer->elf != NULL) {
        added.build_id = sym_image_build_id(namer->elf);
        added.named = sym_image_has_symbols(namer->elf);
    } else {
        added.named = namer->map != NULL;
    }
    return profile_add_image(profile, &added, index);
}

static bool
add_row(struct profile *profile, const struct namer *namer, uint32_t image,
        const struct image_count *count)
{
    const uint64_t bucket = profile->bucket_bytes;
    struct sym_name name;
    const char *module;
    uint64_t address;
    uint32_t function = 0;
    bool found = namer_look_up(namer, count->place, &name, &module);

    address = name.address & ~(bucket - 1);
    if (!found) {
        /* A bucket may begin in the padding before its function. */
        found = namer_look_up(namer, count->place + (bucket - 1), &name, &module);
    }
    if (found && name.name != NULL && !add_function(profile, &name, &function)) {
        return false;
    }
    if (namer->kernel && module[0] != '\0' && !add_module(profile, module, &image)) {
        return false;
    }
    return profile_add_hits(profile, image, address, count->program, function,
                            found ? name.line : 0, count->source, count->hits);
}

bool
naming_add_rows(struct profile *profile, struct image *image)
{
    struct namer namer = {0};
    uint32_t index = 0;
    bool complete;

    image_merge_counts(image);
    if (image->count == 0) {
        return true;
    }
    namer_open(&namer, image);
    complete = add_image(profile, image, &namer, &index);
    for (size_t i = 0; complete && i < image->count; i++) {
        complete = add_row(profile, &namer, index, &image->counts[i]);
    }
    namer_close(&namer);
    return complete;
}
