/* SPDX-License-Identifier: MIT */
/*
 * decoder.h - declarations that the parts of the pprof decoder share. Only decode_*.c
 * and pprof_decode.c include it.
 *
 * The bytes come from outside. They are walked three times, since fields may be in any
 * order: first tables of names (decode_tables.c), then locations (decode_locations.c),
 * then samples (decode_samples.c). An entry of two bytes in the file may need much more
 * memory, so each entry is counted against memory_left when it is decoded. All
 * functions return false with the error set if the file is damaged, needs too much, or
 * memory runs out.
 */
#ifndef PROFILE_DECODER_H
#define PROFILE_DECODER_H

#include "base/buffer.h"
#include "base/hash_index.h"
#include "profile/name_pattern.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"

/* Each sample has a value for each type, so only this table could multiply the memory.
 * A source of time has two, of which one is ignored. */
enum { SAMPLE_TYPES_MAX = PROFILE_SOURCES_MAX + 1 };

/* A column of values without a source, such as cpu/nanoseconds, or with none yet. */
#define COLUMN_IGNORED UINT32_MAX

/* Memory of an index for each entry, and of the names of process, unit and thread that
 * a row may add. */
enum { ENTRY_BYTES = 24, ROW_NAMES_BYTES = 200 };

/* Thread names up to this length are stored with their numbers. Longer ones could make
 * a sample's memory much larger than the sample. */
enum { THREAD_NAME_MAX = 64 };

/* label_role - meaning of a label, by its key. */
enum label_role {
    LABEL_NOT_ASKED,
    LABEL_OTHER,
    LABEL_IS_PROCESS,
    LABEL_IS_PID,
    LABEL_IS_UNIT,
    LABEL_IS_THREAD,
    LABEL_IS_TID,
    LABEL_IS_CPU,
    LABEL_IS_BUCKET_BYTES,
    LABEL_IS_INTERVAL,
    LABEL_IS_STACK,
};

/* string_entry - a string of the table. It is interned only once, since copies of long
 * strings would need too much memory. */
struct string_entry {
    struct protobuf_reader bytes;
    const char *interned; /* NULL until it is used */
    bool is_comment;      /* it was read as a comment */
    uint8_t role;         /* its role as the key of a label */
};

struct value_type {
    uint64_t type, unit; /* numbers of strings */
};

struct mapping {
    uint64_t id, start, limit, offset, filename, build_id;
    bool named;
    uint32_t image;
};

struct function {
    uint64_t id, name, system_name, filename, start_line, address, definition;
    uint32_t index;
    bool has_address;
    bool dropped; /* by drop_frames */
};

/* drop - what drop_frames leaves of a location. */
enum drop { DROP_NOTHING, DROP_INLINED, DROP_ALL };

struct location {
    uint64_t id, address;
    uint32_t image; /* HASH_INDEX_NONE: it has no mapping */
    uint32_t function, line, caller;
    uint32_t functions; /* number of them, at least 1, with what it is inlined into */
    enum drop drop;
};

/* line - one line of a location; function is an index. */
struct line {
    uint32_t function, line;
    bool dropped;
};

struct label {
    uint64_t key, text, number;
};

/* sample - one sample without its values. */
struct sample {
    uint64_t leaf;    /* location; 0: none */
    size_t callers;   /* index of its caller in the decoder's stack */
    size_t functions; /* number of them on its stack; 0: it has none */
    uint64_t process; /* string; 0: unknown */
    uint64_t unit;    /* string; 0: unknown */
    uint64_t thread;  /* string; 0: unknown */
    struct label pid; /* text or number; all 0: unknown */
    struct label tid;
    uint64_t interval; /* 0: unknown */
    uint64_t stack;    /* string: how it ends; 0: unknown */
    uint32_t cpu_plus_1;
};

struct decoder {
    struct profile *profile;
    struct pprof_error *error;
    const char *value; /* the only column that is a source; NULL: those that count */
    struct protobuf_reader bytes;
    uint64_t memory_limit, memory_left; /* in bytes, for all entries */
    /* The buffers are arrays, first in the order of the file and later sorted by id. */
    struct buffer strings;   /* struct string_entry */
    struct buffer types;     /* struct value_type */
    struct buffer mappings;  /* struct mapping */
    struct buffer functions; /* struct function */
    struct buffer locations; /* struct location */
    struct buffer lines;     /* struct line: of the current location, innermost first */
    struct buffer comments;  /* uint64_t: numbers of strings */
    struct buffer text;      /* the current string, terminated by NUL */
    struct buffer values;    /* uint64_t: of the current sample */
    struct buffer stack;     /* uint64_t: its locations, the innermost first */
    size_t values_most, stack_most; /* bytes of these that were charged */
    struct value_type period_type;
    uint64_t period, time_ns, duration_ns, samples;
    uint64_t default_type; /* string: the column to show first; 0: unknown */
    uint64_t drop_frames, keep_frames; /* strings: regular expressions; 0: none */
    struct name_pattern drop, keep;
    char drop_why[120];  /* why they are not obeyed; "": they are */
    uint64_t dropped;    /* number of samples that lost frames by them */
    uint64_t shortened;  /* number of locations that have too many functions */
    size_t clock_column; /* of time, a hit for each clock_period; SIZE_MAX: none */
    uint64_t clock_period;
    uint32_t column_source[SAMPLE_TYPES_MAX]; /* the first one, or COLUMN_IGNORED */
    bool column_several[SAMPLE_TYPES_MAX];    /* it has sources of several intervals */
    uint64_t totals[SAMPLE_TYPES_MAX];        /* sum of the hits of each source */
    uint32_t no_image; /* for locations without mapping; HASH_INDEX_NONE until needed */
    bool ours;         /* ntprof wrote the file; others are called foreign */
    bool flat;         /* leave out stacks */
};

