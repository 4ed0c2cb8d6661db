/* SPDX-License-Identifier: MIT */
/* http.c - addresses, hosts and texts: what needs no library. */
#include "http/http.h"

#include "base/number.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool
parse_port(const char *text, in_port_t *port)
{
    uint64_t number;

    if (!number_parse_count(text, &number) || number < 1 || number > 65535) {
        return false;
    }
    *port = htons((uint16_t)number);
    return true;
}

bool
http_parse_address(struct sockaddr_storage *address, const char *text)
{
    struct sockaddr_in *const v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *const v6 = (struct sockaddr_in6 *)address;
    const char *const colon = strrchr(text, ':');
    const size_t size = colon != NULL ? (size_t)(colon - text) : 0;
    char host[64] = "127.0.0.1";

    *address = (struct sockaddr_storage){0};
    if (size >= sizeof(host)) {
        return false;
    }
    if (size > 2 && text[0] == '[' && colon[-1] == ']') {
        snprintf(host, sizeof(host), "%.*s", (int)size - 2, text + 1);
        v6->sin6_family = AF_INET6;
        return parse_port(colon + 1, &v6->sin6_port) &&
               inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
    }
    if (size > 0) {
        snprintf(host, sizeof(host), "%.*s", (int)size, text);
    }
    v4->sin_family = AF_INET;
    return parse_port(colon != NULL ? colon + 1 : text, &v4->sin_port) &&
           inet_pton(AF_INET, host, &v4->sin_addr) == 1;
}

static bool
is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *const v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *const v6 = (const struct sockaddr_in6 *)address;

    return address->ss_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)
               : ntohl(v4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

/* Return whether what follows a host is nothing, or ":" and a port, which may be empty
 * (RFC 3986). */
static bool
is_port(const char *text)
{
    const size_t digits = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;

    return text[0] == '\0' || (text[0] == ':' && text[digits + 1] == '\0' &&
                               digits <= 5 && strtoul(text + 1, NULL, 10) <= 65535);
}

/* Return whether a Host header, uri-host [":" port], names a loopback address. */
static bool
is_loopback_host(const char *text)
{
    struct sockaddr_storage named = {.ss_family = AF_INET};
    const bool literal = text[0] == '[';
    const size_t size = strcspn(literal ? text + 1 : text, literal ? "]" : ":");
    const char *const end = text + size + (literal ? 1 : 0);
    char host[INET6_ADDRSTRLEN];

    if (size == 0 || size >= sizeof(host) || (literal && end[0] != ']') ||
        !is_port(literal ? end + 1 : end)) {
        return false;
    }
    snprintf(host, sizeof(host), "%.*s", (int)size, literal ? text + 1 : text);
    if (literal) {
        named.ss_family = AF_INET6;
        return inet_pton(AF_INET6, host, &((struct sockaddr_in6 *)&named)->sin6_addr) ==
                   1 &&
               is_loopback(&named);
    }
    return strcasecmp(host, "localhost") == 0 ||
           (inet_pton(AF_INET, host, &((struct sockaddr_in *)&named)->sin_addr) == 1 &&
            is_loopback(&named));
}

/* Return whether an origin, scheme "://" host [":" port], is that of this server, which
 * the client calls host. Origins leave out the scheme's standard port, which host may
 * have. Both schemes are accepted, as a proxy in front of the server may use https. */
static bool
is_own_origin(const char *origin, const char *host)
{
    static const struct {
        const char *scheme;
        const char *port;
    } schemes[] = {{"http://", ":80"}, {"https://", ":443"}};

    for (size_t i = 0; host != NULL && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t scheme = strlen(schemes[i].scheme);
        const char *const name = origin + scheme;
        const size_t size = strlen(host);

        if (strncasecmp(origin, schemes[i].scheme, scheme) != 0) {
            continue;
        }
        if (strcasecmp(name, host) == 0) {
            return true;
        }
        if (strncasecmp(name, host, strlen(name)) == 0 && strlen(name) < size &&
            (strcmp(host + strlen(name), schemes[i].port) == 0 ||
             strcmp(host + strlen(name), ":") == 0)) {
            return true;
        }
    }
    return false;
}

static bool
equals(const char *value, const char *wanted)
{
    return value != NULL && strcmp(value, wanted) == 0;
}

/* Return whether a request was made by a page of this server or by no page, as for an
 * address that was typed (Fetch Metadata); or by a click on a link that opens a page,
 * where settings allow these. Old browsers and other programs send no such headers. */
static bool
is_own_site(const struct http_settings *settings, const struct http_origin *origin)
{
    return origin->site == NULL || equals(origin->site, "same-origin") ||
           equals(origin->site, "none") ||
           (settings->linked && equals(origin->mode, "navigate") &&
            equals(origin->destination, "document") && equals(origin->user, "?1"));
}

unsigned
http_refuse_origin(const struct http_settings *settings,
                   const struct http_origin *origin, const char **why)
{
    if (origin->repeated) {
        *why = "a header is there twice\n";
        return HTTP_BAD_REQUEST;
    }
    if (origin->host != NULL && is_loopback(&settings->address) &&
        !is_loopback_host(origin->host)) {
        *why = "this address is answered by the names localhost, 127.x.x.x and [::1] "
               "only\n";
        return HTTP_FORBIDDEN;
    }
    if (!is_own_site(settings, origin) ||
        (origin->origin != NULL && !is_own_origin(origin->origin, origin->host))) {
        *why = "pages of other sites are not answered; open this address by itself\n";
        return HTTP_FORBIDDEN;
    }
    return 0;
}

void
http_text(struct http_answer *answer, unsigned status, const char *text)
{
    char *const copy = strdup(text);

    *answer = (struct http_answer){.status = copy != NULL ? status : HTTP_FAILED,
                                   .type = "text/plain; charset=utf-8",
                                   .bytes = copy,
                                   .size = copy != NULL ? strlen(text) : 0};
}
