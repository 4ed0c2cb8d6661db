#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes ntprof-VERSION.tar.gz of what is committed, VERSION being meson.build's. The same commit gives the same bytes.
# Usage: make_dist.sh [FOLDER, .]
set -eu

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
# Times of files are the commit's; gzip -n leaves out its own.
git archive --format=tar --prefix="ntprof-$version/" HEAD >"$archive.tmp"
gzip -9 -n <"$archive.tmp" >"$archive"
rm "$archive.tmp"
sha256sum "$archive"
