/* SPDX-License-Identifier: MIT */
/*
 * naming.c - addresses, functions and statistics for counted hits.
 *
 * Terms:
 *   place     where code is in its image: an offset in the file, or an address
 *   counts    hits by place, program and source (counts.h)
 *   namer     the symbols of one image, found by the image's number
 *   perf map  /tmp/perf-PID.map, into which a JIT writes the names of its code
 *   give up   free symbols for lack of memory; they are read again when needed
 *
 * With profile objects for each processor, the program of a count is the number of the
 * program times the number of processors, plus the index of the processor.
 */
#include "base/clock.h"
#include "record/collect/mapped_file.h"
#include "record/collect/namingp.h"
#include "record/collect/place.h"
#include "record/collect/usage.h"
#include "symbols/client/kernel.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a hit of the kernel has no name, its symbols are read again after this time at the
 * earliest, as its module may have been loaded since. Code of seccomp filters never has
 * a name: so the time doubles with each reading that did not find all names. */
static const uint64_t kernel_keep_s = 60;
static const uint64_t kernel_keep_max_s = 3600;

/* Limit of the names of one image: half of memory_max, and at least what programs of
 * some size need. */
enum { IMAGE_MEMORY_SHARE = 2, IMAGE_MEMORY_MIN_MIB = 64 };

/* Processor time for all names of one profile, in seconds. */
enum { NAMES_SECONDS = 30 };

/* How often an image is begun again for lack of time (naming_set_time). */
enum { DELAYS_MAX = 3 };

/* Rows between two calls of the progress callback. */
enum { PROGRESS_ROWS = 256 };

/* Images whose symbols are open at a time: each is read by a process of its own. */
enum { READERS_MAX = 256 };

/* Places whose names are looked up at once: few images have more of them. */
enum { PLACES_MAX = 4096 };

/* --- creation --- */

/* Return how many bytes the names of one image may use, of a process that may use
 * memory_max; 0: no limit. */
static uint64_t
image_memory(uint64_t memory_max)
{
    const uint64_t least = (uint64_t)IMAGE_MEMORY_MIN_MIB << 20;
    const uint64_t share = memory_max / IMAGE_MEMORY_SHARE;

    if (memory_max == 0) {
        return 0;
    }
    return share > least ? share : least;
}

struct naming *
naming_new(uint64_t memory_max, const struct sym_settings *symbols)
{
    struct naming *const naming = calloc(1, sizeof(*naming));

    if (naming != NULL) {
        naming->cpu_count = 1;
        naming->left_ns = UINT64_MAX;
        naming->memory_max = memory_max;
    }
    if (naming != NULL && symbols != NULL) {
        naming->symbols = *symbols;
    }
    if (naming != NULL) {
        naming->symbols.memory_max = image_memory(memory_max);
        naming->symbols.clock = &naming->clock;
        naming->symbols.brief = true;
    }
    return naming;
}

void
naming_set_programs(struct naming *naming, const struct naming_program *programs)
{
    naming->programs = programs;
}

void
naming_set_threads(struct naming *naming, struct naming_thread *threads)
{
    free(naming->threads);
    naming->threads = threads;
}

void
naming_set_cpus(struct naming *naming, const uint32_t *cpus, uint32_t count)
{
    naming->cpus = cpus;
    naming->cpu_count = count;
}

void
naming_set_time(struct naming *naming, uint64_t left_ns, uint64_t headers_ns)
{
    naming->left_ns = left_ns;
    naming->headers_ns = headers_ns;
    /* start_clock does not subtract what earlier profiles took. */
    naming->given_ns = naming->clock.left_ns;
    naming->clock.over_ns = 0;
}

const struct sym_settings *
naming_symbols(const struct naming *naming)
{
    return &naming->symbols;
}

void
naming_set_stacks(struct naming *naming, struct naming_stacks *stacks)
{
    naming->stacks = stacks;
}

void
naming_end(struct naming *naming)
{
    naming->ending = true;
}

/* --- bounds of memory --- */

uint64_t
naming_unnamed(const struct naming *naming)
{
    return naming->unnamed;
}

