/* SPDX-License-Identifier: MIT */
/*
 * schema.h - the tables of a store. docs/store.md explains them.
 *
 * Addresses and counts of 64 bits are stored in two's complement.
 */
#ifndef STORE_SQLITE_SCHEMA_H
#define STORE_SQLITE_SCHEMA_H

/* In the header of the file: "ntps", and the version of the tables. */
enum { STORE_APPLICATION = 0x6e747073, STORE_VERSION = 4 };

/* The version before, which is read as it is. */
enum { STORE_VERSION_READ = 3 };

/* The day of a window, counted from 1970 in UTC; its length. */
#define STORE_DAY_NS "86400000000000"
#define STORE_DAY "start_ns / " STORE_DAY_NS

/* The columns of table function, as in CREATE TABLE. Tables before version 4 had
 * neither addresses nor definitions. */
#define STORE_FUNCTION_COLUMNS                                                  \
    "(id INTEGER PRIMARY KEY, name TEXT NOT NULL, system_name TEXT NOT NULL,"   \
    " file TEXT NOT NULL, start_line INTEGER NOT NULL,"                         \
    " definition TEXT NOT NULL, has_address INTEGER NOT NULL,"                  \
    " first_byte INTEGER NOT NULL, UNIQUE(system_name, name, file, start_line," \
    " definition, has_address, first_byte));"

#define STORE_SCHEMA                                                                  \
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"           \
    "CREATE TABLE origin(id INTEGER PRIMARY KEY, boot TEXT NOT NULL,"                 \
    " labels TEXT NOT NULL, UNIQUE(boot, labels));"                                   \
    "CREATE TABLE window(id INTEGER PRIMARY KEY, host INTEGER NOT NULL,"              \
    " epoch TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"       \
    " origin INTEGER NOT NULL,"                                                       \
    " command TEXT NOT NULL, backend TEXT NOT NULL, limits TEXT NOT NULL,"            \
    " gaps TEXT NOT NULL, bucket_bytes INTEGER NOT NULL,"                             \
    " UNIQUE(host, epoch, start_ns));"                                                \
    "CREATE INDEX window_by_end ON window(end_ns);"                                   \
    "CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"                 \
    " nt_name TEXT NOT NULL, unit TEXT NOT NULL, interval INTEGER NOT NULL,"          \
    " kernel INTEGER NOT NULL, user_left_out INTEGER NOT NULL,"                       \
    " UNIQUE(name, interval, kernel, user_left_out, unit, nt_name));"                 \
    "CREATE TABLE accounting(window INTEGER NOT NULL, source INTEGER NOT NULL,"       \
    " asked INTEGER NOT NULL, measured REAL NOT NULL, expected INTEGER NOT NULL,"     \
    " taken INTEGER NOT NULL, counted INTEGER NOT NULL, outside INTEGER NOT NULL,"    \
    " lost INTEGER NOT NULL, throttled INTEGER NOT NULL, missed INTEGER NOT NULL,"    \
    " unfinished INTEGER NOT NULL, excluded INTEGER NOT NULL,"                        \
    " outside_kernel INTEGER NOT NULL DEFAULT 0,"                                     \
    " PRIMARY KEY(window, source)) WITHOUT ROWID;"                                    \
    "CREATE TABLE image(id INTEGER PRIMARY KEY, key TEXT NOT NULL,"                   \
    " bias INTEGER NOT NULL, path TEXT NOT NULL, build_id TEXT NOT NULL,"             \
    " low INTEGER NOT NULL, high INTEGER NOT NULL, named INTEGER NOT NULL,"           \
    " UNIQUE(key, bias));"                                                            \
    "CREATE TABLE function" STORE_FUNCTION_COLUMNS                                    \
    "CREATE TABLE frame(id INTEGER PRIMARY KEY, function INTEGER NOT NULL,"           \
    " line INTEGER NOT NULL, caller INTEGER NOT NULL,"                                \
    " UNIQUE(function, line, caller));"                                               \
    "CREATE TABLE place(id INTEGER PRIMARY KEY, image INTEGER NOT NULL,"              \
    " address INTEGER NOT NULL, variant INTEGER NOT NULL, function INTEGER NOT NULL," \
    " line INTEGER NOT NULL, frame INTEGER NOT NULL,"                                 \
    " quality INTEGER NOT NULL, UNIQUE(image, address, variant));"                    \
    "CREATE TABLE process(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"        \
    "CREATE TABLE unit(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"           \
    "CREATE TABLE hits(window INTEGER NOT NULL, source INTEGER NOT NULL,"             \
    " process INTEGER NOT NULL, unit INTEGER NOT NULL, place INTEGER NOT NULL,"       \
    " count INTEGER NOT NULL,"                                                        \
    " PRIMARY KEY(window, source, process, unit, place)) WITHOUT ROWID;"              \
    "CREATE TABLE folded(day INTEGER NOT NULL, host INTEGER NOT NULL,"                \
    " windows INTEGER NOT NULL, PRIMARY KEY(day, host)) WITHOUT ROWID;"               \
    "CREATE TABLE sums(day INTEGER NOT NULL, host INTEGER NOT NULL,"                  \
    " source INTEGER NOT NULL, process INTEGER NOT NULL, unit INTEGER NOT NULL,"      \
    " place INTEGER NOT NULL, count INTEGER NOT NULL,"                                \
    " PRIMARY KEY(day, host, source, process, unit, place)) WITHOUT ROWID;"

#endif
