/* SPDX-License-Identifier: MIT */
/* The data of an HTML page: packed columns, texts that cannot get out, offsets that
 * stay exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/export/html_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
assert_varint(uint64_t number, const char *bytes, size_t size)
{
    struct buffer column = {0};

    html_put_varint(&column, number);
    assert_int_equal(column.size, size);
    assert_memory_equal(column.data, bytes, size);
    buffer_finish(&column);
}

static void
varint__limits_of_each_length__leb128(void **state)
{
    (void)state;
    assert_varint(0, "\x00", 1);
    assert_varint(127, "\x7f", 1);
    assert_varint(128, "\x80\x01", 2);
    assert_varint(16383, "\xff\x7f", 2);
    assert_varint(16384, "\x80\x80\x01", 3);
    assert_varint(UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

static void
assert_base64(const char *bytes, size_t size, const char *expected)
{
    struct buffer json = {0};
    struct buffer given = {0};

    buffer_append(&given, bytes, size);
    html_put_base64(&json, &given);
    assert_string_equal(buffer_text(&json), expected);
    buffer_finish(&given);
    buffer_finish(&json);
}

/* The vectors of RFC 4648, and the two last digits. */
static void
base64__each_rest__padded(void **state)
{
    (void)state;
    assert_base64("", 0, "\"\"");
    assert_base64("f", 1, "\"Zg==\"");
    assert_base64("fo", 2, "\"Zm8=\"");
    assert_base64("foo", 3, "\"Zm9v\"");
    assert_base64("foobar", 6, "\"Zm9vYmFy\"");
    assert_base64("\xfb\xff\xfe", 3, "\"+//+\"");
}

static void
base64__bytes_that_failed__fails(void **state)
{
    struct buffer json = {0};
    struct buffer given = {.failed = true};

    (void)state;
    html_put_base64(&json, &given);
    assert_true(json.failed);
    buffer_finish(&json);
}

static void
assert_text(const char *text, const char *expected)
{
    struct buffer json = {0};

    html_put_text(&json, text);
    assert_string_equal(buffer_text(&json), expected);
    buffer_finish(&json);
}

static void
text__markup__written_as_json_escapes(void **state)
{
    (void)state;
    assert_text("</script><!-- & -->",
                "\"\\u003c/script\\u003e\\u003c!-- \\u0026 --\\u003e\"");
    assert_text("say \"a\\b\"", "\"say \\\"a\\\\b\\\"\"");
    assert_text(NULL, "\"\"");
}

static void
text__controls_separators_and_bad_utf8__escaped_as_in_reports(void **state)
{
    (void)state;
    assert_text("a\nb\033[31m", "\"a\\\\x0ab\\\\x1b[31m\"");
    assert_text("\xe2\x80\xa8", "\"\\\\xe2\\\\x80\\\\xa8\"");
    assert_text("\xe2\x80\xae", "\"\\\\xe2\\\\x80\\\\xae\"");
    assert_text("\xff", "\"\\\\xff\"");
    assert_text("gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
}

static void
text__longer_than_allowed__cut_at_a_character_and_said(void **state)
{
    const size_t size = HTML_TEXT_BYTES_MAX + 99;
    char *const text = malloc(size + 1);
    struct buffer json = {0};

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text + HTML_TEXT_BYTES_MAX - 1, "\xc3\xbc", 2); /* across the limit */
    html_put_text(&json, text);
    assert_non_null(buffer_text(&json));
    assert_int_equal(json.size,
                     HTML_TEXT_BYTES_MAX - 1 + strlen("\"\" [and 100 bytes more]"));
    assert_string_equal((char *)json.data + HTML_TEXT_BYTES_MAX,
                        " [and 100 bytes more]\"");
    buffer_finish(&json);
    free(text);
}

/* --- whole profiles --- */

static void
add_hits(struct profile *profile, uint32_t image, uint64_t address, uint32_t source,
         uint64_t hits)
{
    uint32_t process;

    assert_true(profile_add_process(profile, "work", &process));
    assert_true(profile_add_hits(profile, image, address, process, 0, 0, source, hits));
}

static struct profile *
begin(void)
{
    const struct profile_source time = {.name = "time", .nt_name = "", .unit = "100ns"};
    const struct profile_source faults = {
        .name = "faults", .nt_name = "", .unit = "events"};
    const struct profile_image image = {.path = "/bin/a</script>", .build_id = ""};
    struct profile *const profile = profile_new();
    uint32_t index;

    assert_non_null(profile);
    assert_true(profile_add_source(profile, &time, &index));
    assert_true(profile_add_source(profile, &faults, &index));
    assert_true(profile_add_image(profile, &image, &index));
    return profile;
}

/* The data of the profile, which is deleted. */
static char *
data_with(struct profile *profile, const char *summary)
{
    struct buffer json = {0};
    struct function_names names;

    assert_true(function_names_find(profile, DISPLAY_SHORT, &names));
    assert_true(html_put_profile(&json, profile, &names, summary));
    function_names_finish(&names);
    assert_non_null(buffer_text(&json));
    profile_delete(profile);
    return (char *)json.data;
}

