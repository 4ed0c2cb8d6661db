/* SPDX-License-Identifier: MIT */
/* secret.c - what messages leave out, whatever is wrong with a URL. */
#include "fixture.h"

#include "base/secret.h"
#include "base/text.h"

static void
assert_shown(const char *text, const char *expected)
{
    char shown[200];

    assert_string_equal(text_show(shown, sizeof(shown), text), expected);
}

static void
show__password_of_a_user__left_out(void **state)
{
    (void)state;
    assert_shown("clickhouse://u:pw@h:1/d", "clickhouse://u:***@h:1/d");
    assert_shown("CLICKHOUSE://u:pw@h/d", "CLICKHOUSE://u:***@h/d");
    assert_shown("clickhouse:u:pw@h/d", "clickhouse:u:***@h/d");
    assert_shown("clickhouses://u:p/w?x#y@z@h/d", "clickhouses://u:***@h/d");
    assert_shown("clickhouse://:pw@h/d", "clickhouse://:***@h/d");
    assert_shown("//u:pw@h/d", "//u:***@h/d");
    assert_shown("clickhouse://u:pw", "clickhouse://u:***");
    assert_shown("clickhouse://u:pw/d?host=x", "clickhouse://u:***/d?host=x");
    assert_shown("http://u:pw@h/d", "http://***@h/d");
    assert_shown("cannot reach https://token@h/d", "cannot reach https://***@h/d");
    assert_shown("https://u:p/w@h", "https://***@h");
}

static void
show__value_of_a_secret_parameter__left_out(void **state)
{
    (void)state;
    assert_shown("clickhouse://h/d?password=pw", "clickhouse://h/d?password=***");
    assert_shown("clickhouse://h/d?host=x&PASSWORD=p&w",
                 "clickhouse://h/d?host=x&PASSWORD=***");
    assert_shown("http://h/d?access_token=x", "http://h/d?access_token=***");
    assert_shown("clickhouse://u:pw@h/d?api-key=x",
                 "clickhouse://u:***@h/d?api-key=***");
    assert_shown("sqlite:x?secret=y", "sqlite:x?secret=***");
}

static void
show__no_secret__unchanged(void **state)
{
    static const char *const texts[] = {
        "clickhouse://u@h:8123/d?since=1h&label=key=value",
        "clickhouse://h/d?password-file=/etc/ntprof/password",
        "clickhouse://[::1]:8123/d",
        "http://h:80/x?id=1",
        "https://cdn.example/@babel/parser.js:10:20",
        "sqlite:a:b@c?host=x",
        "std::map<key, value>::operator=(x)",
        "user@host: no such file",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_shown(texts[i], texts[i]);
    }
    assert_true(secret_is_name("Password"));
    assert_true(secret_is_name("auth_token"));
    assert_false(secret_is_name("password-file"));
    assert_false(secret_is_name("host"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(show__password_of_a_user__left_out),
        cmocka_unit_test(show__value_of_a_secret_parameter__left_out),
        cmocka_unit_test(show__no_secret__unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
