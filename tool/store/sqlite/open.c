/* SPDX-License-Identifier: MIT */
/*
 * open.c - creates and opens stores.
 *
 * The file may be anybody's. So a store is not used with triggers, views or virtual
 * tables in it, which run statements and functions that its author chose, and SQLite
 * checks the pages that it reads. Whose files they may be is decided in files.c.
 */
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

#include "base/module_interface.h"
#include "base/text.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* STEPS_BETWEEN_STOPS: instructions of SQLite's virtual machine between two questions
 * whether to stop. BUSY_MS: how long to wait for another program that has locked the
 * store, BUSY_STEP_MS at a time. */
enum {
    STEPS_BETWEEN_STOPS = 100000,
    BUSY_MS = 10000,
    BUSY_STEP_MS = 20,
    TEXT_BYTES_MAX = 16 << 20
};

MODULE_INTERFACE(struct store_engine, sqlite) = {
    .create = sqlite_create,
    .open = sqlite_open,
    .close = sqlite_close,
    .add = sqlite_add,
    .read = sqlite_read,
    .get_extent = sqlite_get_extent,
    .get_names = sqlite_get_names,
    .get_timeline = sqlite_get_timeline,
    .get_statistics = sqlite_get_statistics,
    .check = sqlite_check,
    .prune = sqlite_prune,
    .fold = sqlite_fold,
    .places = sqlite_places,
    .rename = sqlite_rename,
    .upgrade = sqlite_upgrade,
};

/* Return a store that is not open yet; NULL with the error set if memory runs out. */
static struct database *
new_store(const char *path, struct pprof_error *error)
{
    struct database *const store = calloc(1, sizeof(*store));

    if (store != NULL) {
        store->path = strdup(path);
    }
    if (store == NULL || store->path == NULL) {
        snprintf(error->text, sizeof(error->text), "out of memory for a store");
        free(store);
        return NULL;
    }
    store->files.place.folder = -1;
    database_start(store, error);
    return store;
}

void
sqlite_close(struct store *store)
{
    struct database *const database = (struct database *)store;

    sqlite3_close(database->db);
    store_files_finish(&database->files);
    free(database->path);
    free(database);
}

static void
close_database(struct database *store)
{
    sqlite_close(&store->store);
}

/* ---- SQLite ---- */

static const char vfs_name[] = "ntprof";

/* Return a path unchanged, for sqlite3_vfs.xFullPathname. SQLite's own function would
 * replace /proc/self/fd/N by the name that the folder has now, which may be that of
 * another folder when it is used. */
static int
keep_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", path) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Register SQLite's standard VFS once more, under a name of ours and with keep_path. */
static void
register_vfs(void)
{
    static sqlite3_vfs vfs;
    const sqlite3_vfs *const original = sqlite3_vfs_find(NULL);

    if (original != NULL) {
        vfs = *original;
        vfs.zName = vfs_name;
        vfs.xFullPathname = keep_path;
        (void)sqlite3_vfs_register(&vfs, 0);
    }
}

static void
register_vfs_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_vfs);
}

/* Return whether the caller wants to stop, which is not 0 for yes; SQLite calls this
 * every STEPS_BETWEEN_STOPS during a statement. */
static int
is_stopped(void *context)
{
    const struct store_stop *const stop = context;

    return stop->asked(stop->context);
}

/* Wait for the program that has locked the store; SQLite calls this until it returns 0,
 * count times before. */
static int
wait_for_lock(void *context, int count)
{
    const struct store_stop *const stop = context;

    if (count >= BUSY_MS / BUSY_STEP_MS ||
        (stop != NULL && stop->asked(stop->context))) {
        return 0;
    }
    (void)sqlite3_sleep(BUSY_STEP_MS);
    return 1;
}

