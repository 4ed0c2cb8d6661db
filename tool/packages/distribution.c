/* SPDX-License-Identifier: MIT */
/* distribution.c - reads /etc/os-release. */
#include "packages/packagesp.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Copy the value behind a key, without quotation marks, if the line has this key. A
 * value with characters that none has becomes "". Returns whether the line has the
 * key. */
static bool
take_value(char *to, size_t size, const char *line, const char *key)
{
    const size_t length = strlen(key);
    size_t used = 0;

    if (strncmp(line, key, length) != 0) {
        return false;
    }
    for (const char *at = line + length; *at != '\0'; at++) {
        if (*at == '"' || *at == '\'') {
            continue;
        }
        if (*at < ' ' || *at > '~' || used + 1 >= size) {
            used = 0;
            break;
        }
        to[used++] = *at;
    }
    to[used] = '\0';
    return true;
}

/* Take a line of os-release; for package_read_lines. */
static bool
take_line(void *context, char *line)
{
    struct distribution *const distribution = context;

    if (take_value(distribution->codename, sizeof(distribution->codename), line,
                   "UBUNTU_CODENAME=")) {
        return true;
    }
    if (distribution->codename[0] == '\0') {
        (void)take_value(distribution->codename, sizeof(distribution->codename), line,
                         "VERSION_CODENAME=");
    }
    (void)(take_value(distribution->id, sizeof(distribution->id), line, "ID=") ||
           take_value(distribution->like, sizeof(distribution->like), line,
                      "ID_LIKE=") ||
           take_value(distribution->name, sizeof(distribution->name), line, "NAME="));
    return true;
}

void
distribution_read(struct package_bounds *bounds, const char *root,
                  struct distribution *distribution)
{
    static const char *const names[] = {"/etc/os-release", "/usr/lib/os-release"};

    *distribution = (struct distribution){.id = ""};
    for (size_t i = 0; i < 2; i++) {
        char path[PATH_MAX];
        int fd = -1;

        if ((size_t)snprintf(path, sizeof(path), "%s%s", root, names[i]) <
            sizeof(path)) {
            fd = package_open(AT_FDCWD, path);
        }
        if (fd >= 0) {
            (void)package_read_lines(bounds, fd, take_line, distribution);
            return;
        }
    }
}

bool
distribution_is(const struct distribution *distribution, const char *id)
{
    const size_t length = strlen(id);
    const char *word = distribution->like;

    if (strcmp(distribution->id, id) == 0) {
        return true;
    }
    while (*word != '\0') {
        const size_t end = strcspn(word, " ");

        if (end == length && strncmp(word, id, length) == 0) {
            return true;
        }
        word += end;
        word += strspn(word, " ");
    }
    return false;
}

const char *
distribution_server(const struct distribution *distribution)
{
    static const struct {
        const char *id;
        const char *server;
    } servers[] = {
        {"ubuntu", "https://debuginfod.ubuntu.com"}, /* first, as Ubuntu is like
                                                      * Debian */
        {"debian", "https://debuginfod.debian.net"},
        {"fedora", "https://debuginfod.fedoraproject.org"},
        {"arch", "https://debuginfod.archlinux.org"},
        {"suse", "https://debuginfod.opensuse.org"},
        {"opensuse", "https://debuginfod.opensuse.org"},
    };

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        if (distribution_is(distribution, servers[i].id)) {
            return servers[i].server;
        }
    }
    return "https://debuginfod.elfutils.org";
}