uint64_t
naming_refused_maps(const struct naming *naming, const char **why)
{
    uint64_t refused = 0;

    *why = naming->refused_why;

    for (size_t i = 0; i < naming->count; i++) {
        refused += naming->namers[i].refused;
    }
    return refused;
}

/* Free the symbols of an image's file, which can be read again from its descriptor; if
 * maps is set, also those of its perf map. The kernel's symbols are small and stay. */
static void
namer_give_up(struct namer *namer, bool maps)
{
    if (namer->from_file) {
        sym_image_close(namer->elf);
        namer->elf = NULL;
        namer->bytes = 0;
        namer->opened = false;
    }
    if (maps && namer->map != NULL && !namer->kernel) {
        sym_map_close(namer->map);
        namer->map = NULL;
        namer->given_up = true;
    }
}

/* Whether symbols take more than half of memory_max, or too many
 * processes read them. */
static bool
naming_is_full(const struct naming *naming)
{
    const uint64_t limit =
        naming->memory_max == 0 ? UINT64_MAX : naming->memory_max / 2;
    uint64_t bytes = 0;
    size_t readers = 0;

    for (size_t i = 0; i < naming->count; i++) {
        bytes += naming->namers[i].bytes;
        readers += naming->namers[i].elf != NULL;
    }
    return readers > READERS_MAX ||
           (limit != UINT64_MAX && bytes + usage_bytes() > limit);
}

void
naming_bound(struct naming *naming)
{
    for (int maps = 0; maps < 2 && naming_is_full(naming); maps++) {
        for (size_t i = 0; i < naming->count; i++) {
            namer_give_up(&naming->namers[i], maps != 0);
        }
        (void)malloc_trim(0);
    }
}

void
naming_delete(struct naming *naming)
{
    if (naming == NULL) {
        return;
    }
    for (size_t i = 0; i < naming->count; i++) {
        sym_image_close(naming->namers[i].elf);
        sym_map_close(naming->namers[i].map);
    }
    free(naming->namers);
    free(naming->threads);
    calls_finish(&naming->calls);
    free(naming);
}

/* --- namers of images --- */

struct namer *
naming_get(struct naming *naming, size_t number)
{
    if (number >= naming->count) {
        const size_t count = (number + 1) * 2;
        struct namer *const namers =
            reallocarray(naming->namers, count, sizeof(*namers));

        if (namers == NULL) {
            return NULL;
        }
        memset(namers + naming->count, 0, (count - naming->count) * sizeof(*namers));
        naming->namers = namers;
        naming->count = count;
    }
    return &naming->namers[number];
}

void
naming_remove(struct naming *naming, size_t number)
{
    if (number < naming->count) {
        sym_image_close(naming->namers[number].elf);
        sym_map_close(naming->namers[number].map);
        naming->namers[number] = (struct namer){0};
    }
}

void
naming_move(struct naming *naming, size_t from, size_t to)
{
    if (from != to && from < naming->count && to < naming->count) {
        naming->namers[to] = naming->namers[from];
        naming->namers[from] = (struct namer){0};
    }
}

void
naming_forget_hits(struct naming *naming, size_t number)
{
    if (number < naming->count) {
        naming->namers[number].hits = 0;
    }
}

/* --- opening --- */

/* Take over the reader that was asked for the unwind tables of an image, if there is
 * one: it has the file open, with the same settings. Returns whether there is. */
static bool
take_reader(struct naming *naming, struct namer *namer)
{
    const size_t number = (size_t)(namer - naming->namers);

    if (naming->stacks == NULL) {
        return false;
    }
    namer->elf = callers_take_reader(naming->stacks->callers, (uint32_t)number);
    if (namer->elf == NULL) {
        return false;
    }
    sym_image_set_clock(namer->elf, &naming->clock);
    return true;
}

/* Open the file of an image, and have wanted looked up if it is not NULL. Returns NULL
 * with errno set if it cannot be read. */
static struct sym_image *
open_image(const struct naming *naming, const struct image *image,
           const struct sym_wanted *wanted)
{
    const struct mapped_way way = {
        .fd = image->taken_fd,
        .root = image->taken_root,
        .key = mapped_file_key(image),
        .path = image->path,
    };

    return mapped_file_read(&way, &naming->symbols, wanted);
}

