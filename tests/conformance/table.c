/* SPDX-License-Identifier: MIT */
/* table.c - see table.h. The text is read whole and cut up in place. */
#include "table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 7 };

const struct table_version table_versions[TABLE_VERSIONS] = {
    {"3.10", 310},  {"3.50", 350},  {"3.51", 351},  {"4.0", 400},   {"4.0sp4", 404},
    {"5.0", 500},   {"5.1", 501},   {"5.2", 502},   {"6.0", 600},   {"6.1", 601},
    {"6.2", 602},   {"6.3", 603},   {"10.0", 1507}, {"1511", 1511}, {"1607", 1607},
    {"1703", 1703}, {"1709", 1709}, {"1803", 1803}, {"1809", 1809}, {"newest", 0},
};

static void *
grow(void *items, size_t count, size_t item_bytes)
{
    void *const grown = realloc(items, (count + 1) * item_bytes);

    if (grown == NULL) {
        fputs("runner: no memory\n", stderr);
        exit(2);
    }
    return grown;
}

void
table_complain(struct table *table, int line, const char *format, ...)
{
    va_list arguments;

    printf("%s:%d: ", table->path, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    table->faults++;
}

static char *
read_text(const char *path)
{
    FILE *const file = fopen(path, "r");
    char *text = NULL;
    size_t length = 0;
    int byte;

    if (file == NULL) {
        perror(path);
        return NULL;
    }
    while ((byte = getc(file)) != EOF) {
        text = length % 65536 == 0 ? grow(text, length + 65536, 1) : text;
        text[length++] = (char)byte;
    }
    text = grow(text, length, 1);
    text[length] = '\0';
    fclose(file);
    return text;
}

static char *
trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1])) {
        *--end = '\0';
    }
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

/* Cuts text at each separator; empty words are left out. */
static struct table_words
cut_words(char *text, const char *separators)
{
    struct table_words words = {0};
    char *rest = NULL;

    for (char *word = strtok_r(text, separators, &rest); word != NULL;
         word = strtok_r(NULL, separators, &rest)) {
        words.items = grow(words.items, words.count, sizeof(*words.items));
        words.items[words.count++] = word;
    }
    return words;
}

const char *
table_find(const struct table_pairs *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const char *const other = pairs->items[i].key;

        /* A third of all time is spent here: few calls of strcmp. */
        if (other[0] == key[0] && strcmp(other, key) == 0) {
            return pairs->items[i].value;
        }
    }
    return NULL;
}

