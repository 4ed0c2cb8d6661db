/* SPDX-License-Identifier: MIT */
/* server.c - the URL, the requests by libcurl, and the answers that it takes. */
#include "store/clickhouse/server.h"

#include "base/command_log.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "profile/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (UINT64_C(1) << 20)
#define TIMEOUT_NS UINT64_C(300000000000)
#define PASSWORD_HEADER "X-ClickHouse-Key"

enum {
    CONNECT_MS = 10000,
    CLUSTER_BYTES_MAX = 100,
    PASSWORD_BYTES_MAX = 1024,
    REASON_BYTES = 300,
    PORT_HTTP = 8123,
    PORT_HTTPS = 8443,
};

/* ---- errors ---- */

void
server_start(struct server *server, struct pprof_error *error)
{
    server->error = error;
    server->failed = false;
}

/* Set the error "SERVER: WHY", unless the call has one already. Returns false. */
static bool
keep_first_error(struct server *server, const char *why, bool lasting)
{
    char shown[128];
    char reason[REASON_BYTES];

    if (!server->failed) {
        server->failed = true;
        server->error->lasting = lasting;
        snprintf(server->error->text, sizeof(server->error->text), "%s: %s",
                 text_show(shown, sizeof(shown), server->shown),
                 text_show(reason, sizeof(reason), why));
    }
    return false;
}

bool
server_fail(struct server *server, const char *why)
{
    return keep_first_error(server, why, false);
}

bool
server_fail_for_good(struct server *server, const char *why)
{
    return keep_first_error(server, why, true);
}

bool
server_fail_memory(struct server *server)
{
    return server_fail(server, "out of memory");
}

/* ---- URLs ---- */

/* Set the error of a store that is not opened yet: about, as a URL or a file, and why.
 * Returns false. */
static bool
refuse_setting(struct pprof_error *error, const char *about, const char *why)
{
    char shown[128];

    snprintf(error->text, sizeof(error->text), "%s: %s",
             text_show(shown, sizeof(shown), about), why);
    return false;
}

/* Set the error for a URL that is refused. text_show hides a password in a URL only if
 * it sees the scheme, so the URL is shown with it. Returns false. */
static bool
refuse_url(struct pprof_error *error, const struct store_url *url, const char *why)
{
    char *text = NULL;

    if (asprintf(&text, "%s:%s", url->tls ? "clickhouses" : "clickhouse",
                 url->location) < 0) {
        return refuse_setting(error, "a URL", "out of memory");
    }
    refuse_setting(error, text, why);
    free(text);
    return false;
}

/* Return whether a text of length bytes is not empty and has only letters, digits and
 * the characters of more. */
static bool
consists_of(const char *text, size_t length, const char *more)
{
    for (size_t i = 0; i < length; i++) {
        const char byte = text[i];

        if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
              (byte >= '0' && byte <= '9') || strchr(more, byte) != NULL)) {
            return false;
        }
    }
    return length > 0;
}

/* Return where the port of a host of length bytes begins, at its colon; NULL if it has
 * none. Colons inside brackets belong to an IPv6 address. */
static const char *
find_port(const char *host, size_t length)
{
    const char *const bracket = memchr(host, ']', length);
    const size_t start = bracket != NULL ? (size_t)(bracket - host) : 0;

    return memchr(host + start, ':', length - start);
}

/* Return whether the port of a host is a number, or it has none. Another text may be a
 * password whose user was forgotten, which must not be shown as part of an address. */
static bool
has_right_port(const char *host, size_t length)
{
    const char *const colon = find_port(host, length);

    return colon == NULL ||
           colon + 1 + strspn(colon + 1, "0123456789") >= host + length;
}

/* Take the location //USER@HOST:PORT/DATABASE apart into address, database and shown,
 * and *user, for free(), NULL if it names none. Returns false with the error set. */
