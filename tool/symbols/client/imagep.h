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

/* answer - of a place that was asked for. */
struct answer {
    uint64_t place;
    struct sym_name name; /* without what frames add to it */
    size_t first_frame;   /* of name.frame_count */
};

/* answers - to the places that were asked for at once. */
struct answers {
    struct answer *items; /* by place */
    size_t count;
    bool by_offset; /* what they are answers to */
    uint64_t bytes;
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
    int64_t written_s;
    bool ended;   /* its process; note says why */
    bool bounded; /* by memory or time */
    unsigned int round;
    bool late;             /* it had no time left in this round */
    uint64_t image_end_ns; /* of its processor time, in this round */
    uint64_t charged_ns;   /* of it, to the clock */
    struct wire_names names;
    struct answers expected; /* many */
    struct answers last;     /* the last one, which was not among them */
    struct sym_frame joined[SYM_FRAMES_MAX]; /* of the last lookup */
    bool state_known;                        /* it came with an answer: what follows */
    bool has_symbols;
    char note[800];
};

/* Bytes that names may take. */
uint64_t image_memory_max(const struct sym_image *image);

/* The wire to put a question's parameters on; NULL: there is none. */
struct wire *image_ask(struct sym_image *image, uint64_t question);

/* Wait for the next item of the answer. Returns false if the process failed. */
bool image_next_answer(struct sym_image *image);

/* Take the state that ends an answer. */
void image_take_state(struct sym_image *image);

/* After an answer. Returns false if the process failed. */
bool image_finish(struct sym_image *image);

/* Put a question for the names of places, which answers say how to look up, on the
 * wire. */
void image_put_places(struct sym_image *image, const struct answers *answers,
                      const uint64_t *places, size_t count);

/* Take the answer to it, with the state. */
void image_take_names(struct sym_image *image, struct answers *answers,
                      const uint64_t *places, size_t count);

#endif
