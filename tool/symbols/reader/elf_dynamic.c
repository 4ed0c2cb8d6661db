/* SPDX-License-Identifier: MIT */
/*
 * elf_dynamic.c - reads PT_DYNAMIC and what it leads to. Each offset is checked before
 * it is followed, and lists have bounds that no real file comes near.
 */
#include "symbols/reader/elf_dynamic.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 1 << 12, VERSIONS_MAX = 1 << 12, VERSION_BYTES_MAX = 256 };

/* Read a number of width bytes at a file offset, in the byte order of the file. Beyond
 * the end of the file *failed is set, and the result is 0. */
static uint64_t
get_number(const struct sym_elf *file, uint64_t offset, size_t width, bool *failed)
{
    unsigned char bytes[8] = {0};
    uint64_t number = 0;

    if (!sym_elf_read(file, offset, bytes, width)) {
        *failed = true;
    }
    for (size_t i = 0; i < width; i++) {
        number |= (uint64_t)bytes[file->big_endian ? width - 1 - i : i] << 8 * i;
    }
    return number;
}

/* Keep the value of an entry of PT_DYNAMIC if it is one of those that are needed. */
static void
keep_entry(struct sym_elf_dynamic *dynamic, uint64_t tag, uint64_t value)
{
    switch (tag) {
    case DT_SYMTAB:
        dynamic->symbols = value;
        break;
    case DT_SYMENT:
        dynamic->symbol_bytes = value;
        break;
    case DT_STRTAB:
        dynamic->strings = value;
        break;
    case DT_STRSZ:
        dynamic->strings_size = value;
        break;
    case DT_HASH:
        dynamic->hash = value;
        break;
    case DT_GNU_HASH:
        dynamic->gnu_hash = value;
        break;
    case DT_VERDEF:
        dynamic->defined_versions = value;
        break;
    case DT_VERNEED:
        dynamic->needed_versions = value;
        break;
    default:
        break;
    }
}

bool
sym_elf_dynamic_read(struct sym_elf_dynamic *dynamic, const struct sym_elf *file)
{
    const size_t width = file->wide ? 8 : 4;
    const GElf_Phdr *segment = NULL;
    bool failed = false;

    *dynamic = (struct sym_elf_dynamic){.symbols = 0};
    for (size_t i = 0; i < file->segment_count && segment == NULL; i++) {
        segment = file->segments[i].p_type == PT_DYNAMIC ? &file->segments[i] : NULL;
    }
    if (segment == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < ENTRIES_MAX && 2 * width * (i + 1) <= segment->p_filesz;
         i++) {
        const uint64_t at = segment->p_offset + 2 * width * i;
        const uint64_t tag = get_number(file, at, width, &failed);

        if (failed || tag == DT_NULL) {
            break;
        }
        keep_entry(dynamic, tag, get_number(file, at + width, width, &failed));
    }
    return !failed;
}

/* --- how many symbols --- */

/* Return the highest number of a symbol at which the chain of a bucket starts: that is
 * the last chain. */
static uint64_t
last_chain(const struct sym_elf *file, uint64_t buckets, uint64_t count, bool *failed)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < count && !*failed; i++) {
        const uint64_t first = get_number(file, buckets + 4 * i, 4, failed);

        last = first > last ? first : last;
    }
    return last;
}

/* Count the symbols by .gnu.hash, at an offset of the file. It has the hash of each
 * symbol from a first one on; the lowest bit of a hash ends a bucket's chain. Returns 0
 * if it is damaged. */
static uint64_t
count_by_gnu_hash(const struct sym_elf *file, uint64_t at)
{
    bool failed = false;
    /* Words: buckets, first symbol, words of the bloom filter, its shift; then the
     * filter, the buckets, and for each symbol a word whose bit 0 ends its chain. */
    const uint64_t bucket_count = get_number(file, at, 4, &failed);
    const uint64_t first = get_number(file, at + 4, 4, &failed);
    const uint64_t bloom = get_number(file, at + 8, 4, &failed);
    const uint64_t buckets = at + 16 + bloom * (file->wide ? 8 : 4);
    uint64_t last = last_chain(file, buckets, bucket_count, &failed);

    if (failed || last < first) { /* no symbol has a hash: all are below first */
        return failed ? 0 : first;
    }
    while (!failed &&
           (get_number(file, buckets + 4 * (bucket_count + last - first), 4, &failed) &
            1) == 0) {
        last++;
    }
    return failed ? 0 : last + 1;
}

