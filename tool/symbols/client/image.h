/* SPDX-License-Identifier: MIT */
/*
 * image.h - names for addresses of ELF images.
 *
 * All input is hostile: files may be truncated, forged, huge or change while they are
 * read. So each image is read by a process without rights (tool/sandbox). If that
 * process fails, only the names of this image are missing, and its note says why. A
 * lookup that fails says so; it never guesses. An image is used by one thread.
 */
#ifndef SYMBOLS_CLIENT_IMAGE_H
#define SYMBOLS_CLIENT_IMAGE_H

#include "symbols/border/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_image;
struct sym_download;

/* sym_clock - the processor time that the processes of all images may take together. */
struct sym_clock {
    uint64_t left_ns;
    uint64_t image_ns;  /* limit for one image */
    unsigned int hung;  /* processes that did not answer */
    uint64_t over_ns;   /* taken to read headers after left_ns was 0 */
    unsigned int round; /* number of calls of sym_clock_start */
};

/* After so many processes did not answer, no other is asked: each was waited for. */
enum { SYM_HUNG_MAX = 2 };

/* Start a round: from now on all images may take so many seconds, and one image a third
 * of them. */
void sym_clock_start(struct sym_clock *clock, unsigned int seconds);

/* sym_settings - how far names are looked for. All zero: lines, and no download. */
struct sym_settings {
    bool no_lines;                 /* functions by the symbol tables alone */
    bool discriminators;           /* of lines are read too */
    bool brief;                    /* the file is closed once its reader has it */
    struct sym_download *download; /* NULL: debug files of this machine alone */
    const char *cache;             /* section_cache.h; NULL: none */
    uint64_t memory_max;           /* bytes for one image; 0: 1 GiB */
    struct sym_clock *clock;       /* of all images; NULL: no limit */
    /* Called now and then while names are read; may be NULL. what is hostile. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    /* Called with the reason if names of an image are missing; may be NULL. note is
     * hostile. */
    void (*say)(void *context, const char *note);
    /* Called in place of say if the reason is that a file did not answer: the agent
     * reports such files, and no others. */
    void (*warn)(void *context, const char *note);
    void *context;
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
 * Returns NULL with errno: ENOEXEC if it is no ELF file, EIO if the process that reads
 * it failed, or another.
 */
struct sym_image *sym_image_open(int fd, const char *path, const char *root,
                                 const struct sym_settings *settings);

/*
 * Open an image, and request names with the same message that hands over the file,
 * unless no time is left for names.
 *
 *   wanted  places for sym_image_lookup_place, as for sym_image_expect; NULL: none are
 *           known yet
 *
 * Other parameters and the result are those of sym_image_open.
 */
struct sym_image *sym_image_open_places(int fd, const char *path, const char *root,
                                        const struct sym_settings *settings,
                                        const struct sym_wanted *wanted);

/* Describe an errno of sym_image_open for people. */
const char *sym_image_error(int error);

void sym_image_close(struct sym_image *image); /* NULL is allowed */

/* Limit the time for names of an image that was opened without a clock by one. */
void sym_image_set_clock(struct sym_image *image, struct sym_clock *clock);

/* The GNU build-id in lower-case hexadecimal digits, or "". */
const char *sym_image_build_id(const struct sym_image *image);

/* The descriptor of the file, which the image closes; -1: the image is memory, or the
 * file was closed (settings.brief). */
int sym_image_descriptor(const struct sym_image *image);

/* Whether the process has ended, so that no more names can be looked up. */
bool sym_image_is_ended(const struct sym_image *image);

/* Of an image whose process has ended, describe why, for people. */
const char *sym_image_why_ended(const struct sym_image *image);

/* Whether it was ended since it did not answer, which the note says, too. */
bool sym_image_is_hung(const struct sym_image *image);

/* Return the link-time address of the first byte of a bucket, by the program headers
 * (sym_segments_address), without a request to the process; or file_offset itself if no
 * segment has a byte of the bucket. */
uint64_t sym_image_place_address(const struct sym_image *image, uint64_t file_offset,
                                 uint64_t bytes);

/* Return the bytes of memory that the image takes in its process and in the command. */
uint64_t sym_image_memory(const struct sym_image *image);

/* Whether any symbol table was found. */
bool sym_image_has_symbols(struct sym_image *image);

/* Whether names or lines are missing since they cost too much memory or time. */
bool sym_image_is_bounded(struct sym_image *image);

/* Return "" or, for people, why names are missing: a debug file was refused, or there
 * was no memory. */
const char *sym_image_note(struct sym_image *image);

/* Get the link-time address of a file offset by the program headers, without a request
 * to the process. Returns false if no segment has it. */
bool sym_image_address(const struct sym_image *image, uint64_t file_offset,
                       uint64_t *address);

/* sym_image_segment - bytes of the file that are mapped together. */
struct sym_image_segment {
    uint64_t offset;  /* of the first one, in the file */
    uint64_t bytes;   /* at least 1; offset + bytes and address + bytes do not wrap */
    uint64_t address; /* link-time, of the first one */
};

/* Get the segment by which sym_image_address finds the address of a file offset, which
 * is in it. Returns false if there is none. */
bool sym_image_segment(const struct sym_image *image, uint64_t file_offset,
                       struct sym_image_segment *segment);

/*
 * Name the bucket of code at a file offset, which may begin before the segment that the
 * code is in. name->address is the link-time address of its first byte, or the offset
 * if it has none; it is no multiple of bytes where segments lie otherwise in memory
 * than in the file. The name is that of sym_image_lookup_bucket. Returns false if there
 * is none.
 */
bool sym_image_lookup_place(struct sym_image *image, uint64_t file_offset,
                            uint64_t bytes, struct sym_name *name);

/* Name the code at a link-time address. Tables are read at the first call. */
bool sym_image_lookup_address(struct sym_image *image, uint64_t address,
                              struct sym_name *name);

/*
 * Name a bucket: by the function or line that starts last in [address, address +
 * bytes), or if none starts there, as the code at its first byte. Where bytes is 1 the
 * name is exact. Returns false if there is none.
 */
bool sym_image_lookup_bucket(struct sym_image *image, uint64_t address, uint64_t bytes,
                             struct sym_name *name);

/*
 * Request the names of many places at once, since a request for all costs as much as a
 * request for one. Their lookups are then answered without a request, until the next
 * call of this or of sym_image_end_lookups.
 *
 *   by_offset  places are file offsets for sym_image_lookup_place; else addresses for
 *              sym_image_lookup_bucket or, if bytes is 1, sym_image_lookup_address
 *   places     in ascending order
 *   bytes      the size of the buckets
 */
void sym_image_expect(struct sym_image *image, bool by_offset, const uint64_t *places,
                      size_t count, uint64_t bytes);

/* Free the answers to sym_image_expect; the image stays open. */
void sym_image_end_lookups(struct sym_image *image);

/* Open this process's vdso, which is that of all 64-bit processes: the kernel has one
 * copy. Returns NULL if there is none. */
struct sym_image *sym_image_open_vdso(const struct sym_settings *settings);

/* --- code, for listings --- */

struct sym_code sym_image_code(const struct sym_image *image);

/* When the file was last written, in seconds since 1970; 0: not known. */
int64_t sym_image_written_s(const struct sym_image *image);

/* Read up to size bytes of the file at a link-time address. Returns how many: 0 also if
 * size is above CODE_BYTES_MAX. */
size_t sym_image_read(struct sym_image *image, uint64_t address, void *to, size_t size);

/* Get the range of the symbol that covers a link-time address, including nested
 * symbols. Returns false if none does. */
bool sym_image_range(struct sym_image *image, uint64_t address, uint64_t *start,
                     uint64_t *end);

/*
 * Call take for each row of the line tables with code in [start, end), in order of
 * address; the first may begin before start. Strings live as long as the image. Returns
 * false if take did.
 */
bool sym_image_line_rows(struct sym_image *image, uint64_t start, uint64_t end,
                         sym_line_row *take, void *context);

#endif
