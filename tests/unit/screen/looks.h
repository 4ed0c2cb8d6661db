/* SPDX-License-Identifier: MIT */
/* looks.h - looks for tests: profiles of what came since the last one. */
#ifndef TESTS_SCREEN_LOOKS_H
#define TESTS_SCREEN_LOOKS_H

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Of two sources. */
static inline struct profile *
look_new(void)
{
    struct profile *const look = profile_new();
    const struct profile_source time = {.name = "time", .nt_name = "", .unit = "100ns"};
    const struct profile_source faults = {
        .name = "page-faults", .nt_name = "", .unit = "events"};
    uint32_t index;

    assert_non_null(look);
    assert_true(profile_add_source(look, &time, &index));
    assert_true(profile_add_source(look, &faults, &index));
    assert_true(profile_add_process(look, "work", &index));
    return look;
}

/* An image that is mapped 0x1000 above its offsets. */
static inline uint32_t
look_image(struct profile *look, const char *path)
{
    const struct profile_image mapped = {.path = path,
                                         .build_id = "",
                                         .start = 0x2000,
                                         .limit = 0x9000,
                                         .offset = 0x1000};
    uint32_t index;

    assert_true(profile_add_image(look, &mapped, &index));
    return index;
}

/* name: NULL for none. */
static inline uint32_t
look_function(struct profile *look, const char *name)
{
    const struct profile_function function = {
        .name = name, .system_name = name, .file = ""};
    uint32_t index = 0;

    if (name != NULL) {
        assert_true(profile_add_function(look, &function, &index));
    }
    return index;
}

/* Hits at an address of an image. name: NULL for none. */
static inline void
look_add(struct profile *look, const char *image, const char *name, uint64_t address,
         uint32_t source, uint64_t hits)
{
    assert_true(profile_add_hits(look, look_image(look, image), address, 0,
                                 look_function(look, name), 0, source, hits));
}

/* Hits of source 0 in a function that starts at an address. */
static inline void
look_add_placed(struct profile *look, const char *image, const char *name,
                const char *file, uint64_t start, uint64_t address, uint64_t hits)
{
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .start_line = name[0] != '\0' ? 9 : 0,
                                              .has_address = true,
                                              .address = start};
    uint32_t index;

    assert_true(profile_add_function(look, &function, &index));
    assert_true(
        profile_add_hits(look, look_image(look, image), address, 0, index, 0, 0, hits));
}

/* Hits of source 0 in code of one function that was inlined into another. */
static inline void
look_add_inlined(struct profile *look, const char *image, const char *name,
                 const char *outer, uint64_t address, uint64_t hits)
{
    const struct profile_frame frame = {.function = look_function(look, outer)};
    struct profile_place place = {.image = look_image(look, image),
                                  .address = address,
                                  .function = look_function(look, name)};

    assert_true(profile_add_frame(look, &frame, &place.caller));
    assert_true(profile_add_hits_at(look, &place, 0, hits));
}

/* Hits of source 0 with a stack. names: of functions of the image, each one letter,
 * the outermost first; the last one was hit. */
static inline void
look_add_stack(struct profile *look, const char *image, const char *names,
               const char *end, uint64_t hits)
{
    const struct profile_call outermost = {.end = end};
    struct profile_place place = {.image = look_image(look, image)};

    assert_true(profile_add_call(look, &outermost, &place.stack));
    for (; *names != '\0'; names++) {
        const char name[] = {*names, '\0'};

        place.function = look_function(look, name);
        place.address = 0x3000 + 8 * (uint64_t)*names;
        if (names[1] != '\0') {
            const struct profile_call call = {.address = place.address,
                                              .image = place.image,
                                              .function = place.function,
                                              .caller = place.stack};

            assert_true(profile_add_call(look, &call, &place.stack));
        }
    }
    assert_true(profile_add_hits_at(look, &place, 0, hits));
}

#endif
