/* SPDX-License-Identifier: MIT */
/*
 * gmon.c - gmon.out of one image, which gprof reads beside the image: histogram records
 * with a bin a bucket, at the addresses of the image as linked.
 *
 * A record has one range and bins of 16 bits; all bins of a file are of one width.
 * gprof adds up records of the same range and refuses those that overlap otherwise. So
 * each stretch of code with hits is a range of its own, and a bin with more hits than
 * 16 bits hold is one too, written as often as it takes. gprof's own sums are ints, so
 * a bin ends there.
 */
#include "view/export/export.h"
#include "view/export/messages.h"
#include "view/export/names.h"
#include "view/export/one_image.h"

#include "base/open_regular.h"
#include "base/text.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BIN_MAX = UINT16_MAX,
    TAG_HISTOGRAM = 0,
    VERSION = 1,
    DIMENSION_BYTES = 15,
    WIDTH_UNKNOWN = 2, /* used if the bucket size is not known: the
                        * smallest that gprof has */
};

/*
 * Code without hits that a range bridges. Many ranges cost gprof time, which looks at
 * all of them for each symbol; much bridged costs bytes.
 */
#define BRIDGED_BYTES (UINT64_C(16) * 1024)

/* Most bins of a range: gprof allocates an int for each. */
#define RANGE_BINS_MAX (UINT64_C(1) << 24)

/* Most records: with many ranges, more take gprof minutes. */
#define RECORDS_MAX UINT64_C(1000000)

/* Rates are whole numbers to gprof; one that is rounded by this share does no harm. */
#define RATE_ERROR_MAX 0.001

struct bin {
    uint64_t address;
    uint64_t hits;
};

struct writer {
    FILE *out;
    const struct profile *profile;
    size_t source;
    struct one_image image;
    struct bin *bins; /* by address */
    size_t bin_count;
    uint64_t width; /* bytes of code that a bin covers */
    size_t word_bytes;
    uint32_t rate;
    const char *dimension;
    uint64_t records;
    uint64_t repeated; /* number of bins with more hits than 16 bits hold */
};

/* Return the size of addresses in the file as gprof expects it: that of the image's
 * file, or 8 if the file is not there. */
static size_t
image_word_bytes(const struct profile_image *image)
{
    const int fd = image->path[0] == '/' ? sym_open_regular("", image->path) : -1;
    unsigned char ident[EI_NIDENT] = {0};
    bool small = false;

    if (fd >= 0) {
        small = read(fd, ident, sizeof(ident)) == (ssize_t)sizeof(ident) &&
                memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
        close(fd);
    }
    return small ? 4 : 8;
}

/* --- bins --- */

static int
compare_bins(const void *left, const void *right)
{
    const struct bin *a = left;
    const struct bin *b = right;

    return (a->address > b->address) - (a->address < b->address);
}

/* Add up bins of one address, which rows of several processes have. */
static void
join_bins(struct writer *writer)
{
    size_t kept = 0;

    for (size_t i = 1; i < writer->bin_count; i++) {
        if (writer->bins[i].address == writer->bins[kept].address) {
            writer->bins[kept].hits += writer->bins[i].hits;
        } else {
            writer->bins[++kept] = writer->bins[i];
        }
    }
    writer->bin_count = kept + 1;
}

/* Move all bins down to one grid, which begins at the first one. Buckets of one image
 * lie on a grid already. */
static void
align_bins(struct writer *writer)
{
    const uint64_t base =
        writer->bins[0].address & ~UINT64_C(1); /* gprof's unit is 2 */

    for (size_t i = 0; i < writer->bin_count; i++) {
        writer->bins[i].address -= (writer->bins[i].address - base) % writer->width;
    }
}

/* Collect the bins of the chosen image, sorted by address. Returns false
 * if memory runs out. */
static bool
collect_bins(struct writer *writer)
{
    const struct profile *profile = writer->profile;

    writer->bins = calloc(profile->row_count + 1, sizeof(*writer->bins));
    if (writer->bins == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        const uint64_t hits = row->hits[writer->source];

        if (hits > 0 && writer->image.first_of[row->image] == writer->image.chosen) {
            writer->bins[writer->bin_count++] =
                (struct bin){.address = row->address, .hits = hits};
        }
    }
    qsort(writer->bins, writer->bin_count, sizeof(*writer->bins), compare_bins);
    align_bins(writer);
    join_bins(writer);
    return true;
}

/* Check that gprof can hold the bins. Returns false with the reason in
 * messages->error. */
static bool
check_bins(struct writer *writer, struct export_messages *messages)
{
    const struct bin *last = &writer->bins[writer->bin_count - 1];
    const uint64_t limit = writer->word_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t records = 0;

    for (size_t i = 0; i < writer->bin_count; i++) {
        const struct bin *bin = &writer->bins[i];

        if (bin->hits > INT_MAX) {
            snprintf(messages->error, sizeof(messages->error),
                     "gprof counts up to %d hits in a bin, and 0x%" PRIx64
                     " has %" PRIu64,
                     INT_MAX, bin->address, bin->hits);
            return false;
        }
        records += bin->hits / BIN_MAX;
        writer->repeated += bin->hits > BIN_MAX;
    }
    if (records > RECORDS_MAX) {
        snprintf(messages->error, sizeof(messages->error),
                 "gmon counts in 16 bits, and %" PRIu64
                 " records of that would be needed",
                 records);
        return false;
    }
    if (last->address > limit - writer->width) {
        snprintf(messages->error, sizeof(messages->error),
                 "0x%" PRIx64 " is too high an address for gmon", last->address);
        return false;
    }
    return true;
}

/* --- the file --- */

