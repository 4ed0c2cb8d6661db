# SPDX-License-Identifier: MIT
"""What profiles with very many buckets cost: report, diff, merge and every export, and how that grows."""
from figures import QUICK, ratios, say, show, show_at_most, turns

SIZES = (2_500, 10_000) if QUICK else (250_000, 1_000_000)
IMAGES = 1000
MERGED = 10
HITS = 20_000  # of each row: those of a pair take longest to distinguish from chance
DIFF_ROWS = 2_000 if QUICK else 200_000
DIFF_LIMIT_S = 2
TURNS = 1 if QUICK else 3
ONE_IMAGE = "libpart7.so.1"
FORMATS = ("pprof", "callgrind", "speedscope", "folded", "json", "csv", "html", "openmetrics")
REPORTS = {
    "report by function": ["--by", "function"],
    "report by line": ["--by", "line"],
    "report by process, image": ["--by", "process,image"],
    "report, all addresses": ["--by", "address", "--rows", "0"],
    "report, all as JSON": ["--by", "address", "--rows", "0", "--json"],
}


def profiles_of(commands, size):
    """Profiles of so many buckets each, with the same code in all and other hits."""
    paths = [str(commands.folder / f"{size}-{seed}.pb.gz") for seed in range(1, MERGED + 1)]
    for seed, path in enumerate(paths, 1):
        commands.run([commands.rows, str(size), str(IMAGES), path, str(seed)])
    return paths


def show_diffs(commands):
    """diff, where no row is cheap to distinguish from chance."""
    paths = [str(commands.folder / f"hits-{seed}.pb.gz") for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        commands.run([commands.rows, str(DIFF_ROWS), str(IMAGES), path, str(seed), str(HITS)])
    diffs = {"diff": [], "diff --normalize": ["--normalize"]}
    actions = {
        name: lambda options=options: commands.run(
            [commands.ntprof, "diff", "--by", "address", *options, *paths], stdout=str(commands.folder / "output"))
        for name, options in diffs.items()}
    results = turns(actions, TURNS)
    for name in diffs:
        show_at_most(f"{name} of {DIFF_ROWS:,} rows with {HITS:,} hits: time",
                     [turn[name].wall_ns / 1e9 for turn in results], DIFF_LIMIT_S, "s")


def commands_of(folder, profiles):
    """{name: arguments} of what is measured."""
    named = {name: ["report", *options, profiles[0]] for name, options in REPORTS.items()}
    named["diff"] = ["diff", *profiles[:2]]
    named[f"merge of {MERGED}"] = ["merge", "-q", "-o", str(folder / "sum.pb.gz"), *profiles]
    for form in FORMATS:
        named[f"export, {form}"] = ["export", "--format", form, profiles[0]]
    # gmon.out is of one program.
    named["export, gmon of an image"] = ["export", "--format", "gmon", "-e", "time", "--image", ONE_IMAGE, profiles[0]]
    return named


def show_command(name, results):
    few, many = SIZES
    linear = many / few

    def growth(measure):
        return [ratio / linear for ratio in ratios(results, measure, (name, many), (name, few))]

    show(f"{name}: time", [turn[name, many].wall_ns / 1e9 for turn in results], "s")
    show(f"{name}: processor time", [turn[name, many].cpu_ns / 1e9 for turn in results], "s")
    show(f"{name}: memory", [turn[name, many].resident_bytes / 1e6 for turn in results], "MB")
    show_at_most(f"{name}: growth of processor time", growth(lambda took: took.cpu_ns), 1.2)
    show_at_most(f"{name}: growth of memory", growth(lambda took: took.resident_bytes), 1.2)


def figure_large(commands):
    few, many = SIZES
    say(f"{many:,} buckets with hits in {IMAGES:,} images, of four processes and two sources (bench/rows.c). growth:")
    say(f"what that takes against {few:,} buckets, divided by {many / few:.0f}; 1 is linear.")
    actions = {}
    for size in SIZES:
        for name, arguments in commands_of(commands.folder, profiles_of(commands, size)).items():
            actions[name, size] = lambda arguments=arguments: commands.run(
                [commands.ntprof, *arguments], stdout=str(commands.folder / "output"))
    results = turns(actions, TURNS)
    for name, size in actions:
        if size == many:
            show_command(name, results)
    show_diffs(commands)
