/* SPDX-License-Identifier: MIT */
/* first_windows.c - the commands that give an empty store its first windows. */
#include "serve/page_data.h"

#include "base/json.h"
#include "base/secret.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Append the store's URL for a command line: without what it selects, and without
 * secrets. A path is made absolute, because the user may type the command in another
 * folder. text: the URL as it was written. */
static void
put_url(struct buffer *word, const char *text, const struct store_url *url)
{
    const size_t scheme = strcspn(text, ":") + 1;
    char path[PATH_MAX];
    struct buffer server = {0};

    if (strncmp(text, "sqlite:", scheme) == 0) {
        buffer_append(word, text, scheme);
        buffer_append_text(word, realpath(url->location, path) != NULL ? path
                                                                       : url->location);
        return;
    }
    buffer_append(&server, text, scheme);
    buffer_append_text(&server, url->location);
    if (buffer_text(&server) != NULL) {
        secret_redact(word, buffer_text(&server));
    }
    /* The path of the password's file is left out: every client of the page would see
     * it. */
    if (url->access.password_file != NULL) {
        buffer_append_text(word, "?password-file=FILE");
    }
    word->failed |= server.failed;
    buffer_finish(&server);
}

/* Append a word, quoted for a shell if it needs that. */
static void
put_quoted(struct buffer *line, const char *word)
{
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789_-+=./,:@%")] == '\0') {
        buffer_append_text(line, word);
        return;
    }
    buffer_append_byte(line, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            buffer_append_text(line, "'\\''");
        } else {
            buffer_append_byte(line, (uint8_t)*word);
        }
    }
    buffer_append_byte(line, '\'');
}

/* Append [what, command]: what the command adds, and the command itself, which is
 * before, the store's URL and after. */
static void
put_command(struct buffer *json, const char *what, const char *before, const char *url,
            const char *after)
{
    struct buffer line = {0};

    buffer_append_text(&line, before);
    put_quoted(&line, url);
    buffer_append_text(&line, after);
    buffer_append_byte(json, '[');
    json_put_text_element(json, what);
    json_put_text(json, buffer_text(&line) != NULL ? buffer_text(&line) : "");
    json_end_member(json, ']');
    json->failed |= line.failed;
    buffer_finish(&line);
}

void
page_data_put_commands(struct buffer *json, const char *text,
                       const struct store_url *url)
{
    struct buffer word = {0};

    put_url(&word, text, url);
    if (buffer_text(&word) != NULL) {
        put_command(json, "this machine, a window each minute",
                    "sudo ntprof agent --store ", buffer_text(&word), "");
        put_command(json, "one command",
                    "ntprof run -o ntprof.pb.gz -- COMMAND && ntprof store add ",
                    buffer_text(&word), " ntprof.pb.gz");
        put_command(json, "files of other machines", "ntprof store add ",
                    buffer_text(&word), " --host NAME FILE...");
    }
    json->failed |= word.failed;
    buffer_finish(&word);
}
