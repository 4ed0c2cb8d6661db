#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes and compiles a large program with debug information, and prints how many source lines it has.

usage: million.py PROGRAM UNITS COMPILER...

411 units are a million lines of C: records, functions that work on them, and helpers that are inlined in each.
The program calls ROUNDS of its functions, some far more often than others, and prints its own wall and processor
time. Objects and sources are removed; the program stays as long as neither this file nor the command changes.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile

FUNCTIONS = 64  # of a unit
OPTIONS = ["-Og", "-g"]
HEADER = """\
/* What all units share. */
#include <stdint.h>

struct part_state {
    uint64_t sum;
    uint64_t rounds;
    uint32_t marks[64];
};

typedef uint64_t part_step(struct part_state *state, uint64_t seed);

/* Inlined in debug builds too, as the helpers of a C++ library are in others. */
#define HELPER static inline __attribute__((always_inline))

HELPER uint64_t
part_mix(uint64_t left, uint64_t right)
{
    left ^= right << 13;
    left ^= left >> 7;
    left ^= left << 17;
    return left + right;
}

HELPER uint64_t
part_mark(struct part_state *state, uint64_t value)
{
    uint32_t *mark = &state->marks[value % 64];

    *mark += (uint32_t)(value >> 32);
    if (*mark & 1) {
        value = part_mix(value, *mark);
    }
    return value;
}
"""
FUNCTION = """
/* What step {number} of unit {unit} keeps between its rounds. */
struct record_{number} {{
    /* Of the seed, mixed with the second. */
    uint64_t first;
    /* Grows or falls with the first. */
    uint64_t second;
    /* Goes on where the step before left it. */
    uint64_t third;
    /* The last four of the second, cut short. */
    uint32_t kinds[4];
}};

static uint64_t
unit_{unit}_step_{number}(struct part_state *state, uint64_t seed)
{{
    struct record_{number} record = {{
        .first = seed ^ {a}u,
        .second = seed + {b}u,
        .third = state->sum,
    }};

    for (uint64_t i = 0; i < {rounds}; i++) {{
        record.first = part_mix(record.first, record.second + i);
        if (record.first & {bit}u) {{
            record.second += record.first * {b}u;
            record.third ^= record.second >> {shift};
        }} else {{
            record.third = part_mark(state, record.third + {a}u);
            record.second -= record.third;
        }}
        record.kinds[i % 4] = (uint32_t)record.second;
    }}
    state->rounds++;
    state->sum = record.first ^ record.third ^ record.kinds[seed % 4];
    return record.first + record.second;
}}
"""
MAIN = """
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t
now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The third power of what is even: a few functions are hot, and most are called at times. */
int
main(int argc, char **argv)
{
    const uint64_t begun_ns = now_ns(CLOCK_MONOTONIC);
    const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    struct part_state state = {.sum = 1};
    uint64_t seed = 0x9e3779b97f4a7c15u;
    uint64_t result = 0;

    for (uint64_t i = 0; i < rounds; i++) {
        double even;
        uint64_t step;

        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        even = (double)(seed >> 11) * 0x1p-53;
        step = (uint64_t)(even * even * even * UNITS * FUNCTIONS);
        result += units[step % UNITS][step / UNITS](&state, seed);
    }
    printf("work wall_ns=%" PRIu64 " cpu_ns=%" PRIu64 " result=%" PRIx64 "\\n",
           now_ns(CLOCK_MONOTONIC) - begun_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID), result);
    return 0;
}
"""


def unit_text(unit):
    chance = random.Random(unit)
    text = ['#include "part.h"\n']
    for number in range(FUNCTIONS):
        text.append(FUNCTION.format(unit=unit, number=number, a=chance.getrandbits(32) | 1,
                                    b=chance.getrandbits(32) | 1, rounds=chance.randrange(6, 30),
                                    bit=1 << chance.randrange(8), shift=chance.randrange(3, 30)))
    text.append(f"\npart_step *const unit_{unit}_steps[{FUNCTIONS}] = {{\n")
    text += [f"    unit_{unit}_step_{number},\n" for number in range(FUNCTIONS)]
    return "".join([*text, "};\n"])


def main_text(units):
    text = [f'#include "part.h"\n\n#define UNITS {units}\n#define FUNCTIONS {FUNCTIONS}\n\n']
    text += [f"extern part_step *const unit_{unit}_steps[FUNCTIONS];\n" for unit in range(units)]
    text.append("\nstatic part_step *const *const units[UNITS] = {\n")
    text += [f"    unit_{unit}_steps,\n" for unit in range(units)]
    return "".join([*text, "};\n", MAIN])


def write_sources(folder, units):
    """How many lines there are in all; {name of a source} in the order to link."""
    texts = {f"unit_{unit}": unit_text(unit) for unit in range(units)} | {"main": main_text(units)}
    for name, text in texts.items():
        (folder / f"{name}.c").write_text(text)
    (folder / "part.h").write_text(HEADER)
    return sum(text.count("\n") for text in [HEADER, *texts.values()]), list(texts)


def compile_all(folder, names, compiler, program):
    def compile_one(name):
        subprocess.run([*compiler, *OPTIONS, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
        (folder / f"{name}.c").unlink()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, names))
    subprocess.run([*compiler, "-o", program, *[f"{name}.o" for name in names]], cwd=folder, check=True)


def make(program, units, compiler):
    """The program's path is whole or not there; its lines are kept beside it."""
    program = pathlib.Path(program).resolve()
    told = program.with_suffix(".lines")
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + repr((units, compiler)).encode()).hexdigest()
    if program.exists() and told.exists() and told.read_text().split()[0] == key:
        return int(told.read_text().split()[1])
    program.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="million-", dir=program.parent) as folder:
        lines, names = write_sources(pathlib.Path(folder), units)
        compile_all(pathlib.Path(folder), names, compiler, str(program))
    told.write_text(f"{key} {lines}\n")
    return lines


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    print(make(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
