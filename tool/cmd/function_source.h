/* SPDX-License-Identifier: MIT */
/*
 * function_source.h - "function:NAME" of -e: the uprobe and the breakpoint that count
 * its executions.
 */
#ifndef CMD_FUNCTION_SOURCE_H
#define CMD_FUNCTION_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_source {
    char *uprobe; /* "uprobe:IMAGE+0xOFFSET", by the descriptor; NULL: not a function */
    char breakpoint[40]; /* "breakpoint:0xADDRESS"; "": the address is not known */
    int image;           /* open as long as uprobe is there */
};

/* function_source_is - is it "function:..."? */
bool function_source_is(const char *text);

/*
 * function_source_resolve - find the function.
 *
 *   text     in: "function:NAME", in the program or that of the processes;
 *            "function:/IMAGE:NAME"
 *   program  in: what is to be run, as execvp takes it; or NULL
 *   pids     in: processes that run already, pid_count of them
 *   memory_max  in: bytes that its symbols may take; 0: 1 GiB
 *   why      out: why it is not found, for people
 */
bool function_source_resolve(struct function_source *source, const char *text,
                             const char *program, const uint32_t *pids,
                             size_t pid_count, uint64_t memory_max, char *why,
                             size_t why_size);

void function_source_finish(struct function_source *source);

#endif