#define COUNT(buffer, type) ((buffer).size / sizeof(type))

/* decoder_fail - set the error. Returns false, so that callers can return its value. */
__attribute__((format(printf, 2, 3))) bool decoder_fail(struct decoder *decoder,
                                                        const char *format, ...);
bool decoder_fail_memory(struct decoder *decoder);
bool decoder_fail_broken(struct decoder *decoder, const char *what);

/* decoder_take_memory - count size bytes against memory_left. Returns false if they are
 * too many. */
bool decoder_take_memory(struct decoder *decoder, uint64_t size);

/* decoder_append - append one entry to a table. */
bool decoder_append(struct decoder *decoder, struct buffer *table, const void *entry,
                    size_t size);

/* decoder_walk - call handle with every field of the profile. */
bool decoder_walk(struct decoder *decoder,
                  bool (*handle)(struct decoder *decoder,
                                 const struct protobuf_field *field));

/* Access to strings by number (decode_strings.c). raw_string returns a text in
 * decoder->text that is valid until the next call; string returns an interned one. Both
 * return NULL with the error set if the string does not exist. */
char *decoder_raw_string(struct decoder *decoder, uint64_t number);
const char *decoder_string(struct decoder *decoder, uint64_t number);
bool decoder_string_starts_with(const struct decoder *decoder, uint64_t number,
                                const char *text, bool whole);
bool decoder_string_is(const struct decoder *decoder, uint64_t number,
                       const char *text);
bool decoder_string_equal(const struct decoder *decoder, uint64_t a, uint64_t b);

/* Tables: decode_tables.c. sort orders a table by its ids, and checks that they are not
 * 0 and each is there once; what is the table's name in messages. clamp_line returns 0,
 * unknown, for lines that no file has. */
bool decoder_read_table_field(struct decoder *decoder,
                              const struct protobuf_field *field);
bool decoder_sort(struct decoder *decoder, struct buffer *table, size_t entry_size,
                  const char *what);
const void *decoder_find(struct decoder *decoder, const struct buffer *table,
                         size_t entry_size, uint64_t id, const char *what);
bool decoder_check_strings(struct decoder *decoder);
bool decoder_add_mappings(struct decoder *decoder);
bool decoder_add_functions(struct decoder *decoder);
uint32_t decoder_clamp_line(uint64_t line);

/* Locations: decode_locations.c. read_location is a handler of decoder_walk. */
bool decoder_read_location(struct decoder *decoder, const struct protobuf_field *field);
/* decoder_image_of - set *image to that of a location: without a mapping it is one
 * without a name, which is made when it is first needed. */
bool decoder_image_of(struct decoder *decoder, const struct location *location,
                      uint32_t *image);

/*
 * Frames to drop: decode_frames.c. compile reads the expressions, of foreign files
 * only; drop_function sets function->dropped, drop_lines leaves out lines of the
 * location at hand, drop_frames finds the leaf of decoder->stack.
 */
bool decoder_compile_frames(struct decoder *decoder);
bool decoder_drop_function(struct decoder *decoder, const char *name,
                           struct function *function);
void decoder_drop_lines(struct decoder *decoder, struct location *location);
bool decoder_drop_frames(struct decoder *decoder, struct sample *sample);

/* Sources: decode_sources.c. */
bool decoder_is_ours(const struct decoder *decoder);
bool decoder_keep_text(struct decoder *decoder, char **kept, char *text);
/* decoder_fail_sum - report that sums of a source overflow. */
bool decoder_fail_sum(struct decoder *decoder, const char *what, uint32_t source);
bool decoder_read_our_comments(struct decoder *decoder);
bool decoder_has_count_column(const struct decoder *decoder);
bool decoder_is_clock(const struct decoder *decoder, const struct value_type *type);
bool decoder_add_foreign_sources(struct decoder *decoder);

/* Stacks: decode_stacks.c. Returns false with the error set, or sets *index to that of
 * the innermost call of decoder->stack, of which the first skipped locations are no
 * calls, and *functions to the number of functions in its calls; end is what a label
 * says of how it ends, or NULL. */
bool decoder_add_stack(struct decoder *decoder, size_t skipped, const char *end,
                       uint32_t *index, size_t *functions);

/* Samples: decode_samples.c. read_sample is a handler of decoder_walk. */
bool decoder_read_sample(struct decoder *decoder, const struct protobuf_field *field);
bool decoder_find_clock(struct decoder *decoder);
bool decoder_note_left_out(struct decoder *decoder);

#endif
