#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzz targets with clang, and fuzzes the calls of NT for a time while the readers of foreign
# bytes, one after the other, share as much. Each starts from the kept inputs.
# Usage: fuzz.sh [SECONDS that it takes, 60] [BUILD, build-fuzz]
set -u

cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
build=${2:-build-fuzz}
meson=/usr/bin/meson
[ -x $meson ] || meson=meson
clang=clang-14
command -v $clang >/dev/null || clang=clang

if [ ! -f "$build/build.ninja" ]; then
    CC=$clang $meson setup -Dfuzz=true -Dtests=enabled -Db_sanitize=address,undefined \
        -Db_lundef=false -Doptimization=1 "$build" || exit 1
fi
$meson compile -C "$build" fuzzers || exit 1

readers=$(find "$build/tests/fuzz" -maxdepth 1 -type f -name 'fuzz-*' -perm -u+x \
    ! -name 'fuzz-replay-*' ! -name fuzz-calls | sed 's/.*fuzz-//' | sort)
share=$((seconds / $(echo "$readers" | wc -w)))
[ $share -gt 0 ] || share=1

# Shadow memory and large random address spaces do not go together.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# Inputs have so many features that half of the time would go into weighing how rare they are: no entropy.
options=-entropic=0

# A run is drawn again with NTPROF_SEED, from the same inputs.
seed=${NTPROF_SEED:-$(date +%s)}
echo "fuzz: $seconds seconds, seed $seed"

# What a sanitizer said, up to the bytes around the fault, and the input: where only a log can be had,
# base64 -d | gzip -d reads what follows "gzip:".
show() { # NAME LOG
    echo "fuzz: $1 FAILED; the input is in $build/found. When it is mended, keep it in" \
        "tests/fuzz/corpus/${1%-arm64}"
    sed -n '/ERROR: \|runtime error: /,/^Shadow bytes/p' "$2" | head -30
    tail -3 "$2"
    input=$(sed -n 's/.*Test unit written to //p' "$2")
    if [ -f "$input" ] && [ "$(gzip -c "$input" | wc -c)" -le 8192 ]; then
        echo "gzip: $(gzip -c "$input" | base64 -w 0)"
    fi
}

fuzz() { # NAME SECONDS: says what came of it when it has ended, in one piece
    log=$build/found/$1.log
    mkdir -p "$build/corpus/$1" "$build/found"
    rm -f "$log.failed"
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        $steady "$build/tests/fuzz/fuzz-$1" -max_total_time="$2" -seed="$seed" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 $options \
        -artifact_prefix="$build/found/$1-" "$build/corpus/$1" "tests/fuzz/corpus/${1%-arm64}" >"$log" 2>&1
    status=$?
    {
        echo "fuzz: $1 for $2 seconds"
        sed -n 's/^stat::number_of_executed_units: */    inputs: /p; s/^tried: /    tried: /p' "$log"
    } >"$log.said"
    cat "$log.said"
    [ $status -eq 0 ] || show "$1" "$log" >"$log.failed"
    return $status
}

fuzz calls "$seconds" &
calls=$!
failed=0
for reader in $readers; do
    fuzz "$reader" "$share" || failed=1
done
wait $calls || failed=1
[ $failed -eq 0 ] || cat "$build"/found/*.failed # last, where a reader of the log looks first
exit $failed
