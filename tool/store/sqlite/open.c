/* SPDX-License-Identifier: MIT */
/*
 * open.c - creates and opens stores.
 *
 * The file may be anybody's. So a store is not used with triggers, views or virtual
 * tables in it, which run statements and functions that its author chose, and SQLite
 * checks the pages that it reads.
 */
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS_BETWEEN_LOOKS = 100000, BUSY_MS = 10000, TEXT_BYTES_MAX = 16 << 20 };

static const struct store_engine engine = {
    .create = sqlite_create,
    .open = sqlite_open,
    .close = sqlite_close,
    .add = sqlite_add,
    .read = sqlite_read,
    .get_extent = sqlite_get_extent,
    .get_names = sqlite_get_names,
    .get_line = sqlite_get_line,
    .get_statistics = sqlite_get_statistics,
    .check = sqlite_check,
    .prune = sqlite_prune,
    .fold = sqlite_fold,
    .places = sqlite_places,
    .rename = sqlite_rename,
};

const struct store_engine *const store_sqlite = &engine;

static struct database *
new_store(const char *path, struct pprof_error *error)
{
    struct database *const store = calloc(1, sizeof(*store));

    if (store != NULL) {
        store->store.engine = store_sqlite;
        store->path = strdup(path);
    }
    if (store == NULL || store->path == NULL) {
        snprintf(error->text, sizeof(error->text), "out of memory for a store");
        free(store);
        return NULL;
    }
    database_start(store, error);
    return store;
}

void
sqlite_close(struct store *store)
{
    struct database *const database = (struct database *)store;

    sqlite3_close(database->db);
    free(database->path);
    free(database);
}

static void
close_database(struct database *store)
{
    sqlite_close(&store->store);
}

static void
open_database(struct database *store, int flags)
{
    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK) {
        database_fail_sqlite(store);
        return;
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    /* A window leaves the spool when it has been added: it must be on the disk then. */
    database_run(store, "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF; PRAGMA "
                        "synchronous=FULL");
}

/* Number of parts that are no tables or indices. What SQLite makes of a part is decided
 * by its SQL, whose author may have written anything next to it; so what is not known
 * is refused. */
#define FOREIGN_PARTS                                                                  \
    "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR (sql " \
    "NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE "    \
    "'CREATE UNIQUE INDEX %')"

static void
check_kind(struct database *store)
{
    const uint64_t application = database_number(store, "PRAGMA application_id");
    const uint64_t version = database_number(store, "PRAGMA user_version");

    if (store->failed) {
        return;
    }
    if (application != STORE_APPLICATION) {
        database_fail(store, "is a database of another program, not a store of ntprof");
    } else if (version != STORE_VERSION) {
        database_fail(store, "is a store of another version of ntprof: this one reads "
                             "version 3 of the tables only");
    } else if (database_number(store, FOREIGN_PARTS) != 0) {
        database_fail(store, "has triggers, views or virtual tables, which a store of "
                             "ntprof does not have; it is not used");
    }
}

/* SQLite asks it now and then during a statement. */
static int
is_stopped(void *context)
{
    const struct store_stop *const stop = context;

    return stop->asked(stop->context);
}

struct store *
sqlite_open(const struct store_url *url, bool write, struct pprof_error *error)
{
    const char *const path = url->location;
    struct database *const store = new_store(path, error);
    struct stat status;

    if (store == NULL) {
        return NULL;
    }
    if (stat(path, &status) < 0) {
        database_fail(store, errno == ENOENT
                                 ? "there is no such store; to make one: ntprof "
                                   "store init sqlite:PATH"
                                 : strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        database_fail(store, "is no regular file");
    } else {
        open_database(store, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
        if (!store->failed && url->access.stop != NULL) {
            sqlite3_progress_handler(store->db, STEPS_BETWEEN_LOOKS, is_stopped,
                                     (void *)(uintptr_t)url->access.stop);
        }
        check_kind(store);
    }
    if (store->failed) {
        close_database(store);
        return NULL;
    }
    return &store->store;
}

bool
sqlite_create(const struct store_url *url, const char *cluster,
              struct pprof_error *error)
{
    const char *const path = url->location;
    struct database *const store = new_store(path, error);
    char header[96];
    bool created;
    int fd;

    if (store == NULL) {
        return false;
    }
    if (cluster != NULL) {
        database_fail(store, "a file has no cluster; --cluster is for clickhouse:");
        close_database(store);
        return false;
    }
    /* An empty file is an empty database; another user's link is not followed. */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        database_fail(store, errno == EEXIST
                                 ? "exists already; a store is made in a new file"
                                 : strerror(errno));
        close_database(store);
        return false;
    }
    close(fd);
    open_database(store, SQLITE_OPEN_READWRITE);
    snprintf(header, sizeof(header), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION, STORE_VERSION);
    database_run(store,
                 "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; BEGIN");
    database_run(store, STORE_SCHEMA);
    database_run(store, header);
    database_run(store, "COMMIT");
    created = !store->failed;
    close_database(store);
    if (!created) {
        unlink(path);
    }
    return created;
}
