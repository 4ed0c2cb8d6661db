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

bool
http_allows_host(const struct sockaddr_storage *address, const char *host)
{
    struct sockaddr_storage named;
    char with_port[80];
    size_t size;

    if (host == NULL || !is_loopback(address)) {
        return true;
    }
    size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (size == strlen("localhost") && strncasecmp(host, "localhost", size) == 0) {
        return true;
    }
    return size > 0 && size < 64 &&
           snprintf(with_port, sizeof(with_port), "%.*s:1", (int)size, host) > 0 &&
           http_parse_address(&named, with_port) && is_loopback(&named);
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