static bool
take_location(struct server *server, const struct store_url *url, char **user,
              struct pprof_error *error)
{
    const char *const scheme = url->tls ? "https" : "http";
    const char *host = url->location + strspn(url->location, "/");
    const size_t before = strcspn(host, "@");
    size_t length;

    *user = NULL;
    if (host[before] == '@') {
        *user = strndup(host, before);
        host += before + 1;
    }
    length = strcspn(host, "/");
    if (strncmp(url->location, "//", 2) != 0 || !consists_of(host, length, ".-:[]_") ||
        host[length] != '/' || !has_right_port(host, length) ||
        !consists_of(host + length + 1, strlen(host + length + 1), "_") ||
        (*user != NULL && !consists_of(*user, strlen(*user), "._-"))) {
        return refuse_url(
            error, url,
            "a server's store is named as clickhouse://USER@HOST:PORT/"
            "DATABASE; USER@ and :PORT may be missing, DATABASE consists of "
            "letters, digits and _");
    }
    server->database = strdup(host + length + 1);
    if ((find_port(host, length) != NULL
             ? asprintf(&server->address, "%s://%.*s/", scheme, (int)length, host)
             : asprintf(&server->address, "%s://%.*s:%d/", scheme, (int)length, host,
                        url->tls ? PORT_HTTPS : PORT_HTTP)) < 0) {
        server->address = NULL;
    }
    server->shown = strdup(host);
    return (server->database != NULL && server->address != NULL &&
            server->shown != NULL) ||
           refuse_url(error, url, "out of memory");
}

/* ---- headers: user and password ---- */

/* Have each request send a header. Returns false if memory runs out. */
static bool
add_header(struct server *server, const char *name, const char *value)
{
    struct curl_slist *longer;
    char line[PASSWORD_BYTES_MAX + 64];

    snprintf(line, sizeof(line), "%s: %s", name, value);
    longer = curl_slist_append(server->headers, line);
    server->headers = longer != NULL ? longer : server->headers;
    explicit_bzero(line, sizeof(line));
    return longer != NULL;
}

/* Have each request send the password: the first line of the file. The error does not
 * name the file: ntprof serve shows it to its clients. */
static bool
add_password(struct server *server, const char *path, struct pprof_error *error)
{
    char password[PASSWORD_BYTES_MAX] = "";
    FILE *const file = fopen(path, "re");
    const bool read = file != NULL && fgets(password, sizeof(password), file) != NULL;
    const int reason = errno;
    bool added;

    if (file != NULL) {
        fclose(file);
    }
    if (!read) {
        return refuse_setting(error, "password-file",
                              file == NULL ? strerror(reason) : "is empty");
    }
    password[strcspn(password, "\r\n")] = '\0';
    added = add_header(server, PASSWORD_HEADER, password);
    explicit_bzero(password, sizeof(password));
    return added || refuse_setting(error, "password-file", "out of memory");
}

/* Have each request send user and password. Returns false with the error set. */
static bool
add_headers(struct server *server, const struct store_url *url, const char *user,
            struct pprof_error *error)
{
    /* libcurl would send "Expect: 100-continue" before a long body and wait for the
     * server's leave; an empty value removes that header. */
    if (!add_header(server, "X-ClickHouse-User", user != NULL ? user : "default") ||
        !add_header(server, "Expect", "")) {
        return refuse_url(error, url, "out of memory");
    }
    return url->access.password_file == NULL ||
           add_password(server, url->access.password_file, error);
}

/* ---- requests ---- */

/* Keep bytes of the answer; for CURLOPT_WRITEFUNCTION. Returns 0, which fails the
 * request with CURLE_WRITE_ERROR, if they are too many or memory runs out. */
static size_t
take_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct server *const server = context;

    if (server->answer.size + size * count > server->answer_bytes_max) {
        return 0;
    }
    buffer_append(&server->answer, bytes, size * count);
    return server->answer.failed ? 0 : count;
}

/* Return whether to give up; for CURLOPT_XFERINFOFUNCTION, which libcurl calls at least
 * once a second. */
