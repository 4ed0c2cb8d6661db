/* SPDX-License-Identifier: MIT */
/* service.c - sends the datagrams, and reads how often the watchdog wants one. */
#include "daemon/service.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
service_notify(const char *format, ...)
{
    const char *const path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[512];
    va_list arguments;
    size_t length;
    int fd;

    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof(address.sun_path)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    length = strlen(path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* an abstract name */
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
                     (const struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
        close(fd);
    }
}

uint64_t
service_watchdog_ns(void)
{
    const char *const usec = getenv("WATCHDOG_USEC");
    const char *const pid = getenv("WATCHDOG_PID");

    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid())) {
        return 0;
    }
    return strtoull(usec, NULL, 10) / 2 * 1000;
}
