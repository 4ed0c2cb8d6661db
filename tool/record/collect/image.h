/* SPDX-License-Identifier: MIT */
/*
 * image.h - the images of a recording, and the counters of each.
 *
 * All mappings of one part of an image by processes of one name share their counters.
 * So memory is bounded by the code that was hit, and does not grow with time or with
 * the number of processes.
 *
 * A fold moves hits from the 32-bit counters of segments to fresh; from there they move
 * to taken and then to totals. Deliveries may change everything except taken_fd, taken
 * and totals, which only the thread that makes snapshots uses.
 */
#ifndef RECORD_COLLECT_IMAGE_H
#define RECORD_COLLECT_IMAGE_H

#include "base/hash_index.h"
#include "record/collect/counts.h"
#include "record/collect/jit.h"
#include "record/collect/roots.h"

#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <stdint.h>

enum image_kind {
    IMAGE_FILE, /* a place is a file offset */
    IMAGE_VDSO, /* a place is an offset in the vdso */
    /* code that one process made, such as a JIT's, in memory without a file or in a
     * file of memory only; a place is an address */
    IMAGE_ANONYMOUS,
    IMAGE_KERNEL, /* a place is an address */
    /* the kernel once more, in large buckets: a fold of IMAGE_KERNEL looks only at the
     * counters where this one has hits */
    IMAGE_KERNEL_MAP
};

/* image_segment - counters of the places [begin, begin + length) for processes of one
 * program. */
struct image_segment {
    struct image_segment *next;
    /* number of the program; with per_cpu, that number times the number of processors
     * plus the index of a processor */
    uint32_t program;
    uint32_t log2;  /* of the bucket size in bytes */
    uint64_t begin; /* a place; a multiple of the bucket size */
    uint64_t length;
    size_t bytes;      /* size of the counters of one source */
    ULONG *counters[]; /* one buffer of ntprof_buffer_alloc for each source */
};

/* Programs whose last segment an image remembers: that of program p at p % 16. */
enum { IMAGE_RECENT = 16 };

struct image {
    enum image_kind kind;
    uint32_t number; /* its index in the set */
    char *path;
    /* of IMAGE_ANONYMOUS; 0: of all processes beyond IMAGE_SET_ANONYMOUS_MAX */
    uint32_t pid;
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    /* as notified; 0: unknown, as for mappings from before the watch */
    uint64_t inode_generation;
    uint64_t read_generation; /* of the opened file; 0: unknown */
    int fd;                   /* the mapped file, checked by its inode, O_PATH; or -1 */
    int taken_fd;             /* image_take moves fd here; only snapshots use it */
    int root; /* in set->roots, to search for debug files; -1: only in our own root */
    int taken_root;       /* image_take copies root here */
    struct jit jit;       /* of IMAGE_ANONYMOUS: where its names are */
    struct jit taken_jit; /* image_take copies jit here */
    /* of IMAGE_ANONYMOUS: memory that the process mapped by a name, such as a memfd,
     * and that holds no ELF file; inode 0: none is known */
    uint64_t memory_device;
    uint64_t memory_inode;
    bool opened;            /* the file was opened: it is fd, or now taken_fd */
    uint64_t opened_device; /* st_dev of fd; valid once opened is set */
    uint32_t misses;        /* failed attempts to open it */
    bool late;              /* its file system did not answer the last one in time */
    /* mappings of processes whose hits are counted in it; mapping.c maintains it */
    uint64_t users;
    struct image_segment *segments;
    /* by program: the segment that image_segment_find returned last; the next search
     * starts with it. NULL: with the first segment */
    struct image_segment *recent[IMAGE_RECENT];
    struct counts fresh;  /* hits that folds have moved out of the counters */
    struct counts taken;  /* hits that the current snapshot has moved out of fresh */
    struct counts totals; /* hits of all snapshots before */
};

struct image_set {
    struct image **images;
    size_t count;
    size_t capacity;
    struct hash_index index;
    size_t source_count;
    uint32_t bucket_log2;
    size_t anonymous; /* images of kind IMAGE_ANONYMOUS */
    struct roots roots;
    struct jits jits;
    size_t files_open; /* number of images with opened set */
    size_t files_max;  /* no more are opened, since profiling needs descriptors too */
    uint64_t unopened; /* images without names because of files_max */
    /* collector_measure found memory_max exceeded: no more counters are made */
    bool full;
    uint64_t segments_made; /* so far */
    bool discarding;        /* counting is paused: folds drop the hits */
    uint64_t folded;        /* hits that folds have moved or dropped so far */
    /* requests for counters or images that were refused because of full */
    uint64_t refused;
};

enum {
    /* Maximum number of different images; mappings of more are counted as failures. */
    IMAGE_SET_MAX = 65536,
    /* Maximum number of processes whose anonymous code is separate; that of all others
     * is one image and row. */
    IMAGE_SET_ANONYMOUS_MAX = 4096,
};

