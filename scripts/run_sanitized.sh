#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what tests need with sanitizers, and runs them.
# Usage: run_sanitized.sh BUILD SANITIZERS [--only-build] [meson test options]
set -u

cd "$(dirname "$0")/.." || exit 1
build=$1
sanitizers=$2
shift 2
meson=/usr/bin/meson
[ -x $meson ] || meson=meson

# Shadow memory and large random address spaces do not go together.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# Optimised a little: it compiles in half of the time, and more of what is written runs in the test. Tests of threads
# run for seconds, so what compiles fastest is best for them. -g1: sanitizers print lines, and nothing else of the debug
# information.
level=1
[ "$sanitizers" != thread ] || level=0
if [ ! -f "$build/build.ninja" ]; then
    $meson setup "$build" -Dtests=enabled -Db_sanitize="$sanitizers" -Db_lundef=false \
        -Doptimization=$level -Dc_args='-fno-sanitize-recover=all -g1' || exit 1
fi
only_build=
if [ "${1:-}" = --only-build ]; then
    only_build=yes
    shift
fi
scripts/build_tests.py "$build" "$@" || exit 1
[ -z "$only_build" ] || exit 0
ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
    exec $steady scripts/run_tests.sh "$build" --no-rebuild -t 4 "$@"
