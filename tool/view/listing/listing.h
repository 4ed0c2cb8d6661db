/* SPDX-License-Identifier: MIT */
/*
 * listing.h - source lines and instructions with their hits: a model that the annotate
 * command prints, the HTML page embeds and top shows. Nothing here prints.
 *
 * Use: listing_find_targets turns what a user typed into targets, or
 * listing_target_of_row a row that a user chose into one; listing_make builds the lines
 * of a target; listing_fold hides lines without hits; the caller then shows
 * listing->lines in order.
 *
 * Properties of a listing:
 * - Hits belong to buckets. An interrupt finds execution at the start of an
 *   instruction, so if exactly one instruction starts in a bucket, its hits are of that
 *   one. If several start in it, it is unknown which: they share the bucket, which is
 *   shown as a bracket (listing_line.bracket) with the hits at its first line. Hits are
 *   never divided.
 * - Buckets are sorted and do not overlap. Overlapping buckets of a profile, such as
 *   those of two sizes, become one with the hits of both.
 * - Hits of source lines are those of the buckets that are named after the line: the
 *   last one that starts there (sym_image_lookup_bucket). If a bucket contains code of
 *   other lines too, its hits are also counted as shared.
 * - In a listing of instructions, the source lines between them have no hits: added up
 *   over the instructions (once for each bracket), hits are all hits.
 * - All texts come from outside: they may contain any bytes except NUL and newline, and
 *   must be escaped with text_escape before they are shown.
 * - Notes report what could not be shown, and what to do about it.
 *
 * Files are read only if they are regular, and up to limits. An annotator is used by
 * one thread at a time.
 */
#ifndef VIEW_LISTING_LISTING_H
#define VIEW_LISTING_LISTING_H

#include "profile/display.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "symbols/client/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTING_NONE UINT32_MAX

/* --- what to list --- */

enum listing_target_kind {
    /* A function of an image: its machine code, with all that was inlined there; or, if
     * inlined is set, the places where it was inlined. */
    LISTING_OF_FUNCTION,
    LISTING_OF_LINE,    /* file and line, in all images and functions with code of it */
    LISTING_OF_ADDRESS, /* image and address: the function there, or the surroundings */
    LISTING_OF_RANGE    /* image, address and end: exactly this code */
};

/* listing_target - something that can be listed. Strings belong to the profile. */
struct listing_target {
    enum listing_target_kind kind;
    uint32_t image; /* index in the profile; LISTING_NONE: all images, only for lines */
    /* of the function, as in profile_function; of a range its start's name; or "" */
    const char *name;
    const char *system_name; /* of the function; else "" */
    const char *file;        /* of LISTING_OF_LINE, as in the profile; else "" */
    uint32_t line;
    /* Of LISTING_OF_FUNCTION. Numbers are those of identity.h. */
    uint32_t function; /* index in the profile of one of its entries */
    bool inlined;
    uint32_t id;      /* its identity; LISTING_NONE: all its hits are of code that was
                  * inlined into it */
    uint32_t within;  /* identity of the only function into which it was inlined;
                       * LISTING_NONE: any */
    uint64_t address; /* of an address or range, in the image's addresses */
    uint64_t end;     /* of LISTING_OF_RANGE: the first byte after it */
    size_t hits_at;   /* index into listing_targets.hits, one for each source */
};

/* listing_targets - possible meanings of a text, those with the most hits of source 0
 * first. */
struct listing_targets {
    struct listing_target *items;
    size_t count;
    uint64_t *hits; /* source_count for each item */
    size_t source_count;
    bool no_such_image; /* count is 0 because no image has the given name */
};

/*
 * listing_find_targets - find the targets that text may mean: SYMBOL, FILE:LINE or
 * IMAGE+OFFSET (+0xhex or decimal).
 *
 * SYMBOL is a function: its name as in the symbol table, in full, or as tables show it
 * ("NAME (FILE:LINE)", "IMAGE!0xADDRESS"; "..." stands for what a table left out); if
 * none is equal, the last part of a name ("push_back" of
 * "std::vector<int>::push_back(int&&)") or a glob. The function in whose machine code
 * hits are comes before one that was inlined; "NAME inlined in NAME" is only the
 * latter.
 * FILE is a path or its last parts. IMAGE is a path or its last parts, and OFFSET is as
 * in reports: in the file, or the address if there is no file.
 *
 *   image    a glob: only images whose path or its last part matches, or whose build-id
 *           starts with it; NULL: all
 *   targets  out: count is 0 if the profile has none; listing_targets_finish must be
 *           called in any case
 *
 * Returns false if memory runs out.
 */
bool listing_find_targets(const struct profile *profile, const char *text,
                          const char *image, struct listing_targets *targets);