/* Report why names of an image are missing unless that was done for this image. report
 * is say or warn of the settings, or NULL. */
static void
report_by(const struct naming *naming, struct namer *namer,
          void (*report)(void *context, const char *note), const char *why)
{
    if (report != NULL && !namer->noted) {
        namer->noted = true;
        report(naming->symbols.context, why);
    }
}

void
naming_report_once(const struct naming *naming, struct namer *namer, const char *why)
{
    report_by(naming, namer, naming->symbols.say, why);
}

/* After a failed open: report once that an image's names cannot be read, and count it
 * among those without all names (bounded). A file that is no program (ENOEXEC) has
 * none, which is no failure. */
static void
report_unreadable(const struct naming *naming, struct namer *namer,
                  const struct image *image)
{
    const bool late = errno == ETIMEDOUT || errno == ETIME || errno == ECANCELED;
    char note[800];

    if (namer->elf != NULL || errno == ENOEXEC) {
        return;
    }
    namer->bounded = true;
    snprintf(note, sizeof(note), "cannot read the symbol names of %s: %s", image->path,
             sym_image_error(errno));
    report_by(naming, namer, late ? naming->symbols.warn : naming->symbols.say, note);
}

/* Leave the names of an image to a later profile, if there will be one, and report
 * it, if too many readers did not answer while this profile was made. Returns
 * whether it is so. */
static bool
delay_if_hung(const struct naming *naming, struct namer *namer,
              const struct image *image)
{
    char note[800];

    if (naming->clock.hung < SYM_HUNG_MAX) {
        return false;
    }
    namer->delayed = true;
    snprintf(
        note, sizeof(note),
        "the symbol names of %s are not read: other files that did not answer took "
        "the time for it",
        image->path);
    naming_report_once(naming, namer, note);
    return true;
}

/* Whether the time of this profile for names is used up. Never without naming_set_time:
 * then no later profile could have them. */
static bool
is_out_of_time(const struct naming *naming)
{
    return naming->left_ns != UINT64_MAX && naming->clock.left_ns == 0;
}

void
namer_expect(const struct namer *namer, const struct sym_wanted *wanted)
{
    if (namer->elf != NULL && !namer->delayed) {
        sym_image_expect(namer->elf, /* by_offset */ true, wanted->places,
                         wanted->count, wanted->bytes);
    }
}

void
namer_open(struct naming *naming, struct namer *namer, struct image *image,
           const struct sym_wanted *wanted)
{
    namer->delayed = image->kind == IMAGE_FILE && is_out_of_time(naming);
    if (namer->opened) {
        namer_expect(namer, wanted);
        return;
    }
    if (image->kind == IMAGE_FILE) {
        if (delay_if_hung(naming, namer, image) ||
            (namer->delayed && naming->clock.over_ns >= naming->headers_ns)) {
            return;
        }
        /* Without a descriptor, try again at the next call: another process may map the
         * file later, and it may be possible to open it then. */
        namer->opened = image->taken_fd >= 0;
        if (!namer->opened && image->late) {
            errno = ETIMEDOUT;
            report_unreadable(naming, namer, image);
        }
        if (namer->opened && take_reader(naming, namer)) {
            namer->from_file = true;
            namer_expect(namer, wanted);
        } else if (namer->opened) {
            namer->elf = open_image(naming, image, namer->delayed ? NULL : wanted);
            namer->from_file = true;
            report_unreadable(naming, namer, image);
        }
        return;
    }
    namer->opened = true;
    if (image->kind == IMAGE_VDSO && strcmp(image->path, "[vdso]") == 0) {
        if (!take_reader(naming, namer)) {
            namer->elf = sym_image_open_vdso(&naming->symbols);
        }
        namer_expect(namer, wanted);
    }
}

uint64_t
naming_counted_bytes(const struct profile *profile)
{
    const uint64_t most = UINT64_C(1) << COUNTED_LOG2_MAX;

    return profile->bucket_bytes < most ? profile->bucket_bytes : most;
}