static void
read_pairs(struct table *table, int line, char *text, struct table_pairs *pairs)
{
    char *rest = NULL;

    for (char *word = strtok_r(text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        char *const equals = strchr(word, '=');

        if (equals == NULL || equals == word || equals[1] == '\0') {
            table_complain(table, line, "not KEY=VALUE: %s", word);
            continue;
        }
        *equals = '\0';
        if (table_find(pairs, word) != NULL) {
            table_complain(table, line, "%s is given twice", word);
            continue;
        }
        pairs->items = grow(pairs->items, pairs->count, sizeof(*pairs->items));
        pairs->items[pairs->count++] = (struct table_pair){word, equals + 1};
    }
}

static int
version_index(const char *name)
{
    for (int i = 0; i < TABLE_VERSIONS; i++) {
        if (strcmp(table_versions[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* "6.0", "6.0-", "-6.0", "6.0-6.3", "all". */
static uint32_t
read_version_range(struct table *table, int line, char *item)
{
    char *const dash = strchr(item, '-');
    int first;
    int last;

    if (strcmp(item, "all") == 0) {
        return (1u << TABLE_VERSIONS) - 1;
    }
    if (dash != NULL) {
        *dash = '\0';
    }
    first = dash == item ? 0 : version_index(item);
    last = first;
    if (dash != NULL) {
        last = dash[1] == '\0' ? TABLE_VERSIONS - 1 : version_index(dash + 1);
    }
    if (first < 0 || last < first) {
        table_complain(table, line, "no such versions: %s", item);
        return 0;
    }
    return (1u << (last + 1)) - (1u << first);
}

static uint32_t
read_versions(struct table *table, int line, char *text)
{
    char *rest = NULL;
    uint32_t versions = 0;

    for (char *item = strtok_r(text, ", \t", &rest); item != NULL;
         item = strtok_r(NULL, ", \t", &rest)) {
        versions |= read_version_range(table, line, item);
    }
    return versions;
}

static unsigned
read_abis(struct table *table, int line, const char *text)
{
    if (strcmp(text, "both") == 0) {
        return TABLE_X64 | TABLE_X86;
    }
    if (strcmp(text, "x64") == 0) {
        return TABLE_X64;
    }
    if (strcmp(text, "x86") == 0) {
        return TABLE_X86;
    }
    table_complain(table, line, "abi is x64, x86 or both, not %s", text);
    return 0;
}

static bool
cut_columns(char *text, char *columns[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        char *const bar = strchr(text, '|');

        if ((bar == NULL) != (i == COLUMNS - 1)) {
            return false;
        }
        columns[i] = text;
        if (bar != NULL) {
            *bar = '\0';
            text = bar + 1;
        }
    }
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = trim(columns[i]);
        if (columns[i][0] == '\0') {
            return false;
        }
    }
    return true;
}

static void
check_name(struct table *table, int line, const char *name)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (strcmp(table->rows[i].name, name) == 0) {
            table_complain(table, line, "the name %s is that of line %d", name,
                           table->rows[i].line);
        }
    }
}

static void
read_row(struct table *table, int line, char *text)
{
    char *columns[COLUMNS];
    struct table_row row = {.table = table, .line = line};

    if (!cut_columns(text, columns)) {
        table_complain(table, line, "not seven columns with something in each");
        return;
    }
    row.name = columns[0];
    check_name(table, line, row.name);
    row.versions = read_versions(table, line, columns[1]);
    row.abis = read_abis(table, line, columns[2]);
    if (strcmp(columns[3], "-") != 0) {
        read_pairs(table, line, columns[3], &row.inputs);
    }
    row.status = columns[4];
    if (strcmp(columns[5], "-") != 0) {
        row.effects = cut_words(columns[5], " \t");
    }
    row.rules = cut_words(columns[6], ", \t");
    table->rows = grow(table->rows, table->row_count, sizeof(*table->rows));
    table->rows[table->row_count++] = row;
}

static void
read_line(struct table *table, int line, char *text)
{
    text = trim(text);
    if (text[0] == '\0' || text[0] == '#') {
        return;
    }
    if (strchr(text, '|') != NULL) {
        read_row(table, line, text);
    } else if (strncmp(text, "default ", 8) == 0) {
        read_pairs(table, line, text + 8, &table->defaults);
    } else if (strncmp(text, "call ", 5) == 0 && table->call == NULL) {
        table->call = trim(text + 5);
    } else {
        table_complain(table, line, "neither row, default, call nor # comment");
    }
}

bool
table_read(struct table *table, const char *path)
{
    char *next;
    int line = 0;

    *table = (struct table){.path = path, .text = read_text(path)};
    if (table->text == NULL) {
        return false;
    }
    for (char *text = table->text; text != NULL; text = next) {
        next = strchr(text, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        read_line(table, ++line, text);
    }
    if (table->call == NULL || table->row_count == 0) {
        table_complain(table, line, "no call, or no row");
    }
    return table->faults == 0;
}

void
table_free(struct table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        free(table->rows[i].inputs.items);
        free(table->rows[i].effects.items);
        free(table->rows[i].rules.items);
    }
    free(table->rows);
    free(table->defaults.items);
    free(table->text);
}

/* "| some-id | ..." */
static char *
find_id(char *line)
{
    char *end;

    if (strncmp(line, "| ", 2) != 0) {
        return NULL;
    }
    line += 2;
    end = strchr(line, ' ');
    if (end == NULL || end[1] != '|' ||
        memchr(line, '-', (size_t)(end - line)) == NULL) {
        return NULL;
    }
    *end = '\0';
    return line;
}

bool
table_read_rules(struct table_rules *rules, const char *path)
{
    char *rest = NULL;

    *rules = (struct table_rules){.text = read_text(path)};
    if (rules->text == NULL) {
        return false;
    }
    for (char *line = strtok_r(rules->text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *const id = find_id(line);

        if (id != NULL) {
            rules->ids.items =
                grow(rules->ids.items, rules->ids.count, sizeof(*rules->ids.items));
            rules->ids.items[rules->ids.count++] = id;
        }
    }
    if (rules->ids.count == 0) {
        printf("%s: no rules\n", path);
    }
    return rules->ids.count != 0;
}

void
table_free_rules(struct table_rules *rules)
{
    free(rules->ids.items);
    free(rules->text);
}

bool
table_has_rule(const struct table_rules *rules, const char *id)
{
    for (size_t i = 0; i < rules->ids.count; i++) {
        if (strcmp(rules->ids.items[i], id) == 0) {
            return true;
        }
    }
    return false;
}
