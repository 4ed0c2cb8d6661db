/* SPDX-License-Identifier: MIT */
/* rpm.c - which package owns a file, by asking rpm: its database has many formats. */
#include "packages/packagesp.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define RPM "/usr/bin/rpm"

struct answer {
    struct package_file *file;
    bool known; /* rpm has an owner, or says that there is none */
};

/* Take a line of rpm's answer: "ntprof NAME", in the format that was asked for, or
 * "file PATH is not owned by any package". Returns false when the answer is known. */
static bool
take_answer(void *context, char *line)
{
    static const char owner[] = "ntprof ";
    struct answer *const answer = context;

    if (strncmp(line, owner, strlen(owner)) == 0) {
        answer->known =
            package_name_copy(answer->file->owner, sizeof(answer->file->owner),
                              line + strlen(owner), strlen(line + strlen(owner)));
    } else if (strstr(line, "is not owned by any package") != NULL) {
        answer->known = true;
    }
    return !answer->known;
}

bool
rpm_is_there(const char *root)
{
    char path[PATH_MAX];

    return (size_t)snprintf(path, sizeof(path), "%s%s", root, RPM) < sizeof(path) &&
           access(path, X_OK) == 0;
}

bool
rpm_find_owners(struct package_bounds *bounds, const char *root,
                struct package_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *const words[] = {RPM,
                               "-qf",
                               "--queryformat",
                               "ntprof %{NAME}\\n",
                               "--",
                               (char *)(uintptr_t)files[i].path,
                               NULL};
        struct answer answer = {.file = &files[i]};

        if (!package_run(bounds, root, words, take_answer, &answer) || !answer.known) {
            return false;
        }
    }
    return true;
}
