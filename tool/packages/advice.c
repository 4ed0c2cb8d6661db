/* SPDX-License-Identifier: MIT */
/* advice.c - what to install, by the distribution. */
#include "packages/packagesp.h"

#include <string.h>

#define NOT_OWNED \
    "no package owns it: build it without stripping it, or keep its debug file"

/* Describe the archive that has the distribution's debug packages; "" if it is not
 * known. */
static void
describe_archive(char *text, size_t size, const struct distribution *distribution)
{
    const char *const codename = distribution->codename;

    text[0] = '\0';
    if (distribution_is(distribution, "ubuntu")) {
        snprintf(
            text, size,
            ", from Ubuntu's archive of debug symbols (deb http://ddebs.ubuntu.com %s "
            "main universe)",
            codename[0] != '\0' ? codename : "RELEASE");
    } else if (strcmp(distribution->id, "debian") == 0) {
        snprintf(
            text, size,
            ", from Debian's archive of debug symbols (debian-debug, suite %s-debug)",
            codename[0] != '\0' ? codename : "unstable");
    } else if (distribution->name[0] != '\0') {
        snprintf(text, size, ", from the debug archive of %s", distribution->name);
    }
}

/* Advise to install the debug package that apt's lists have or, without one,
 * OWNER-dbgsym of the distribution's archive. */
static void
advise_dpkg(struct package_file *file, const struct distribution *distribution)
{
    char archive[200] = "";
    char version[128] = "";
    char wanted[176];

    snprintf(wanted, sizeof(wanted), "%s%s",
             file->debug[0] != '\0' ? file->debug : file->owner,
             file->debug[0] != '\0' ? "" : "-dbgsym");
    if (file->version[0] != '\0') {
        snprintf(version, sizeof(version), ", version %s", file->version);
    }
    if (file->debug[0] == '\0') {
        describe_archive(archive, sizeof(archive), distribution);
    }
    if (file->installed) {
        snprintf(file->advice, sizeof(file->advice),
                 "%s is installed: it has the names if it is of %s", wanted,
                 version[0] != '\0' ? version + strlen(", ") : "the file's version");
    } else {
        snprintf(file->advice, sizeof(file->advice), "install %s%s%s", wanted, version,
                 archive);
    }
}

static void
advise_rpm(struct package_file *file, const struct distribution *distribution)
{
    if (distribution_is(distribution, "suse") ||
        distribution_is(distribution, "opensuse")) {
        snprintf(file->advice, sizeof(file->advice),
                 "install %s-debuginfo (zypper --plus-content debug install "
                 "%s-debuginfo)",
                 file->owner, file->owner);
    } else {
        snprintf(file->advice, sizeof(file->advice),
                 "install the debug package of %s (dnf debuginfo-install %s)",
                 file->owner, file->owner);
    }
}

/* Advise for a file without a package, where the distribution has no debug packages but
 * a server. */
static void
advise_without(struct package_file *file, const struct distribution *distribution)
{
    if (distribution_is(distribution, "arch")) {
        snprintf(file->advice, sizeof(file->advice),
                 "Arch has no debug packages, but a server of debug files");
        snprintf(file->server, sizeof(file->server), "%s",
                 distribution_server(distribution));
    }
}

void
packages_advise(const char *root, struct package_file *files, size_t count)
{
    struct package_bounds bounds;
    struct distribution distribution;
    bool rpm;
    bool whole;

    package_bounds_begin(&bounds);
    for (size_t i = 0; i < count; i++) {
        files[i] = (struct package_file){.path = files[i].path};
    }
    distribution_read(&bounds, root, &distribution);
    /* Each of the two programs is also a package of the other's distributions. */
    rpm = rpm_is_there(root) && !distribution_is(&distribution, "debian") &&
          !distribution_is(&distribution, "ubuntu");
    whole = rpm ? rpm_find_owners(&bounds, root, files, count)
                : dpkg_find_owners(&bounds, root, files, count);
    if (!rpm && whole) {
        apt_find_debug(&bounds, root, files, count);
        dpkg_find_installed(&bounds, root, files, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (files[i].owner[0] != '\0') {
            (rpm ? advise_rpm : advise_dpkg)(&files[i], &distribution);
            snprintf(files[i].server, sizeof(files[i].server), "%s",
                     distribution_server(&distribution));
        } else if (whole) {
            snprintf(files[i].advice, sizeof(files[i].advice), NOT_OWNED);
        } else {
            advise_without(&files[i], &distribution);
        }
    }
}
