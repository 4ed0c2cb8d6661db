/* SPDX-License-Identifier: MIT */
/*
 * function_source.c - looks the name up in the file, and in the mappings of processes.
 *
 * A uprobe needs only the file. A breakpoint needs the address in the process, which is
 * known for a program that is linked at a fixed address, and for running processes.
 */
#include "record/function_source.h"

#include "base/text.h"
#include "record/collect/map_line.h"
#include "symbols/client/function.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

static const char prefix[] = "function:";

bool
function_source_is(const char *text)
{
    return strncasecmp(text, prefix, sizeof(prefix) - 1) == 0;
}

/* Split text into the path of the image and the name of the function in it. Without an
 * image, path becomes that of the program. Returns false with the reason in why, which
 * for a long path the caller has set. */
static bool
find_image(const char *text, const struct program_choice *choice, char *path,
           size_t path_size, const char **name, char *why, size_t why_size)
{
    const char *const image_end = text[0] == '/' ? strchr(text, ':') : NULL;

    *name = text;
    if (image_end != NULL) {
        *name = image_end + 1;
        return snprintf(path, path_size, "%.*s", (int)(image_end - text), text) <
               (int)path_size;
    }
    return program_file_find(choice, "function:/IMAGE:NAME", path, path_size, why,
                             why_size);
}

/* Set how Linux shows a mapping of an open file: on overlayfs and btrfs with another
 * device than fstat has. So the file is mapped, and not read. Returns false if that
 * fails. */
static bool
read_identity(int image, struct map_line *identity)
{
    void *const page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, image, 0);
    FILE *maps;
    bool found = false;

    if (page == MAP_FAILED) {
        return false;
    }
    maps = map_line_open((uint32_t)getpid());
    while (maps != NULL && !found && map_line_read(maps, identity)) {
        found = identity->begin <= (uintptr_t)page && (uintptr_t)page < identity->end;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    munmap(page, 1);
    return found;
}

/* Return the address at which a process maps the byte at offset of a file as
 * executable; 0 if it does not. */
static uint64_t
mapped_at(uint32_t pid, const struct map_line *identity, uint64_t offset)
{
    FILE *const maps = map_line_open(pid);
    struct map_line line;
    uint64_t found = 0;

    while (maps != NULL && found == 0 && map_line_read(maps, &line)) {
        if (line.executable && line.inode == identity->inode &&
            line.device_major == identity->device_major &&
            line.device_minor == identity->device_minor && offset >= line.offset &&
            offset - line.offset < line.end - line.begin) {
            found = line.begin + (offset - line.offset);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Return the address at which the processes map the byte at offset of image, if it is
 * the same in all of them; otherwise 0. */
static uint64_t
common_address(const uint32_t *pids, size_t count, int image, uint64_t offset)
{
    struct map_line identity;
    uint64_t common = 0;

    if (!read_identity(image, &identity)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t address = mapped_at(pids[i], &identity, offset);

        if (address == 0 || (i > 0 && address != common)) {
            return 0;
        }
        common = address;
    }
    return common;
}

/* Look up the one function of this name in an open image. Returns false with the reason
 * in why if there is none, or several, or it cannot be read. */
static bool
find_function(int image, const char *path, const char *name, uint64_t memory_max,
              struct sym_function *found, char *why, size_t why_size)
{
    const int result = sym_find_function(image, path, name, memory_max, found);
    char shown[128];

    text_show(shown, sizeof(shown), path);
    if (result == -ENOEXEC) {
        snprintf(why, why_size,
                 "%s is no ELF program (a script?); say in which image: "
                 "function:/IMAGE:NAME",
                 shown);
    } else if (result == -ETIME) {
        snprintf(why, why_size,
                 "it is not found in %d s of processor time in the symbols of %s; say "
                 "where it is by uprobe:IMAGE+0xOFFSET",
                 SYM_FUNCTION_SECONDS, shown);
    } else if (result == -EFBIG) {
        snprintf(why, why_size,
                 "the symbols of %s take more than --max-memory allows, 1 GiB without "
                 "it",
                 shown);
    } else if (result < 0) {
        snprintf(why, why_size, "%s cannot be read: %s", shown, strerror(-result));
    } else if (found->count == 0) {
        snprintf(
            why, why_size,
            "%s has no function of this name in its symbol tables; one of a library: "
            "function:/LIBRARY:NAME",
            shown);
    } else if (found->count > 1) {
        snprintf(why, why_size,
                 "%s has %zu functions of this name; say which by "
                 "uprobe:IMAGE+0xOFFSET",
                 shown, found->count);
    }
    return result == 0 && found->count == 1;
}

/* Set the names of the sources that count a function. The uprobe refers to the open
 * file, even if its path is replaced later. Returns false if memory runs out. */
static bool
name_sources(struct function_source *source, const struct sym_function *found,
             const uint32_t *pids, size_t pid_count)
{
    const uint64_t address =
        found->fixed ? found->address
                     : common_address(pids, pid_count, source->image, found->offset);

    if (address != 0) {
        snprintf(source->breakpoint, sizeof(source->breakpoint),
                 "breakpoint:0x%" PRIx64, address);
    }
    if (asprintf(&source->uprobe, "uprobe:/proc/self/fd/%d+0x%" PRIx64, source->image,
                 found->offset) < 0) {
        source->uprobe = NULL;
    }
    return source->uprobe != NULL;
}

bool
function_source_resolve(struct function_source *source, const char *text,
                        const struct program_choice *choice, uint64_t memory_max,
                        char *why, size_t why_size)
{
    struct sym_function found;
    const char *name;
    char path[PATH_MAX];

    *source = (struct function_source){0};
    snprintf(why, why_size, "the path of the image is too long");
    if (!find_image(text + sizeof(prefix) - 1, choice, path, sizeof(path), &name, why,
                    why_size)) {
        return false;
    }
    source->image = program_file_open(path, why, why_size);
    if (source->image < 0) {
        source->image = 0;
        return false;
    }
    if (find_function(source->image, path, name, memory_max, &found, why, why_size)) {
        if (name_sources(source, &found, choice->pids, choice->pid_count)) {
            return true;
        }
        snprintf(why, why_size, "out of memory");
    }
    close(source->image);
    *source = (struct function_source){0};
    return false;
}

void
function_source_finish(struct function_source *source)
{
    if (source->uprobe != NULL) {
        close(source->image);
        free(source->uprobe);
    }
    *source = (struct function_source){0};
}
