/* SPDX-License-Identifier: MIT */
/*
 * reader.h - reads the symbols and lines of one ELF image. The command asks sym.h,
 * which has this done in a process without rights.
 *
 * All input is hostile: files may be truncated, forged, huge or change while they are
 * read. A lookup that fails says so; it never guesses. One thread.
 */
#ifndef SYM_READER_H
#define SYM_READER_H

#include "sym/function.h"
#include "sym/sym.h"
#include "sym/symbol_list.h"

struct sym_reader;

/* sym_files - where further files come from, which a reader has no right to open. */
struct sym_files {
    /* As sym_open_regular; never the image itself. NULL: there are none. */
    int (*open)(void *context, const char *root, const char *path);
    /* As sym_download_debug_file; NULL: no servers are asked. */
    int (*download)(void *context, const unsigned char *id, size_t id_size, char *path,
                    size_t path_size);
    void *context;
};

/* sym_reader_settings - how far names are looked for. All zero: lines, and no other
 * file. */
struct sym_reader_settings {
    bool no_lines;       /* functions by the symbol tables alone */
    bool discriminators; /* of lines are read too */
    struct sym_files files;
    uint64_t memory_max; /* bytes; 0: 1 GiB */
};

/*
 * Open an ELF image for lookups by file offset.
 *
 *   fd    the file; closed, also on failure. Symbols come from .symtab, .dynsym,
 *         the separate debug file (build-id, then debuglink with its CRC) and
 *         .gnu_debugdata
 *   path  where the image was mapped from: for the debuglink search and messages
 *   root  for the search of debug files: "", or what files->open takes for its root
 *
 * NULL with errno set if it is no ELF file or memory ran out.
 */
struct sym_reader *sym_reader_open(int fd, const char *path, const char *root);

/* The same from memory, such as the vdso, which outlives the reader. */
struct sym_reader *sym_reader_open_memory(const void *bytes, size_t size,
                                          const char *name);

void sym_reader_close(struct sym_reader *reader); /* NULL is allowed */

/* Before the first lookup. The settings are copied; what they lead to outlives the
 * reader. */
void sym_reader_configure(struct sym_reader *reader,
                          const struct sym_reader_settings *settings);

/* Lower-case hex, or "". */
const char *sym_reader_build_id(const struct sym_reader *reader);

/* Was any symbol table found? */
bool sym_reader_has_symbols(struct sym_reader *reader);

/* Did something of it cost too much memory or time? Then names or lines are missing. */
bool sym_reader_is_bounded(const struct sym_reader *reader);

/* "" or, for people, why names are missing: a debug file refused, memory short. */
const char *sym_reader_note(struct sym_reader *reader);

/* Link-time address of a file offset, by the program headers. False if no segment holds
 * it. */
bool sym_reader_address(const struct sym_reader *reader, uint64_t file_offset,
                        uint64_t *address);

/*
 * Link-time address of the first byte of a bucket of code, which begins at a file
 * offset and may begin before the segment that the code is in. No multiple of size
 * where segments lie otherwise in memory than in the file.
 */
bool sym_reader_bucket(const struct sym_reader *reader, uint64_t file_offset,
                       uint64_t size, uint64_t *address);

/*
 * Name the code at a file offset. Tables are read at the first call and sorted, so a
 * lookup is a binary search. False if nothing covers it (name->address is set if the
 * offset is mapped).
 */
bool sym_reader_lookup(struct sym_reader *reader, uint64_t file_offset,
                       struct sym_name *name);

/* The same for a link-time address. */
bool sym_reader_lookup_address(struct sym_reader *reader, uint64_t address,
                               struct sym_name *name);

/*
 * The same for a bucket: the code that starts last in [address, address + bytes) has
 * its name, which is exact where bytes is 1; if none starts there, the code that covers
 * the first byte.
 */
bool sym_reader_lookup_bucket(struct sym_reader *reader, uint64_t address,
                              uint64_t bytes, struct sym_name *name);

/* Where that code starts, or address: what the bucket's hits are taken to be at. */
uint64_t sym_reader_place(struct sym_reader *reader, uint64_t address, uint64_t bytes);

/*
 * The functions at an address as the debug information alone has them, innermost first;
 * the place in the first one is that of the address, in all others that of the call.
 * How many; 0: nothing is known.
 *
 *   frames  out: valid until the next lookup
 */
size_t sym_reader_frames(struct sym_reader *reader, uint64_t address,
                         const struct sym_frame **frames);

/* Our own vdso, which is that of all 64-bit processes: the kernel has one copy. NULL:
 * there is none. */
struct sym_reader *sym_reader_open_vdso(void);

/* --- code, for listings --- */

struct sym_code sym_reader_code(const struct sym_reader *reader);

/* Up to size bytes at a link-time address, as the file has them. Gives how many there
 * are. */
size_t sym_reader_read(const struct sym_reader *reader, uint64_t address, void *to,
                       size_t size);

/* The code of the symbol that covers a link-time address, with what other symbols name
 * inside of it. False if none does. */
bool sym_reader_range(struct sym_reader *reader, uint64_t address, uint64_t *start,
                      uint64_t *end);

/*
 * Calls take with each row of the line tables that has code in [start, end), by
 * address; the first may begin before start. Strings live as long as the reader. False
 * if take ended it.
 */
bool sym_reader_line_rows(struct sym_reader *reader, uint64_t start, uint64_t end,
                          sym_line_row *take, void *context);

/*
 * Read a perf map, of which only the lines that name what is wanted stay. Names are cut
 * at some 1000 bytes. NULL with errno: -ESTALE if the file got shorter than size.
 */
struct sym_map *sym_reader_perf_map(int fd, uint64_t size,
                                    const struct sym_wanted *wanted);

/* sym_symbol_list_read, here. */
int sym_reader_symbol_list(int fd, uint64_t bytes, struct sym_symbol_list *list);

/* sym_find_function without its limit of time. */
int sym_reader_find_function(int fd, const char *path, const char *name, uint64_t bytes,
                             const struct sym_files *files, struct sym_function *found);

#endif