static int
is_stopped(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
           curl_off_t sent)
{
    const struct store_stop *const stop = context;

    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    return stop->asked(stop->context);
}

/* Set what is the same for all requests. */
static void
set_options(struct server *server, const struct store_url *url)
{
    CURL *const curl = server->curl;
    const long timeout_ms = (long)(server->timeout_ns / 1000000);

    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, url->tls ? "https" : "http");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* also none of the environment */
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    /* 0 milliseconds would stand for libcurl's own limits. */
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout_ms < CONNECT_MS ? timeout_ms : (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms > 0 ? timeout_ms : 1L);
    if (url->access.stop != NULL) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_stopped);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, url->access.stop);
    }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, server);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    if (url->access.ca_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, url->access.ca_file);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* none of the system's, too */
    }
}

struct server *
server_new(const struct store_url *url, struct pprof_error *error)
{
    struct server *const server = calloc(1, sizeof(*server));
    char *user = NULL;
    bool made;

    if (server == NULL) {
        refuse_url(error, url, "out of memory");
        return NULL;
    }
    server->error = error;
    server->answer_bytes_max = ANSWER_BYTES_MAX;
    server->timeout_ns =
        url->access.timeout_ns != 0 ? url->access.timeout_ns : TIMEOUT_NS;
    server->curl = curl_easy_init();
    made = take_location(server, url, &user, error) &&
           add_headers(server, url, user, error);
    free(user);
    if (made && server->curl == NULL) {
        made = refuse_url(error, url, "libcurl does not start");
    }
    if (!made) {
        server_delete(server);
        return NULL;
    }
    set_options(server, url);
    return server;
}

void
server_delete(struct server *server)
{
    if (server != NULL) {
        if (server->curl != NULL) {
            curl_easy_cleanup(server->curl);
        }
        curl_slist_free_all(server->headers);
        buffer_finish(&server->answer);
        free(server->sent);
        free(server->address);
        free(server->database);
        free(server->cluster);
        free(server->shown);
        free(server);
    }
}

bool
clickhouse_check_location(const struct store_url *url, struct pprof_error *error)
{
    struct server *const server = calloc(1, sizeof(*server));
    char *user = NULL;
    const bool right = server != NULL ? take_location(server, url, &user, error)
                                      : refuse_url(error, url, "out of memory");

    free(user);
    server_delete(server);
    return right;
}

/* Return whether an answer says that the server will never accept these rows: status
 * 413 is that of a proxy's limit of size, and the codes are of exceptions about what
 * the rows contain. All other failures may pass: no room, no memory, too many parts, a
 * missing table. */
static bool
is_about_rows(const char *body, long status)
{
    static const long codes[] = {
        6,   /* CANNOT_PARSE_TEXT */
        26,  /* CANNOT_PARSE_QUOTED_STRING */
        27,  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
        69,  /* ARGUMENT_OUT_OF_BOUND */
        117, /* INCORRECT_DATA */
        128, /* TOO_LARGE_ARRAY_SIZE */
        131, /* TOO_LARGE_STRING_SIZE */
    };
    static const char start[] = "Code: ";
    bool found = status == 413;

    if (strncmp(body, start, sizeof(start) - 1) == 0) {
        const long code = strtol(body + sizeof(start) - 1, NULL, 10);

        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            found |= codes[i] == code;
        }
    }
    return found;
}

/* Return the password that goes with each request; NULL if there is none. */
static const char *
find_password(const struct server *server)
{
    static const char start[] = PASSWORD_HEADER ": ";
    const struct curl_slist *header = server->headers;

    while (header != NULL && strncmp(header->data, start, sizeof(start) - 1) != 0) {
        header = header->next;
    }
    return header != NULL && header->data[sizeof(start) - 1] != '\0'
               ? header->data + sizeof(start) - 1
               : NULL;
}

/* Return whether a text contains the password: a server or proxy may answer with what
 * it was sent. */
static bool
has_password(const struct server *server, const char *text)
{
    const char *const password = find_password(server);

    return password != NULL && strstr(text, password) != NULL;
}

