#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzz targets with clang, and fuzzes each for its share of the time, starting from the
# kept inputs. Usage: fuzz.sh [SECONDS in total, 60] [BUILD, build-fuzz]
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
        -Db_lundef=false "$build" || exit 1
fi
$meson compile -C "$build" fuzzers || exit 1

targets=$(find "$build/tests/fuzz" -maxdepth 1 -type f -name 'fuzz-*' -perm -u+x \
    ! -name 'fuzz-replay-*' | sort)
count=$(echo "$targets" | wc -w)

# The calls of NT get half of the time, and the readers of foreign bytes share the rest.
share() { # NAME
    case $1 in
    calls) share=$((count > 1 ? seconds / 2 : seconds)) ;;
    *) share=$(((seconds - seconds / 2) / (count - 1))) ;;
    esac
    [ $share -gt 0 ] || share=1
}

# Shadow memory and large random address spaces do not go together.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# Inputs have so many features that half of the time would go into weighing how rare they are: no entropy.
options=-entropic=0

# A run is drawn again with NTPROF_SEED, from the same inputs.
seed=${NTPROF_SEED:-$(date +%s)}
echo "fuzz: $seconds seconds in all, seed $seed"

failed=0
for target in $targets; do
    name=$(basename "$target" | sed s/^fuzz-//)
    log=$build/found/$name.log
    share "$name"
    mkdir -p "$build/corpus/$name" "$build/found"
    echo "fuzz: $name for $share seconds"
    if ! UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        $steady "$target" -max_total_time=$share -seed="$seed" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -verbosity=0 $options -artifact_prefix="$build/found/$name-" \
        "$build/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
        tail -40 "$log"
        echo "fuzz: $name FAILED; the input is in $build/found. When it is mended, keep it in" \
            "tests/fuzz/corpus/$name"
        failed=$((failed + 1))
    fi
    sed -n 's/^stat::number_of_executed_units: */    inputs: /p; s/^tried: /    tried: /p' "$log"
done
[ $failed -eq 0 ]
