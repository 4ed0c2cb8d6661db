/* SPDX-License-Identifier: MIT */
/*
 * sql.c - work for SQLite, to train and to measure builds of it.
 *
 *   sql train ROWS      inserts, updates and joins, in a database in memory
 *   sql measure ROWS    other work: text, groups, a recursive query
 *
 * Prints one number, which is the same whatever SQLite was built with.
 */
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Statements with ?1, the number of rows; the first value of each is added up. */
static const char *const TRAIN[] = {
    "CREATE TABLE item (id INTEGER PRIMARY KEY, kind INT, price INT, name TEXT)",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
    " INSERT INTO item SELECT i, i * 7919 % 101, i * 104729 % 9973,"
    " 'item ' || (i * 31 % 1009) FROM n",
    "CREATE INDEX item_kind ON item (kind, price)",
    "SELECT sum(price) FROM item WHERE kind BETWEEN 10 AND 40",
    "UPDATE item SET price = price + 1 WHERE kind % 3 = 0",
    "SELECT count(*) FROM item a JOIN item b ON b.id = a.price WHERE a.kind < 20",
    "SELECT max(length(name)) FROM item WHERE name LIKE 'item 1%'",
    "DELETE FROM item WHERE kind = 7",
    "SELECT count(DISTINCT name) FROM item",
    NULL,
};

static const char *const MEASURE[] = {
    "CREATE TABLE word (text TEXT, weight REAL)",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
    " INSERT INTO word SELECT printf('%x-%d', i * 2654435761 % 65521, i % 97), i / 3.0"
    " FROM n",
    "SELECT count(*) FROM (SELECT substr(text, 1, 2) AS head, sum(weight), count(*)"
    " FROM word GROUP BY head HAVING count(*) > 3 ORDER BY head DESC)",
    "CREATE UNIQUE INDEX word_text ON word (text, weight)",
    "SELECT count(*) FROM word WHERE text IN (SELECT replace(text, '1', '2') FROM "
    "word)",
    "SELECT sum(CASE WHEN upper(text) > 'A' THEN 1 ELSE 2 END) FROM word",
    "WITH RECURSIVE f (i, a, b) AS (SELECT 1, 0, 1 UNION ALL"
    " SELECT i + 1, b, (a + b) % 1000007 FROM f WHERE i < ?1) SELECT max(a) FROM f",
    NULL,
};

static long long
run(sqlite3 *database, const char *text, int rows)
{
    sqlite3_stmt *statement;
    long long sum = 0;

    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK) {
        fprintf(stderr, "sql: %s: %s\n", text, sqlite3_errmsg(database));
        exit(1);
    }
    if (sqlite3_bind_parameter_count(statement) > 0) {
        sqlite3_bind_int(statement, 1, rows);
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        sum += sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return sum;
}

int
main(int argc, char **argv)
{
    const char *const *work =
        argc > 1 && strcmp(argv[1], "train") == 0 ? TRAIN : MEASURE;
    const int rows = argc > 2 ? atoi(argv[2]) : 100000;
    sqlite3 *database;
    long long sum = 0;

    if (sqlite3_open(":memory:", &database) != SQLITE_OK) {
        return 1;
    }
    for (size_t i = 0; work[i] != NULL; i++) {
        sum += run(database, work[i], rows);
    }
    sqlite3_close(database);
    printf("%lld\n", sum);
    return 0;
}