/* listing_add_calls - add rows without hits at all calls of a profile, so that
 * functions that only call others are targets, too. Returns false if memory runs out;
 * the profile can still be used. */
bool listing_add_calls(struct profile *profile);

/* listing_find_hottest - find all functions in whose machine code hits are, in the
 * order of the report. image and targets as above. Returns false if memory runs out. */
bool listing_find_hottest(const struct profile *profile, const char *image,
                          struct listing_targets *targets);
void listing_targets_finish(struct listing_targets *targets);

/* listing_target_of_row - return the function in whose machine code a row's hits are
 * or, with inlined, the innermost function, where it was inlined into that one. */
struct listing_target listing_target_of_row(const struct profile *profile,
                                            const struct identities *identities,
                                            const struct profile_row *row,
                                            bool inlined);

/* listing_target_name - append what a target that is a function is called in tables,
 * with this detail at least. */
void listing_target_name(const struct profile *profile,
                         const struct listing_target *target,
                         enum display_detail detail, struct buffer *out);

/* --- how to list --- */

/* listing_prefix - where sources are now that were elsewhere when they were
 * compiled. */
struct listing_prefix {
    const char *from; /* leading folders of a path; "" matches every relative path */
    const char *to;
};

enum listing_decoder {
    LISTING_DECODE_INSIDE, /* capstone if it is installed, else objdump */
    LISTING_DECODE_OBJDUMP /* binutils' objdump, a child process */
};

/* annotator_settings - where files are searched, and how code is decoded. May be all
 * zero. What the pointers refer to must outlive the annotator. */
struct annotator_settings {
    const struct sym_settings *symbols; /* NULL: none */
    const struct listing_prefix *prefixes;
    size_t prefix_count;
    /* Folder to search for images first, by path, then by name; or NULL. */
    const char *image_dir;
    enum listing_decoder decoder;
    const char *objdump; /* program to start; NULL: "objdump" */
    bool intel;          /* x86 instructions in Intel syntax, otherwise AT&T */
    bool below;          /* set below_at, which takes a walk over all stacks */
};

/* annotator - the open files of listings. Each call may use another profile. */
struct annotator;

/* annotator_new - return an annotator without open files; NULL if memory runs out. */
struct annotator *annotator_new(const struct annotator_settings *settings);
void annotator_delete(struct annotator *annotator); /* may be NULL */

/* listing_view - what is listed of a target. */
enum listing_view {
    /* instructions with source between them; without the image's file, source */
    LISTING_BEST,
    LISTING_SOURCE_ONLY, /* source lines */
    /* as LISTING_BEST; but without the image's file, buckets by address */
    LISTING_INSTRUCTIONS
};

/* --- a listing --- */

enum listing_kind {
    LISTING_HEADING,     /* text: title of the following lines */
    LISTING_SOURCE,      /* text: the source line; "" with missing set: unavailable */
    LISTING_INSTRUCTION, /* text: one decoded instruction, "jne 0x401136 <main+0x10>" */
    /* text: "(not decoded)"; size bytes that the decoder does not know */
    LISTING_BYTES,
    /* One bucket by its address, where no code can be shown or no instruction starts in
     * it; text: its place if known, or "". */
    LISTING_BUCKET,
    /* text: function and file:line of the following instructions */
    LISTING_PLACE,
    LISTING_GAP /* text: what is left out here */
};

/* listing_bracket - position of a line in a bucket that several instructions share. */
enum listing_bracket {
    LISTING_BRACKET_NONE, /* no bucket, or one that is not shared */
    LISTING_BRACKET_FIRST,
    /* also of source lines between instructions of the bucket */
    LISTING_BRACKET_INSIDE,
    LISTING_BRACKET_LAST
};

/* listing_line - one line to show. Members that do not apply to its kind are 0, NULL,
 * "" or LISTING_NONE. */
struct listing_line {
    enum listing_kind kind;
    const char *text;
    /* For source lines their own place, for others the innermost source line of the
     * code. */
    const char *file;
    uint32_t line;
    const char *function; /* innermost function of the code, or "" */
    /* Instructions, bytes, buckets: */
    uint64_t address;
    uint32_t size;
    unsigned char bytes[16]; /* the first size of them, at most 16 */
    uint32_t bucket;         /* index into buckets; LISTING_NONE: no hits */
    enum listing_bracket bracket;
    bool uncertain; /* decoded after unknown bytes, so it may be wrong */
    /* Jumps and calls: */
    uint64_t target_address;
    bool has_target;
    bool is_call;
    uint32_t target; /* index of the target's line; LISTING_NONE: not in the listing */
    uint32_t jumps;  /* number of jumps in this listing that lead here */
    /* Index into listing->hits of one count for each source; LISTING_NO_HITS: none. The
     * hits of a bracket are at its first line. */
    size_t hits_at;
    size_t shared_at;  /* source lines: hits that may belong to other lines */
    size_t inlined_at; /* source lines: hits of functions inlined there */
    /* Instructions; without these source lines: hits of what is called there, by the
     * stacks of the profile, each stack once. They are no hits of the target. */
    size_t below_at;
    bool has_code; /* source lines: some known instruction belongs to it */
    bool missing;  /* source lines: the text could not be read */
    bool chosen;   /* the line or address that was requested */
    bool hidden;   /* set by listing_fold */
    /* On the first of several hidden lines, their number; else 0. */
    uint32_t gap_lines;
};