/* Set the error to the first line of the server's answer, whose status is not 200.
 * Returns false. */
static bool
fail_status(struct server *server, long status)
{
    const char *const body = buffer_text(&server->answer);
    char why[REASON_BYTES];

    if (status >= 300 && status < 400) {
        return server_fail(server, "redirects to another address, which is not "
                                   "followed; name that one");
    }
    if (body != NULL && has_password(server, body)) {
        snprintf(
            why, sizeof(why),
            "answers with HTTP status %ld and the password that it was sent, so the "
            "answer is not shown",
            status);
    } else {
        snprintf(why, sizeof(why), "answers with HTTP status %ld: %.*s", status,
                 body != NULL ? (int)strcspn(body, "\n") : 0, body != NULL ? body : "");
    }
    return is_about_rows(body != NULL ? body : "", status)
               ? server_fail_for_good(server, why)
               : server_fail(server, why);
}

static void
log_statement(const struct server *server, const char *sql)
{
    if (!server->failed) {
        COMMAND_LOG("store %s: %s", server->shown, sql);
    }
}

/* Log an answer, but not what it says: that may have the password in it. */
static void
log_answer(const struct server *server, long status, CURLcode result)
{
    COMMAND_LOG("store %s: HTTP status %ld, %zu bytes%s%s", server->shown, status,
                server->answer.size, result != CURLE_OK ? ": " : "",
                result != CURLE_OK ? curl_easy_strerror(result) : "");
}

/* Send a request and keep its answer in server->answer. encoding: a header for this
 * request only; NULL: none. Returns false with the error set if the server refused the
 * request or did not answer. */