/* Limit what a foreign database may do to the connection, and set how it is written. */
static void
set_up(struct database *store)
{
    void *const stop = (void *)(uintptr_t)store->stop;

    sqlite3_busy_handler(store->db, wait_for_lock, stop);
    if (stop != NULL) {
        sqlite3_progress_handler(store->db, STEPS_BETWEEN_STOPS, is_stopped, stop);
    }
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    /* A window leaves the spool when it has been added: it must be on the disk then. */
    database_run(store, "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF; PRAGMA "
                        "synchronous=FULL");
}

/* Open the database of store->files. flags: SQLITE_OPEN_READONLY or READWRITE. */
static void
open_database(struct database *store, int flags)
{
    int keep = 1;

    register_vfs_once();
    if (sqlite3_open_v2(store->files.path, &store->db, flags, vfs_name) != SQLITE_OK) {
        database_fail_sqlite(store);
        return;
    }
    set_up(store);
    if (store->files.shared) {
        /* SQLite removes the files beside a store when its last user closes it; in a
         * shared folder others could then make them. So they are kept, and kept
         * small. */
        sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
        database_run(store, "PRAGMA journal_size_limit=0");
    }
}

/* Set uri to the address of a file that SQLite reads without locks, and without those
 * beside it. */
static void
put_uri(const char *path, char *uri, size_t size)
{
    size_t length = (size_t)snprintf(uri, size, "file:");

    for (; *path != '\0'; path++) {
        length += (size_t)snprintf(
            uri + length, size - length,
            isalnum((unsigned char)*path) || *path == '/' ? "%c" : "%%%02X",
            (unsigned char)*path);
    }
    snprintf(uri + length, size - length, "?immutable=1");
}

/* Refuse a file that is no store by its header, before files are made beside it. One
 * that is being written may not be understood without locks: that is left to
 * open_database. */
