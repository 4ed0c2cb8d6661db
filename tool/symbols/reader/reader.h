/* SPDX-License-Identifier: MIT */
/*
 * reader.h - reads the symbols and lines of one ELF image. The command asks
 * client/image.h, which has this done in a process without rights.
 *
 * All input is hostile: files may be truncated, forged, huge or change while they are
 * read. A lookup that fails says so; it never guesses. One thread.
 */
#ifndef SYMBOLS_READER_READER_H
#define SYMBOLS_READER_READER_H

#include "symbols/border/function.h"
#include "symbols/border/name.h"
#include "symbols/border/segments.h"
#include "symbols/border/symbol_list.h"
#include "symbols/border/unwind.h"

struct sym_reader;

/* sym_files - where further files come from, which a reader has no right to open. */
struct sym_files {
    /* As sym_open_regular; never the image itself. NULL: there are none. */
    int (*open)(void *context, const char *root, const char *path);
    /* As sym_download_debug_file; NULL: no servers are asked. */
    int (*download)(void *context, const unsigned char *id, size_t id_size, char *path,
                    size_t path_size);
    /* Return a descriptor of an image (dwarf_image.h) of so many bytes, perhaps forged,
     * of the packed debug sections of a file, or a negative errno. fd: the image's own
     * file, or what open or download returned last: the command has no other file any
     * more. split: sections of split units. NULL: there is no cache. */
    int (*unpacked)(void *context, int fd, bool split, uint64_t bytes);
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
 * Open an ELF image. Symbols come from .symtab, .dynsym, the separate debug file
 * (build-id, then debuglink with its CRC) and .gnu_debugdata.
 *
 *   fd    closed, also on failure
 *   path  where the image was mapped from: for the debuglink search and messages
 *   root  for the search of debug files: "", or what files->open takes for its root
 *
 * Returns NULL with errno set if it is no ELF file or memory ran out.
 */
struct sym_reader *sym_reader_open(int fd, const char *path, const char *root);

/* Open an image in memory, which outlives the reader; or the vdso of this process. Its
 * separate debug file is not looked for. */
struct sym_reader *sym_reader_open_memory(const void *bytes, size_t size,
                                          const char *name);
struct sym_reader *sym_reader_open_vdso(void);

void sym_reader_close(struct sym_reader *reader); /* NULL is allowed */

/* Change the settings, before the first lookup. They are copied, but not what they
 * point to. */
void sym_reader_configure(struct sym_reader *reader,
                          const struct sym_reader_settings *settings);

/* --- as those of client/image.h; strings live as long as the reader --- */

const char *sym_reader_build_id(const struct sym_reader *reader);
bool sym_reader_has_symbols(struct sym_reader *reader);
bool sym_reader_is_bounded(const struct sym_reader *reader);
const char *sym_reader_note(struct sym_reader *reader);
bool sym_reader_lookup_address(struct sym_reader *reader, uint64_t address,
                               struct sym_name *name);
bool sym_reader_lookup_bucket(struct sym_reader *reader, uint64_t address,
                              uint64_t bytes, struct sym_name *name);
/* Return the address in a bucket whose name it gets: where the function or line begins
 * that starts last in it, or else its first byte. */
uint64_t sym_reader_named_address(struct sym_reader *reader, uint64_t address,
                                  uint64_t bytes);
size_t sym_reader_frames(struct sym_reader *reader, uint64_t address,
                         const struct sym_frame **frames);
struct sym_code sym_reader_code(const struct sym_reader *reader);
size_t sym_reader_read(const struct sym_reader *reader, uint64_t address, void *to,
                       size_t size);
bool sym_reader_line_rows(struct sym_reader *reader, uint64_t start, uint64_t end,
                          sym_line_row *take, void *context);

/* --- what only readers have --- */

/* Return the loadable segments of the file; count: out, their number. */
const struct sym_segment *sym_reader_segments(const struct sym_reader *reader,
                                              size_t *count);

/* Get the link-time address of the first byte of a bucket, as in
 * sym_image_lookup_place. Returns false if no segment has a byte of it. */
bool sym_reader_bucket(const struct sym_reader *reader, uint64_t file_offset,
                       uint64_t size, uint64_t *address);

/* Do what sym_image_unwind asks for. */
size_t sym_reader_unwind(struct sym_reader *reader, uint64_t address,
                         struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX]);

/* Do what sym_map_read_perf asks for. */
struct sym_map *sym_reader_perf_map(int fd, uint64_t size,
                                    const struct sym_wanted *wanted);

/* Do what sym_symbol_list_read asks for. */
int sym_reader_symbol_list(int fd, uint64_t bytes, struct sym_symbol_list *list);

/* Do what sym_find_function asks for, without a limit of time. */
int sym_reader_find_function(int fd, const char *path, const char *name, uint64_t bytes,
                             const struct sym_files *files, struct sym_function *found);

#endif