#define LISTING_NO_HITS SIZE_MAX

/* listing_bucket - [start, end) and the lines whose instructions start in it. */
struct listing_bucket {
    uint64_t start;
    uint64_t end;
    uint32_t image;
    uint32_t first_line; /* LISTING_NONE: no line shows it */
    uint32_t last_line;
    /* Number of instructions that start in it. If 0, first_line is a LISTING_BUCKET
     * after the instruction that contains the bucket, or where no code could be
     * shown. */
    uint32_t instructions;
    size_t hits_at;
};

enum listing_note_kind {
    LISTING_NOTE_IMAGE, /* the file is missing, of another build, or no ELF file */
    /* a source file is missing, newer than the image, or too short */
    LISTING_NOTE_SOURCE,
    LISTING_NOTE_DECODER, /* no disassembler, or it failed */
    LISTING_NOTE_NAMES,   /* debug information is missing or was refused */
    LISTING_NOTE_BUCKETS  /* what the bucket size leaves uncertain */
};

struct listing_note {
    enum listing_note_kind kind;
    const char *text; /* a sentence: what, on what, why, what to do; not escaped */
};

struct listing {
    struct listing_target target; /* strings belong to the profile */
    const char *title;            /* "count_primes in /tmp/busy" */
    bool has_instructions;        /* otherwise source lines or buckets */
    struct listing_line *lines;
    size_t count;
    struct listing_bucket *buckets;
    size_t bucket_count;
    struct listing_note *notes;
    size_t note_count;
    uint64_t *hits; /* indexed by hits_at and its like */
    size_t source_count;
    uint64_t *own;     /* hits of the target, one for each source */
    uint64_t *inlined; /* of own, those of functions inlined into the target */
    uint64_t *totals;  /* hits of the whole profile */
    /* Hits on all lines, each once. Hits of an inlined line are at its call too. */
    uint64_t *shown;
    bool outside; /* some of own are on no line; a note says why */
    struct listing_private *private;
};

/*
 * listing_make - make the listing of a target. It contains what is available, with
 * notes about the rest. Returns false if memory runs out, or the profile does not have
 * the target's image; listing_finish must be called in any case. The listing may
 * outlive the annotator, but not the profile.
 *
 *   identities  of the profile; NULL: they are found
 */
bool listing_make(struct annotator *annotator, const struct profile *profile,
                  const struct identities *identities,
                  const struct listing_target *target, enum listing_view view,
                  struct listing *listing);
void listing_finish(struct listing *listing);

/* listing_line_hits - return the hits of a line for a source, or 0. The hits of a
 * bracket are at its first line. */
uint64_t listing_line_hits(const struct listing *listing,
                           const struct listing_line *line, size_t source);

/* listing_line_shared - return how many hits of a source line may belong to other
 * lines. */
uint64_t listing_line_shared(const struct listing *listing,
                             const struct listing_line *line, size_t source);

/* listing_line_inlined - return how many hits of a source line are of functions inlined
 * there. */
uint64_t listing_line_inlined(const struct listing *listing,
                              const struct listing_line *line, size_t source);

/* listing_line_below - return the hits of what a line calls. */
uint64_t listing_line_below(const struct listing *listing,
                            const struct listing_line *line, size_t source);

/* listing_bucket_hits - return the hits of a line's bucket, which may be at another
 * line of its bracket; 0 if it is in none. */
uint64_t listing_bucket_hits(const struct listing *listing,
                             const struct listing_line *line, size_t source);

/*
 * listing_fold - hide lines that are far from lines with hits and from the requested
 * one. It may be called again, with other numbers.
 *
 *   context  number of lines that stay before and after each line with hits;
 *           UINT32_MAX: hide nothing
 *   rows     only this many lines (or brackets) with the most hits count as having
 *           hits; 0: all
 */
void listing_fold(struct listing *listing, uint32_t context, size_t rows);

#endif