static void
check_header(struct database *store)
{
    char uri[3 * sizeof(store->files.path) + 32];
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;
    int result;

    register_vfs_once();
    put_uri(store->files.path, uri, sizeof(uri));
    result =
        sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, vfs_name);
    if (result == SQLITE_OK) {
        result = sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &statement, NULL);
    }
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
    }
    if (result == SQLITE_NOTADB) {
        database_fail(store,
                      "is not a database; a file with a profile is named without "
                      "sqlite:");
    } else if (result == SQLITE_ROW &&
               sqlite3_column_int(statement, 0) != STORE_APPLICATION) {
        database_fail(store, "is a database of another program, not a store of ntprof");
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* Number of parts that are no tables or indices. What SQLite makes of a part is decided
 * by its SQL, whose author may have written anything next to it; so what is not known
 * is refused. */
#define FOREIGN_PARTS                                                                  \
    "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR (sql " \
    "NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE "    \
    "'CREATE UNIQUE INDEX %')"

/* Check that the store is of a version that is known and without foreign parts; set
 * store->version. */
static void
check_kind(struct database *store)
{
    store->version = database_number(store, "PRAGMA user_version");
    if (store->failed) {
        return;
    }
    if (store->version != STORE_VERSION && store->version != STORE_VERSION_READ) {
        database_fail(store, "is a store of another version of ntprof: this one reads "
                             "versions 3 and 4 of the tables only");
    } else if (database_number(store, FOREIGN_PARTS) != 0) {
        database_fail(store, "has triggers, views or virtual tables, which a store of "
                             "ntprof does not have; it is not used");
    }
}

/* Open a store of any version that is known. Returns NULL with the error set. */
static struct database *
open_known(const struct store_url *url, bool write, struct pprof_error *error)
{
    struct database *const store = new_store(url->location, error);
    char why[STORE_FILES_WHY_BYTES];

    if (store == NULL) {
        return NULL;
    }
    store->stop = url->access.stop;
    if (!store_files_find(&store->files, store->path, why)) {
        database_fail(store, why);
    } else {
        check_header(store);
    }
    if (!store->failed && !store_files_provide(&store->files, why)) {
        database_fail(store, why);
    }
    if (!store->failed) {
        open_database(store, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    }
    check_kind(store);
    if (store->failed) {
        close_database(store);
        return NULL;
    }
    return store;
}

struct store *
sqlite_open(const struct store_url *url, bool write, struct pprof_error *error)
{
    struct database *const store = open_known(url, write, error);

    if (store != NULL && write && store->version != STORE_VERSION) {
        database_fail(store,
                      STORE_TO_UPGRADE("sqlite:PATH", ", which is read as it is"));
        close_database(store);
        return NULL;
    }
    return store != NULL ? &store->store : NULL;
}

/* The statements that convert a store of version 3 to 4. The order of columns is that
 * of a new store. */
static const char to_version_4[] =
    "CREATE TABLE function_4" STORE_FUNCTION_COLUMNS
    "INSERT INTO function_4 SELECT id, name, system_name, file, start_line, '', 0, 0 "
    "FROM function;"
    "DROP TABLE function; ALTER TABLE function_4 RENAME TO function;"
    "ALTER TABLE place ADD COLUMN quality INTEGER NOT NULL DEFAULT 0;"
    "UPDATE place SET quality = CASE WHEN line <> 0 THEN 2 ELSE 1 END WHERE function "
    "NOT "
    "IN (SELECT id FROM function WHERE name = '');"
    "ALTER TABLE accounting ADD COLUMN outside_kernel INTEGER NOT NULL DEFAULT 0;"
    "PRAGMA user_version=4";

bool
sqlite_upgrade(const struct store_url *url, struct pprof_error *error)
{
    struct database *const store = open_known(url, /* write */ true, error);
    bool upgraded;

    if (store == NULL) {
        return false;
    }
    database_run(store, "BEGIN IMMEDIATE");
    /* Another process may have done it meanwhile. */
    if (database_number(store, "PRAGMA user_version") == STORE_VERSION_READ) {
        database_run(store, to_version_4);
    }
    database_run(store, "COMMIT");
    upgraded = !store->failed;
    close_database(store);
    return upgraded;
}

/* ---- creation ---- */

/* Offsets in a database's header of the versions for writing and reading: 2 stands for
 * a write-ahead log, which a database in memory cannot have. */
enum { HEADER_WRITE_VERSION = 18, HEADER_READ_VERSION = 19, VERSION_WAL = 2 };

/* Make an empty store in memory. Returns its bytes, which sqlite3_free frees; NULL
 * after a failure. */
static unsigned char *
make_bytes(struct database *store, sqlite3_int64 *size)
{
    unsigned char *bytes = NULL;
    char header[96];

    if (sqlite3_open_v2(":memory:", &store->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK) {
        database_fail_sqlite(store);
        return NULL;
    }
    set_up(store);
    snprintf(header, sizeof(header), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION, STORE_VERSION);
    database_run(store, "PRAGMA auto_vacuum=INCREMENTAL; BEGIN");
    database_run(store, STORE_SCHEMA);
    database_run(store, header);
    if (database_run(store, "COMMIT")) {
        bytes = sqlite3_serialize(store->db, "main", size, 0);
    }
    if (bytes == NULL) {
        database_fail(store, "out of memory");
    } else {
        bytes[HEADER_WRITE_VERSION] = VERSION_WAL;
        bytes[HEADER_READ_VERSION] = VERSION_WAL;
    }
    return bytes;
}

bool
sqlite_create(const struct store_url *url, const char *cluster,
              struct pprof_error *error)
{
    struct database *const store = new_store(url->location, error);
    char why[STORE_FILES_WHY_BYTES];
    unsigned char *bytes = NULL;
    sqlite3_int64 size = 0;
    bool created;

    if (store == NULL) {
        return false;
    }
    if (cluster != NULL) {
        database_fail(store, "a file has no cluster; --cluster is for clickhouse:");
    } else {
        bytes = make_bytes(store, &size);
    }
    /* The file is complete when it appears to SQLite: while it is made there is no
     * journal of it that somebody else could have made. */
    if (bytes != NULL &&
        !store_files_create(&store->files, store->path, bytes, (size_t)size, why)) {
        database_fail(store, why);
    }
    created = !store->failed;
    sqlite3_free(bytes);
    close_database(store);
    return created;
}
