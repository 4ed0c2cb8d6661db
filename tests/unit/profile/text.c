/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/openmetrics.h"
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
escape__invisible_characters__bytes_in_hex(void **state)
{
    (void)state;
    assert_escaped("a\xc2\xadz", "a\\xc2\\xadz");               /* soft hyphen */
    assert_escaped("\xe2\x80\x8b", "\\xe2\\x80\\x8b");          /* zero width space */
    assert_escaped("\xe2\x80\x8d", "\\xe2\\x80\\x8d");          /* joiner */
    assert_escaped("\xe2\x81\xa0", "\\xe2\\x81\\xa0");          /* word joiner */
    assert_escaped("\xe2\x81\xa6", "\\xe2\\x81\\xa6");          /* isolate */
    assert_escaped("\xef\xbb\xbf", "\\xef\\xbb\\xbf");          /* byte order mark */
    assert_escaped("\xe3\x85\xa4", "\\xe3\\x85\\xa4");          /* Hangul filler */
    assert_escaped("\xef\xb8\x8f", "\\xef\\xb8\\x8f");          /* selector 16 */
    assert_escaped("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"); /* tag A */
    assert_escaped("\xf3\xa0\x84\x80", "\\xf3\\xa0\\x84\\x80"); /* selector 17 */
    /* Their neighbours show something. */
    assert_escaped("\xe2\x80\x90 \xe2\x81\xb0", "\xe2\x80\x90 \xe2\x81\xb0");
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
    assert_string_equal(text_show(out, sizeof(out), ""), "''");
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

static void
json__members_on_lines_of_their_own__last_comma_is_removed(void **state)
{
    struct buffer json = {0};

    (void)state;
    buffer_append_byte(&json, '{');
    json_begin(&json, "names", '[');
    json_put_text_element(&json, "a");
    json_put_text_element(&json, "b");
    json_end_member(&json, ']');
    buffer_append_byte(&json, '\n');
    json_begin(&json, "none", '{');
    json_end_member(&json, '}');
    json_put_address_member(&json, "address", UINT64_MAX);
    buffer_append_byte(&json, '\n');
    json_end(&json, '}');
    assert_string_equal(buffer_text(&json), "{\"names\":[\"a\",\"b\"],\n\"none\":{},"
                                            "\"address\":\"0xffffffffffffffff\"}");
    buffer_finish(&json);
}

/* What was written on the way must not hold a comma that the end removes. */
static void
json__longer_than_what_is_kept_in_memory__all_in_the_file(void **state)
{
    struct buffer json = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    const size_t count = 100 * 1000;

    (void)state;
    assert_non_null(out);
    buffer_append_byte(&json, '[');
    for (size_t i = 0; i < count; i++) {
        json_put_text_element(&json, i % 2 == 0 ? "even" : "odd");
        buffer_append_byte(&json, '\n');
        json_flush(&json, out);
        assert_true(json.size < 64 * 1024);
    }
    json_end(&json, ']');
    assert_true(json_finish(&json, out));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(size, count / 2 * strlen("\"even\",\n\"odd\",\n"));
    assert_string_equal(text + size - strlen(",\n\"odd\"]"), ",\n\"odd\"]");
    free(text);
}

/* Return what was written, for the caller to free. */
static char *
csv_of(struct csv *csv, void (*put)(struct csv *csv))
{
    char *text = NULL;
    size_t size = 0;

    csv->out = open_memstream(&text, &size);
    assert_non_null(csv->out);
    put(csv);
    assert_true(csv_finish(csv));
    assert_int_equal(fclose(csv->out), 0);
    return text;
}

static void
put_csv_lines(struct csv *csv)
{
    csv_print(csv, "%s,%d", "share", 1);
    csv_put_text(csv, "f(int, char)\n");
    csv_put_text(csv, NULL);
    csv_put_number(csv, 7, true);
    csv_put_number(csv, 7, false);
    csv_end_line(csv);
    csv_put_text(csv, "");
    csv_put_address(csv, 16, true);
    csv_put_address(csv, 16, false);
    buffer_append_text(&csv->text, "=1");
    csv_put_field(csv);
    csv_end_line(csv);
}

static void
csv__fields_of_each_kind__commas_between_them(void **state)
{
    struct csv csv = {0};
    char *const text = csv_of(&csv, put_csv_lines);

    (void)state;
    assert_string_equal(text, "share,1,\"f(int, char)\\x0a\",,7,\n"
                              ",0x10,,\\x3d1\n");
    free(text);
}

static void
openmetrics__hostile_label__one_line_of_valid_text(void **state)
{
    struct buffer text = {0};

    (void)state;
    openmetrics_put_family(&text, "size_bytes", "gauge", "bytes", "Size.");
    openmetrics_put_family(&text, "hits", "counter", "", "Hits.");
    buffer_append_text(&text, "hits_total{");
    openmetrics_put_label(&text, "source", "a\"b\\c\n\xff");
    openmetrics_put_label(&text, "kind", "lost");
    buffer_append_text(&text, "} 1\n");
    assert_string_equal(buffer_text(&text),
                        "# TYPE size_bytes gauge\n# UNIT size_bytes bytes\n"
                        "# HELP size_bytes Size.\n"
                        "# TYPE hits counter\n# HELP hits Hits.\n"
                        "hits_total{source=\"a\\\"b\\\\c\\\\x0a\\\\xff\","
                        "kind=\"lost\"} 1\n");
    buffer_finish(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escape__ordinary_names__unchanged),
        cmocka_unit_test(escape__control_characters__bytes_in_hex),
        cmocka_unit_test(escape__invisible_characters__bytes_in_hex),
        cmocka_unit_test(escape__bad_utf8__bytes_in_hex),
        cmocka_unit_test(escape__what_reads_as_escape__comes_back),
        cmocka_unit_test(escape__every_two_bytes__comes_back),
        cmocka_unit_test(unescape__zero__stays_escaped),
        cmocka_unit_test(field__what_a_spreadsheet_reads__quoted_and_no_formula),
        cmocka_unit_test(columns__multibyte__counts_characters),
        cmocka_unit_test(show__too_long__cut_at_a_character),
        cmocka_unit_test(json__hostile_text__escaped_twice),
        cmocka_unit_test(json__nothing_in_it__no_comma_to_take_back),
        cmocka_unit_test(json__members_on_lines_of_their_own__last_comma_is_removed),
        cmocka_unit_test(json__longer_than_what_is_kept_in_memory__all_in_the_file),
        cmocka_unit_test(openmetrics__hostile_label__one_line_of_valid_text),
        cmocka_unit_test(csv__fields_of_each_kind__commas_between_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