static bool
perform(struct server *server, const char *parameters, const void *body, size_t size,
        const char *encoding)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = server->headers;
    char *url = NULL;
    long status = 0;
    CURLcode result;

    if (server->failed) {
        return false;
    }
    if (server->answer.failed) {
        buffer_finish(&server->answer); /* clears failed, too */
    }
    server->answer.size = 0;
    if (asprintf(&url, "%s?wait_end_of_query=1%s", server->address, parameters) < 0) {
        return server_fail_memory(server);
    }
    if (encoding != NULL) {
        headers = curl_slist_append(NULL, encoding);
        if (headers == NULL) {
            free(url);
            return server_fail_memory(server);
        }
        headers->next = server->headers;
    }
    curl_easy_setopt(server->curl, CURLOPT_URL, url);
    curl_easy_setopt(server->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(server->curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(server->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(server->curl, CURLOPT_POSTFIELDS, body);
    result = curl_easy_perform(server->curl);
    curl_easy_setopt(server->curl, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_getinfo(server->curl, CURLINFO_RESPONSE_CODE, &status);
    log_answer(server, status, result);
    if (headers != server->headers) {
        headers->next = NULL;
        curl_slist_free_all(headers);
    }
    free(url);
    if (server->answer.failed) {
        return server_fail_memory(server);
    }
    if (result == CURLE_WRITE_ERROR) {
        return server_fail(server, "answers with more than is read of an answer");
    }
    /* libcurl reports a header line that is too long as if memory had run out. */
    if (result == CURLE_OUT_OF_MEMORY) {
        return server_fail(server, "answers with a header that is longer than libcurl "
                                   "takes, which no server of ClickHouse does; or "
                                   "memory ran out");
    }
    if (result == CURLE_ABORTED_BY_CALLBACK) {
        return server_fail(server, "did not answer before the end");
    }
    /* libcurl's reason has the path; see add_password. */
    if (result == CURLE_SSL_CACERT_BADFILE) {
        return server_fail(server, "ca: the file cannot be read");
    }
    if (result != CURLE_OK) {
        return server_fail(server,
                           reason[0] != '\0' ? reason : curl_easy_strerror(result));
    }
    return status == 200 || fail_status(server, status);
}

bool
server_run_outside(struct server *server, const char *sql)
{
    log_statement(server, sql);
    return perform(server, "", sql, strlen(sql), /* encoding */ NULL);
}

bool
server_set_cluster(struct server *server, const char *name)
{
    if (strlen(name) > CLUSTER_BYTES_MAX || !consists_of(name, strlen(name), "_-")) {
        return server_fail(server, "the name of a cluster consists of at most 100 "
                                   "letters, digits, _ and -");
    }
    free(server->cluster);
    server->cluster = strdup(name);
    return server->cluster != NULL || server_fail_memory(server);
}

/* Return the settings in the address of each request: with insert_distributed_sync a
 * server of a cluster answers an INSERT when the servers of the rows' shards have them,
 * and not before it has sent them. */
static const char *
settings(const struct server *server)
{
    return server->cluster != NULL ? "&insert_distributed_sync=1" : "";
}

bool
server_run(struct server *server, const char *sql)
{
    char parameters[512];

    snprintf(parameters, sizeof(parameters), "&database=%s%s", server->database,
             settings(server));
    log_statement(server, sql);
    return perform(server, parameters, sql, strlen(sql), /* encoding */ NULL);
}

bool
server_insert(struct server *server, const char *into, const struct buffer *rows)
{
    struct gzip_writer gzip;
    struct buffer packed = {0};
    char *query = NULL;
    char *parameters = NULL;
    char *sql = NULL;
    bool done = false;

    if (rows->failed) {
        return server_fail_memory(server);
    }
    if (server->failed || rows->size == 0) {
        return !server->failed;
    }
    if (asprintf(&sql, "INSERT INTO %s FORMAT RowBinary", into) < 0) {
        sql = NULL;
    }
    query = sql != NULL ? curl_easy_escape(server->curl, sql, 0) : NULL;
    if (query == NULL || asprintf(&parameters, "&database=%s%s&query=%s",
                                  server->database, settings(server), query) < 0) {
        parameters = NULL;
    }
    COMMAND_LOG("store %s: INSERT INTO %s: %zu bytes", server->shown, into, rows->size);
    if (parameters != NULL && !rows->failed && gzip_begin(&gzip, &packed)) {
        gzip_put(&gzip, rows->data, rows->size);
        done = gzip_end(&gzip);
    }
    done = done ? perform(server, parameters, packed.data, packed.size,
                          "Content-Encoding: gzip")
                : server_fail_memory(server);
    curl_free(query);
    free(parameters);
    free(sql);
    buffer_finish(&packed);
    return done;
}

bool
server_read(struct server *server, const char *sql, struct row_binary_reader *rows)
{
    const bool done = server_run(server, sql);

    *rows = (struct row_binary_reader){
        .at = server->answer.data,
        .end = server->answer.data != NULL ? server->answer.data + server->answer.size
                                           : NULL,
        .failed = !done || server->answer.data == NULL,
    };
    return done;
}

bool
server_end(struct server *server, const struct row_binary_reader *rows)
{
    if (!server->failed && server->answer.size > 0 &&
        (rows->failed || rows->at != rows->end)) {
        server_fail(server, "answers with what no server of ClickHouse does");
    }
    return !server->failed;
}

uint64_t
server_bytes(struct server *server)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "SELECT toUInt64(sum(bytes)) FROM %s%s%s WHERE active AND database = '%s' "
             "FORMAT RowBinary",
             server->cluster != NULL ? "cluster('" : "system.parts",
             server->cluster != NULL ? server->cluster : "",
             server->cluster != NULL ? "', system, parts)" : "", server->database);
    return server_number(server, sql);
}

uint64_t
server_number(struct server *server, const char *sql)
{
    struct row_binary_reader rows;
    uint64_t number = 0;

    if (server_read(server, sql, &rows)) {
        number = row_binary_get(&rows, sizeof(number));
        if (rows.failed) {
            server_fail(server, "answers with what no server of ClickHouse does");
        }
        server_end(server, &rows);
    }
    return server->failed ? 0 : number;
}
