/* SPDX-License-Identifier: MIT */
/* name.h - what is known of an address: its function, file and line. */
#ifndef SYMBOLS_BORDER_NAME_H
#define SYMBOLS_BORDER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sym_frame - a function that the code at an address was inlined into. */
struct sym_frame {
    const char *name;        /* demangled, or "" */
    const char *system_name; /* as in the debug information or the symbol table */
    const char *file;        /* where the call is, or "" */
    uint32_t line;           /* of the call; 0 unknown */
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
    /* Of images only. Where the code starts whose name this is: bucket's hits are taken
     * to be there. */
    uint64_t at;
    /* With has_start: the code of the symbol that covers it, with what other symbols
     * name inside of it. */
    uint64_t code_start;
    uint64_t code_end;
    /*
     * The functions there as the debug information alone has them, innermost first; the
     * place in the first one is that of the code, in all others that of the call. Valid
     * as callers.
     */
    const struct sym_frame *frames;
    size_t frame_count; /* at most SYM_FRAMES_MAX; 0: nothing is known */
};

/* Deeper chains are forged: the outer end is cut off. */
#define SYM_FRAMES_MAX 512

/*
 * Adds what the debug information knows to a name that has only what the symbol table
 * knows. The symbol table names the outermost function: "work.cold" where debug
 * information says "work".
 *
 *   joined  room for SYM_FRAMES_MAX frames, where callers are
 *
 * Has the name a name?
 */
bool sym_name_join(struct sym_name *name, const struct sym_frame *frames, size_t count,
                   struct sym_frame *joined);

/* sym_code - what its bytes are for. */
struct sym_code {
    uint16_t machine; /* EM_X86_64 ... */
    bool wide;        /* 64-bit */
    bool big_endian;
};

/* A row of a line table: code from address on is of that line. False ends the walk. */
typedef bool sym_line_row(void *context, uint64_t address, const char *file,
                          uint32_t line);

/* sym_wanted - what will be looked up: the bytes (at least 1) from each place on.
 * Places are in order, but for perf maps. */
struct sym_wanted {
    const uint64_t *places;
    size_t count;
    uint64_t bytes;
};

#endif
