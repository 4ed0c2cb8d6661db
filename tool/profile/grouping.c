/* SPDX-License-Identifier: MIT */
/* grouping.c - names of keys. */
#include "profile/grouping.h"

#include <stdio.h>
#include <string.h>

static const char *const KEY_NAMES[] = {
    [REPORT_BY_FUNCTION] = "function", [REPORT_BY_INLINE] = "inline",
    [REPORT_BY_LINE] = "line",         [REPORT_BY_IMAGE] = "image",
    [REPORT_BY_ADDRESS] = "address",   [REPORT_BY_BUCKET] = "bucket",
    [REPORT_BY_PROCESS] = "process",   [REPORT_BY_THREAD] = "thread",
    [REPORT_BY_CPU] = "cpu",           [REPORT_BY_SOURCE] = "source",
    [REPORT_BY_UNIT] = "unit",         [REPORT_BY_PID] = "pid",
};

/* Find the key that is named by the first length bytes of text. */
static bool
parse_key(const char *text, size_t length, enum report_key *key)
{
    for (size_t i = 0; i < REPORT_KEY_COUNT; i++) {
        if (strlen(KEY_NAMES[i]) == length &&
            strncmp(text, KEY_NAMES[i], length) == 0) {
            *key = (enum report_key)i;
            return true;
        }
    }
    return false;
}

const struct report_keys *
report_keys_used(const struct report_keys *keys)
{
    static const struct report_keys by_function = {{REPORT_BY_FUNCTION}, 1};

    return keys->count > 0 ? keys : &by_function;
}

bool
report_has_key(const struct report_keys *keys, enum report_key key)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i] == key) {
            return true;
        }
    }
    return false;
}

bool
report_keys_parse(const char *text, struct report_keys *keys)
{
    struct report_keys parsed = {.count = 0};

    for (;;) {
        const size_t length = strcspn(text, ",");
        enum report_key key;

        if (!parse_key(text, length, &key) || report_has_key(&parsed, key)) {
            return false;
        }
        parsed.list[parsed.count++] = key;
        if (text[length] == '\0') {
            *keys = parsed;
            return true;
        }
        text += length + 1;
    }
}

/* What other tools call keys. */
static const struct suggest_word key_words[] = {
    {"symbol", "function"},  {"sym", "function"},    {"fn", "function"},
    {"symbols", "function"}, {"srcline", "line"},    {"srcfile", "line"},
    {"source-line", "line"}, {"file", "line"},       {"dso", "image"},
    {"module", "image"},     {"lib", "image"},       {"library", "image"},
    {"binary", "image"},     {"object", "image"},    {"mapping", "image"},
    {"ip", "address"},       {"pc", "address"},      {"instruction", "address"},
    {"comm", "process"},     {"command", "process"}, {"program", "process"},
    {"tgid", "pid"},         {"tid", "thread"},      {"core", "cpu"},
    {"processor", "cpu"},    {"event", "source"},    {"cgroup", "unit"},
    {"container", "unit"},   {"service", "unit"},    {0},
};

void
report_keys_suggest(const char *text, struct suggestion *suggestion)
{
    size_t length = strcspn(text, ",");
    enum report_key key;

    while (parse_key(text, length, &key) && text[length] != '\0') {
        text += length + 1;
        length = strcspn(text, ",");
    }
    /* If all are keys, one is repeated: there is nothing to offer. */
    suggest_begin(suggestion, text, parse_key(text, length, &key) ? 0 : length);
    for (size_t i = 0; i < REPORT_KEY_COUNT; i++) {
        suggest_offer(suggestion, KEY_NAMES[i]);
    }
    suggest_offer_words(suggestion, key_words);
}

void
report_keys_list(char *text, size_t size, bool by_source)
{
    for (size_t i = 0; i < REPORT_KEY_COUNT; i++) {
        const size_t used = strlen(text);

        if ((i != REPORT_BY_SOURCE && i != REPORT_BY_PID) || by_source) {
            snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", KEY_NAMES[i]);
        }
    }
}

const char *
report_key_name(enum report_key key)
{
    return KEY_NAMES[key];
}
