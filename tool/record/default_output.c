/* SPDX-License-Identifier: MIT */
/* default_output.c - tries the current folder, then makes a private one in TMPDIR or
 * /tmp. */
#include "record/default_output.h"

#include "base/message.h"
#include "base/text.h"
#include "profile/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Make a subfolder that only its user may read. Returns the malloc'd path of a
 * profile in it, or NULL if it cannot be made. */
static char *
make_in(const char *folder)
{
    char *path = NULL;
    char *end;

    if (folder == NULL || folder[0] != '/' ||
        asprintf(&path, "%s/ntprof-XXXXXX/" CMD_FILE_DEFAULT, folder) < 0) {
        return NULL;
    }
    /* Made when nothing can fail any more: nobody would remove it. */
    end = strrchr(path, '/');
    *end = '\0';
    if (mkdtemp(path) == NULL) {
        free(path);
        return NULL;
    }
    *end = '/';
    return path;
}

char *
default_output_make(const char *command)
{
    struct pprof_error error;
    char shown[256];
    char *path;

    /* A file that is there and cannot be replaced, such as another user's, is reported
     * by the caller, not evaded. */
    if (pprof_check_writable(CMD_FILE_DEFAULT, &error) ||
        (access(CMD_FILE_DEFAULT, F_OK) == 0 && access(".", W_OK | X_OK) == 0)) {
        return NULL;
    }
    path = make_in(getenv("TMPDIR"));
    path = path != NULL ? path : make_in("/tmp");
    if (path != NULL) {
        cmd_fail(command, "%s: the profile goes to %s", error.text,
                 text_show(shown, sizeof(shown), path));
    }
    return path;
}

void
default_output_finish(char *path)
{
    char *const end = path != NULL ? strrchr(path, '/') : NULL;

    if (end != NULL) {
        *end = '\0';
        rmdir(path);
    }
    free(path);
}