static void
put_word(struct writer *writer, uint64_t word)
{
    const uint32_t small = (uint32_t)word;

    if (writer->word_bytes == sizeof(small)) {
        fwrite(&small, sizeof(small), 1, writer->out);
    } else {
        fwrite(&word, sizeof(word), 1, writer->out);
    }
}

static void
put_header(struct writer *writer)
{
    static const char reserved[12];
    const uint32_t version = VERSION;

    fwrite("gmon", 1, 4, writer->out);
    fwrite(&version, sizeof(version), 1, writer->out);
    fwrite(reserved, 1, sizeof(reserved), writer->out);
}

static void
put_record(struct writer *writer, uint64_t low, uint64_t bins)
{
    const uint32_t count = (uint32_t)bins;
    char dimension[DIMENSION_BYTES] = {0};

    memcpy(dimension, writer->dimension, strlen(writer->dimension));
    fputc(TAG_HISTOGRAM, writer->out);
    put_word(writer, low);
    put_word(writer, low + bins * writer->width);
    fwrite(&count, sizeof(count), 1, writer->out);
    fwrite(&writer->rate, sizeof(writer->rate), 1, writer->out);
    fwrite(dimension, 1, sizeof(dimension), writer->out);
    fputc(writer->dimension[0], writer->out);
    writer->records++;
}

static void
put_count(struct writer *writer, uint64_t hits)
{
    const uint16_t count = (uint16_t)hits;

    fwrite(&count, sizeof(count), 1, writer->out);
}

/* Put a bin with more hits than 16 bits hold: one record after the other for the same
 * bin, each with a part. */
static void
put_large(struct writer *writer, const struct bin *bin)
{
    for (uint64_t left = bin->hits; left > 0 && !ferror(writer->out);) {
        const uint64_t part = left < BIN_MAX ? left : BIN_MAX;

        put_record(writer, bin->address, 1);
        put_count(writer, part);
        left -= part;
    }
}

/* Put one record for count bins that lie near each other. */
static void
put_range(struct writer *writer, const struct bin *bins, size_t count)
{
    const uint64_t low = bins[0].address;
    uint64_t at = low;

    put_record(writer, low, (bins[count - 1].address - low) / writer->width + 1);
    for (size_t i = 0; i < count; i++) {
        for (; at < bins[i].address; at += writer->width) {
            put_count(writer, 0);
        }
        put_count(writer, bins[i].hits);
        at += writer->width;
    }
}

/* Return how many bins from the first on make one range. */
static size_t
range_length(const struct writer *writer, size_t first)
{
    const struct bin *bins = writer->bins;
    const uint64_t bridged =
        writer->width > BRIDGED_BYTES ? writer->width : BRIDGED_BYTES;
    const uint64_t bytes_max = RANGE_BINS_MAX * writer->width;
    size_t end = first + 1;

    while (end < writer->bin_count && bins[end].hits <= BIN_MAX &&
           bins[end].address - bins[end - 1].address <= bridged &&
           bins[end].address - bins[first].address < bytes_max) {
        end++;
    }
    return end - first;
}

static void
put_bins(struct writer *writer)
{
    for (size_t i = 0; i < writer->bin_count && !ferror(writer->out);) {
        if (writer->bins[i].hits > BIN_MAX) {
            put_large(writer, &writer->bins[i]);
            i++;
        } else {
            const size_t length = range_length(writer, i);

            put_range(writer, &writer->bins[i], length);
            i += length;
        }
    }
}

/* Choose the unit of the file: seconds if the source's rate is a whole number to
 * gprof, else hits. */
static void
choose_rate(struct writer *writer)
{
    const struct profile_source *source = &writer->profile->sources[writer->source];
    const double rate =
        source->granted > 0 ? 1e7 / (double)source->granted : 0; /* of 100 ns */

    writer->rate = 1;
    writer->dimension = "hits";
    if (strcmp(source->unit, "100ns") == 0 && rate >= 1 &&
        fabs(round(rate) - rate) <= RATE_ERROR_MAX * rate) {
        writer->rate = (uint32_t)round(rate);
        writer->dimension = "seconds";
    }
}

/* Add to the note which hits the file lacks, and where it differs from
 * what users expect. */
static void
put_notes(const struct writer *writer, const struct export_options *options,
          struct export_messages *messages)
{
    one_image_note(&writer->image, options, messages);
    if (writer->repeated > 0) {
        export_note(messages, options,
                    "%" PRIu64 " bucket%s more hits than 16 bits hold and %s in "
                    "several records, which gprof adds up (gprof -s does not)",
                    writer->repeated, writer->repeated == 1 ? " has" : "s have",
                    writer->repeated == 1 ? "is" : "are");
    }
}

static bool
put_all(struct writer *writer, const struct export_options *options,
        struct export_messages *messages)
{
    const uint64_t bucket_bytes = writer->profile->bucket_bytes;

    if (!one_image_choose(&writer->image, writer->profile, options, ONE_IMAGE_OF_ANY,
                          messages)) {
        return false;
    }
    /* gprof has bins of an even number of bytes only. */
    writer->width = bucket_bytes > 1 ? bucket_bytes + bucket_bytes % 2 : WIDTH_UNKNOWN;
    writer->word_bytes =
        image_word_bytes(&writer->profile->images[writer->image.chosen]);
    choose_rate(writer);
    if (!collect_bins(writer) || !check_bins(writer, messages)) {
        return false;
    }
    put_header(writer);
    put_bins(writer);
    put_notes(writer, options, messages);
    return true;
}

bool
export_gmon(FILE *out, const struct profile *profile,
            const struct export_options *options, struct export_messages *messages)
{
    struct writer writer = {.out = out, .profile = profile, .source = options->source};
    const bool done = put_all(&writer, options, messages);

    one_image_finish(&writer.image);
    free(writer.bins);
    return done;
}
