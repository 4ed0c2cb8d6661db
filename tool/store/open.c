/* SPDX-License-Identifier: MIT */
/*
 * open.c - creates and opens stores.
 *
 * The file may be anybody's. So a store is not used with triggers, views or virtual
 * tables in it, which run statements and functions that its author chose, and SQLite
 * checks the pages that it reads.
 */
#include "store/database.h"
#include "store/schema.h"

#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, TEXT_BYTES_MAX = 16 << 20 };

static struct store *
new_store(const char *path, struct pprof_error *error)
{
    struct store *const store = calloc(1, sizeof(*store));

    if (store != NULL) {
        store->path = strdup(path);
    }
    if (store == NULL || store->path == NULL) {
        snprintf(error->text, sizeof(error->text), "out of memory for a store");
        free(store);
        return NULL;
    }
    store_start(store, error);
    return store;
}

void
store_close(struct store *store)
{
    if (store != NULL) {
        sqlite3_close(store->db);
        free(store->path);
        free(store);
    }
}

static void
open_database(struct store *store, int flags)
{
    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK) {
        store_fail_sqlite(store);
        return;
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    store_run(store, "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF");
}

static void
check_kind(struct store *store)
{
    const uint64_t application = store_number(store, "PRAGMA application_id");
    const uint64_t version = store_number(store, "PRAGMA user_version");

    if (store->failed) {
        return;
    }
    if (application != STORE_APPLICATION) {
        store_fail(store, "is a database of another program, not a store of ntprof");
    } else if (version != STORE_VERSION) {
        store_fail(store, "is a store of another version of ntprof: this one reads "
                          "version 1 of the tables only");
    } else if (store_number(store, "SELECT count(*) FROM sqlite_schema WHERE type NOT "
                                   "IN ('table', 'index') OR sql LIKE 'CREATE "
                                   "VIRTUAL%'") != 0) {
        store_fail(store, "has triggers, views or virtual tables, which a store of "
                          "ntprof does not have; it is not used");
    }
}

struct store *
store_open(const char *path, bool write, struct pprof_error *error)
{
    struct store *const store = new_store(path, error);
    struct stat status;

    if (store == NULL) {
        return NULL;
    }
    if (stat(path, &status) < 0) {
        store_fail(store, errno == ENOENT
                              ? "there is no such store; to make one: ntprof "
                                "store init sqlite:PATH"
                              : strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        store_fail(store, "is no regular file");
    } else {
        open_database(store, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
        check_kind(store);
    }
    if (store->failed) {
        store_close(store);
        return NULL;
    }
    return store;
}

bool
store_create(const char *path, struct pprof_error *error)
{
    struct store *const store = new_store(path, error);
    char header[96];
    bool created;
    int fd;

    if (store == NULL) {
        return false;
    }
    /* An empty file is an empty database; another user's link is not followed. */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        store_fail(store, errno == EEXIST
                              ? "exists already; a store is made in a new file"
                              : strerror(errno));
        store_close(store);
        return false;
    }
    close(fd);
    open_database(store, SQLITE_OPEN_READWRITE);
    snprintf(header, sizeof(header), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION, STORE_VERSION);
    store_run(store, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; BEGIN");
    store_run(store, STORE_SCHEMA);
    store_run(store, header);
    store_run(store, "COMMIT");
    created = !store->failed;
    store_close(store);
    if (!created) {
        unlink(path);
    }
    return created;
}
