/* SPDX-License-Identifier: MIT */
/* group_names.c - how the functions of groups read in a table. */
#include "profile/group.h"

#include <stdlib.h>
#include <string.h>

bool
report_group_is_inlined(const struct report_group *group)
{
    return group->inner != NULL && group->inner_id != group->function_id;
}

/* Whether a function of C++ has a name without its scopes: a compiler that writes
 * little debug information (g++ -g1) leaves them and the linkage name out. */
static bool
lacks_scopes(const struct profile_function *function)
{
    static const char *const extensions[] = {".cc", ".cpp", ".cxx", ".C",
                                             ".hh", ".hpp", ".hxx"};
    const char *const dot = strrchr(identity_file(function), '.');

    if (dot == NULL || strcmp(function->name, function->system_name) != 0 ||
        strstr(function->name, "::") != NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        if (strcmp(dot, extensions[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Set the details with which the first groups show their functions, so that different
 * functions read differently. Innermost functions get the same details. Returns false
 * if memory runs out. */
static bool
tell_functions_apart(const struct report_groups *groups, size_t count, bool full)
{
    struct display_name *const names = calloc(count + 1, sizeof(*names));
    bool done = names != NULL;

    for (size_t i = 0; done && i < count; i++) {
        const struct report_group *const group = &groups->groups[i];

        names[i] = (struct display_name){
            .function = group->function,
            .image = group->image,
            .identity = group->function_id,
            .detail = full ? DISPLAY_FULL : DISPLAY_SHORT,
        };
    }
    done = done && display_tell_apart(names, count);
    for (size_t i = 0; done && i < count; i++) {
        groups->groups[i].detail = groups->groups[i].inner_detail = names[i].detail;
    }
    free(names);
    return done;
}

/* Set the details of innermost functions that were inlined: "f inlined in g" does not
 * read like f, so they are distinguished only from each other. Returns false if memory
 * runs out. */
static bool
tell_inlined_apart(const struct report_groups *groups, size_t count, bool full)
{
    struct display_name *const names = calloc(count + 1, sizeof(*names));
    bool done = names != NULL;
    size_t inlined = 0;

    for (size_t i = 0; done && i < count; i++) {
        const struct report_group *const group = &groups->groups[i];

        if (report_group_is_inlined(group)) {
            names[inlined++] = (struct display_name){
                .function = group->inner,
                .image = group->image,
                .identity = group->inner_id,
                .detail = lacks_scopes(group->inner) ? DISPLAY_FILE
                          : full                     ? DISPLAY_FULL
                                                     : DISPLAY_SHORT,
            };
        }
    }
    done = done && display_tell_apart(names, inlined);
    inlined = 0;
    for (size_t i = 0; done && i < count; i++) {
        if (report_group_is_inlined(&groups->groups[i])) {
            groups->groups[i].inner_detail = names[inlined++].detail;
        }
    }
    free(names);
    return done;
}

bool
report_groups_tell_apart(const struct report_groups *groups, size_t count, bool full)
{
    if (!report_groups_have_functions(groups)) {
        return true;
    }
    return tell_functions_apart(groups, count, full) &&
           tell_inlined_apart(groups, count, full);
}

static enum display_detail
larger_detail(enum display_detail a, enum display_detail b)
{
    return a > b ? a : b;
}

void
report_group_name(const struct report_group *group, enum display_detail detail,
                  struct buffer *out)
{
    if (group->function != NULL) {
        display_function(group->function, group->image,
                         larger_detail(group->detail, detail), out);
    }
}

void
report_group_inner_name(const struct report_groups *groups,
                        const struct report_group *group, enum display_detail detail,
                        struct buffer *out)
{
    if (group->inner == NULL) {
        return;
    }
    display_function(group->inner, group->image,
                     larger_detail(group->inner_detail, detail), out);
    if (report_group_is_inlined(group) &&
        !report_groups_by(groups, REPORT_BY_FUNCTION) &&
        !report_groups_by(groups, REPORT_BY_LINE) &&
        !report_groups_by(groups, REPORT_BY_ADDRESS) &&
        !report_groups_by(groups, REPORT_BY_BUCKET)) {
        buffer_append_text(out, " inlined in ");
        report_group_name(group, detail, out);
    }
}
