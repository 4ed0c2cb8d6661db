/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - profiles of known rows for the tests of tool/view/listing.
 */
#ifndef TESTS_LISTING_FIXTURE_H
#define TESTS_LISTING_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the ones above, and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "view/listing/listing.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_BUILD_ID "00112233445566778899aabbccddeeff00112233"

/* A profile with sources time and page-faults, and buckets of so many bytes. */
static inline struct profile *
fixture_profile(uint32_t bucket_bytes)
{
    struct profile *profile = profile_new();
    struct profile_source source = {.name = "time", .nt_name = "", .unit = "100ns"};
    uint32_t index;

    assert_non_null(profile);
    profile->command = strdup("");
    profile->hal = strdup("");
    profile->limits = strdup("");
    profile->gaps = strdup("");
    profile->bucket_bytes = bucket_bytes;
    assert_true(profile_add_source(profile, &source, &index));
    source =
        (struct profile_source){.name = "page-faults", .nt_name = "", .unit = "events"};
    assert_true(profile_add_source(profile, &source, &index));
    return profile;
}

static inline uint32_t
fixture_image(struct profile *profile, const char *path, const char *build_id)
{
    const struct profile_image image = {.path = path,
                                        .build_id = build_id,
                                        .start = 0x401000,
                                        .limit = 0x402000,
                                        .offset = 0x1000,
                                        .named = true};
    uint32_t index;

    assert_true(profile_add_image(profile, &image, &index));
    return index;
}

static inline uint32_t
fixture_function(struct profile *profile, const char *name, const char *file,
                 uint32_t start_line)
{
    const struct profile_function function = {
        .name = name, .system_name = name, .file = file, .start_line = start_line};
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &index));
    return index;
}

/* The same, with its address; name: "" if only that is known. */
static inline uint32_t
fixture_placed(struct profile *profile, const char *name, const char *file,
               uint64_t address)
{
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .start_line = 9,
                                              .has_address = true,
                                              .address = address};
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &index));
    return index;
}

/* Hits of source 0, and one of source 1 for each ten. */
static inline void
fixture_hits(struct profile *profile, uint32_t image, uint64_t address,
             uint32_t function, uint32_t line, uint32_t caller, uint64_t hits)
{
    struct profile_place place = {.image = image,
                                  .address = address,
                                  .function = function,
                                  .line = line,
                                  .caller = caller};

    assert_true(profile_add_process(profile, "sample", &place.process));
    assert_true(profile_add_hits_at(profile, &place, 0, hits));
    assert_true(profile_add_hits_at(profile, &place, 1, hits / 10));
}

static inline uint32_t
fixture_frame(struct profile *profile, uint32_t function, uint32_t line,
              uint32_t caller)
{
    const struct profile_frame frame = {function, line, caller};
    uint32_t index;

    assert_true(profile_add_frame(profile, &frame, &index));
    return index;
}

/* The one target that a text means. */
static inline struct listing_target
fixture_target(const struct profile *profile, const char *text)
{
    struct listing_targets targets;
    struct listing_target target;

    assert_true(listing_find_targets(profile, text, NULL, &targets));
    assert_int_equal(targets.count, 1);
    target = targets.items[0];
    listing_targets_finish(&targets);
    return target;
}

/* The line of an instruction or a bucket at an address, or NULL. */
static inline const struct listing_line *
fixture_at(const struct listing *listing, uint64_t address)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->lines[i].size > 0 && listing->lines[i].address == address) {
            return &listing->lines[i];
        }
    }
    return NULL;
}

/* The source line of a number, or NULL. */
static inline const struct listing_line *
fixture_line(const struct listing *listing, uint32_t number)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->lines[i].kind == LISTING_SOURCE &&
            listing->lines[i].line == number) {
            return &listing->lines[i];
        }
    }
    return NULL;
}

static inline const struct listing_note *
fixture_note(const struct listing *listing, enum listing_note_kind kind)
{
    for (size_t i = 0; i < listing->note_count; i++) {
        if (listing->notes[i].kind == kind) {
            return &listing->notes[i];
        }
    }
    return NULL;
}

#endif