uint64_t
sym_elf_dynamic_count(const struct sym_elf_dynamic *dynamic, const struct sym_elf *file)
{
    bool failed = false;
    uint64_t offset;
    uint64_t count;
    uint64_t left;

    if (sym_elf_find_offset(file, dynamic->hash, &offset, &left) &&
        dynamic->hash != 0) {
        /* Its second word is the number of chains: one for each symbol. */
        count = get_number(file, offset + 4, 4, &failed);
        return failed ? 0 : count;
    }
    return dynamic->gnu_hash != 0 &&
                   sym_elf_find_offset(file, dynamic->gnu_hash, &offset, &left)
               ? count_by_gnu_hash(file, offset)
               : 0;
}

/* --- versions --- */

/* reader - the state while the list of versions is read. */
struct reader {
    const struct sym_elf *file;
    struct sym_elf_versions *versions;
    uint64_t strings; /* offset in the file of the names, and size */
    uint64_t strings_size;
    bool failed;
};

/* Add the version whose name is at an offset of the strings. */
static void
add_version(struct reader *reader, uint64_t name)
{
    struct sym_elf_versions *const versions = reader->versions;
    uint64_t most = VERSION_BYTES_MAX;

    if (reader->failed || name >= reader->strings_size ||
        versions->count == VERSIONS_MAX) {
        reader->failed = true;
        return;
    }
    most = reader->strings_size - name < most ? reader->strings_size - name : most;
    versions->names[versions->count] =
        strndup((const char *)reader->file->bytes + reader->strings + name, most);
    reader->failed = versions->names[versions->count] == NULL;
    versions->count += !reader->failed;
}

/* Read a field of width bytes at a file offset. */
static uint64_t
field(struct reader *reader, uint64_t at, size_t width)
{
    return get_number(reader->file, at, width, &reader->failed);
}

/* Read the versions that the file defines, from the list at a file offset. An item is a
 * struct Elf64_Verdef (in 32 bits it is the same), and the first of its names is that
 * of the version; an item with VER_FLG_BASE names the file itself. */
static void
read_defined(struct reader *reader, uint64_t at)
{
    for (uint64_t next = 1; next != 0 && !reader->failed; at += next) {
        const bool is_file = (field(reader, at + 2, 2) & VER_FLG_BASE) != 0;
        const uint64_t names = at + field(reader, at + 12, 4);

        if (!is_file) {
            add_version(reader, field(reader, names, 4));
        }
        next = field(reader, at + 16, 4);
    }
}

/* Read the versions that the file needs, from the list at a file offset: a struct
 * Elf64_Verneed for each library, and a struct Elf64_Vernaux for each version of it. */
static void
read_needed(struct reader *reader, uint64_t at)
{
    for (uint64_t next = 1; next != 0 && !reader->failed; at += next) {
        uint64_t version = at + field(reader, at + 8, 4);

        for (uint64_t step = 1; step != 0 && !reader->failed; version += step) {
            add_version(reader, field(reader, version + 8, 4));
            step = field(reader, version + 12, 4);
        }
        next = field(reader, at + 12, 4);
    }
}

static int
compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void
sym_elf_versions_read(struct sym_elf_versions *versions, const struct sym_elf *file)
{
    struct reader reader = {.file = file, .versions = versions};
    struct sym_elf_dynamic dynamic;
    uint64_t offset;
    uint64_t left;

    *versions = (struct sym_elf_versions){.names = NULL};
    if (!sym_elf_dynamic_read(&dynamic, file) ||
        !sym_elf_find_offset(file, dynamic.strings, &reader.strings, &left)) {
        return;
    }
    reader.strings_size = dynamic.strings_size < left ? dynamic.strings_size : left;
    versions->names = calloc(VERSIONS_MAX, sizeof(*versions->names));
    if (versions->names == NULL) {
        return;
    }
    if (dynamic.defined_versions != 0 &&
        sym_elf_find_offset(file, dynamic.defined_versions, &offset, &left)) {
        read_defined(&reader, offset);
    }
    reader.failed = false; /* the other list may be good */
    if (dynamic.needed_versions != 0 &&
        sym_elf_find_offset(file, dynamic.needed_versions, &offset, &left)) {
        read_needed(&reader, offset);
    }
    if (versions->count > 0) {
        qsort(versions->names, versions->count, sizeof(*versions->names),
              compare_names);
    }
}

void
sym_elf_versions_finish(struct sym_elf_versions *versions)
{
    for (size_t i = 0; i < versions->count; i++) {
        free(versions->names[i]);
    }
    free(versions->names);
    *versions = (struct sym_elf_versions){.names = NULL};
}

bool
sym_elf_versions_end(const struct sym_elf_versions *versions, const char *name)
{
    const char *const at = strrchr(name, '@');
    const char *const version = at == NULL ? NULL : at + 1;

    return at != NULL && at > name && versions->count > 0 &&
           bsearch(&version, versions->names, versions->count, sizeof(*versions->names),
                   compare_names) != NULL;
}
