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
    /* Hashes of names that the server has, so that each is sent once: a hash table of
     * add.c, which makes it when it is first needed; 0: a free slot. */
    uint64_t *sent;
    size_t sent_count;
};

/* server_new - take a URL apart; nothing is sent. Returns NULL with the error set. */
struct server *server_new(const struct store_url *url, struct pprof_error *error);
void server_delete(struct server *server); /* may be NULL */

/* server_start - begin a call of store.h: forget the failure of the last one. error:
 * where this call's failure goes. */
void server_start(struct server *server, struct pprof_error *error);

/* server_fail - set the error "SERVER: WHY", unless it is set. Returns false. */
bool server_fail(struct server *server, const char *why);

/* server_fail_memory - set the error that memory ran out. Returns false. */
bool server_fail_memory(struct server *server);

/* server_fail_for_good - set the error as server_fail does; it is lasting: the server
 * will never take this profile. */
bool server_fail_for_good(struct server *server, const char *why);

/* server_run - run a statement. Its answer is in server->answer. Returns false with the
 * error set. */
bool server_run(struct server *server, const char *sql);

/* server_run_outside - run a statement as server_run does, but outside the store's
 * database, which may not exist. */
bool server_run_outside(struct server *server, const char *sql);

/* server_insert - send rows in RowBinary.
 *
 *   into  in: "TABLE(COLUMN, ...)"
 *   rows  in: without any, nothing is sent
 */
bool server_insert(struct server *server, const char *into, const struct buffer *rows);

/* server_read - run a query, and start to read the rows of its answer, which are valid
 * until the next request. Returns false with the error set; *rows has failed then. */
bool server_read(struct server *server, const char *sql,
                 struct row_binary_reader *rows);

/* server_end - check that the answer was read to its end and made sense; one without a
 * byte has no rows, and is right. Returns false with the error set, also that of an
 * earlier failure. */
bool server_end(struct server *server, const struct row_binary_reader *rows);

/* server_set_cluster - have requests be for the store of a cluster: a server
 * acknowledges rows when the servers of their shards have them. Returns false with the
 * error set. */
bool server_set_cluster(struct server *server, const char *name);

/* server_bytes - return what the store takes on disk, one replica of each shard. */
uint64_t server_bytes(struct server *server);

/* server_number - return the only number that a query yields, of type UInt64; 0 after a
 * failure. */
uint64_t server_number(struct server *server, const char *sql);

/* The operations of engine.h. */
bool clickhouse_check_location(const struct store_url *url, struct pprof_error *error);
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
