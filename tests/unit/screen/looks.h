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

/* Hits at an address of an image that is mapped 0x1000 above its offsets. name: NULL
 * for none. */
static inline void
look_add(struct profile *look, const char *image, const char *name, uint64_t address,
         uint32_t source, uint64_t hits)
{
    const struct profile_image mapped = {.path = image,
                                         .build_id = "",
                                         .start = 0x2000,
                                         .limit = 0x9000,
                                         .offset = 0x1000};
    const struct profile_function function = {
        .name = name, .system_name = name, .file = ""};
    uint32_t image_index;
    uint32_t function_index = 0;

    assert_true(profile_add_image(look, &mapped, &image_index));
    if (name != NULL) {
        assert_true(profile_add_function(look, &function, &function_index));
    }
    assert_true(profile_add_hits(look, image_index, address, 0, function_index, 0,
                                 source, hits));
}

#endif
