/* SPDX-License-Identifier: MIT */
/*
 * schema.h - the tables of a store in ClickHouse. docs/store.md explains them.
 *
 * The SQL is what servers from 18.16 on have: no codecs, no TTL, no parameters of
 * queries.
 */
#ifndef STORE_CLICKHOUSE_SCHEMA_H
#define STORE_CLICKHOUSE_SCHEMA_H

#include <stddef.h>

enum { CLICKHOUSE_VERSION = 3 };

/* The last day that the type Date has. */
enum { CLICKHOUSE_DAY_MAX = 65535 };

/* clickhouse_table - a table and what makes it. */
struct clickhouse_table {
    const char *name;
    const char *columns; /* "name Type, ..."; check compares them with the server's */
    const char *version; /* of rows with the same key the largest stays; NULL: all do */
    const char *order;
    const char *shard; /* rows with the same value are on the same shard of a cluster:
                        * those with the same key, and those of a window */
};

/* Column day is that of a window's end in windows, so that a selection since a time
 * leaves old partitions out. In all other tables day and hour are those of the window's
 * start. */

/* Columns that identify a window. */
#define WINDOW_KEY "host String, epoch String, start_ns UInt64, "

/* The columns by which hits are grouped when windows do not matter. */
#define PLACE_KEY                                                 \
    "source String, period UInt64, process String, unit String, " \
    "image String, bias UInt64, address UInt64, variant String, "

/* A hash of the windows in a group of rows of table windows. It is another one after a
 * window was added, and may be after parts of the table were merged. */
#define WINDOWS_HASH "sum(cityHash64(host, epoch, start_ns, end_ns))"

/* Days that have sums, and the hash (f) of the windows that these are of: a row without
 * a source has it as its address. In its period 0.1.0 had a time, and took sums only if
 * that was later than all windows: 0 has it read the windows. */
#define FOLDED_DAYS \
    "SELECT day, max(address) AS f FROM sums WHERE source = '' GROUP BY day"

#define HITS_ORDER "source, period, hour, image, bias, address, variant, process, unit"

static const struct clickhouse_table clickhouse_tables[] = {
    {"windows",
     "day Date, " WINDOW_KEY "end_ns UInt64, boot String, labels Array(String), "
     "command String, backend String, limits String, gaps String, bucket_bytes UInt32, "
     "added DateTime",
     "end_ns", "PARTITION BY day ORDER BY (host, epoch, start_ns)", "host"},
    {"accounting",
     "day Date, " WINDOW_KEY "source String, period UInt64, nt_name String, "
     "unit String, kernel UInt8, user_left_out UInt8, asked UInt64, measured Float64, "
     "expected UInt64, taken UInt64, counted UInt64, outside UInt64, lost UInt64, "
     "throttled UInt64, missed UInt64, unfinished UInt64, excluded UInt64, "
     "outside_kernel UInt64, version UInt64",
     "version", "PARTITION BY day ORDER BY (host, epoch, start_ns, source, period)",
     "host"},
    {"hits", "day Date, hour UInt32, " WINDOW_KEY PLACE_KEY "count UInt64", "count",
     "PARTITION BY day ORDER BY (" HITS_ORDER ", host, start_ns, epoch)", "host"},
    {"sums", "day Date, hour UInt32, host String, " PLACE_KEY "count UInt64", NULL,
     "PARTITION BY day ORDER BY (" HITS_ORDER ", host)", "host"},
    {"images",
     "image String, bias UInt64, path String, build_id String, low UInt64, "
     "high UInt64, named UInt8",
     "named", "ORDER BY (image, bias, path, build_id, low, high)", "image"},
    {"places",
     "image String, bias UInt64, address UInt64, variant String, function String, "
     "system_name String, file String, start_line UInt32, line UInt32, "
     "caller_functions Array(String), caller_system_names Array(String), "
     "caller_files Array(String), caller_start_lines Array(UInt32), "
     "caller_lines Array(UInt32), quality UInt8, definition String, has_address UInt8, "
     "function_address UInt64, caller_definitions Array(String), "
     "caller_has_addresses Array(UInt8), caller_addresses Array(UInt64)",
     "quality", "ORDER BY (image, bias, address, variant)", "image"},
    /* Made last: a store without it is not whole. */
    {"ntprof", "version UInt64", NULL, "ORDER BY version", "version"},
};

enum { CLICKHOUSE_TABLES = sizeof(clickhouse_tables) / sizeof(clickhouse_tables[0]) };

#endif
