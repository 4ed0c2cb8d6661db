/* SPDX-License-Identifier: MIT */
/* name.h - what is known of an address: its function, file and line. */
#ifndef SYMBOLS_BORDER_NAME_H
#define SYMBOLS_BORDER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_frame - a function at an address: the innermost one, or one that code was inlined
 * into. */
struct sym_frame {
    const char *name;        /* demangled, or "" */
    const char *system_name; /* as in the debug information or the symbol table */
    const char *file;        /* of the call, or for the innermost, of the code; or "" */
    uint32_t line;           /* of the same; 0 unknown */
    uint32_t start_line;     /* of the function; 0 unknown */
    uint32_t discriminator;  /* of the call; 0: none, or settings do not ask for it */
    const char *definition;  /* source file that the function is defined in, or "" */
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
    const char *definition; /* source file that the innermost function is defined in */
    /*
     * Where the outermost function begins, the one whose machine code covers the
     * address: the first byte of its symbol, also if another symbol inside of it splits
     * it. Code may have bounds and no name: then name is NULL, lookups return false,
     * and has_start is true. Perf maps do not have it.
     */
    bool has_start;
    uint64_t start; /* as address */
    /* Of images only: the address in the bucket whose name this is. All hits of the
     * bucket are attributed to it. */
    uint64_t at;
    /* With has_start: the range of the symbol that covers the address, including nested
     * symbols. */
    uint64_t code_start;
    uint64_t code_end;
    /*
     * The functions at the address by the debug information only, innermost first. File
     * and line of the first are those of the code, of all others those of the call.
     * Valid as long as callers.
     */
    const struct sym_frame *frames;
    size_t frame_count; /* at most SYM_FRAMES_MAX; 0: nothing is known */
};

/* Deeper chains are forged: the outer end is cut off. */
#define SYM_FRAMES_MAX 512

/*
 * Complete a name that was made from the symbol table with what the debug information
 * knows: lines, definitions, and inlined functions with their callers. The outermost
 * function keeps the name of the symbol table, such as "work.cold" where the debug
 * information has "work".
 *
 *   joined  room for SYM_FRAMES_MAX frames, which name->callers will refer to
 *
 * Returns whether name->name is set then.
 */
bool sym_name_join(struct sym_name *name, const struct sym_frame *frames, size_t count,
                   struct sym_frame *joined);

/* sym_code - the kind of machine that the code is for. */
struct sym_code {
    uint16_t machine; /* EM_X86_64 ... */
    bool wide;        /* 64-bit */
    bool big_endian;
};

/* sym_line_row - called for a row of a line table: the code from address on has this
 * line. Returns false to end the walk. */
typedef bool sym_line_row(void *context, uint64_t address, const char *file,
                          uint32_t line);

/* sym_wanted - what will be looked up: buckets of one size. */
struct sym_wanted {
    const uint64_t *places; /* of their first bytes: offsets in the file of an image, or
                             * addresses; sorted, except for perf maps */
    size_t count;
    uint64_t bytes; /* of each bucket, at least 1 */
};

#endif