static char *
data_of(struct profile *profile)
{
    return data_with(profile, "ntprof: <one>\nntprof: two\n");
}

static void
assert_holds(const char *data, const char *part)
{
    if (strstr(data, part) == NULL) {
        print_error("%s\nis not in\n%s\n", part, data);
        fail();
    }
}

static void
profile__rows_out_of_order__sorted_with_steps_between(void **state)
{
    struct profile *const profile = begin();
    char *data;

    (void)state;
    add_hits(profile, 0, 0x1210, 0, 5);
    add_hits(profile, 0, 0x1000, 0, 7);
    add_hits(profile, 0, 0x1004, 1, 300);
    data = data_of(profile);
    assert_holds(data, "\"segments\":[[0,\"1000\",3]]");
    /* 0, 4, 0x20c */
    assert_holds(data, "\"step\":\"AASMBA==\"");
    /* Of time (0, 7), (1, 5); of faults (1, 300). */
    assert_holds(data, "\"hits\":[\"AAcBBQ==\",\"AawC\"]");
    assert_holds(data, "\"total\":\"12\"");
    assert_holds(data, "\"total\":\"300\"");
    assert_holds(data, "\"lines\":[\"ntprof: \\u003cone\\u003e\",\"ntprof: two\"]");
    assert_null(strchr(data, '<'));
    free(data);
}

static void
profile__addresses_too_far_apart_for_doubles__in_segments(void **state)
{
    struct profile *const profile = begin();
    char *data;

    (void)state;
    add_hits(profile, 0, 0, 0, 1);
    add_hits(profile, 0, (UINT64_C(1) << 52) - 1, 0, 1);
    add_hits(profile, 0, UINT64_C(1) << 52, 0, 1);
    add_hits(profile, 0, UINT64_MAX, 0, 1);
    data = data_of(profile);
    assert_holds(data, "\"segments\":[[0,\"0\",2],[0,\"10000000000000\",1],"
                       "[0,\"ffffffffffffffff\",1]]");
    free(data);
}

static void
profile__more_hits_than_64_bits__total_at_its_limit(void **state)
{
    struct profile *const profile = begin();
    char *data;

    (void)state;
    add_hits(profile, 0, 0, 0, UINT64_MAX);
    add_hits(profile, 0, 4, 0, UINT64_MAX);
    data = data_of(profile);
    assert_holds(data, "\"total\":\"18446744073709551615\"");
    free(data);
}

static void
profile__line_of_summary_too_long__cut(void **state)
{
    char *const line = malloc(HTML_TEXT_BYTES_MAX + 3);
    char *data;

    (void)state;
    assert_non_null(line);
    memset(line, 'y', HTML_TEXT_BYTES_MAX + 2);
    line[HTML_TEXT_BYTES_MAX + 2] = '\0';
    data = data_with(begin(), line);
    assert_holds(data, "y [and 2 bytes more]\"]");
    assert_true(strlen(data) < HTML_TEXT_BYTES_MAX + 3000);
    free(data);
    free(line);
}

static uint32_t
add_function(struct profile *profile, const char *name, const char *file,
             uint64_t address)
{
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .start_line = 9,
                                              .has_address = address != 0,
                                              .address = address};
    uint32_t index;

    assert_true(profile_add_function(profile, &function, &index));
    return index;
}

static void
add_row(struct profile *profile, uint64_t address, uint32_t function, uint32_t caller)
{
    struct profile_place place = {
        .address = address, .function = function, .caller = caller};

    assert_true(profile_add_process(profile, "work", &place.process));
    assert_true(profile_add_hits_at(profile, &place, 0, 1));
}

/* Two static functions of one name, one that is inlined into the second, code with
 * bounds only, and code without. */
static void
profile__functions__numbered_by_what_they_are_and_told_apart(void **state)
{
    struct profile *const profile = begin();
    const uint32_t one = add_function(profile, "work", "/src/a.c", 0x1000);
    const uint32_t two = add_function(profile, "work", "/src/b.c", 0x2000);
    const uint32_t inlined = add_function(profile, "step", "/src/b.h", 0);
    struct profile_frame frame = {.function = two, .line = 12};
    uint32_t caller;
    char *data;

    (void)state;
    assert_true(profile_add_frame(profile, &frame, &caller));
    add_row(profile, 0x1000, one, 0);
    add_row(profile, 0x2000, two, 0);
    add_row(profile, 0x2004, inlined, caller);
    add_row(profile, 0x3000, add_function(profile, "", "", 0x3000), 0);
    add_row(profile, 0x4000, 0, 0);
    add_row(profile, 0x5000, 0, 0);
    data = data_of(profile);
    assert_holds(data, "\"short\":[\"work (a.c:9)\",\"work (b.c:9)\",\"step\","
                       "\"script\\u003e!0x3000\",\"[no symbols] in script\\u003e\"]");
    assert_holds(data, "\"full\":[\"\",\"\",\"\",\"\",\"\"]");
    assert_holds(data, "\"outer\":\"AAEBAwQE\""); /* 0 1 1 3 4 4 */
    assert_holds(data, "\"inner\":\"AAECAwQE\""); /* 0 1 2 3 4 4 */
    assert_holds(data, "\"known\":\"AQEBAQA=\"");
    free(data);
}

