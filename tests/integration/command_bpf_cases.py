#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What holds for attach and system over perf holds over bpf: the same cases. For those who may."""
import command_attach
import command_system
import harness
from harness import text


class OverBpf:
    """In front of a class of cases: its recordings are made with back end bpf."""

    hal = "bpf"

    def setUp(self):
        super().setUp()
        probe = self.profile("-q", "-o", "/dev/null", "--", "true")
        if probe.returncode == 125:
            self.skipTest(text(probe.stderr))

    def arguments(self, *words):
        if words and words[0] in ("run", "attach", "system"):
            words = (words[0], "--hal", "bpf", *words[1:])
        return super().arguments(*words)

    def assert_rows(self, hits, source):
        """Files on the way have what is counted between rows and books in the books alone."""
        self.assertLessEqual(hits, source["counted"])


class AttachEnds(OverBpf, command_attach.Ends):
    pass


class AttachCovers(OverBpf, command_attach.Covers):
    pass


class System(OverBpf, command_system.System):
    test_mistakes__are_named = None  # they are the command line's


if __name__ == "__main__":
    harness.main()
