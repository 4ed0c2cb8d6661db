/* SPDX-License-Identifier: MIT */
/*
 * name_pattern.h - regular expressions of pprof files, in Go's syntax, which whole
 * names of functions match or do not.
 *
 * They are matched by regexec(), so what Go's syntax has beyond POSIX is translated or
 * refused. The text is hostile: its length, depth and repetitions are bounded.
 */
#ifndef PROFILE_NAME_PATTERN_H
#define PROFILE_NAME_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* name_pattern - all zero matches nothing and needs no finish. */
struct name_pattern {
    regex_t regex;
    bool compiled;
};

enum name_match { NAME_MATCHES, NAME_DIFFERS, NAME_MATCH_NO_MEMORY };

/* Compile an expression. Returns false with the reason in why if it cannot be. */
bool name_pattern_compile(struct name_pattern *pattern, const char *text, char *why,
                          size_t why_size);

enum name_match name_pattern_match(const struct name_pattern *pattern,
                                   const char *name);

void name_pattern_finish(struct name_pattern *pattern);

#endif
