#!/bin/bash
# SPDX-License-Identifier: MIT
# What takes too long for each change: the long tests, all tests for every user, version of NT and way to build,
# both sanitizer builds with these and every repetition, and fuzzing.
# Usage: check_long.sh BUILD [SECONDS of fuzzing, 600] [STEPS]   STEPS: only steps whose names match the regular
# expression; what two checkouts run side by side takes less time than one after the other
set -u

cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
seconds=${2:-600}
steps=${3:-}
failed=
taken=0
export NTPROF_TEST_USERS=all NTPROF_TEST_VERSIONS=all NTPROF_TEST_BUILDS=all

step() { # NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    [[ $name =~ $steps ]] || return
    taken=$((taken + 1))
    echo "== $name"
    if "$@"; then
        echo "== $name: passed ($((SECONDS - start)) s)"
    else
        echo "== $name: FAILED ($((SECONDS - start)) s)"
        failed+=" [$name]"
    fi
}

check_one_file() {
    local status=0
    scripts/make_static.sh "$build-static" || return
    scripts/make_static.sh "$build-static-arm64" arm64 || status=$?
    { [ $status -eq 0 ] || [ $status -eq 77 ]; } && scripts/check_static.sh "$build-static"
}

step 'long tests' scripts/run_tests.sh "$build" --suite long
step 'every user, version and build' scripts/run_tests.sh "$build" --timeout-multiplier 3 \
    --suite unit --suite conformance --suite integration --no-suite long
step 'breakpoints that never fire' env LD_PRELOAD="$(realpath "$build")/tests/libtest-never-fire.so" \
    scripts/run_tests.sh "$build" --timeout-multiplier 3 --suite breakpoints --suite clocks
step 'storms of kills, stops and threads' env NTPROF_KILLS=20 NTPROF_STOPS=5000 scripts/run_tests.sh "$build" \
    --timeout-multiplier 2 \
    integration-command-killed integration-live_counters integration-live_counters-bpf integration-threads \
    integration-threads-by-uprobes
step 'clang-tidy' scripts/check_tidy.py "$build"
step 'ASan and UBSan' scripts/run_sanitized.sh "$build-asan" address,undefined --no-suite scripts
step 'TSan' scripts/run_sanitized.sh "$build-tsan" thread --suite threads --no-suite integration
step 'features disabled' scripts/check_features.sh "$build-features" all
step 'mutations' scripts/mutations.py "$build-mutated"
step 'one file' check_one_file
step 'Debian packages' scripts/check_package.sh
step 'machines' scripts/check_machines.py "$build" --short
step 'model' "$build/tests/model/sim-model" --seconds "$seconds"
step 'fuzzing' scripts/fuzz.sh "$seconds"
[ -z "$failed" ] || { echo "check-long: failed:$failed"; exit 1; }
[ $taken -gt 0 ] || { echo "check-long: no step matches $steps"; exit 1; }
echo "check-long: ${steps:+$taken steps, }all passed"
