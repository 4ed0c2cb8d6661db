/* SPDX-License-Identifier: MIT */
/*
 * naming_time.c - names that come later, because no time was left for them, are those
 * of rows that were made before, by build-id and address.
 */
#include "record/collect/image.h"
#include "record/collect/naming.h"
#include "store/store.h"

#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

/* code - of this program: where named_function is. */
struct code {
    uint64_t offset;  /* in the file */
    uint64_t address; /* link-time */
};

__attribute__((noinline)) static void
named_function(void)
{
    __asm__ volatile("");
}

static int
find_code(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code *const code = context;
    const uint64_t address = (uint64_t)(uintptr_t)named_function - info->dlpi_addr;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && address - header->p_vaddr < header->p_filesz) {
            *code =
                (struct code){address - header->p_vaddr + header->p_offset, address};
        }
    }
    return 1; /* the program is first */
}

/* fixture - a namer of this program. */
struct fixture {
    struct code code;
    struct naming *naming;
    struct image image;
    struct count count;
    struct counts counts;
};

static void
begin(struct fixture *fixture)
{
    static const struct naming_program program = {0};

    named_function();
    *fixture = (struct fixture){.image = {.kind = IMAGE_FILE,
                                          .path = "/somewhere/program",
                                          .fd = -1,
                                          .root = -1,
                                          .taken_root = -1}};
    dl_iterate_phdr(find_code, &fixture->code);
    fixture->image.taken_fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    assert_true(fixture->image.taken_fd >= 0);
    fixture->count = (struct count){.place = fixture->code.offset, .hits = 5};
    fixture->counts = (struct counts){&fixture->count, 1, 1, 1};
    fixture->naming = naming_new(0, NULL);
    assert_non_null(fixture->naming);
    naming_set_programs(fixture->naming, &program);
}

static void
end(struct fixture *fixture)
{
    naming_delete(fixture->naming);
    close(fixture->image.taken_fd);
}

/* A profile of a second, with what is known now. */
static struct profile *
make_profile(struct fixture *fixture, int64_t second)
{
    struct image *const images[] = {&fixture->image};
    const struct profile_source source = {.name = "time",
                                          .unit = "100ns",
                                          .asked = 10000,
                                          .granted = 10000,
                                          .expected = 5,
                                          .taken = 5,
                                          .counted = 5};
    struct profile *const profile = profile_new();
    uint32_t index;

    assert_non_null(profile);
    profile->bucket_bytes = 1;
    profile->time_ns = (uint64_t)second * SECOND;
    profile->duration_ns = SECOND;
    assert_true(profile_add_source(profile, &source, &index));
    assert_true(profile_add_process(profile, "program", &index));
    assert_true(naming_begin(fixture->naming, images, 1, profile));
    assert_true(naming_add_rows(fixture->naming, profile, &fixture->image,
                                &fixture->counts, 0));
    assert_int_equal(profile->row_count, 1);
    return profile;
}

static const char *
function_of(const struct profile *profile)
{
    return profile->functions[profile->rows[0].function].name;
}

static void
add_to_store(struct store *store, const struct profile *profile)
{
    const struct store_window window = {.host = "host", .epoch = "epoch"};
    struct pprof_error error;

    if (!store_add(store, profile, &window, &error)) {
        fail_msg("%s", error.text);
    }
}

static void
names__no_time_at_first__rows_of_the_store_gain_them(void **state)
{
    char folder[] = "/tmp/ntprof-naming-XXXXXX";
    struct pprof_error error = {.text = ""};
    struct fixture fixture;
    struct profile *before;
    struct profile *after;
    struct profile *read;
    struct store *store = NULL;
    struct store_url parsed;
    char url[80];

    (void)state;
    begin(&fixture);
    naming_set_time(fixture.naming, 0, SECOND);
    before = make_profile(&fixture, 1000);
    assert_string_equal(function_of(before), "");
    assert_int_equal(before->rows[0].address, fixture.code.address);
    assert_int_equal(naming_bounded_images(fixture.naming), 1);
    naming_set_time(fixture.naming, 10 * SECOND, SECOND);
    after = make_profile(&fixture, 1001);
    assert_string_equal(function_of(after), "named_function");
    assert_int_equal(after->rows[0].address, fixture.code.address);
    assert_int_equal(naming_bounded_images(fixture.naming), 0);
    assert_true(before->images[0].build_id[0] != '\0');
    assert_string_equal(before->images[0].build_id, after->images[0].build_id);

    assert_non_null(mkdtemp(folder));
    snprintf(url, sizeof(url), "sqlite:%s/store", folder);
    if (!store_url_parse(url, 0, &parsed, &error) ||
        !store_create(&parsed, NULL, &error) ||
        (store = store_open(url, true, &error)) == NULL) {
        fail_msg("%s", error.text);
    }
    store_url_finish(&parsed);
    add_to_store(store, before);
    add_to_store(store, after);
    read = store_read(
        store, &(struct store_selection){.until_ns = (int64_t)(1001 * SECOND)}, &error);
    if (read == NULL) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(read->row_count, 1);
    assert_int_equal(read->rows[0].hits[0], 5); /* of the first window */
    assert_string_equal(function_of(read), "named_function");
    profile_delete(read);
    store_close(store);
    profile_delete(before);
    profile_delete(after);
    end(&fixture);
    snprintf(url, sizeof(url), "rm -r %s", folder);
    assert_int_equal(system(url), 0);
}

static void
names__time_ends_and_comes_back__the_address_stays(void **state)
{
    static const char *const names[] = {"named_function", "", "named_function"};
    struct fixture fixture;

    (void)state;
    begin(&fixture);
    for (int i = 0; i < 3; i++) {
        struct profile *profile;

        naming_set_time(fixture.naming, i == 1 ? 0 : 10 * SECOND, 0);
        profile = make_profile(&fixture, 1000 + i);
        assert_string_equal(function_of(profile), names[i]);
        assert_int_equal(profile->rows[0].address, fixture.code.address);
        profile_delete(profile);
    }
    end(&fixture);
}

static void
headers__no_time_for_them_either__nothing_is_read(void **state)
{
    struct fixture fixture;
    struct profile *profile;

    (void)state;
    begin(&fixture);
    naming_set_time(fixture.naming, 0, 0);
    profile = make_profile(&fixture, 1000);
    assert_string_equal(profile->images[0].build_id, "");
    assert_int_equal(naming_bounded_images(fixture.naming), 1);
    profile_delete(profile);
    end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__no_time_at_first__rows_of_the_store_gain_them),
        cmocka_unit_test(names__time_ends_and_comes_back__the_address_stays),
        cmocka_unit_test(headers__no_time_for_them_either__nothing_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
