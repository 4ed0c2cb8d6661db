#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds ntprof as one file that needs nothing on the machine, and prints where it is.
# Usage: make_static.sh FOLDER [amd64|arm64]   FOLDER: of the build; without a machine it is this one
#
# For another machine clang builds it with the libraries of a Debian root of that machine, which mmdebstrap unpacks
# below FOLDER at the first time. Exits with 77 and a reason where that cannot be done.
set -eu

folder=${1:?usage: make_static.sh FOLDER [amd64|arm64]}
own=$(dpkg --print-architecture 2>/dev/null || uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
machine=${2:-$own}
cd "$(dirname "$0")/.."
meson=/usr/bin/meson
[ -x $meson ] || meson=meson
options=(--native-file scripts/static.ini)

# make_root: the libraries of the other machine. Nothing of it is executed, so no package is configured.
make_root() {
    local suite
    [ ! -e "$root.made" ] || return 0
    command -v mmdebstrap >/dev/null || { echo "make_static: $machine: mmdebstrap is missing"; exit 77; }
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    rm -rf --one-file-system "$root"
    mkdir -p "$(dirname "$root")"
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) main' 'Created-By: Packages' 'Origin: Debian' |
        sort -u >"$root.list"
    if ! mmdebstrap --architectures="$machine" --variant=extract --include="libc6-dev,libgcc-12-dev,libdw-dev,$(
        )libelf-dev,zlib1g-dev,liblzma-dev,libbz2-dev,libzstd-dev,libiberty-dev,libdeflate-dev,libcapstone-dev,$(
        )libncurses-dev,libsqlite3-dev" "$suite" "$root" "$root.list" >"$root.log" 2>&1; then
        tail -n 3 "$root.log"
        echo "make_static: $machine: no Debian root can be made"
        exit 77
    fi
    touch "$root.made"
}

if [ "$machine" != "$own" ]; then
    [ -e "scripts/static-$machine.ini" ] || { echo "make_static: no rules to build for $machine here"; exit 77; }
    root=$(realpath -m "$folder-root")
    make_root
    printf "[constants]\nroot = '%s'\n" "$root" >"$root.ini"
    options=(--cross-file "$root.ini" --cross-file "scripts/static-$machine.ini" --cross-file scripts/static.ini)
fi
[ -e "$folder/build.ninja" ] || $meson setup "$folder" "${options[@]}"
ninja -C "$folder" tool/ntprof
echo "one file for $machine: $(realpath "$folder")/tool/ntprof"
