/* SPDX-License-Identifier: MIT */
/* number.c - reads digits, a fraction and a unit, which is looked up in the table of
 * its quantity. */
#include "base/number.h"

#include <stddef.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit COUNT_UNITS[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};

static const struct unit BYTE_UNITS[] = {
    {"", 1},           {"B", 1},          {"k", 1u << 10},   {"K", 1u << 10},
    {"kB", 1u << 10},  {"KB", 1u << 10},  {"KiB", 1u << 10}, {"M", 1u << 20},
    {"MB", 1u << 20},  {"MiB", 1u << 20}, {"G", 1u << 30},   {"GB", 1u << 30},
    {"GiB", 1u << 30}, {NULL, 0}};

/* Units of seconds. A parser that starts at the second row requires a unit. */
static const struct unit SECONDS_UNITS[] = {{"", 1000000000},
                                            {"ns", 1},
                                            {"us", 1000},
                                            {"\xc2\xb5s", 1000},
                                            {"ms", 1000000},
                                            {"s", 1000000000},
                                            {"m", UINT64_C(60000000000)},
                                            {"min", UINT64_C(60000000000)},
                                            {"h", UINT64_C(3600000000000)},
                                            {NULL, 0}};

static const struct unit HZ_UNITS[] = {
    {"", 1},       {"Hz", 1},     {"hz", 1},      {"k", 1000},      {"K", 1000},
    {"kHz", 1000}, {"khz", 1000}, {"M", 1000000}, {"MHz", 1000000}, {NULL, 0}};

static bool
is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Read digits as one number. Returns the position after them, or NULL if it is too
 * large. */
static const char *
read_digits(const char *text, uint64_t *value)
{
    for (; is_digit(*text); text++) {
        if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value)) {
            return NULL;
        }
    }
    return text;
}

static const struct unit *
find_unit(const struct unit *units, const char *name)
{
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0) {
            return units;
        }
    }
    return NULL;
}

/* Parse digits, a fraction and a unit. The result must be whole. */
static bool
parse(const char *text, const struct unit *units, uint64_t *value)
{
    uint64_t number = 0;
    uint64_t divisor = 1;
    const struct unit *unit;
    const char *behind;

    if (!is_digit(*text)) {
        return false;
    }
    behind = read_digits(text, &number);
    if (behind != NULL && *behind == '.' && is_digit(behind[1])) {
        const char *fraction = behind + 1;

        behind = read_digits(fraction, &number);
        for (; behind != NULL && fraction < behind; fraction++) {
            if (__builtin_mul_overflow(divisor, UINT64_C(10), &divisor)) {
                return false;
            }
        }
    }
    unit = behind != NULL ? find_unit(units, behind) : NULL;
    if (unit == NULL || __builtin_mul_overflow(number, unit->factor, &number) ||
        number % divisor != 0) {
        return false;
    }
    *value = number / divisor;
    return true;
}

/* Parse "0x" and hexadecimal digits, at most 64 bits. */
static bool
parse_hex(const char *text, uint64_t *value)
{
    uint64_t number = 0;
    const char *digits = text + 2;
    const size_t length = strspn(digits, "0123456789abcdefABCDEF");

    if (length == 0 || length > 16 || digits[length] != '\0') {
        return false;
    }
    for (; *digits != '\0'; digits++) {
        const uint64_t digit = is_digit(*digits)
                                   ? (uint64_t)(*digits - '0')
                                   : (uint64_t)((*digits | 0x20) - 'a' + 10);
        number = number << 4 | digit;
    }
    *value = number;
    return true;
}

static bool
is_hex(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

bool
number_parse_count(const char *text, uint64_t *value)
{
    return is_hex(text) ? parse_hex(text, value) : parse(text, COUNT_UNITS, value);
}

bool
number_parse_bytes(const char *text, uint64_t *value)
{
    return is_hex(text) ? parse_hex(text, value) : parse(text, BYTE_UNITS, value);
}

bool
number_parse_ns(const char *text, uint64_t *value)
{
    return parse(text, SECONDS_UNITS + 1, value);
}

bool
number_parse_seconds(const char *text, uint64_t *value)
{
    return parse(text, SECONDS_UNITS, value);
}

bool
number_parse_hz(const char *text, uint64_t *value)
{
    if (strcmp(text, "max") == 0) {
        *value = NUMBER_HZ_MAX;
        return true;
    }
    return parse(text, HZ_UNITS, value);
}
