/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/number.h"

#include <stdio.h>

typedef bool parser(const char *text, uint64_t *value);

struct row {
    parser *parse;
    const char *text;
    bool good;
    uint64_t value;
};

static const struct row ROWS[] = {
    {number_parse_count, "0", true, 0},
    {number_parse_count, "20", true, 20},
    {number_parse_count, "1k", true, 1000},
    {number_parse_count, "1.5M", true, 1500000},
    {number_parse_count, "0x10", true, 16},
    {number_parse_count, "18446744073709551615", true, UINT64_MAX},
    {number_parse_count, "18446744073709551616", false, 0},
    {number_parse_count, "18446744073709551615k", false, 0},
    {number_parse_count, "0x10000000000000000", false, 0},
    {number_parse_count, "0x", false, 0},
    {number_parse_count, "1.5", false, 0},
    {number_parse_count, "", false, 0},
    {number_parse_count, "-1", false, 0},
    {number_parse_count, "+1", false, 0},
    {number_parse_count, " 1", false, 0},
    {number_parse_count, "1 ", false, 0},
    {number_parse_count, "1.", false, 0},
    {number_parse_count, ".5k", false, 0},
    {number_parse_count, "k", false, 0},
    {number_parse_count, "nan", false, 0},
    {number_parse_bytes, "4", true, 4},
    {number_parse_bytes, "4k", true, 4096},
    {number_parse_bytes, "4KiB", true, 4096},
    {number_parse_bytes, "64B", true, 64},
    {number_parse_bytes, "0.5k", true, 512},
    {number_parse_bytes, "2G", true, UINT64_C(2) << 30},
    {number_parse_bytes, "0x1000", true, 4096},
    {number_parse_bytes, "4Hz", false, 0},
    {number_parse_ns, "250ns", true, 250},
    {number_parse_ns, "100us", true, 100000},
    {number_parse_ns, "1ms", true, 1000000},
    {number_parse_ns, "1.5s", true, 1500000000},
    {number_parse_ns, "2m", true, UINT64_C(120000000000)},
    {number_parse_ns, "1h", true, UINT64_C(3600000000000)},
    {number_parse_ns, "0.5ns", false, 0},
    {number_parse_ns, "1", false, 0},
    {number_parse_ns, "1kHz", false, 0},
    {number_parse_ns, "99999999999h", false, 0},
    {number_parse_seconds, "10", true, UINT64_C(10000000000)},
    {number_parse_seconds, "0.5", true, 500000000},
    {number_parse_seconds, "500ms", true, 500000000},
    {number_parse_seconds, "2m", true, UINT64_C(120000000000)},
    {number_parse_seconds, "", false, 0},
    {number_parse_seconds, "1 s", false, 0},
    {number_parse_seconds, "99999999999", false, 0},
    {number_parse_hz, "997", true, 997},
    {number_parse_hz, "997Hz", true, 997},
    {number_parse_hz, "1k", true, 1000},
    {number_parse_hz, "1.5kHz", true, 1500},
    {number_parse_hz, "1MHz", true, 1000000},
    {number_parse_hz, "max", true, NUMBER_HZ_MAX},
    {number_parse_hz, "1ms", false, 0},
    {number_parse_hz, "maximum", false, 0},
    {number_parse_hz, "1.00000000000000000000", false, 0},
};

static void
parse__table__whole_text_or_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const uint64_t before = 0xdeadbeef;
        uint64_t value = before;
        const bool good = ROWS[i].parse(ROWS[i].text, &value);

        if (good != ROWS[i].good || value != (good ? ROWS[i].value : before)) {
            fail_msg("row %zu, \"%s\": %d, %llu", i, ROWS[i].text, good,
                     (unsigned long long)value);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__table__whole_text_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
