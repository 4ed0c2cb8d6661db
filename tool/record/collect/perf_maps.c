/* SPDX-License-Identifier: MIT */
/*
 * perf_maps.c - reads the names that JITs write into perf maps (/tmp/perf-PID.map).
 *
 * A process may have put a link to another one's map there, so several may share a
 * file. It is then read once for all of them, and only what names their hits is kept.
 */
#include "base/open_regular.h"
#include "base/time_limit.h"
#include "record/collect/namingp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Limit of all perf maps of one profile; reading as much takes one or two seconds. Node
 * writes some megabytes. */
#define PERF_MAPS_BYTES_MAX (UINT64_C(256) << 20)

/* A process must have so many hits to be reported when it is not known whether
 * it has a perf map. */
enum { UNKNOWN_HITS_MIN = 20 };

/* Return the hits of all counts together. */
static uint64_t
sum_hits(const struct counts *counts)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < counts->count; i++) {
        hits += counts->items[i].hits;
    }
    return hits;
}

/* jit_map - the perf map of a process, for its code without a file. */
struct jit_map {
    struct namer *namer;
    struct image *image;
    struct sym_perf_file file;
};

/* Report once that the perf map of a process is not read, and why. */
static void
report_unread_map(struct naming *naming, struct jit_map *jit, const char *why)
{
    char note[300];

    jit->namer->refused = true;
    snprintf(naming->refused_why, sizeof(naming->refused_why), "%s", why);
    snprintf(note, sizeof(note), "the perf map of process %" PRIu32 " is not read: %s",
             jit->image->pid, why);
    naming_report_once(naming, jit->namer, note);
}

/* Report once that the file where a process's perf map would be is not used. It has no
 * map then. */
static void
report_left_over(struct naming *naming, struct jit_map *jit)
{
    char note[300];

    snprintf(note, sizeof(note),
             "the perf map of process %" PRIu32 " is not used: it is older than the "
             "process, so it was left by an earlier one with its pid",
             jit->image->pid);
    naming_report_once(naming, jit->namer, note);
}

/* Return the words for why a perf map could not be opened; error is a negative
 * errno. */
static const char *
why_not_opened(int error)
{
    switch (-error) {
    case EPERM:
        return "its owner is neither the process's user nor root";
    case ESRCH:
        return "the process exited before its perf map was looked for";
    case EMFILE:
        return "too many files are open, or too many processes have a /tmp of their "
               "own";
    default:
        return sym_open_error(error);
    }
}

/* Whether an error of opening a perf map is to be reported. Most errors mean that the
 * map exists; the others leave that open, and are reported only for a process with many
 * hits. */
static bool
is_worth_a_report(int error, uint64_t hits)
{
    static const int certain[] = {EPERM, EMEDIUMTYPE, EXDEV, ELOOP, EINVAL, ENOSYS};

    for (size_t i = 0; i < sizeof(certain) / sizeof(certain[0]); i++) {
        if (error == -certain[i]) {
            return true;
        }
    }
    return error != -ENOENT && hits >= UNKNOWN_HITS_MIN;
}

/* Return the key under which the perf map of a process is refused after its reader hung
 * (base/time_limit.h). It is that of no file system, but of the process, since one may
 * make its reader hang on purpose. */
static uint64_t
reader_key(const struct jit_map *jit)
{
    return UINT64_C(1) << 62 | jit->image->pid;
}

/* Open the perf map of a process in jit->file. Returns false if there is none, or if it
 * cannot be read, which is reported. */
static bool
open_map(struct naming *naming, struct jit_map *jit)
{
    const int error =
        time_limit_is_late(reader_key(jit))
            ? -ETIMEDOUT
            : jit_open(&jit->image->taken_jit, jit->image->pid, &jit->file);

    if (error == -EOWNERDEAD) {
        report_left_over(naming, jit);
    } else if (error != 0 && is_worth_a_report(error, jit->namer->hits)) {
        report_unread_map(naming, jit, why_not_opened(error));
    }
    return error == 0;
}

/* Whether two perf maps are one file. */
static bool
same_file(const struct sym_perf_file *left, const struct sym_perf_file *right)
{
    return left->device == right->device && left->inode == right->inode;
}

/* Order processes by the file of their perf map, so that those that share one follow
 * each other. */
static int
compare_jits(const void *left, const void *right)
{
    const struct sym_perf_file *const a = &((const struct jit_map *)left)->file;
    const struct sym_perf_file *const b = &((const struct jit_map *)right)->file;

    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return (a->inode > b->inode) - (a->inode < b->inode);
}

/* Write each place of the counts, which are sorted, once to places, which has room for
 * all. Returns their number. */
static size_t
list_places(const struct counts *counts, uint64_t *places)
{
    size_t count = 0;

    for (size_t i = 0; i < counts->count; i++) {
        /* Counts of one place follow each other and differ in their program. */
        if (count == 0 || places[count - 1] != counts->items[i].place) {
            places[count++] = counts->items[i].place;
        }
    }
    return count;
}