/* Initialise a set. Call it after the session was opened, which raises the limit of
 * descriptors. */
void image_set_init(struct image_set *set, size_t source_count, uint32_t bucket_log2);

/* Free all images, with their counters and descriptors. */
void image_set_finish(struct image_set *set);

/* Processes through which a file is searched for: the one that maps it, and
 * ancestors. */
enum { IMAGE_ROOTS_MAX = 4 };

/*
 * Find or add the image of an NTPROF_IMAGE_MAP. The file of a new one is opened at
 * once, because the process may exit soon. Returns NULL if memory runs out, the memory
 * limit is exceeded (set->full), or there are IMAGE_SET_MAX images.
 *
 *   ancestors  pids of the parent, of its parent and so on: they usually have the same
 *              root directory and may still be running after the process has exited
 *   count      at most IMAGE_ROOTS_MAX - 1
 */
struct image *image_set_find(struct image_set *set, const ntprof_notification *map,
                             const uint32_t *ancestors, size_t count);

/* Read anew what leads to the names of an image of code without a file, because its
 * process has executed another program since it was read. Other images are left alone.
 * Parameters as of image_set_find. */
void image_set_remember(struct image_set *set, struct image *image,
                        const uint32_t *ancestors, size_t count);

/* Search for the perf maps of processes that had none so far, and keep those that are
 * found open. To be called often: only searches that are due are made, and they
 * become rarer (jit.c). */
void image_set_find_maps(struct image_set *set);

/* Return whether the image is the file with this st_dev and st_ino. */
bool image_is_file(const struct image *image, uint64_t device, uint64_t inode);

/* Find or add IMAGE_KERNEL or IMAGE_KERNEL_MAP. Returns NULL if memory runs out. */
struct image *image_set_kernel(struct image_set *set, enum image_kind kind);

/* Find or make a segment that covers the places [begin, begin + length) for a program.
 * Returns NULL if memory runs out, or if it has to be made and set->full is set. */
struct image_segment *image_segment_find(struct image_set *set, struct image *image,
                                         uint64_t begin, uint64_t length,
                                         uint32_t program);

/* Find a segment as image_segment_find does, but do not make one: NULL if there is
 * none. */
struct image_segment *image_segment_look_up(struct image *image, uint64_t begin,
                                            uint64_t length, uint32_t program);

/* Return the place of the hits in the counter of a segment with index at. */
static inline uint64_t
image_counter_place(const struct image *image, const struct image_segment *segment,
                    size_t at)
{
    /* [anon:other] is the code of many processes. Counts of each address of each of
     * them would need unbounded memory, so all its hits have place 0. */
    return image->kind == IMAGE_ANONYMOUS && image->pid == 0
               ? 0
               : segment->begin + ((uint64_t)at << segment->log2);
}

/* Return the first counter of a place in the segment; place is a multiple of the
 * bucket. */
static inline ULONG *
image_segment_counter(const struct image_segment *segment, size_t source,
                      uint64_t place)
{
    return segment->counters[source] + ((place - segment->begin) >> segment->log2);
}

/*
 * Move the hits of one source from the counters of an image to its fresh counts; if
 * set->discarding, drop them. Each hit is either moved or still in its counter, even if
 * it arrives during the call. Returns false if memory runs out; hits that were not
 * moved stay in their counters.
 */
bool image_fold(struct image_set *set, struct image *image, uint32_t source);

/* Free the segments of an image. No started profile may use their counters. */
void image_release(struct image_set *set, struct image *image);

/* Fold the counters of an image that no mapping uses, and return whether it can be
 * deleted. It cannot if a mapping uses it, it is the kernel's, or it has hits in
 * counters, fresh or taken. No delivery may run during the call. */
bool image_fold_unused(struct image_set *set, struct image *image);

/* Free an image that is unused. It must be removed from set->images. */
void image_delete(struct image_set *set, struct image *image);

/* Fold and free the counters of a program without processes. Returns false if memory
 * runs out; those that were not folded stay. */
bool image_drop_program(struct image_set *set, struct image *image, uint32_t program);

/* After images were removed from the list, make its index again and close the root
 * directories that no image uses any more. If memory runs out, some images are missing
 * in the index: image_set_find then adds a second image for new mappings of the same
 * file. */
void image_set_tidy(struct image_set *set);

/* Move the image's fresh counts to taken and fd to taken_fd, and hand what leads to its
 * names to the snapshot too. No delivery may run during the call. Returns false if
 * memory runs out; no count was moved then. */
bool image_take(struct image *image);

/* Move taken to totals and merge these. Returns false if memory runs out; no hit is
 * lost then. */
bool image_total(struct image *image);

/* Move taken to totals entry by entry (counts_collect), which is quick where few are
 * moved often; image_total merges totals later. Returns false if memory runs out; no
 * hit is lost then. */
bool image_keep(struct image *image);

#endif
