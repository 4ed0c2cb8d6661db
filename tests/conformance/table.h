/* SPDX-License-Identifier: MIT */
/*
 * table.h - reading conformance tables: README.md says what stands in them. All that is
 * wrong with a table is told with file and line before any row is run.
 */
#ifndef CONFORMANCE_TABLE_H
#define CONFORMANCE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The versions of NT in order, "newest" last; a set of them has bit n for number n. */
enum { TABLE_VERSIONS = 20 };
struct table_version {
    const char *name;
    uint32_t number; /* EX_OPTIONS.Version */
};
extern const struct table_version table_versions[TABLE_VERSIONS];

enum { TABLE_X64 = 1, TABLE_X86 = 2 };

struct table_pair {
    const char *key;
    const char *value;
};

struct table_pairs {
    struct table_pair *items;
    size_t count;
};

struct table_words {
    const char **items;
    size_t count;
};

struct table;

struct table_row {
    const struct table *table;
    int line;
    const char *name;
    uint32_t versions;
    unsigned abis;             /* TABLE_X64, TABLE_X86 */
    struct table_pairs inputs; /* the row's own; the table's defaults are not in it */
    const char *status;
    struct table_words effects;
    struct table_words rules;
};

struct table {
    const char *path;
    char *text; /* of the file, cut up; everything above points into it */
    const char *call;
    struct table_pairs defaults;
    struct table_row *rows;
    size_t row_count;
    unsigned faults; /* what is wrong with it; each was told */
};

/* table_read - false if it cannot be read at all or has faults. table_free in either
 * case. */
bool table_read(struct table *table, const char *path);
void table_free(struct table *table);

/* table_complain - tell of a fault of the table. */
void table_complain(struct table *table, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value of a key, or NULL. */
const char *table_find(const struct table_pairs *pairs, const char *key);

/* The rule ids of docs/behaviour.md. */
struct table_rules {
    char *text;
    struct table_words ids;
};
bool table_read_rules(struct table_rules *rules, const char *path);
void table_free_rules(struct table_rules *rules);
bool table_has_rule(const struct table_rules *rules, const char *id);

#endif