/* Read the perf map that the processes in jits share, with the names of their hits
 * only; the first of them has it open. Returns NULL with errno set. */
static struct sym_map *
read_shared(const struct jit_map *jits, size_t count, uint64_t bytes)
{
    struct sym_wanted wanted = {.bytes = bytes};
    struct sym_map *map = NULL;
    uint64_t *places;
    size_t room = 1;

    for (size_t i = 0; i < count; i++) {
        room += jits[i].image->totals.count + jits[i].image->taken.count;
    }
    places = calloc(room, sizeof(*places));
    for (size_t i = 0; places != NULL && i < count; i++) {
        wanted.count += list_places(&jits[i].image->totals, places + wanted.count);
        wanted.count += list_places(&jits[i].image->taken, places + wanted.count);
    }
    wanted.places = places;
    if (places != NULL) {
        map = sym_map_read_perf(jits[0].file.fd, jits[0].file.size, &wanted);
    }
    free(places);
    return map;
}

/* Have the namer of a process use a perf map instead of its previous one. */
static void
set_map(struct jit_map *jit, struct sym_map *map)
{
    sym_map_close(jit->namer->map);
    jit->namer->map = map;
    jit->namer->given_up = false;
    jit->namer->refused = false;
}

/* Read a perf map once for all processes in jits; the first has it open. On failure
 * they keep their previous names. */
static void
read_for_all(struct naming *naming, struct jit_map *jits, size_t count, uint64_t bytes)
{
    struct sym_map *map = NULL;
    const char *why = "all perf maps together have more than 256 MiB";

    if (naming->clock.hung >= SYM_HUNG_MAX) {
        why = "other files that did not answer took the time for it";
    } else if (jits[0].file.size <= naming->maps_left) {
        naming->maps_left -= jits[0].file.size;
        map = read_shared(jits, count, bytes);
        if (map == NULL && errno == ETIME) {
            naming->clock.hung++;
            time_limit_set_late(reader_key(&jits[0]));
        }
        why = errno == ESTALE ? "it became shorter while it was read"
                              : sym_open_error(-errno);
    }
    for (size_t i = 0; i < count; i++) {
        if (map != NULL) {
            set_map(&jits[i], i == 0 ? map : sym_map_share(map));
        } else {
            report_unread_map(naming, &jits[i], why);
        }
    }
}

/* Open the perf map of an image that has new hits, or whose map was freed. Returns
 * false if there is nothing to read. */
static bool
find_map(struct naming *naming, struct image *image, size_t number, struct jit_map *jit)
{
    const uint64_t hits = sum_hits(&image->totals) + sum_hits(&image->taken);
    struct namer *const namer = &naming->namers[number];

    if (image->kind != IMAGE_ANONYMOUS || image->pid == 0 ||
        (hits == namer->hits && !namer->given_up)) {
        return false;
    }
    namer->hits = hits;
    *jit = (struct jit_map){namer, image, {.fd = -1}};
    return open_map(naming, jit);
}

/* Read the perf map that all of jits share. It is opened again through the first of
 * them and closed here: all maps at a time would need too many descriptors. */
static void
read_shared_map(struct naming *naming, struct jit_map *jits, size_t count,
                uint64_t bytes)
{
    const struct sym_perf_file found = jits[0].file;

    if (!open_map(naming, &jits[0])) {
        return;
    }
    if (same_file(&found, &jits[0].file)) {
        read_for_all(naming, jits, count, bytes);
    } else {
        report_unread_map(naming, &jits[0], "it was replaced while maps were read");
    }
    jit_close(&jits[0].image->taken_jit, &jits[0].file);
}

bool
perf_maps_read(struct naming *naming, struct image *const *images, size_t count,
               uint64_t bytes)
{
    struct jit_map *const jits = calloc(count + 1, sizeof(*jits));
    size_t found = 0;
    size_t end;

    naming->maps_left = PERF_MAPS_BYTES_MAX;
    if (jits == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (find_map(naming, images[i], i, &jits[found])) {
            jit_close(&images[i]->taken_jit, &jits[found++].file);
        }
    }
    qsort(jits, found, sizeof(*jits), compare_jits);
    for (size_t first = 0; first < found; first = end) {
        for (end = first + 1;
             end < found && same_file(&jits[first].file, &jits[end].file); end++) {
        }
        read_shared_map(naming, &jits[first], end - first, bytes);
    }
    free(jits);
    return true;
}

void
perf_maps_read_again(struct naming *naming, struct namer *namer, struct image *image,
                     uint64_t bytes)
{
    struct jit_map jit = {namer, image, {.fd = -1}};

    if (open_map(naming, &jit)) {
        read_for_all(naming, &jit, 1, bytes);
        jit_close(&image->taken_jit, &jit.file);
    }
}
