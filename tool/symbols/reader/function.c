/* SPDX-License-Identifier: MIT */
/* function.c - searches the symbols by name, then by demangled name, and finds the
 * offset. */
#include "symbols/reader/reader.h"

#include "base/budget.h"
#include "symbols/border/demangle.h"
#include "symbols/reader/debug_file.h"
#include "symbols/reader/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Add the names of all symbol tables of an image, or of its debug file, to a table that
 * is not built: a built one keeps only one of those that share an address. Returns 0 or
 * a negative errno. */
static int
add_names(const struct sym_elf *file, const char *path, const struct sym_files *files,
          const struct sym_elf_versions *versions, struct sym_table *table)
{
    struct sym_debug_file found = {.fd = -1, .root = ""};
    struct sym_elf debug;
    char note[256];
    int added = sym_elf_add_symbols(file, SHT_SYMTAB, versions, table);

    if (added == 0) {
        sym_debug_file_open(file, path, "", files, &found, note, sizeof(note));
        if (found.fd >= 0 && sym_elf_open(&debug, found.fd) == 0) {
            added = sym_elf_add_symbols(&debug, SHT_SYMTAB, versions, table);
            sym_elf_close(&debug);
        }
        if (found.fd >= 0) {
            close(found.fd);
        }
    }
    if (added == 0) {
        added = sym_elf_add_mini_debuginfo(file, versions, table);
    }
    if (added >= 0) {
        added = sym_elf_add_symbols(file, SHT_DYNSYM, /* versions */ NULL, table);
    }
    return added < 0 ? added : 0;
}

/* Whether an entry has this name, with or without its symbol version. */
static bool
is_named(const struct sym_entry *entry, const char *name)
{
    const size_t length = sym_shown_length(entry->name, entry->tag);

    return strcmp(entry->name, name) == 0 ||
           (strlen(name) == length && strncmp(entry->name, name, length) == 0);
}

/* Whether a demangled name is this one, with or without its parameters. */
static bool
is_named_without(const char *demangled, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(demangled, name, length) == 0 &&
           (demangled[length] == '\0' || demangled[length] == '(');
}

/* Whether a mangled name demangles to this one, with or without parameters. Parts that
 * a compiler split off, such as cold ones, do not count. */
static bool
is_demangled_as(const char *entry, const char *name)
{
    char *const demangled = sym_demangle(entry);
    const bool named = demangled != NULL && is_named_without(demangled, name) &&
                       strstr(demangled, " [clone .cold") == NULL &&
                       strstr(demangled, " [clone .part") == NULL;

    free(demangled);
    return named;
}

/* Set address, offset and segment_bytes from the executable segment that has an
 * address. Returns false if there is none. */
static bool
set_offset(const struct sym_elf *file, uint64_t address, struct sym_function *found)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *const segment = &file->segments[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            found->offset = segment->p_offset + (address - segment->p_vaddr);
            found->address = address;
            found->segment_bytes = segment->p_filesz - (address - segment->p_vaddr);
            return true;
        }
    }
    return false;
}

/* Count the functions with a name, at different addresses, and set the members of found
 * to those of the last one.
 *
 *   demangle  compare demangled names
 */
static void
find_by_name(const struct sym_elf *file, const struct sym_table *table,
             const char *name, bool demangle, struct sym_function *found)
{
    for (size_t i = 0; i < table->entry_count; i++) {
        const struct sym_entry *const entry = &table->entries[i];

        if (found->count > 0 && entry->start == found->address) {
            continue;
        }
        if ((demangle ? is_demangled_as(entry->name, name) : is_named(entry, name)) &&
            set_offset(file, entry->start, found)) {
            found->bytes = entry->sized ? entry->end - entry->start : 0;
            found->count++;
        }
    }
}

int
sym_reader_find_function(int fd, const char *path, const char *name, uint64_t bytes,
                         const struct sym_files *files, struct sym_function *found)
{
    struct sym_budget budget;
    struct sym_table table = {.budget = &budget};
    struct sym_elf_versions versions;
    struct sym_elf file;
    GElf_Ehdr header;
    int result = sym_elf_open(&file, fd);

    *found = (struct sym_function){0};
    if (result != 0) {
        return result;
    }
    sym_budget_begin(&budget, bytes);
    found->fixed = gelf_getehdr(file.elf, &header) != NULL && header.e_type == ET_EXEC;
    found->count = strncmp(name, "0x", 2) == 0 &&
                   set_offset(&file, strtoull(name, NULL, 16), found);
    sym_elf_versions_read(&versions, &file);
    result = found->count == 0 ? add_names(&file, path, files, &versions, &table) : 0;
    sym_elf_versions_finish(&versions);
    if (result == 0) {
        find_by_name(&file, &table, name, /* demangle */ false, found);
    }
    if (result == 0 && found->count == 0) { /* it may be a demangled name */
        find_by_name(&file, &table, name, /* demangle */ true, found);
    }
    sym_table_finish(&table);
    sym_elf_close(&file);
    return budget.refused ? -EFBIG : result;
}
