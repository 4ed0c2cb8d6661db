#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes ntprof-VERSION.tar.gz of what is committed, VERSION being meson.build's. The same commit gives the same bytes.
# With a build folder also ntprof-VERSION-MACHINE, the one file of each machine, and SHA256SUMS. With --some it leaves
# out machines that it cannot be built for here; otherwise it fails.
# Usage: make_dist.sh [--some] [FOLDER, .] [BUILD]
set -eu

some=
if [ "${1:-}" = --some ]; then
    some=yes
    shift
fi
folder=$(realpath "${1:-.}")
cd "$(dirname "$0")/.."
version=$(sed -n "s/^ *version : '\([^']*\)',$/\1/p" meson.build | head -n 1)
[ -n "$version" ] || { echo 'make_dist: meson.build names no version' >&2; exit 1; }
changed=$(git status --porcelain)
if [ -n "$changed" ]; then
    printf 'make_dist: not committed, and so not in the archive; commit or remove:\n%s\n' "$changed" >&2
    exit 1
fi
archive=$folder/ntprof-$version.tar.gz
rm -f "$folder/SHA256SUMS" # of the last run: this one may fail
# Times of files are the commit's; gzip -n leaves out its own.
git archive --format=tar --prefix="ntprof-$version/" HEAD >"$archive.tmp"
gzip -9 -n <"$archive.tmp" >"$archive"
rm "$archive.tmp"
if [ $# -lt 2 ]; then
    sha256sum "$archive"
    exit 0
fi

set -- "$folder" "$2" "ntprof-$version.tar.gz"
for machine in amd64 arm64; do
    build=$2-static-$machine
    rm -rf "$build"
    status=0
    scripts/make_static.sh "$build" $machine >"$build.log" 2>&1 || status=$?
    case $status in
    0)
        cp "$build/tool/ntprof" "$folder/ntprof-$version-$machine"
        set -- "$@" "ntprof-$version-$machine"
        ;;
    77)
        if [ -z "$some" ]; then
            echo "make_dist: $(tail -n 1 "$build.log"); to leave it out: scripts/make_dist.sh --some '$folder' '$2'"
            exit 1
        fi
        echo "make_dist: left out: $(tail -n 1 "$build.log")"
        ;;
    *)
        tail -n 20 "$build.log"
        exit 1
        ;;
    esac
done
shift 2
cd "$folder"
sha256sum "$@" >SHA256SUMS
cat SHA256SUMS
