/* SPDX-License-Identifier: MIT */
/*
 * sym.h - names for addresses: ELF images, the kernel, and JIT perf maps.
 *
 * All input is hostile: files may be truncated, forged, huge or change while they are
 * read. So an image has a process without rights that reads it (tool/sandbox); what
 * ends that process costs the names of this image, which its note says. A lookup that
 * fails says so; it never guesses. One thread.
 */
#ifndef SYMBOLS_CLIENT_IMAGE_H
#define SYMBOLS_CLIENT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_image;
struct sym_download;

/* sym_clock - processor time that processes may take to read files. */
struct sym_clock {
    uint64_t left_ns;
    uint64_t image_ns; /* of it, for one file */
    unsigned int round;
};

/* So many seconds from now on; a third of them for one file at most. */
void sym_clock_start(struct sym_clock *clock, unsigned int seconds);

/* sym_settings - how far names are looked for. All zero: lines, and no download. */
struct sym_settings {
    bool no_lines;                 /* functions by the symbol tables alone */
    bool discriminators;           /* of lines are read too */
    struct sym_download *download; /* NULL: debug files of this machine alone */
    uint64_t memory_max;           /* bytes for one image; 0: 1 GiB */
    struct sym_clock *clock;       /* of all images; NULL: no limit */
    /* Told now and then while names are read; may be NULL. what is hostile. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    /* Told why names of an image are missing; may be NULL. note is hostile. */
    void (*say)(void *context, const char *note);
    void *context;
};

/* sym_frame - a function that the code at an address was inlined into. */
struct sym_frame {
    const char *name;        /* demangled, or "" */
    const char *system_name; /* as in the debug information or the symbol table */
    const char *file;        /* where the call is, or "" */
    uint32_t line;           /* of the call; 0 unknown */
    uint32_t start_line;     /* of the function; 0 unknown */
    uint32_t discriminator;  /* of the call; 0: none, or settings do not ask for it */
};

/* sym_name - what is known of an address. Strings live as long as the image. */
struct sym_name {
    const char *name; /* innermost, demangled; NULL if no symbol covers the address */
    const char *system_name;         /* as in the table */
    const char *file;                /* source file or "" */
    uint32_t line;                   /* 0 unknown */
    uint32_t start_line;             /* of the function; 0 unknown */
    const struct sym_frame *callers; /* innermost first; valid until the next lookup */
    size_t caller_count;             /* 0: the code was not inlined */
    uint64_t address; /* link-time address looked up (run-time for perf maps, kernel) */
};

/*
 * Open an ELF image for lookups by file offset.
 *
 *   fd    the file; taken over, also on failure. Symbols come from .symtab, .dynsym,
 *         the separate debug file (build-id, then debuglink with its CRC) and
 *         .gnu_debugdata
 *   path  where the image was mapped from: for the debuglink search and messages
 *   root  prefix for the search of debug files ("" or "/proc/PID/root")
 *   settings  copied; what they lead to outlives the image; NULL: all zero
 *
 * NULL with errno: ENOEXEC if it is no ELF file, EIO if the process that reads it
 * failed, or another.
 */
struct sym_image *sym_image_open(int fd, const char *path, const char *root,
                                 const struct sym_settings *settings);

/* What an errno of those means, for people. */
const char *sym_image_error(int error);

void sym_image_close(struct sym_image *image); /* NULL is allowed */

/* Lower-case hex, or "". */
const char *sym_image_build_id(const struct sym_image *image);

/* The file, which stays the image's; -1: it is memory. */
int sym_image_descriptor(const struct sym_image *image);

/* What it takes in memory, in its process and here. */
uint64_t sym_image_memory(const struct sym_image *image);

/* Was any symbol table found? */
bool sym_image_has_symbols(struct sym_image *image);

/* Did something of it cost too much memory or time? Then names or lines are missing. */
bool sym_image_is_bounded(struct sym_image *image);

/* "" or, for people, why names are missing: a debug file refused, memory short. */
const char *sym_image_note(struct sym_image *image);

/* Link-time address of a file offset, by the program headers. False if it has none. */
bool sym_image_address(struct sym_image *image, uint64_t file_offset,
                       uint64_t *address);

/*
 * Name the bucket of code at a file offset, which may begin before the segment that the
 * code is in. name->address is the link-time address of its first byte, or the offset
 * if it has none; it is no multiple of bytes where segments lie otherwise in memory
 * than in the file. The name is that of sym_image_lookup_bucket. False if there is
 * none.
 */
bool sym_image_lookup_place(struct sym_image *image, uint64_t file_offset,
                            uint64_t bytes, struct sym_name *name);

/* Name the code at a link-time address. Tables are read at the first call. */
bool sym_image_lookup_address(struct sym_image *image, uint64_t address,
                              struct sym_name *name);

/*
 * The same for a bucket: the code that starts last in [address, address + bytes) has
 * its name, which is exact where bytes is 1; if none starts there, the code that covers
 * the first byte.
 */
