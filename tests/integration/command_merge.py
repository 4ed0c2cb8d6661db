#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof merge and ntprof diff: real runs added up and compared, and what they do to files."""
import gzip
import json
import os
import resource
import subprocess

import harness
from harness import CommandTest, for_each_user_if_long, text

LIGHT = ["/usr/bin/python3", "-S", "-c", "for _ in range(20): sum(range(200000))"]
HEAVY = ["/usr/bin/python3", "-S", "-c", "for _ in range(200): sum(range(200000))"]
STATISTICS = ("expected", "taken", "counted", "outside", "lost", "throttled", "missed", "unfinished",
         "excluded")


class ProfilesTest(CommandTest):
    def record(self, name, command, *options):
        result = self.profile("-q", *options, "-o", name, "--", *command)
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def succeed(self, *words, **given):
        result = self.ntprof(*words, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return result

    def report(self, path, *options):
        """As JSON, every row."""
        return json.loads(self.succeed("report", path, "--json", "--rows", "0", *options).stdout)

    def rows(self, path, *options):
        """Hits of each source by all that names an address."""
        found = {}
        for row in self.report(path, "--by", "process,address", *options)["rows"]:
            key = tuple(row[name] for name in ("image", "build_id", "address", "function", "file",
                                               "line", "process"))
            hits = row.get("by_source", {"": row["hits"]})
            self.assertNotIn(key, found)
            found[key] = hits
        return found


def added(*parts):
    total = {}
    for part in parts:
        for key, hits in part.items():
            sums = total.setdefault(key, {})
            for source, count in hits.items():
                sums[source] = sums.get(source, 0) + count
    return total


@for_each_user_if_long
class Merge(ProfilesTest):
    def test_runs__hits_and_statistics_add_up(self):
        self.record("a", LIGHT)
        self.record("b", HEAVY)
        self.succeed("merge", "-o", "sum", "a", "b")
        self.assertEqual(self.rows("sum"), added(self.rows("a"), self.rows("b")))
        summed = self.report("sum")
        self.assert_statistics(summed)
        parts = [self.report(name) for name in "ab"]
        for book in STATISTICS:
            self.assertEqual(summed["sources"][0][book],
                             sum(part["sources"][0][book] for part in parts), book)
        self.assertEqual(summed["duration_ns"], sum(part["duration_ns"] for part in parts))
        self.assertEqual(summed["time_ns"], min(part["time_ns"] for part in parts))
        for part in parts:
            self.assertIn(part["command"], summed["command"])

    def test_one_file__is_what_comes_out(self):
        self.record("a", LIGHT)
        self.succeed("merge", "-o", "b", "a")
        self.assertEqual(self.report("a", "--by", "process,address"),
                         self.report("b", "--by", "process,address"))

    def test_bracketed_otherwise__same_sum(self):
        self.record("a", LIGHT)
        self.record("b", ["sh", "-c", f"exec {harness.BURN}"], "-e", "time,page-faults")
        self.record("c", HEAVY)
        for name, parts in (("ab", "ab"), ("bc", "bc")):
            self.succeed("merge", "-q", "-o", name, *parts)
        self.succeed("merge", "-q", "-o", "left", "ab", "c")
        self.succeed("merge", "-q", "-o", "right", "a", "bc")
        self.succeed("merge", "-q", "-o", "flat", "a", "b", "c")
        flat = self.report("flat")
        for name in ("left", "right"):
            self.assertEqual(self.rows(name), self.rows("flat"))
            self.assertEqual(self.report(name)["sources"], flat["sources"])
            self.assertEqual(self.report(name)["command"], flat["command"])

    def test_sum_into_one_of_its_parts__old_one_is_kept(self):
        self.record("a", LIGHT)
        before = (self.folder / "a").read_bytes()
        once = self.rows("a")
        result = self.succeed("merge", "-o", "a", "a", "a")
        self.assertEqual(result.stdout, b"")
        self.assertIn("merged 2 profiles", text(result.stderr))
        self.assertEqual(self.rows("a"), added(once, once))
        self.assertEqual((self.folder / "a.old").read_bytes(), before)
        self.assert_nothing_left("a", "a.old")

    def test_pipes__both_ways(self):
        self.record("a", LIGHT)
        with open(self.folder / "a", "rb") as file:
            result = self.succeed("merge", "-q", "-o", "-", "a", "-", stdin=file)
        self.assertEqual(result.stderr, b"")
        (self.folder / "sum").write_bytes(result.stdout)
        self.assertEqual(self.rows("sum"), added(self.rows("a"), self.rows("a")))

    def test_other_intervals__values_add_up(self):
        self.record("a", LIGHT)
        self.record("b", LIGHT, "-F", "500")
        said = text(self.succeed("merge", "-o", "sum", "a", "b").stderr)
        reports = [self.report(name) for name in ("a", "b", "sum")]
        granted = [report["sources"][0]["granted"] for report in reports[:2]]
        if granted[0] == granted[1]:
            self.skipTest("both were recorded at one rate")
        self.assertIn("of time at 2 intervals", said)
        self.assertEqual([part["granted"] for part in reports[2]["sources"][0]["intervals"]], granted)
        self.assertEqual(sum(row["hits"] for row in reports[2]["rows"]),
                         sum(row["hits"] for report in reports[:2] for row in report["rows"]))
        # Missing hits are counted for by what is there, of each file and of the sum.
        whole = [sum(row["estimate"] for row in report["rows"]) for report in reports]
        self.assertAlmostEqual(whole[2] / (whole[0] + whole[1]), 1, places=9)
        self.assertIn("time at 2 rates: ", text(self.succeed("report", "sum").stdout))
        self.succeed("merge", "-q", "-o", "twice", "sum", "b")
        self.assertEqual(len(self.report("twice")["sources"][0]["intervals"]), 2)

    def test_other_buckets__functions_by_their_own_and_addresses_by_the_widest(self):
        self.record("fine", LIGHT, "--bucket", "4")
        self.record("coarse", LIGHT, "--bucket", "64")
        self.succeed("merge", "-q", "-o", "sum", "fine", "coarse")
        parts = [self.report(name, "--by", "process,image") for name in ("fine", "coarse", "sum")]
        hits = [sum(row["hits"] for row in report["rows"]) for report in parts]
        self.assertEqual(hits[2], hits[0] + hits[1])
        summed = self.report("sum", "--by", "process,address,image")
        self.assertEqual(summed["bucket_bytes"], 64)
        places = [(row["image"], row["address"], row["process"]) for row in summed["rows"]]
        self.assertEqual(len(places), len(set(places)))
        self.assertTrue(all(row["address"] == "" or int(row["address"], 16) % 64 == 0 for row in summed["rows"]))

        def by_function(name):
            return {(row["image"], row["function"]): row["hits"]
                    for row in self.report(name, "--image", "*python*")["rows"]}
        fine, coarse, both = (by_function(name) for name in ("fine", "coarse", "sum"))
        self.assertEqual(both, {key: fine.get(key, 0) + coarse.get(key, 0) for key in {**fine, **coarse}})
        self.succeed("diff", "fine", "coarse", "--by", "address", "--all")
        self.succeed("export", "--format", "csv", "-o", "csv", "sum")
        result = self.ntprof("store", "init", "sqlite:s.db")
        if result.returncode == 0:
            refused = self.ntprof("store", "add", "sqlite:s.db", "sum")
            self.assertIn("buckets of several sizes is not stored", text(refused.stderr))

    def test_bad_input__one_line_and_the_old_sum_stays(self):
        self.record("a", LIGHT)
        whole = (self.folder / "a").read_bytes()
        (self.folder / "torn").write_bytes(whole[:len(whole) // 2])
        (self.folder / "sum").write_bytes(b"old")
        for words, said in ((["a", "torn"], "torn: "), (["a", "none"], "none: cannot open it"),
                            ([], "sum: no FILE to merge"), (["-", "-"], "only once"),
                            (["--by", "a"], "--by: no such option; see: ntprof help")):
            with self.subTest(words):
                result = self.ntprof("merge", "-o", "sum", *words)
                self.assertEqual(result.returncode, 125)
                self.assertIn(said, text(result.stderr))
                self.assertEqual(text(result.stderr).count("\n"), 1)
                self.assertEqual((self.folder / "sum").read_bytes(), b"old")
        result = self.ntprof("merge", "a")
        self.assertEqual(result.returncode, 125)
        self.assertIn("-o: is missing", text(result.stderr))
        self.assert_nothing_left("a", "torn", "sum")

    def test_no_room__the_old_sum_stays(self):
        self.record("a", LIGHT)
        self.succeed("merge", "-q", "-o", "sum", "a")
        before = (self.folder / "sum").read_bytes()
        result = self.ntprof("merge", "-o", "sum", "a", "sum", preexec_fn=lambda:
                             resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        self.assertEqual(result.returncode, 125, text(result.stderr))
        self.assertIn("-o: sum: cannot write the profile", text(result.stderr))
        self.assertEqual((self.folder / "sum").read_bytes(), before)
        self.assert_nothing_left("a", "sum")


@for_each_user_if_long
class Diff(ProfilesTest):
    def diff(self, *words):
        return json.loads(self.succeed("diff", *words, "--json", "--rows", "0", "--all").stdout)

    def test_ten_times_the_work__is_news_and_the_same_profile_is_none(self):
        self.record("light", LIGHT)
        self.record("heavy", HEAVY)
        source, = self.diff("light", "heavy", "--by", "process")["sources"]
        row, = [row for row in source["rows"] if row["process"] == "python3"]
        self.assertTrue(row["beyond_chance"])
        self.assertGreater(row["change"], row["error"])
        source, = self.diff("light", "light")["sources"]
        self.assertEqual(source["beyond_chance_count"], 0)
        self.assertEqual({row["change"] for row in source["rows"]}, {0})

    def test_hits__are_those_of_the_reports(self):
        self.record("light", LIGHT, "-F", "499")
        self.record("heavy", HEAVY)
        source, = self.diff("light", "heavy", "--by", "image")["sources"]
        for key, path in (("old_hits", "light"), ("new_hits", "heavy")):
            report = self.report(path, "--by", "image")
            wanted = {}
            for row in report["rows"]:
                name = row["image"] if row["image"].startswith("[") else \
                    os.path.basename(row["image"])
                name = "[anon]" if name.startswith("[anon:") else name
                wanted[name] = wanted.get(name, 0) + row["hits"]
            found = {row["image"]: row[key] for row in source["rows"] if row[key] > 0}
            self.assertEqual(found, wanted)

    def test_one_run_alone__said_that_two_are_needed(self):
        self.record("ntprof.pb.gz", LIGHT)
        for words, name in (([], "ntprof.pb.gz"), (["x"], "x")):
            with self.subTest(words):
                result = self.ntprof("diff", *words)
                self.assertEqual(result.returncode, 125)
                self.assertEqual(text(result.stderr),
                                 f"ntprof: diff: {name}.old: cannot open it: No such file or directory; "
                                 "it is what a second run keeps of the first: run twice, or name OLD "
                                 "and NEW\n")
        # A file that the user named is just not there.
        self.assertNotIn("run twice", text(self.ntprof("diff", "x", "ntprof.pb.gz").stderr))

    def test_rewritten_profile__is_compared_with_the_one_before(self):
        self.record("ntprof.pb.gz", LIGHT)
        self.record("ntprof.pb.gz", HEAVY)
        result = self.succeed("diff", "--by", "process")
        self.assertIn("python3", text(result.stdout))
        said = text(result.stderr)
        self.assertIn("ntprof: diff: warning: these are runs of different commands, /usr/bin/python3 -S -c for _ in "
                      "range(20)", said)
        self.assertIn("name OLD and NEW", said)
        # Named by the user, or of one command: nothing to warn of.
        self.assertEqual(self.succeed("diff", "ntprof.pb.gz.old", "ntprof.pb.gz").stderr, b"")
        (self.folder / "again").write_bytes((self.folder / "ntprof.pb.gz").read_bytes())
        (self.folder / "again.old").write_bytes((self.folder / "ntprof.pb.gz").read_bytes())
        self.assertEqual(self.succeed("diff", "again").stderr, b"")
        self.assertEqual(self.ntprof("diff", "--by", "process", "--fail-above", "50").returncode, 1)
        self.assertEqual(self.ntprof("diff", "--by", "process", "--fail-above", "1e9").returncode, 0)
        backwards = self.ntprof("diff", "ntprof.pb.gz", "ntprof.pb.gz.old", "--fail-above", "0",
                                "--by", "process")
        self.assertEqual(backwards.returncode, 0, text(backwards.stdout))

    def test_example_of_fail_above__a_missing_file_is_not_slower(self):
        told = text(self.ntprof("help", "diff").stdout)
        first, second = told[told.index("  ntprof diff old.pb.gz new.pb.gz --fail-above"):].splitlines()[:2]
        folder = os.path.dirname(self.arguments()[0])
        result = self.run_bare(["sh", "-c", f"PATH={folder}:$PATH\n{first}\n{second.split('   ')[0]}"])
        self.assertIn("old.pb.gz: cannot open it", text(result.stderr))
        self.assertEqual(result.stdout, b"")

    def test_reader_gone__is_no_failure(self):
        self.record("a", LIGHT)
        read, write = os.pipe()
        os.close(read)
        result = self.ntprof("diff", "a", "a", "--all", stdout=write, capture_output=False,
                             stderr=subprocess.PIPE)
        os.close(write)
        self.assertEqual(result.stderr, b"")

    def test_file_without_gzip__is_compared_too(self):
        self.record("a", LIGHT)
        (self.folder / "plain").write_bytes(gzip.decompress((self.folder / "a").read_bytes()))
        source, = self.diff("a", "plain")["sources"]
        self.assertEqual(source["whole"]["change"], 0)


if __name__ == "__main__":
    harness.main()
