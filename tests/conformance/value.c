/* SPDX-License-Identifier: MIT */
/* value.c - see value.h. */
#include "value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at;
    value_lookup *lookup;
    void *context;
    bool failed;
};

static uint64_t
fail(struct reader *reader)
{
    reader->failed = true;
    return 0;
}

static uint64_t
read_number(struct reader *reader)
{
    const bool hexadecimal = reader->at[0] == '0' && reader->at[1] == 'x';
    char *end;
    uint64_t value;

    value = strtoull(reader->at, &end, hexadecimal ? 16 : 10);
    if (end == reader->at || end - reader->at > 20) {
        return fail(reader);
    }
    reader->at = end;
    return value;
}

static uint64_t
read_name(struct reader *reader)
{
    char name[VALUE_MOST_CHARS];
    size_t length = 0;
    uint64_t value;

    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '.') {
        length++;
    }
    if (length == 0 || length >= sizeof(name)) {
        return fail(reader);
    }
    memcpy(name, reader->at, length);
    name[length] = '\0';
    reader->at += length;
    if (reader->lookup == NULL || !reader->lookup(reader->context, name, &value)) {
        return fail(reader);
    }
    return value;
}

static uint64_t
read_atom(struct reader *reader)
{
    uint64_t value;

    if (!isdigit((unsigned char)*reader->at)) {
        return read_name(reader);
    }
    value = read_number(reader);
    if (*reader->at == '^') {
        const uint64_t base = value;
        uint64_t power;

        reader->at++;
        power = read_number(reader);
        for (value = 1; power > 0 && power <= 64; power--) {
            value *= base;
        }
    }
    return value;
}

static uint64_t
shift(uint64_t value, uint64_t bits, bool left)
{
    if (bits >= 64) {
        return 0;
    }
    return left ? value << bits : value >> bits;
}

static uint64_t
read_product(struct reader *reader)
{
    uint64_t value = read_atom(reader);

    while (!reader->failed) {
        if (*reader->at == '*') {
            reader->at++;
            value *= read_atom(reader);
        } else if (strncmp(reader->at, "<<", 2) == 0) {
            reader->at += 2;
            value = shift(value, read_atom(reader), true);
        } else if (strncmp(reader->at, ">>", 2) == 0) {
            reader->at += 2;
            value = shift(value, read_atom(reader), false);
        } else {
            break;
        }
    }
    return value;
}

bool
value_evaluate(const char *text, value_lookup *lookup, void *context, uint64_t *value)
{
    struct reader reader = {.at = text, .lookup = lookup, .context = context};
    uint64_t sum = read_product(&reader);

    while (!reader.failed && *reader.at != '\0') {
        const char sign = *reader.at++;

        if (sign == '+') {
            sum += read_product(&reader);
        } else if (sign == '-') {
            sum -= read_product(&reader);
        } else {
            return false;
        }
    }
    *value = sum;
    return !reader.failed;
}

/* The item that begins at list; returns what follows it. */
static const char *
cut_item(const char *list, char item[VALUE_MOST_CHARS])
{
    const char *const comma = strchr(list, ',');
    const size_t length = comma != NULL ? (size_t)(comma - list) : strlen(list);

    item[0] = '\0';
    if (length < VALUE_MOST_CHARS) {
        memcpy(item, list, length);
        item[length] = '\0';
    }
    return comma != NULL ? comma + 1 : NULL;
}

/* How many values an item has: FIRST..LAST with numbers; *first is FIRST. */
static uint64_t
count_item(char *item, uint64_t *first)
{
    char *const dots = strstr(item, "..");
    uint64_t last;

    *first = 0;
    if (item[0] == '\0') {
        return 0;
    }
    if (dots == NULL) {
        return 1;
    }
    *dots = '\0';
    if (!value_evaluate(item, NULL, NULL, first) ||
        !value_evaluate(dots + 2, NULL, NULL, &last) || last < *first ||
        last - *first > 65535) {
        return 0;
    }
    return last - *first + 1;
}

uint64_t
value_alternatives(const char *list)
{
    uint64_t total = 0;

    while (list != NULL) {
        char item[VALUE_MOST_CHARS];
        uint64_t first;
        uint64_t count;

        list = cut_item(list, item);
        count = count_item(item, &first);
        if (count == 0) {
            return 0;
        }
        total += count;
    }
    return total;
}

void
value_alternative(const char *list, uint64_t index, char text[VALUE_MOST_CHARS])
{
    while (list != NULL) {
        char item[VALUE_MOST_CHARS];
        uint64_t first;
        uint64_t count;

        list = cut_item(list, text);
        memcpy(item, text, sizeof(item));
        count = count_item(item, &first);
        if (index < count) {
            if (count > 1 || strstr(text, "..") != NULL) {
                snprintf(text, VALUE_MOST_CHARS, "%llu",
                         (unsigned long long)(first + index));
            }
            return;
        }
        index -= count;
    }
}
