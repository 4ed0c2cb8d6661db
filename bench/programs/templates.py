# SPDX-License-Identifier: MIT
"""Writes and compiles a C++ program whose debug sections are large: each unit uses the same templates of the library.

The program calls ROUNDS of its units' functions, and prints its own wall and processor time. It stays as long as
neither this file nor the command changes.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import tempfile

# Types and functions that are not used have entries, too: so many bytes for each unit that few units will do.
OPTIONS = ["-std=c++17", "-O1", "-g", "-gz=none", "-femit-class-debug-always", "-fno-eliminate-unused-debug-types",
           "-fno-eliminate-unused-debug-symbols"]
UNIT = """\
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace unit_{unit} {{

struct record {{
    std::string name;
    std::uint64_t value;
    bool operator<(const record &other) const {{ return value < other.value; }}
}};

std::uint64_t
step(std::uint64_t seed)
{{
    static const std::regex digits("([0-9])[13579]+2");
    std::vector<record> records;
    std::map<std::string, record> by_name;
    std::unordered_map<std::uint64_t, std::shared_ptr<record>> by_value;
    std::ostringstream out;
    std::smatch found;

    for (int i = 0; i < 20; i++) {{
        seed = seed * 6364136223846793005u + {unit} * 2 + 1;
        records.push_back({{std::to_string(seed), seed >> 7}});
    }}
    std::sort(records.begin(), records.end());
    for (const record &each : records) {{
        by_name[each.name] = each;
        by_value[each.value] = std::make_shared<record>(each);
    }}
    for (const auto &[name, each] : by_name) {{
        out << name << each.value;
    }}
    const std::set<record> all(records.begin(), records.end());
    const std::string text = out.str().substr(0, 60);
    return seed + all.size() + by_value.size() + std::regex_search(text, found, digits);
}}

}} // namespace unit_{unit}
"""
MAIN = """
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static std::uint64_t
now_ns(clockid_t clock)
{
    timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

int
main(int argc, char **argv)
{
    const std::uint64_t begun_ns = now_ns(CLOCK_MONOTONIC);
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    std::uint64_t result = 0;

    for (std::uint64_t i = 0; i < rounds; i++) {
        result += steps[i % (sizeof(steps) / sizeof(steps[0]))](i);
    }
    std::printf("work wall_ns=%" PRIu64 " cpu_ns=%" PRIu64 " result=%" PRIx64 "\\n",
                now_ns(CLOCK_MONOTONIC) - begun_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID), result);
}
"""


def main_text(units):
    declared = "".join(f"namespace unit_{unit} {{ std::uint64_t step(std::uint64_t); }}\n" for unit in range(units))
    listed = "".join(f"    unit_{unit}::step,\n" for unit in range(units))
    return (f"#include <cstdint>\n\n{declared}\n"
            f"static std::uint64_t (*const steps[])(std::uint64_t) = {{\n{listed}}};\n"
            + MAIN)


def debug_bytes(program):
    """Of its debug sections, by readelf."""
    lines = subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.partition("]")[2].split() for line in lines]
    return sum(int(row[4], 16) for row in rows if len(row) > 4 and row[0].startswith(".debug_"))


def compile_all(folder, units, compiler, program):
    texts = {f"unit_{unit}": UNIT.format(unit=unit) for unit in range(units)} | {"main": main_text(units)}

    def compile_one(name):
        (folder / f"{name}.cc").write_text(texts[name])
        subprocess.run([compiler, *OPTIONS, "-c", f"{name}.cc", "-o", f"{name}.o"], cwd=folder, check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, texts))
    subprocess.run([compiler, "-o", program, *[f"{name}.o" for name in texts]], cwd=folder, check=True)


def make(program, units, compiler):
    """The bytes of the program's debug sections."""
    told = program.with_suffix(".key")
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + repr((units, compiler)).encode()).hexdigest()
    if not (program.exists() and told.exists() and told.read_text() == key):
        with tempfile.TemporaryDirectory(prefix="templates-", dir=program.parent) as folder:
            compile_all(pathlib.Path(folder), units, compiler, program)
        told.write_text(key)
    return debug_bytes(program)
