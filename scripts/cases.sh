#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the cases of a field trial (tests/integration/command_cases.py) and prints a line for each.
# Usage: cases.sh [BUILD]
set -u

build=${1:-build}
meson=/usr/bin/meson
[ -x $meson ] || meson=meson
log=$build/meson-logs/cases.txt

$meson test -C "$build" --no-rebuild --logbase cases integration-command-cases </dev/null >/dev/null
status=$?
grep -E '^\[ +(OK|FAILED|SKIPPED) +\]|^needs |^only |^an ordinary user' "$log" | sort -u
[ $status -eq 0 ] || echo "what failed is in $log"
exit $status
