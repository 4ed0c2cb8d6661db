/* SPDX-License-Identifier: MIT */
/*
 * server.h - requests to a ClickHouse server over HTTP, with errors that are
 * remembered: after a failure all calls do nothing, so that callers check once at the
 * end.
 *
 * The server is not believed. A request has a time limit, an answer a size limit, other
 * hosts are not followed to, and what is read of an answer is checked (row_binary.h).
 */
#ifndef STORE_CLICKHOUSE_SERVER_H
#define STORE_CLICKHOUSE_SERVER_H

#include "store/clickhouse/row_binary.h"
#include "store/engine.h"

#include "base/buffer.h"
#include "base/hash_index.h"

#include <curl/curl.h>

/* Most bytes of an answer with rows of a profile. Others have a mebibyte at most, so
 * that no server can use up the memory of an agent. */
#define SERVER_ROWS_BYTES_MAX (UINT64_C(2) << 30)

struct server {
    struct store store;
    CURL *curl;
    struct curl_slist *headers;
    char *address;  /* http://HOST:PORT/ */
    char *database; /* letters, digits and _ */
    char *shown;    /* HOST:PORT/DATABASE, for messages */
    char *cluster;  /* servers that share the store; NULL: there is one */
    uint64_t timeout_ns;
    uint64_t answer_bytes_max;
    struct buffer answer;      /* of the last request */
    struct pprof_error *error; /* of the call that is being made */
    bool failed;               /* that call has set its error */
    /* Hashes of names that the server has, so that each is sent once. */
    uint64_t *sent;
    size_t sent_count;
};

/* server_new - take a URL apart; nothing is sent. Returns NULL with the error set. */
struct server *server_new(const struct store_url *url, struct pprof_error *error);
void server_delete(struct server *server); /* may be NULL */

/* server_start - forget the last call's failure. */
void server_start(struct server *server, struct pprof_error *error);

/* server_fail - set the error "SERVER: WHY", unless it is set. Returns false. */
bool server_fail(struct server *server, const char *why);
bool server_fail_memory(struct server *server);

/* server_fail_for_good - do the same; the error is lasting. */
bool server_fail_for_good(struct server *server, const char *why);

/* server_run - run a statement. Its answer is in server->answer. */
bool server_run(struct server *server, const char *sql);

/* server_run_outside - do the same without the database, which may not exist. */
bool server_run_outside(struct server *server, const char *sql);

/* server_insert - send rows in RowBinary.
 *
 *   into  in: "TABLE(COLUMN, ...)"
 */
bool server_insert(struct server *server, const char *into, const struct buffer *rows);

/* server_read - run a query, and start to read the rows of its answer. */
bool server_read(struct server *server, const char *sql,
                 struct row_binary_reader *rows);

/* server_end - check that all of the answer was read and made sense. */
bool server_end(struct server *server, const struct row_binary_reader *rows);

/* server_set_cluster - have requests be for a store of several servers: rows are
 * acknowledged when the server of their shard has them. */
bool server_set_cluster(struct server *server, const char *name);

/* server_bytes - return what the store takes on disk, one replica of each shard. */
uint64_t server_bytes(struct server *server);

/* server_number - return the only number that a query yields, of type UInt64; 0 after a
 * failure. */
uint64_t server_number(struct server *server, const char *sql);

/* The operations of engine.h. */
bool clickhouse_create(const struct store_url *url, const char *cluster,
                       struct pprof_error *error);
struct store *clickhouse_open(const struct store_url *url, bool write,
                              struct pprof_error *error);
void clickhouse_close(struct store *store);
bool clickhouse_add(struct store *store, const struct profile *profile,
                    const struct store_window *window, struct pprof_error *error);
struct profile *clickhouse_read(struct store *store,
                                const struct store_selection *selection,
                                struct pprof_error *error);
bool clickhouse_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                           struct pprof_error *error);
bool clickhouse_get_names(struct store *store, const struct store_selection *selection,
                          struct store_overview *overview, struct pprof_error *error);
bool clickhouse_get_timeline(struct store *store,
                             const struct store_selection *selection,
                             struct store_overview *overview,
                             struct pprof_error *error);
bool clickhouse_get_statistics(struct store *store, struct store_statistics *statistics,
                               struct pprof_error *error);
bool clickhouse_check(struct store *store, struct pprof_error *error);
bool clickhouse_prune(struct store *store, const struct store_limits *limits,
                      uint64_t *windows, struct pprof_error *error);
bool clickhouse_fold(struct store *store, uint64_t *days, struct pprof_error *error);
struct profile *clickhouse_places(struct store *store, struct pprof_error *error);
bool clickhouse_rename(struct store *store, const struct profile *places,
                       struct pprof_error *error);
bool clickhouse_upgrade(const struct store_url *url, struct pprof_error *error);

#endif