bool sym_image_lookup_bucket(struct sym_image *image, uint64_t address, uint64_t bytes,
                             struct sym_name *name);

/*
 * Looks up many places at once: to ask for one costs as much as for all. Lookups of
 * them are answered from what came back, until the next that is not among them.
 *
 *   by_offset  they are for sym_image_lookup_place, else for sym_image_lookup_bucket,
 *              or with bytes 1 for sym_image_lookup_address
 *   places     in ascending order
 */
void sym_image_expect(struct sym_image *image, bool by_offset, const uint64_t *places,
                      size_t count, uint64_t bytes);

/* Where that code starts, or address: what the bucket's hits are taken to be at. */
uint64_t sym_image_place(struct sym_image *image, uint64_t address, uint64_t bytes);

/*
 * The functions at an address as the debug information alone has them, innermost first;
 * the place in the first one is that of the address, in all others that of the call.
 * How many; 0: nothing is known.
 *
 *   frames  out: valid until the next lookup
 */
size_t sym_image_frames(struct sym_image *image, uint64_t address,
                        const struct sym_frame **frames);

/* Our own vdso, which is that of all 64-bit processes: the kernel has one copy. NULL:
 * there is none. */
struct sym_image *sym_image_open_vdso(const struct sym_settings *settings);

/* --- code, for listings --- */

/* sym_code - what its bytes are for. */
struct sym_code {
    uint16_t machine; /* EM_X86_64 ... */
    bool wide;        /* 64-bit */
    bool big_endian;
};

struct sym_code sym_image_code(const struct sym_image *image);

/* When the file was last written, in seconds since 1970; 0: not known. */
int64_t sym_image_written_s(const struct sym_image *image);

/* Up to size bytes at a link-time address, as the file has them. Gives how many there
 * are. */
size_t sym_image_read(struct sym_image *image, uint64_t address, void *to, size_t size);

/* The code of the symbol that covers a link-time address, with what other symbols name
 * inside of it. False if none does. */
bool sym_image_range(struct sym_image *image, uint64_t address, uint64_t *start,
                     uint64_t *end);

/* A row of a line table: code from address on is of that line. False ends the walk. */
typedef bool sym_line_row(void *context, uint64_t address, const char *file,
                          uint32_t line);

/*
 * Calls take with each row of the line tables that has code in [start, end), by
 * address; the first may begin before start. Strings live as long as the image. False
 * if take ended it.
 */
bool sym_image_line_rows(struct sym_image *image, uint64_t start, uint64_t end,
                         sym_line_row *take, void *context);

/* Names by address: a JIT's /tmp/perf-PID.map or the kernel's symbols. */
struct sym_map;

/* sym_wanted - what will be looked up: the bytes (at least 1) from each place on.
 * Places are in order, but for perf maps. */
struct sym_wanted {
    const uint64_t *places;
    size_t count;
    uint64_t bytes;
};

/* sym_perf_file - a perf map, open. The same file may be that of several processes, by
 * hard links. */
struct sym_perf_file {
    int fd; /* the caller's */
    uint64_t device;
    uint64_t inode;
    uint64_t size; /* at opening */
};

/*
 * Open the perf map of a process: /tmp/perf-PID.map in its root and with its own pid in
 * its namespace. 0 or negative errno: those of sym_open_regular_plain, or -EPERM if
 * neither the target's user nor root owns it.
 */
int sym_perf_file_open(uint32_t pid, struct sym_perf_file *file);

/*
 * Read a perf map, of which only the lines that name what is wanted stay. Names are cut
 * at some 1000 bytes. NULL with errno: -ESTALE if the file got shorter than size.
 */
struct sym_map *sym_map_read_perf(int fd, uint64_t size,
                                  const struct sym_wanted *wanted);

/*
 * /proc/kallsyms, text symbols with their module: all, or those that cover what is
 * wanted, and then nothing else may be looked up. NULL with errno; EACCES if the
 * addresses are hidden (kptr_restrict). begin and end give the range from _stext to
 * _etext, and module range lines as symbols after it.
 */
struct sym_map *sym_map_open_kernel(const struct sym_wanted *wanted, uint64_t *begin,
                                    uint64_t *end);

/* The map has one more user, each of which closes it. */
struct sym_map *sym_map_share(struct sym_map *map);

void sym_map_close(struct sym_map *map); /* NULL is allowed */

/* module: "" or the kernel module that the symbol is in. */
bool sym_map_lookup(const struct sym_map *map, uint64_t address, struct sym_name *name,
                    const char **module);

/* The same for a bucket, as sym_image_lookup_bucket. */
bool sym_map_lookup_bucket(const struct sym_map *map, uint64_t address, uint64_t bytes,
                           struct sym_name *name, const char **module);

/* Demangles C++ and Rust (v0 and legacy); malloc'd, or NULL for other names. */
char *sym_demangle(const char *mangled);

#endif