uint64_t
naming_bounded_images(const struct naming *naming)
{
    uint64_t bounded = 0;

    for (size_t i = 0; i < naming->count; i++) {
        bounded += naming->namers[i].bounded || naming->namers[i].delayed;
    }
    return bounded;
}

/* Subtract the time that names of the previous profile took from what is left for all,
 * and start the clock of this profile. */
static void
start_clock(struct naming *naming)
{
    struct sym_clock *const clock = &naming->clock;

    if (naming->left_ns != UINT64_MAX) {
        naming->left_ns -= naming->given_ns - clock->left_ns;
        naming->headers_ns -=
            clock->over_ns < naming->headers_ns ? clock->over_ns : naming->headers_ns;
    }
    sym_clock_start(clock, NAMES_SECONDS);
    if (naming->left_ns < clock->left_ns) {
        clock->left_ns = naming->left_ns;
        clock->image_ns = naming->left_ns;
    }
    naming->given_ns = clock->left_ns;
}

bool
naming_begin(struct naming *naming, struct image *const *images, size_t count,
             const struct profile *profile)
{
    start_clock(naming);
    return (count == 0 || naming_get(naming, count - 1) != NULL) &&
           perf_maps_read(naming, images, count, naming_counted_bytes(profile));
}

/* --- the kernel --- */

/* Read the kernel's symbols; for the last profile, only those for the addresses in
 * counts. Returns NULL with errno set on failure. */
static struct sym_map *
open_kernel(const struct naming *naming, const struct counts *counts, uint64_t bytes,
            bool *partial)
{
    uint64_t *const places =
        naming->ending ? calloc(counts->count, sizeof(*places)) : NULL;
    const struct sym_wanted wanted = {places, counts->count, bytes};
    struct sym_map *map;
    uint64_t begin;
    uint64_t end;
    int error;

    for (size_t i = 0; places != NULL && i < counts->count; i++) {
        places[i] = counts->items[i].place;
    }
    map = sym_map_open_kernel(places != NULL ? &wanted : NULL, &begin, &end);
    if (map != NULL) {
        *partial = places != NULL;
    }
    error = errno;
    free(places);
    errno = error;
    return map;
}

/* Report once why the kernel's functions have no names; error is the
 * errno of reading them. */
static void
report_no_kernel(const struct naming *naming, struct namer *namer, int error)
{
    char note[300];

    if (error == EACCES) {
        snprintf(note, sizeof(note),
                 "functions of the kernel have no names: it hides its addresses from "
                 "the caller (kernel.kptr_restrict); to allow: grant CAP_SYSLOG, with "
                 "kernel.kptr_restrict 0 or 1");
    } else {
        snprintf(note, sizeof(note),
                 "functions of the kernel have no names: /proc/kallsyms cannot be "
                 "read: %s",
                 error == ENODATA ? "it is empty" : strerror(error));
    }
    naming_report_once(naming, namer, note);
}

/* --- names of places --- */

void
namer_read_map(struct naming *naming, struct namer *namer, struct image *image,
               const struct counts *counts, uint64_t bytes)
{
    struct sym_map *map = NULL;
    const uint64_t now_s = clock_now_ns() / CLOCK_SECOND_NS;
    bool kernel_due;

    if (!namer->missed) {
        namer->keep_s = kernel_keep_s;
    }
    /* A name may be missing since its module was loaded later. */
    kernel_due = namer->read_s == 0 || namer->partial ||
                 (namer->missed && now_s - namer->read_s >= namer->keep_s);
    if (image->kind == IMAGE_ANONYMOUS && image->pid != 0 && namer->given_up) {
        perf_maps_read_again(naming, namer, image, bytes);
    } else if (image->kind == IMAGE_KERNEL) {
        namer->kernel = true;
        if (kernel_due) {
            namer->read_s = now_s;
            if (namer->missed && namer->keep_s < kernel_keep_max_s) {
                namer->keep_s *= 2;
            }
            map = open_kernel(naming, counts, bytes, &namer->partial);
            if (map == NULL) {
                report_no_kernel(naming, namer, errno);
            }
        }
    }
    if (map != NULL) {
        sym_map_close(namer->map);
        namer->map = map;
    }
    namer->missed = false;
}

