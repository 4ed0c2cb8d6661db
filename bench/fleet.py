#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What stores cost: rows a second in, bytes a row, and the time of five questions, at two sizes.

usage: fleet.py NTPROF FLEET TESTS

FLEET adds windows of many hosts, drawn from a real profile; TESTS has the module that starts a ClickHouse server.
Environment: BENCH_QUICK=1 for a try; BENCH_FLEET="HOSTS WINDOWS..." for other sizes; BENCH_HITS for other windows;
BENCH_STORES=ClickHouse for one of the two.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
SIZES = os.environ.get("BENCH_FLEET", "20 2 4" if QUICK else "100 20 60").split()
HITS = int(os.environ.get("BENCH_HITS", 2 * 99 * 60))  # two processors at 99 Hz for a minute
STORES = os.environ.get("BENCH_STORES", "SQLite ClickHouse").split()
START_S = 1_700_006_400  # a day begins
WORK = ("for i in 1 2 3; do python3 -c 'import json; [json.loads(json.dumps(list(range(300)))) for _ in range(9000)]';"
        " echo 'int main(void){return 0;}' | cc -O2 -x c -o /dev/null -; tar c /usr/include 2>/dev/null | gzip | wc -c;"
        " find /usr/share -name 'x*' | sort | uniq | wc -l; done >/dev/null 2>&1")


def run(*words, **given):
    return subprocess.run([str(word) for word in words], check=True, **given)


class Bench:
    def __init__(self, ntprof, fleet, folder):
        self.ntprof, self.fleet, self.folder = ntprof, fleet, folder
        self.template = folder / "template.pb.gz"
        run(ntprof, "run", "-q", "-F", "5k", "-o", self.template, "--", "sh", "-c", WORK, stderr=subprocess.DEVNULL)
        top = json.loads(self.output("report", self.template, "--json", "--rows", "1", "--by", "image"))["rows"][0]
        self.build, self.image = top["build_id"], top["image"]

    def output(self, *words):
        return run(self.ntprof, *words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def time(self, *words):
        start = time.monotonic()
        self.output(*words)
        return time.monotonic() - start

    def questions(self, url, windows):
        middle = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(START_S + 60 * (windows // 2)))
        unit = json.loads(self.output("report", self.template, "--json", "--rows", "1", "--by", "process"))
        questions = {
            "functions of all hosts": ("report", url),
            "one unit by line": ("report", url, "--unit", unit["rows"][0]["process"], "--by", "line"),
            "two builds": ("diff", f"{url}?build={self.build}", f"{url}?build=0{self.build}"),
            "one host": ("report", url, "--host", "host00007"),
        }
        if windows > 1:
            questions["first half, second half"] = ("diff", f"{url}?until={middle}", f"{url}?since={middle}")
        return questions

    def show(self, name, url, hosts, sizes):
        print(f"{name}: {hosts} hosts", flush=True)
        run(self.ntprof, "store", "init", url)
        done = 0
        for size in sizes:
            answer = run(self.fleet, url, self.template, hosts, size - done, HITS, START_S + 60 * done,
                         stdout=subprocess.PIPE).stdout.split()
            rows, seconds = int(answer[0]), float(answer[1])
            per_window = rows / (hosts * (size - done))
            done = size
            if name == "ClickHouse":
                time.sleep(10)  # parts are merged
            stat = json.loads(self.output("store", "stat", url, "--json"))
            print(f"  {hosts * size} windows, {stat['rows']} rows, {per_window:.0f} a window: "
                  f"{rows / seconds:,.0f} rows/s in, {stat['bytes'] / stat['rows']:.1f} bytes a row, "
                  f"{stat['bytes'] / 1e6:.0f} MB", flush=True)
            for question, words in self.questions(url, size).items():
                print(f"    {question:<26} {self.time(*words):6.2f} s", flush=True)
        print(f"    {'fold':<26} {self.time('store', 'fold', url):6.2f} s", flush=True)
        print(f"    {'functions of all, folded':<26} {self.time('report', url):6.2f} s", flush=True)


def main():
    ntprof, fleet, tests = sys.argv[1:]
    sys.path.insert(0, tests)
    import clickhouse
    hosts, *sizes = map(int, SIZES)
    with tempfile.TemporaryDirectory(prefix="ntprof-fleet-") as folder:
        bench = Bench(ntprof, fleet, pathlib.Path(folder))
        if "SQLite" in STORES:
            bench.show("SQLite", f"sqlite:{folder}/s.db", hosts, sizes)
        if "ClickHouse" not in STORES:
            return
        try:
            server = clickhouse.Server(pathlib.Path(folder) / "server")
            server.start()
        except unittest.SkipTest as reason:
            print(f"ClickHouse: {reason}")
            return
        try:
            bench.show("ClickHouse", f"clickhouse://{server.address()}/fleet", hosts, sizes)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
