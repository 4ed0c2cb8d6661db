/* SPDX-License-Identifier: MIT */
/* imagep.h - what image.c and image_names.c share: the command's end of a process that
 * reads one image. */
#ifndef SYMBOLS_CLIENT_IMAGEP_H
#define SYMBOLS_CLIENT_IMAGEP_H

#include "sandbox/process.h"
#include "symbols/border/protocol.h"
#include "symbols/border/segments.h"
#include "symbols/client/image.h"
#include "symbols/client/opener.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* answer - what the process answered for a place. */
struct answer {
    uint64_t place;       /* a file offset or an address: answers.by_offset */
    struct sym_name name; /* by the symbol table; sym_name_join adds the frames */
    size_t first_frame;   /* in answers.frames; name.frame_count of them */
};

/* answers - the answers to one request for the names of places. */
struct answers {
    struct answer *items; /* sorted by place */
    size_t count;
    bool by_offset; /* places are file offsets, else link-time addresses */
    uint64_t bytes; /* size of the bucket at each place; at least 1 */
    struct sym_frame *frames;
    size_t frame_count;
    size_t frame_room;
};

struct sym_image {
    struct sandbox_process process;
    struct opener opener;
    struct sym_settings settings;
    char *path;
    char *root;
    char build_id[2 * 64 + 1];
    struct sym_code code;
    struct sym_segment *segments;
    size_t segment_count;
    int64_t written_s;  /* when the file was last written, since 1970; 0: not known */
    bool ended;         /* its process has ended; note says why */
    bool bounded;       /* names are missing since memory or time ran out */
    unsigned int round; /* that of settings.clock at the last request */
    bool late;          /* no time was left for the image in this round */
    uint64_t image_end_ns; /* processor time of its process at which its share of this
                              round ends */
    uint64_t charged_ns;   /* processor time that was subtracted from the clock's */
    struct wire_names names;
    struct answers expected; /* to sym_image_expect */
    struct answers last;     /* to the last lookup that was not expected: one at most */
    struct sym_frame joined[SYM_FRAMES_MAX]; /* of the last lookup */
    bool state_known; /* the two members below were received, with an answer */
    bool has_symbols;
    char note[800];
};

/* Return the limit for the memory of the image's names, in bytes. */
uint64_t image_memory_max(const struct sym_image *image);

/* Start a request: put question (ASK_...) on the wire. Returns the wire, on which the
 * caller puts the parameters; or NULL if the process has ended or no time is left. */
struct wire *image_ask(struct sym_image *image, uint64_t question);

/* Wait for the next item of the answer, and open files that the process needs first.
 * Returns false if the process failed. */
bool image_next_answer(struct sym_image *image);

/* Receive the state of the image, the last item of an answer. */
void image_take_state(struct sym_image *image);

/* Finish a request after its answer: charge its time, and end the process if it failed.
 * Returns false if it did. */
bool image_finish(struct sym_image *image);

/* Put the parameters of ASK_NAMES: places, and of answers by_offset and bytes. */
void image_put_places(struct sym_image *image, const struct answers *answers,
                      const uint64_t *places, size_t count);

/* Receive the answer to ASK_NAMES for these places, with the state. */
void image_take_names(struct sym_image *image, struct answers *answers,
                      const uint64_t *places, size_t count);

#endif
