#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of a build folder and sums them up. Usage: run_tests.sh BUILD [meson test options]
set -u

build=${1:-build}
[ $# -eq 0 ] || shift
meson=/usr/bin/meson
[ -x $meson ] || meson=meson

# A log of an earlier run must not be taken for this one's.
rm -f "$build/meson-logs/testlog.json"
$meson test -C "$build" --print-errorlogs "$@" </dev/null
status=$?
if [ -f "$build/meson-logs/testlog.json" ]; then
    "$(dirname "$0")/test_summary.py" "$build/meson-logs/testlog.json" || status=1
fi
exit $status
