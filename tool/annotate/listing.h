/* SPDX-License-Identifier: MIT */
/*
 * listing.h - source lines and instructions with their hits: a model that the annotate
 * command prints, the HTML page embeds and top shows. Nothing here prints.
 *
 * How it goes: listing_find_targets turns what a user typed (or listing_target_of_row
 * what a user chose) into targets, listing_make builds the lines of one, listing_fold
 * hides what has no hits, and whoever shows it walks listing->lines from first to last.
 *
 * What holds of a listing:
 *  - Hits belong to buckets. An interrupt finds execution at the start of an
 *    instruction, so a bucket in which exactly one instruction starts says which one it
 *    was. Where several start, nobody knows which: they share the bucket, shown as a
 *    bracket (listing_line.bracket) with the hits at its first line. Hits are never
 *    divided.
 *  - Buckets are sorted and do not overlap: those of a profile that do, such as buckets
 *    of two sizes, are one, with the hits of both.
 *  - Hits of source lines are those of buckets that are named for that line: the last
 *    one that starts there (sym_image_lookup_bucket). Where a bucket holds code of
 *    other lines too, they are counted as shared as well.
 *  - In a listing of instructions source lines stand between them for reading, and have
 *    no hits: added up over the instructions (once for each bracket) hits are all hits.
 *  - All texts come from files and profiles that may be hostile: they hold any bytes
 *    but NUL and newline, and go through text_escape before anybody sees them.
 *  - What could not be shown is told in notes, with what to do about it.
 *
 * All input is hostile; files are read only if they are regular, and up to limits. One
 * thread at a time for each annotator.
 */
#ifndef ANNOTATE_LISTING_H
#define ANNOTATE_LISTING_H

#include "profile/profile.h"
#include "sym/sym.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTING_NONE UINT32_MAX

/* --- what to list --- */

enum listing_target_kind {
    LISTING_OF_FUNCTION, /* image and name: also wherever it was inlined */
    LISTING_OF_LINE,     /* file and line: whatever image and function has code of it */
    LISTING_OF_ADDRESS /* image and address: the function around it, or what is near */
};

/* listing_target - one thing that can be listed. Strings are the profile's. */
struct listing_target {
    enum listing_target_kind kind;
    uint32_t image;          /* index; LISTING_NONE: of all images (lines alone) */
    const char *name;        /* of the function, as in profile_function; or "" */
    const char *system_name; /* the same */
    const char *file;        /* of LISTING_OF_LINE: as the profile has it; else "" */
    uint32_t line;
    uint64_t address; /* of LISTING_OF_ADDRESS: in the image's addresses */
    size_t hits_at;   /* index into listing_targets.hits, one per source */
};

/* listing_targets - what a text may mean, most hits (of source 0) first. */
struct listing_targets {
    struct listing_target *items;
    size_t count;
    uint64_t *hits; /* source_count for each item */
    size_t source_count;
    bool no_such_image; /* count is 0 since no image is named as asked */
};

/*
 * Finds what text means in a profile: SYMBOL, FILE:LINE or IMAGE+OFFSET (+0xhex or
 * decimal).
 *
 * SYMBOL is a function's name or system name; if none is equal, one that has it as its
 * last part ("push_back" of "std::vector<int>::push_back(int&&)") or fits it as a glob.
 * FILE is the path or its last parts. IMAGE is the path or its last parts, and OFFSET
 * as in reports: in the file, or the address where there is no file.
 *
 *   image    only in images whose path, or last part of it, this glob fits, or whose
 *            build-id begins so; NULL: in all
 *   targets  out: count is 0 if the profile has no such thing; finish it in any case
 *
 * False: out of memory.
 */
bool listing_find_targets(const struct profile *profile, const char *text,
                          const char *image, struct listing_targets *targets);

/*
 * The same for all that has hits: each function, and each bucket of code without a name
 * by its address. Where two have as many, functions are first.
 */
bool listing_find_hottest(const struct profile *profile, const char *image,
                          struct listing_targets *targets);
void listing_targets_finish(struct listing_targets *targets);

/* The function of a row, or its address if it has no name: what "annotate this" means.
 */
struct listing_target listing_target_of_row(const struct profile *profile,
                                            const struct profile_row *row);

/* --- how to list --- */

/* listing_prefix - where sources are that were somewhere else when they were compiled.
 */
struct listing_prefix {
    const char *from; /* whole first folders of a path; "" fits every relative path */
    const char *to;
};

enum listing_decoder {
    LISTING_DECODE_INSIDE, /* capstone, if it was built in, else objdump */
    LISTING_DECODE_OBJDUMP /* binutils' objdump, a child process */
};

/* annotator_settings - all zero is good. What they point to outlives the annotator. */
struct annotator_settings {
    const struct sym_settings *symbols; /* NULL: none */
    const struct listing_prefix *prefixes;
    size_t prefix_count;
    /* Images are looked for below it first, by path, then by name; or NULL. */
    const char *image_dir;
    enum listing_decoder decoder;
    const char *objdump; /* program to start; NULL: "objdump" */
    bool intel;          /* syntax of x86 instructions; else AT&T's */
};

/* annotator - the files that listings need, open. Profiles may change from call to
 * call. */
struct annotator;

/* NULL: out of memory. */
struct annotator *annotator_new(const struct annotator_settings *settings);
void annotator_delete(struct annotator *annotator); /* NULL is allowed */

/* Was a disassembler built in? Else objdump is started, if there is one. */
bool listing_has_decoder(void);

enum listing_view {
    /* instructions with source between them; without the image's file source */
    LISTING_BEST,
    LISTING_SOURCE_ONLY, /* source lines */
    LISTING_INSTRUCTIONS /* as the first; without the image's file buckets by address */
};

