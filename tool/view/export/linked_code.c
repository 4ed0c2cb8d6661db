/* SPDX-License-Identifier: MIT */
/* linked_code.c - joins rows to buckets, shifts them to addresses as linked, and opens
 * the file. */
#include "view/export/linked_code.h"

#include "base/text.h"
#include "view/export/messages.h"

#include <stdlib.h>

/* Processor time for reading the names of the image; as long as when a profile is
 * made. */
enum { NAMES_SECONDS = 90 };

static const struct profile_image *
image_of(const struct linked_code *code)
{
    return &code->choice.profile->images[code->choice.chosen];
}

const char *
linked_code_name(const struct linked_code *code, char *shown, size_t size)
{
    return text_show(shown, size, image_of(code)->path);
}

/* --- buckets --- */

static int
compare_buckets(const void *left, const void *right)
{
    const struct linked_bucket *const a = left;
    const struct linked_bucket *const b = right;

    return (a->address > b->address) - (a->address < b->address);
}

/* Add up buckets of one address, which rows of several processes have. */
static void
join_buckets(struct linked_code *code)
{
    size_t kept = 0;

    for (size_t i = 1; i < code->count; i++) {
        if (code->buckets[i].address == code->buckets[kept].address) {
            code->buckets[kept].hits += code->buckets[i].hits;
        } else {
            code->buckets[++kept] = code->buckets[i];
        }
    }
    code->count = kept + 1;
}

/* Return what leads from addresses of the profile to those of the file, modulo
 * 2^64. Profiles of ntprof have link-time addresses already. Those of other tools
 * have run-time addresses, and the mapping of each image says which offset of the
 * file its start is. */
static uint64_t
find_shift(const struct linked_code *code, const struct profile_image *image)
{
    uint64_t linked;

    return code->choice.profile->bucket_bytes > 0 || code->file.image == NULL ||
                   !sym_image_address(code->file.image, image->offset, &linked)
               ? 0
               : linked - image->start;
}

/* Collect the buckets of the chosen image with hits of a source, at link-time
 * addresses. Returns false if memory runs out. */
static bool
collect_buckets(struct linked_code *code, size_t source)
{
    const struct profile *const profile = code->choice.profile;
    uint32_t last = UINT32_MAX;
    uint64_t shift = 0;

    code->buckets = calloc(profile->row_count + 1, sizeof(*code->buckets));
    if (code->buckets == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const uint64_t hits = row->hits[source];

        if (hits == 0 || code->choice.first_of[row->image] != code->choice.chosen) {
            continue;
        }
        if (row->image != last) {
            last = row->image;
            shift = find_shift(code, &profile->images[last]);
        }
        code->hits += hits;
        code->buckets[code->count++] =
            (struct linked_bucket){.address = row->address + shift, .hits = hits};
    }
    qsort(code->buckets, code->count, sizeof(*code->buckets), compare_buckets);
    join_buckets(code);
    return true;
}

/* Check that the last bucket ends within 64 bits. */
static bool
check_addresses(const struct linked_code *code, const struct export_options *options,
                struct export_messages *messages)
{
    const uint64_t last = code->buckets[code->count - 1].address;

    return last <= UINT64_MAX - code->bytes ||
           export_refuse(messages, options, "0x%llx is too high an address",
                         (unsigned long long)last);
}

/* --- the file --- */

/* Open the image's file. Returns false if it is needed and cannot be opened, with the
 * reason in messages->error, or if memory runs out. */
static bool
open_file(struct linked_code *code, const struct export_options *options,
          enum linked_file need, struct export_messages *messages)
{
    const struct profile_image *const image = image_of(code);
    const struct sym_settings settings = {.discriminators = true,
                                          .clock = &code->clock};
    char shown[128];
    char why[300];

    sym_clock_start(&code->clock, NAMES_SECONDS);
    if (!image_file_open(&code->file, image->path, image->build_id, options->image_dir,
                         &settings)) {
        return false;
    }
    if (code->file.image == NULL) {
        const bool as_run = code->choice.profile->bucket_bytes == 0;

        if (need == LINKED_FILE_NEEDED || as_run) {
            return export_refuse(messages, options, "it needs %s: %s",
                                 text_show(shown, sizeof(shown), code->file.tried),
                                 text_show(why, sizeof(why), code->file.why));
        }
    } else if (code->file.why[0] != '\0') {
        export_note(messages, options, "%s",
                    text_show(why, sizeof(why), code->file.why));
    }
    return true;
}

bool
linked_code_take(struct linked_code *code, const struct profile *profile,
                 const struct export_options *options, enum linked_file need,
                 struct export_messages *messages)
{
    *code = (struct linked_code){.bytes = profile->bucket_bytes};
    if (code->bytes == 0) {
        code->bytes = 1;
    }
    if (!one_image_choose(&code->choice, profile, options, ONE_IMAGE_OF_FILE,
                          messages) ||
        !open_file(code, options, need, messages) ||
        !collect_buckets(code, options->source) ||
        !check_addresses(code, options, messages)) {
        return false;
    }
    one_image_note(&code->choice, options, messages);
    return true;
}

bool
linked_code_check_read(const struct linked_code *code,
                       const struct export_options *options,
                       struct export_messages *messages)
{
    char shown[300];

    return !sym_image_is_bounded(code->file.image) ||
           export_refuse(
               messages, options, "%s",
               text_show(shown, sizeof(shown), sym_image_note(code->file.image)));
}

void
linked_code_finish(struct linked_code *code)
{
    image_file_close(&code->file);
    one_image_finish(&code->choice);
    free(code->buckets);
    code->buckets = NULL;
}