/* Return the link-time address of a place in a file; of other images the
 * place is the address. */
static uint64_t
namer_address(const struct namer *namer, uint64_t place, uint64_t bytes)
{
    return namer->elf != NULL ? sym_image_place_address(namer->elf, place, bytes)
                              : place;
}

bool
namer_look_up(const struct namer *namer, uint64_t place, uint64_t bytes,
              struct sym_name *name, const char **module)
{
    bool found = false;

    *module = "";
    if (namer->elf != NULL && !namer->delayed) {
        return sym_image_lookup_place(namer->elf, place, bytes, name);
    }
    *name = (struct sym_name){.file = "", .definition = ""};
    if (namer->elf == NULL && namer->map != NULL) {
        found = sym_map_lookup_bucket(namer->map, place, bytes, name, module);
    }
    name->address = namer_address(namer, place, bytes);
    return found;
}

bool
naming_add_module(struct profile *profile, const char *module, uint32_t *index)
{
    char path[80];
    const struct profile_image image = {.path = path, .build_id = "", .named = true};

    snprintf(path, sizeof(path), "[%s]", module);
    return profile_add_image(profile, &image, index);
}

/* Return the address where the bucket of a place begins; address is that of the
 * place. Buckets start at multiples of their size in the file; their addresses may be
 * aligned differently. */
static uint64_t
bucket_address(const struct profile *profile, uint64_t place, uint64_t address)
{
    const uint64_t inside = place % profile->bucket_bytes;

    return address < inside ? 0 : address - inside;
}

/* --- rows of a profile --- */

bool
naming_add_image(struct profile *profile, const struct image *image,
                 const struct counts *counts, const struct namer *namer,
                 uint32_t *index)
{
    const uint64_t page = UINT64_C(4096);
    const uint64_t bytes = naming_counted_bytes(profile);
    const uint64_t first = counts->items[0].place;
    const uint64_t last = counts->items[counts->count - 1].place;
    struct profile_image added = {.path = image->path, .build_id = ""};

    added.offset = bucket_address(profile, first, first) & ~(page - 1);
    added.start = namer_address(namer, first, bytes);
    added.start = bucket_address(profile, first, added.start) & ~(page - 1);
    added.limit = bucket_address(profile, last, namer_address(namer, last, bytes));
    added.limit = ((added.limit + profile->bucket_bytes - 1) | (page - 1)) + 1;
    if (image->kind != IMAGE_FILE) {
        added.offset = 0;
    }
    if (namer->elf != NULL) {
        added.build_id = sym_image_build_id(namer->elf);
        added.named = !namer->delayed && sym_image_has_symbols(namer->elf);
    } else {
        added.named = namer->map != NULL;
    }
    return profile_add_image(profile, &added, index);
}

/* Add the hits of one count to the row of its place, which is made with its name if it
 * is new. image is the index of the image in the profile, number that in the recording;
 * rows of kernel modules have images of their own. Returns false if memory runs out. */
static bool
add_row(struct naming *naming, struct profile *profile, struct namer *namer,
        uint32_t image, size_t number, const struct count *count)
{
    const struct naming_program *const program =
        &naming->programs[count->program / naming->cpu_count];
    struct profile_place place = {.process = program->process, .unit = program->unit};
    struct sym_name name;
    const char *module;
    const bool found = namer_look_up(namer, count->place, naming_counted_bytes(profile),
                                     &name, &module);

    if (naming->threads != NULL) {
        place.thread = naming->threads[count->thread].thread;
        place.pid = naming->threads[count->thread].pid;
    }
    place.address = bucket_address(profile, count->place, name.address);
    namer->missed = namer->missed || !found;
    if ((found || name.has_start) && !place_set_name(profile, &name, &place)) {
        return false;
    }
    if (namer->kernel && module[0] != '\0' &&
        !naming_add_module(profile, module, &image)) {
        return false;
    }
    if (naming->cpus != NULL) {
        place.cpu_plus_1 = naming->cpus[count->program % naming->cpu_count] + 1;
    }
    place.image = image;
    return naming_add_hits(naming, profile, &place, number, count);
}

