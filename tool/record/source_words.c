/* SPDX-License-Identifier: MIT */
/* source_words.c - the names of sources, and the table of what others call them. */
#include "record/source_words.h"

#include <string.h>

/* The names that ntprof sources lists; tests/integration/command_options.py checks that
 * they are the same. */
static const char *const names[] = {
    "time",
    "alignment-faults",
    "instructions",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "branches",
    "l1d-misses",
    "l1i-misses",
    "cache-misses",
    "branch-misses",
    "cycles",
    "l1i-loads",
    "l1d-loads",
    "page-faults",
    "minor-faults",
    "major-faults",
    "context-switches",
    "migrations",
    "breakpoint:0xADDRESS",
};

const struct suggest_word source_words[] = {
    {"cpu", "time"},
    {"clock", "time"},
    {"cpu-clock", "time"},
    {"task-clock", "time"},
    {"wall", "time"},
    {"itimer", "time"},
    {"cpu-cycles", "cycles"},
    {"ref-cycles", "cycles"},
    {"instr", "instructions"},
    {"insn", "instructions"},
    {"instructions-retired", "instructions"},
    {"faults", "page-faults"},
    {"pf", "page-faults"},
    {"minflt", "minor-faults"},
    {"majflt", "major-faults"},
    {"cs", "context-switches"},
    {"switches", "context-switches"},
    {"cpu-migrations", "migrations"},
    {"branch-instructions", "branches"},
    {"mispredicts", "branch-misses"},
    {"branch-mispredicts", "branch-misses"},
    {"LLC-misses", "cache-misses"},
    {"LLC-load-misses", "cache-misses"},
    {"L1-dcache-load-misses", "l1d-misses"},
    {"L1-icache-load-misses", "l1i-misses"},
    {"L1-dcache-loads", "l1d-loads"},
    {"L1-icache-loads", "l1i-loads"},
    {"idle-cycles-frontend", "stalled-cycles-frontend"},
    {"idle-cycles-backend", "stalled-cycles-backend"},
    {0},
};

void
source_suggest(const char *name, struct suggestion *suggestion)
{
    suggest_begin(suggestion, name, strcspn(name, ":"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        suggest_offer(suggestion, names[i]);
    }
    suggest_offer_words(suggestion, source_words);
}
