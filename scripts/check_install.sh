#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty folder and uses what is there as a stranger would: the command, the header,
# pkg-config, the library. Usage: check_install.sh BUILD
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

make --no-print-directory install BUILD="$build" PREFIX="$prefix" >"$prefix/install.log" 2>&1 || {
    cat "$prefix/install.log"
    exit 1
}
for file in bin/ntprof include/ntprof/ntprof.h lib/libntprof.so lib/pkgconfig/ntprof.pc \
    share/man/man1/ntprof.1; do
    [ -e "$prefix/$file" ] || {
        echo "check_install: $file was not installed"
        exit 1
    }
done

# No help from the environment: the command must find its library by itself.
env -i PATH=/usr/bin:/bin "$prefix/bin/ntprof" version

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
# shellcheck disable=SC2046 # the flags are words
gcc -O2 -Wall -Wextra -Werror examples/self.c -o "$prefix/self" $(pkg-config --cflags --libs ntprof)
LD_LIBRARY_PATH="$prefix/lib" "$prefix/self"
