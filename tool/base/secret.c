/* SPDX-License-Identifier: MIT */
/* secret.c - finds the secrets of a URL, and writes *** instead. */
#include "base/secret.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES_MAX = 64 };

/* Whether the name of a parameter says that its value is secret. */
static bool
is_name(const char *name, size_t length)
{
    static const char *const parts[] = {"passw",      "pwd",       "passphrase",
                                        "secret",     "token",     "auth",
                                        "credential", "signature", "key"};
    char copy[NAME_BYTES_MAX];

    if (length >= sizeof(copy)) {
        return true; /* nothing of ours has such a name */
    }
    for (size_t i = 0; i < length; i++) {
        copy[i] = (char)tolower((unsigned char)name[i]);
    }
    copy[length] = '\0';
    if (length >= 4 && strcmp(copy + length - 4, "file") == 0) {
        return false; /* as password-file: the name of a file is no secret */
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(copy, parts[i]) != NULL) {
            return true;
        }
    }
    return strcmp(copy, "sig") == 0 || strcmp(copy, "pass") == 0 ||
           strcmp(copy, "pw") == 0;
}

bool
secret_is_name(const char *name)
{
    return is_name(name, strlen(name));
}

/* Return where the authority of a URL begins: USER:PASSWORD@HOST. NULL: text has no
 * URL. */
static const char *
find_authority(const char *text)
{
    static const char *const schemes[] = {"clickhouse:", "clickhouses:"};
    const char *const slashes = strstr(text, "://");

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t length = strlen(schemes[i]);

        if (strncasecmp(text, schemes[i], length) == 0) {
            return text + length + strspn(text + length, "/");
        }
    }
    if (strncmp(text, "//", 2) == 0) {
        return text + 2; /* the rest of a URL without its scheme */
    }
    return slashes != NULL ? slashes + 3 : NULL;
}

/* Whether a URL, whose authority begins there, is of HTTP or HTTPS. */
static bool
is_web(const char *text, const char *authority)
{
    const ptrdiff_t length = authority - text;

    return (length >= 7 && strncasecmp(authority - 7, "http://", 7) == 0) ||
           (length >= 8 && strncasecmp(authority - 8, "https://", 8) == 0);
}

/* Find a password without a host behind it: what stands where a port should be and is
 * no number. Returns false if there is none. */
static bool
find_wrong_port(const char *authority, const char **begin, const char **end)
{
    const size_t length = strcspn(authority, "/?# ");
    const char *const bracket = memchr(authority, ']', length);
    const size_t start = bracket != NULL ? (size_t)(bracket - authority) : 0;
    const char *const colon = memchr(authority + start, ':', length - start);

    if (colon == NULL) {
        return false;
    }
    *begin = colon + 1;
    *end = authority + length;
    return *begin + strspn(*begin, "0123456789") < *end;
}

/*
 * Find what is secret of the user in a URL: [*begin, *end). Returns false if nothing
 * is. A password may contain any character, also those that end it by the standard: so
 * all up to the last '@' may belong to it. To a web server a name of a user without a
 * password may be a token.
 */
static bool
find_user(const char *text, const char **begin, const char **end)
{
    const char *const authority = find_authority(text);
    const char *const at = authority != NULL ? strrchr(authority, '@') : NULL;
    const char *colon;

    if (authority == NULL) {
        return false;
    }
    if (at == NULL) {
        return find_wrong_port(authority, begin, end);
    }
    if (is_web(text, authority)) {
        /* Paths may have '@' too, as those of scripts have. But a wrong port may be the
         * beginning of a password with '/', '?' or '#' in it. */
        if (memchr(authority, '@', strcspn(authority, "/?#")) == NULL &&
            !find_wrong_port(authority, begin, end)) {
            return false;
        }
        *begin = authority;
        *end = at;
        return true;
    }
    colon = memchr(authority, ':', (size_t)(at - authority));
    *begin = colon != NULL ? colon + 1 : authority;
    *end = at;
    return colon != NULL;
}

/* Find the value of the first parameter whose name is that of a secret; all that
 * follows may belong to that value. Returns the length of what stands before the value,
 * or of text if there is none. *secret: there is a value, and it is not empty. */
static size_t
length_before_secret(const char *text, bool *secret)
{
    const char *name = text;

    *secret = false;
    while (name != NULL) {
        const size_t length = strcspn(name, "=&?; ");

        if (name[length] == '=' && is_name(name, length)) {
            *secret = name[length + 1] != '\0';
            return (size_t)(name - text) + length + 1;
        }
        name = strpbrk(name, "&?; ");
        name = name != NULL ? name + 1 : NULL;
    }
    return strlen(text);
}

static void
redact_parameters(struct buffer *out, const char *text)
{
    bool secret;

    buffer_append(out, text, length_before_secret(text, &secret));
    buffer_append_text(out, secret ? SECRET_SHOWN : "");
}

void
secret_redact(struct buffer *out, const char *text)
{
    const char *begin;
    const char *end;

    if (!find_user(text, &begin, &end)) {
        if (find_authority(text) != NULL || strncmp(text, "sqlite:", 7) == 0) {
            redact_parameters(out, text);
        } else {
            buffer_append_text(out, text);
        }
        return;
    }
    buffer_append(out, text, (size_t)(begin - text));
    buffer_append_text(out, SECRET_SHOWN);
    redact_parameters(out, end);
}
