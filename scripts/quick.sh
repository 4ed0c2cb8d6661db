#!/bin/sh
# SPDX-License-Identifier: MIT
# What can be known of a change in half a minute: layers, sizes, widths, names, format, and the unit and golden tests.
# Usage: quick.sh [BUILD]
#
# ninja builds only what the change touches, and of that only what these tests and the command need. All unit and
# golden tests run, but for those of suite not-sanitized: these five compile programs in many ways, or count real
# hits, and take as long as all others. make check has them.
set -u

build=$(realpath "${1:-build}")
cd "$(dirname "$0")/.." || exit 1
meson=/usr/bin/meson
[ -x $meson ] || meson=meson
export LC_ALL=C.UTF-8
failed=

if [ ! -f "$build/build.ninja" ]; then
    $meson setup "$build" || exit 1
fi

# check COMMAND...: what it prints only if it fails.
check() {
    output=$("$@" 2>&1) && return
    printf '%s\n' "$output" | tail -n 40
    failed="$failed $1"
}

check scripts/check_layers.py
check scripts/check_sizes.py
check scripts/check_headers.py
check scripts/check_names.sh
check scripts/check_columns.py
check scripts/check_format.sh

# The command's own files belong to no unit test.
if grep -q '^build tool/ntprof:' "$build/build.ninja"; then
    check $meson compile -C "$build" tool/ntprof:executable
fi

if ! $meson test -C "$build" --list --suite unit 2>/dev/null | grep -q .; then
    echo "quick: this build has no tests; type: make check, which installs what they need" >&2
    failed="$failed tests"
else
    # One more than there are processors, as tests wait at times.
    $meson test -C "$build" --quiet --print-errorlogs --num-processes $(($(nproc) + 1)) \
        --suite unit --suite golden --no-suite not-sanitized </dev/null || failed="$failed tests"
fi

[ -z "$failed" ] || echo "quick: failed:$failed"
[ -z "$failed" ]