/* Call the progress callback for each PROGRESS_ROWS-th row of an image;
 * total is their number. */
static void
report_progress(const struct naming *naming, const struct image *image, size_t done,
                size_t total)
{
    const struct sym_settings *const symbols = &naming->symbols;

    if (symbols->progress != NULL && done % PROGRESS_ROWS == 0) {
        symbols->progress(symbols->context, image->path, done, total);
    }
}

/* Leave the names of an image to a later profile if the time for all of them ran out
 * while they were looked up. If its reader was ended for that the file is read again,
 * but at most DELAYS_MAX times, as it would take the time of other images each time.
 * Returns whether they were left. */
static bool
postpone_names(const struct naming *naming, struct namer *namer)
{
    if (!is_out_of_time(naming) || !namer->from_file ||
        !sym_image_is_bounded(namer->elf) ||
        (sym_image_is_ended(namer->elf) && namer->delays >= DELAYS_MAX)) {
        return false;
    }
    if (sym_image_is_ended(namer->elf)) {
        namer_give_up(namer, /* maps */ false);
        namer->delays++;
    }
    namer->delayed = true;
    return true;
}

void
namer_report(const struct naming *naming, struct namer *namer)
{
    if (namer->elf == NULL || namer->delayed || postpone_names(naming, namer)) {
        return;
    }
    namer->bounded = namer->bounded || sym_image_is_bounded(namer->elf);
    if (sym_image_note(namer->elf)[0] != '\0') {
        report_by(naming, namer,
                  sym_image_is_hung(namer->elf) ? naming->symbols.warn
                                                : naming->symbols.say,
                  sym_image_note(namer->elf));
    }
}

/* List the places of counts from index first on, each once, as many as are looked up at
 * once, and set wanted to them. Returns the index of the first count behind them. */
static size_t
list_places(const struct counts *counts, size_t first, uint64_t places[PLACES_MAX],
            struct sym_wanted *wanted)
{
    size_t at = first;

    wanted->places = places;
    wanted->count = 0;
    for (; at < counts->count; at++) {
        const uint64_t place = counts->items[at].place;

        if (wanted->count > 0 && places[wanted->count - 1] == place) {
            continue;
        }
        if (wanted->count == PLACES_MAX) {
            break;
        }
        places[wanted->count++] = place;
    }
    return at;
}

bool
naming_add_rows(struct naming *naming, struct profile *profile, struct image *image,
                const struct counts *counts, size_t number)
{
    struct namer *const namer = naming_get(naming, number);
    uint64_t places[PLACES_MAX];
    struct sym_wanted wanted = {.bytes = naming_counted_bytes(profile)};
    uint32_t index = 0;
    size_t next;
    bool added; /* with its calls, and the names of its rows were read with theirs */
    bool complete;

    if (namer == NULL) {
        return false;
    }
    if (counts->count == 0) {
        return true;
    }
    report_progress(naming, image, 0, counts->count);
    next = list_places(counts, 0, places, &wanted);
    namer_open(naming, namer, image, &wanted);
    added = naming_has_calls(naming, number, &index);
    if (!added || namer->given_up) {
        namer_read_map(naming, namer, image, counts, naming_counted_bytes(profile));
    }
    if (namer->given_up) {
        naming->unnamed += namer->map == NULL;
        namer->given_up = false;
    }
    complete = added || naming_add_image(profile, image, counts, namer, &index);
    for (size_t i = 0; complete && i < counts->count; i++) {
        report_progress(naming, image, i, counts->count);
        if (i == next) {
            next = list_places(counts, i, places, &wanted);
            namer_expect(namer, &wanted);
        }
        complete = add_row(naming, profile, namer, index, number, &counts->items[i]);
    }
    namer_report(naming, namer);
    if (naming->ending) {
        namer_give_up(namer, /* maps */ false);
    } else if (namer->elf != NULL) {
        /* Of a reader that has ended, what it answered is all that
         * later lookups get. */
        if (!sym_image_is_ended(namer->elf)) {
            sym_image_end_lookups(namer->elf);
        }
        namer->bytes = sym_image_memory(namer->elf);
    }
    naming_bound(naming);
    return complete;
}
