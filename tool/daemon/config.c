/* SPDX-License-Identifier: MIT */
/* config.c - reads the file, and makes a word of the command line of each line. */
#include "daemon/config.h"

#include "base/file_place.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Characters of the names of long options. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz-"

struct parser {
    struct config *config;
    size_t line;
    char *error;
    size_t error_size;
};

/* Set the error to the line and what is wrong with it. Returns false. */
__attribute__((format(printf, 2, 3))) static bool
fail_line(struct parser *parser, const char *format, ...)
{
    const int used =
        snprintf(parser->error, parser->error_size, "line %zu: ", parser->line);
    va_list arguments;

    va_start(arguments, format);
    if (used > 0 && (size_t)used < parser->error_size) {
        vsnprintf(parser->error + used, parser->error_size - (size_t)used, format,
                  arguments);
    }
    va_end(arguments);
    return false;
}

/* Add an option as the word --NAME=VALUE. Returns false with the error set. */
static bool
add_word(struct parser *parser, const char *name, size_t name_size, const char *value,
         size_t value_size)
{
    struct config *const config = parser->config;
    char **const words =
        reallocarray(config->words, config->count + 1, sizeof(*config->words));

    if (words == NULL) {
        return fail_line(parser, "out of memory");
    }
    config->words = words;
    if (asprintf(&words[config->count], "--%.*s=%.*s", (int)name_size, name,
                 (int)value_size, value) < 0) {
        return fail_line(parser, "out of memory");
    }
    config->count++;
    return true;
}

/* Parse one line, without its line break. Returns false with the error set. */
static bool
parse_line(struct parser *parser, const char *line)
{
    const char *const name = line + strspn(line, " \t\r");
    const size_t name_size = strcspn(name, " \t\r=");
    const char *value = name + name_size;
    size_t value_size;
    char word[40];
    char shown[60];

    if (*name == '\0' || *name == '#') {
        return true;
    }
    value += strspn(value, " \t");
    if (name_size == 0 || *value != '=') {
        return fail_line(parser, "%s is not of the form name = value",
                         text_show(shown, sizeof(shown), name));
    }
    if (name_size == 1 || strspn(name, NAME_CHARACTERS) != name_size) {
        snprintf(word, sizeof(word), "%.*s", (int)name_size, name);
        return fail_line(parser, "%s is no long option's name",
                         text_show(shown, sizeof(shown), word));
    }
    value++;
    value += strspn(value, " \t");
    value_size = strlen(value);
    while (value_size > 0 && strchr(" \t\r", value[value_size - 1]) != NULL) {
        value_size--;
    }
    if (value_size == 0) {
        return fail_line(parser,
                         "%.*s has no value; leave the line out, or put a # before it",
                         (int)name_size, name);
    }
    if (parser->config->count == CONFIG_LINES_MAX) {
        return fail_line(parser, "more than %d settings", CONFIG_LINES_MAX);
    }
    return add_word(parser, name, name_size, value, value_size);
}

bool
config_parse(struct config *config, const char *text, char *error, size_t error_size)
{
    struct parser parser = {.config = config, .error = error, .error_size = error_size};

    while (*text != '\0') {
        const size_t size = strcspn(text, "\n");
        char *const line = strndup(text, size);
        bool parsed;

        parser.line++;
        parsed = line != NULL ? parse_line(&parser, line)
                              : fail_line(&parser, "out of memory");
        free(line);
        if (!parsed) {
            return false;
        }
        text += size;
        text += *text == '\n';
    }
    return true;
}

/* Read a small regular file into text, with a NUL behind it. Returns 0 or a negative
 * errno: -EINVAL for a file that is none of text, as config_read says then, and -EFBIG
 * for one that fills text. *why is as file_place_open sets it. */
static int
read_file(const char *path, char *text, size_t size, char *why, size_t why_bytes)
{
    /* Links of other users are not followed: the user who wrote path may not want what
     * such a link leads to. */
    const int fd =
        file_place_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, why, why_bytes);
    struct stat status;
    size_t used = 0;
    ssize_t more = 1;

    if (fd < 0) {
        return errno == EISDIR ? -EINVAL : -errno;
    }
    if (fstat(fd, &status) != 0) {
        const int error = errno;

        close(fd);
        return -error;
    }
    if (!S_ISREG(status.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    while (more > 0 && used < size - 1) {
        more = read(fd, text + used, size - 1 - used);
        used += more > 0 ? (size_t)more : 0;
    }
    close(fd);
    text[used] = '\0';
    if (more < 0) { /* errno is that of close now */
        return -EIO;
    }
    return used == size - 1 ? -EFBIG : strlen(text) != used ? -EINVAL : 0;
}

bool
config_read(struct config *config, const char *path, char *error, size_t error_size)
{
    char *const text = calloc(1, CONFIG_BYTES_MAX);
    char why[300] = "";
    const int failure = text != NULL
                            ? read_file(path, text, CONFIG_BYTES_MAX, why, sizeof(why))
                            : -ENOMEM;
    bool parsed = false;

    if (failure == -EINVAL) {
        snprintf(error, error_size, "it is no regular file of text");
    } else if (failure != 0) {
        snprintf(error, error_size, "%s", why[0] != '\0' ? why : strerror(-failure));
    } else {
        parsed = config_parse(config, text, error, error_size);
    }
    free(text);
    return parsed;
}

void
config_finish(struct config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        free(config->words[i]);
    }
    free(config->words);
    *config = (struct config){0};
}
