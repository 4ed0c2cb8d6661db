/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/json.h"
#include "base/text.h"

static void
assert_escaped(const char *text, const char *expected)
{
    struct buffer out = {0};
    char *copy;

    text_escape(&out, text);
    assert_string_equal(buffer_text(&out), expected);
    copy = strdup((char *)out.data);
    assert_non_null(copy);
    assert_int_equal(text_unescape(copy), strlen(text));
    assert_string_equal(copy, text);
    free(copy);
    buffer_finish(&out);
}

static void
escape__ordinary_names__unchanged(void **state)
{
    (void)state;
    assert_escaped("", "");
    assert_escaped("std::vector<int>::push_back(int&&)",
                   "std::vector<int>::push_back(int&&)");
    assert_escaped("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
                   "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80");
    assert_escaped("C:\\windows\\x.exe \\", "C:\\windows\\x.exe \\");
}

static void
escape__control_characters__bytes_in_hex(void **state)
{
    (void)state;
    assert_escaped("a\tb\n", "a\\x09b\\x0a");
    assert_escaped("\033]0;t\a", "\\x1b]0;t\\x07");
    assert_escaped("\x7f", "\\x7f");
    assert_escaped("\xc2\x9b", "\\xc2\\x9b");
    assert_escaped("\xe2\x80\xae", "\\xe2\\x80\\xae");
    assert_escaped("\xe2\x80\xa8", "\\xe2\\x80\\xa8");
}

static void
escape__bad_utf8__bytes_in_hex(void **state)
{
    (void)state;
    assert_escaped("\xff", "\\xff");
    assert_escaped("\x80", "\\x80");
    assert_escaped("\xc3", "\\xc3");
    assert_escaped("\xe2\x82", "\\xe2\\x82");
    assert_escaped("\xc0\x80", "\\xc0\\x80");
    assert_escaped("\xe0\x80\x80", "\\xe0\\x80\\x80");
    assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");
    assert_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    assert_escaped("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
}

static void
escape__what_reads_as_escape__comes_back(void **state)
{
    (void)state;
    assert_escaped("\\x41", "\\x5cx41");
    assert_escaped("\\x5cx41", "\\x5cx5cx41");
    assert_escaped("\\\\x00", "\\\\x5cx00");
    assert_escaped("\\x\xff", "\\x\\xff");
    assert_escaped("\\x4\n", "\\x4\\x0a");
}

static void
escape__every_two_bytes__comes_back(void **state)
{
    (void)state;
    for (int first = 1; first < 256; first++) {
        for (int second = 1; second < 256; second++) {
            const char text[] = {(char)first, (char)second, '\0'};
            struct buffer out = {0};

            text_escape_word(&out, text);
            assert_non_null(buffer_text(&out));
            assert_null(memchr(out.data, ' ', out.size));
            text_unescape((char *)out.data);
            assert_string_equal((char *)out.data, text);
            buffer_finish(&out);
        }
    }
}

static void
unescape__zero__stays_escaped(void **state)
{
    char text[] = "a\\x00b";

    (void)state;
    assert_int_equal(text_unescape(text), 6);
    assert_string_equal(text, "a\\x00b");
}

static void
assert_field(const char *text, const char *expected)
{
    struct buffer field = {0};

    text_escape(&field, text);
    text_make_field(&field);
    assert_string_equal(buffer_text(&field), expected);
    assert_int_equal(field.size, strlen(expected));
    buffer_finish(&field);
}

static void
field__what_a_spreadsheet_reads__quoted_and_no_formula(void **state)
{
    (void)state;
    assert_field("", "");
    assert_field("main", "main");
    assert_field("a=b-c", "a=b-c");
    assert_field("f(int, char)", "\"f(int, char)\"");
    assert_field("say \"a\"", "\"say \"\"a\"\"\"");
    assert_field("=A1", "\\x3dA1");
    assert_field("+1", "\\x2b1");
    assert_field("-1", "\\x2d1");
    assert_field("@SUM(1,2)", "\"\\x40SUM(1,2)\"");
    assert_field("=\"\"", "\"\\x3d\"\"\"\"\"");
}

static void
columns__multibyte__counts_characters(void **state)
{
    (void)state;
    assert_int_equal(text_columns("gr\xc3\xbcn"), 4);
    assert_int_equal(text_bytes_of_columns("gr\xc3\xbcn", 3), 4);
    assert_int_equal(text_bytes_of_columns("ab", 9), 2);
}

static void
show__too_long__cut_at_a_character(void **state)
{
    char out[6];

    (void)state;
    assert_string_equal(text_show(out, sizeof(out), "abcd\xc3\xbc"), "abcd");
    assert_string_equal(text_show(out, sizeof(out), "\n"), "\\x0a");
    assert_string_equal(text_show(out, sizeof(out), ""), "");
}

static void
json__hostile_text__escaped_twice(void **state)
{
    struct buffer json = {0};

    (void)state;
    buffer_append_byte(&json, '{');
    json_put_text_member(&json, "name", "a\"b\\c\n\xff");
    json_put_text_member(&json, "none", NULL);
    json_put_number_member(&json, "most", UINT64_MAX);
    json_put_real_member(&json, "real", 0.25);
    json_put_real_member(&json, "infinite", 1e300 * 1e300);
    json_put_bool_member(&json, "true", true);
    json_end(&json, '}');
    assert_string_equal(buffer_text(&json),
                        "{\"name\":\"a\\\"b\\\\c\\\\x0a\\\\xff\",\"none\":\"\","
                        "\"most\":18446744073709551615,\"real\":0.25,"
                        "\"infinite\":0,\"true\":true}");
    buffer_finish(&json);
}

static void
json__nothing_in_it__no_comma_to_take_back(void **state)
{
    struct buffer json = {0};

    (void)state;
    buffer_append_byte(&json, '[');
    json_end(&json, ']');
    json_end(&json, '}');
    assert_string_equal(buffer_text(&json), "[]}");
    buffer_finish(&json);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escape__ordinary_names__unchanged),
        cmocka_unit_test(escape__control_characters__bytes_in_hex),
        cmocka_unit_test(escape__bad_utf8__bytes_in_hex),
        cmocka_unit_test(escape__what_reads_as_escape__comes_back),
        cmocka_unit_test(escape__every_two_bytes__comes_back),
        cmocka_unit_test(unescape__zero__stays_escaped),
        cmocka_unit_test(field__what_a_spreadsheet_reads__quoted_and_no_formula),
        cmocka_unit_test(columns__multibyte__counts_characters),
        cmocka_unit_test(show__too_long__cut_at_a_character),
        cmocka_unit_test(json__hostile_text__escaped_twice),
        cmocka_unit_test(json__nothing_in_it__no_comma_to_take_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
