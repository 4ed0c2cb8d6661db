#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of a build folder and sums them up. Usage: run_tests.sh BUILD [meson test options]
#
# Real processes on a shared machine sometimes get no processor for seconds. A program that failed
# is therefore run once more, alone. If it passes then, it is unstable: reported with its first
# failure, and a failure of the run unless tests/unstable.txt (or the file that NTPROF_UNSTABLE names)
# lists it with its cause. More than three failed programs are no accident and are not run again.
set -u

build=${1:-build}
[ $# -eq 0 ] || shift
meson=${MESON:-/usr/bin/meson}
[ -x $meson ] || meson=meson
summary=$(dirname "$0")/test_summary.py
unstable=${NTPROF_UNSTABLE:-$(dirname "$0")/../tests/unstable.txt}
log=$build/meson-logs/testlog.json
second_log=$build/meson-logs/second.json

# A log of an earlier run must not be taken for this one's.
rm -f "$log" "$second_log"
# Many tests wait, so two more of them than there are processors.
$meson test -C "$build" --print-errorlogs --num-processes $(($(nproc) + 2)) "$@" </dev/null
status=$?
[ -f "$log" ] || exit $status

failed=$("$summary" --failed "$log")
count=$(printf '%s' "$failed" | grep -c .)
again=
if [ "$count" -gt 0 ] && [ "$count" -le 3 ]; then
    printf 'run once more, alone: %s\n' "$(echo $failed)"
    # Names of tests have no spaces.
    $meson test -C "$build" --no-rebuild --print-errorlogs --num-processes 1 --logbase second "$@" \
        $failed </dev/null && status=0
    [ ! -f "$second_log" ] || again="--again $second_log"
fi
"$summary" $again --unstable "$unstable" "$log" || status=1
# What there was to count by: a test that lacks a source skips or takes another one.
if [ -x "$build/tool/ntprof" ]; then
    printf 'sources that worked, as %s: %s\n' "$(id -un)" "$("$build/tool/ntprof" sources |
        awk 'NR > 1 && NF == 0 { exit } NR > 1 && !/ no: / { printf "%s%s", sep, $1; sep = " " }')"
fi
exit $status