/* --- a listing --- */

enum listing_kind {
    LISTING_HEADING, /* text: what the lines from here on are of */
    LISTING_SOURCE,  /* text: the source line; "" with missing set: it is not there */
    LISTING_INSTRUCTION, /* text: one decoded instruction, "jne 0x401136 <main+0x10>" */
    /* text: "(not decoded)"; size bytes that the decoder does not know */
    LISTING_BYTES,
    /* One bucket by its address, where no code can be shown, or no instruction starts
     * in it; text: what is known of its place, or "". */
    LISTING_BUCKET,
    /* text: function and file:line that instructions from here on are of */
    LISTING_PLACE,
    LISTING_GAP /* text: what is left out here */
};

/* listing_bracket - where a line stands in a bucket that several instructions share. */
enum listing_bracket {
    LISTING_BRACKET_NONE, /* no bucket, or a bucket all of its own */
    LISTING_BRACKET_FIRST,
    /* source lines between instructions of one bucket as well */
    LISTING_BRACKET_INSIDE,
    LISTING_BRACKET_LAST
};

/* listing_line - one line to show. What its kind has not is 0, NULL, "" or
 * LISTING_NONE. */
struct listing_line {
    enum listing_kind kind;
    const char *text;
    /* Source lines: where they are. Others: the innermost source line of the code. */
    const char *file;
    uint32_t line;
    const char *function; /* innermost function of the code, or "" */
    /* Instructions, bytes, buckets: */
    uint64_t address;
    uint32_t size;
    unsigned char bytes[16]; /* the first of size */
    uint32_t bucket;         /* index into buckets; LISTING_NONE: no hits */
    enum listing_bracket bracket;
    bool uncertain; /* decoded behind bytes that were not: may be wrong */
    /* Jumps and calls: */
    uint64_t target_address;
    bool has_target;
    bool is_call;
    uint32_t target; /* index of the line that it leads to; LISTING_NONE: outside */
    uint32_t jumps;  /* how many jumps of this listing lead here */
    /* Where in listing->hits there is one for each source; LISTING_NO_HITS: none. A
     * bracket's hits are at its first line. */
    size_t hits_at;
    size_t shared_at;  /* source lines: how many of them may be of other lines */
    size_t inlined_at; /* source lines: how many are of functions inlined there */
    bool has_code;     /* source lines: some instruction is of it, as far as is known */
    bool missing;      /* source lines: the text could not be read */
    bool chosen;       /* this is the line or the address that was asked for */
    bool hidden;       /* by listing_fold */
    /* of the first of some hidden lines: how many they are; else 0 */
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
    /* That start in it. 0: first_line is a LISTING_BUCKET, behind the instruction that
     * the bucket is in, or where no code could be shown. */
    uint32_t instructions;
    size_t hits_at;
};

enum listing_note_kind {
    LISTING_NOTE_IMAGE, /* the file is not there, is another build, is no ELF file */
    /* a source file is not there, newer than the image, or too short */
    LISTING_NOTE_SOURCE,
    LISTING_NOTE_DECODER, /* no disassembler, or one that gave up */
    LISTING_NOTE_NAMES,   /* debug information is missing or was refused */
    LISTING_NOTE_BUCKETS  /* what the size of the buckets leaves open */
};

struct listing_note {
    enum listing_note_kind kind;
    const char
        *text; /* a sentence: what, on what, why, what to do. Hostile, as all texts */
};

struct listing {
    struct listing_target target; /* strings are the profile's */
    const char *title;            /* "count_primes in /tmp/busy" */
    bool has_instructions;        /* else it is of source lines, or of buckets */
    struct listing_line *lines;
    size_t count;
    struct listing_bucket *buckets;
    size_t bucket_count;
    struct listing_note *notes;
    size_t note_count;
    uint64_t *hits; /* what hits_at and shared_at lead to */
    size_t source_count;
    uint64_t *own;     /* hits of all that was asked for, one per source */
    uint64_t *inlined; /* of own: of functions inlined into what was asked for */
    uint64_t *totals;  /* hits of the whole profile */
    uint64_t *
        /* hits on any line, each once: those of a line that was inlined are at its call
         * too */
        shown;
    bool outside; /* some of own are on no line: a note says why */
    struct listing_private *private;
};

/*
 * Makes the listing of a target of this profile. Always gives what there is, with notes
 * on what is not. False: out of memory. Finish it in any case; it may outlive the
 * annotator, not the profile.
 */
bool listing_make(struct annotator *annotator, const struct profile *profile,
                  const struct listing_target *target, enum listing_view view,
                  struct listing *listing);
void listing_finish(struct listing *listing);

/* Hits of a line for a source; 0 if it has none. A bracket's are at its first line. */
uint64_t listing_line_hits(const struct listing *listing,
                           const struct listing_line *line, size_t source);

/* Of a source line: how many of them may be of other lines. */
uint64_t listing_line_shared(const struct listing *listing,
                             const struct listing_line *line, size_t source);

/* Of a source line: how many of them are of functions that were inlined there. */
uint64_t listing_line_inlined(const struct listing *listing,
                              const struct listing_line *line, size_t source);

/* Hits of the bucket that a line is in, which may be at another line of its bracket; 0
 * if it is in none. */
uint64_t listing_bucket_hits(const struct listing *listing,
                             const struct listing_line *line, size_t source);

/*
 * Hides lines that are far from any with hits (and from those that were asked for). May
 * be called again.
 *
 *   context  lines that stay before and after each that has hits; UINT32_MAX: hides
 *            nothing
 *   rows     only this many lines (or brackets) with the most hits count as having any;
 *            0: all
 */
void listing_fold(struct listing *listing, uint32_t context, size_t rows);

#endif
