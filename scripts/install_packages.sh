#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing. Usage: install_packages.sh [build|check|bench|long]
#
# The list is packages.txt beside this script (or $NTPROF_PACKAGES). Says what it installs, does
# nothing when all is there, and removes nothing.
set -eu

tier=${1:-build}
list=${NTPROF_PACKAGES:-$(dirname "$0")/packages.txt}

case $tier in
build) tiers=build ;;
check) tiers='build check' ;;
bench) tiers='build check bench' ;;
long) tiers='build check long' ;;
*)
    echo "usage: $0 [build|check|bench|long]" >&2
    exit 2
    ;;
esac

# The packages of the tier, less those for which a command of the same use is there.
wanted=
while read -r mark package instead _; do
    case " $tiers " in
    *" $mark "*) ;;
    *" ${mark%\?} "*) apt-cache show "$package" >/dev/null 2>&1 || continue ;;
    *) continue ;;
    esac
    if [ -n "$instead" ] && command -v "$instead" >/dev/null 2>&1; then
        continue
    fi
    wanted="$wanted $package"
done <"$list"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "install_packages: not a Debian system; needed are:$wanted" >&2
    exit 0
fi

missing=
# shellcheck disable=SC2086 # the names are words
installed=$(dpkg-query -W -f='${binary:Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
    sed -n 's/^\([^: ]*\)[^ ]* installed$/\1/p') || true
for package in $wanted; do
    if ! printf '%s\n' "$installed" | grep -qxF -e "$package"; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

echo "install_packages: installing:$missing"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install_packages: this needs root, and there is no sudo. As root, type:" >&2
        echo "    apt-get update && apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

$as_root apt-get -q update </dev/null || echo "install_packages: old package lists are used" >&2
# shellcheck disable=SC2086
if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove \
    --no-install-recommends install $missing </dev/null; then
    echo "install_packages: apt-get could not install:$missing" >&2
    exit 1
fi