static void
profile__long_names_of_functions__short_unless_they_would_read_alike(void **state)
{
    struct profile *const profile = begin();
    char names[3][200];
    char part[600];
    char *data;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        memset(names[i], 'x', sizeof(names[i]) - 1);
        names[i][sizeof(names[i]) - 1] = '\0';
        memcpy(names[i], i < 2 ? "alike" : "other", 5);
        names[i][99] = (char)('0' + i);
        add_row(profile, 0x1000 * (i + 1), add_function(profile, names[i], "", 0), 0);
    }
    data = data_of(profile);
    snprintf(part, sizeof(part), "\"short\":[\"%s\",\"%s\",\"otherx", names[0],
             names[1]);
    assert_holds(data, part);
    assert_holds(data, "x...x");
    snprintf(part, sizeof(part), "\"%s\"]", names[2]);
    assert_holds(data, part); /* in full */
    free(data);
}

static void
profile__nothing_in_it__empty_columns(void **state)
{
    char *const data = data_of(profile_new());

    (void)state;
    assert_holds(data, "\"sources\":[]");
    assert_holds(data, "\"segments\":[]");
    assert_holds(data, "\"rows\":{\"count\":0,\"step\":\"\"");
    free(data);
}

/* --- listings --- */

static void
listing__lines__short_arrays_and_hidden_ones_counted(void **state)
{
    uint64_t hits[] = {9, 0};
    struct listing_line lines[] = {
        {.kind = LISTING_SOURCE,
         .text = "if (a < b)",
         .file = "a.c",
         .line = 7,
         .bucket = LISTING_NONE,
         .hits_at = LISTING_NO_HITS,
         .shared_at = LISTING_NO_HITS,
         .inlined_at = LISTING_NO_HITS,
         .target = LISTING_NONE,
         .has_code = true},
        {.kind = LISTING_SOURCE, .text = "", .hidden = true, .gap_lines = 1},
        {.kind = LISTING_INSTRUCTION,
         .text = "jne 0x1000",
         .address = 0x1010,
         .size = 2,
         .bytes = {0x75, 0xee},
         .bucket = 0,
         .has_target = true,
         .target_address = 0x1000,
         .target = LISTING_NONE,
         .shared_at = LISTING_NO_HITS,
         .inlined_at = LISTING_NO_HITS},
    };
    struct listing_note note = {.text = "no <file>"};
    const struct listing listing = {.title = "f in a",
                                    .has_instructions = true,
                                    .lines = lines,
                                    .count = 3,
                                    .notes = &note,
                                    .note_count = 1,
                                    .hits = hits,
                                    .source_count = 2};
    struct buffer json = {0};

    (void)state;
    html_put_listing(&json, &listing);
    assert_string_equal(
        buffer_text(&json),
        "{\"title\":\"f in a\",\"instructions\":true,\"outside\":false,"
        "\"notes\":[\"no \\u003cfile\\u003e\"],\n"
        "\"lines\":[[1,\"if (a \\u003c b)\",0,7,2,0,0,0,0],\n"
        "[2,\"jne 0x1000\",1,0,16,0,0,[9,0,0,0,0,0],1,\"1010\",2,\"75ee\",\"1000\"]],"
        "\"hidden\":0,\n\"files\":[\"a.c\",\"\"]}");
    buffer_finish(&json);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varint__limits_of_each_length__leb128),
        cmocka_unit_test(base64__each_rest__padded),
        cmocka_unit_test(base64__bytes_that_failed__fails),
        cmocka_unit_test(text__markup__written_as_json_escapes),
        cmocka_unit_test(text__controls_separators_and_bad_utf8__escaped_as_in_reports),
        cmocka_unit_test(text__longer_than_allowed__cut_at_a_character_and_said),
        cmocka_unit_test(profile__rows_out_of_order__sorted_with_steps_between),
        cmocka_unit_test(profile__addresses_too_far_apart_for_doubles__in_segments),
        cmocka_unit_test(profile__more_hits_than_64_bits__total_at_its_limit),
        cmocka_unit_test(profile__line_of_summary_too_long__cut),
        cmocka_unit_test(profile__functions__numbered_by_what_they_are_and_told_apart),
        cmocka_unit_test(
            profile__long_names_of_functions__short_unless_they_would_read_alike),
        cmocka_unit_test(profile__nothing_in_it__empty_columns),
        cmocka_unit_test(listing__lines__short_arrays_and_hidden_ones_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
