#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing. Usage: install_packages.sh [build|static|check|bench|long|machines]
#
# The list is packages.txt beside this script (or $NTPROF_PACKAGES). Says what it installs, does
# nothing when all is there, and removes nothing: what conflicts with installed packages is left out
# and said, unless the build needs it.
set -eu

tier=${1:-build}
list=${NTPROF_PACKAGES:-$(dirname "$0")/packages.txt}

case $tier in
build) tiers=build ;;
static) tiers='build static' ;;
check) tiers='build check' ;;
bench) tiers='build check bench' ;;
long) tiers='build static check long machines' ;;
machines) tiers='build check machines' ;;
*)
    echo "usage: $0 [build|static|check|bench|long|machines]" >&2
    exit 2
    ;;
esac

leave_out() { # PACKAGE...
    echo "install_packages: left out, since apt-get cannot install it beside what is installed: $*" >&2
}

# Would apt-get install these without removing anything?
installable() { # PACKAGE...
    ! command -v apt-get >/dev/null 2>&1 ||
        apt-get -s -qq --no-remove --no-install-recommends install "$@" >/dev/null 2>&1 </dev/null
}

# Do the package lists have these?
listed() { # PACKAGE...
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

installed=$(dpkg-query -W -f='${binary:Package} ${db:Status-Status}\n' 2>/dev/null |
    sed -n 's/^\([^: ]*\)[^ ]* installed$/\1/p') || true
# Prints those of the packages that are not installed, each after a space.
missing_of() { # PACKAGE...
    for package in "$@"; do
        printf '%s\n' "$installed" | grep -qxF -e "$package" || printf ' %s' "$package"
    done
}

# Is there what serves as well?
replaced() { # COMMAND
    case $1 in
    '') return 1 ;;
    */*) (cd "$(dirname "$0")/.." && "$1") >/dev/null 2>&1 </dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# The missing packages of the tier, less those for which a command of the same use is there.
missing=
needed= # those without which nothing can be built
# shellcheck disable=SC2046,SC2086 # the names are words
while read -r mark packages instead _; do
    packages=$(missing_of $(printf '%s' "$packages" | tr , ' '))
    case " $tiers " in
    *" $mark "*) ;;
    *" ${mark%\?} "*) listed $packages || continue ;;
    *) continue ;;
    esac
    if [ -z "$packages" ] || replaced "$instead"; then
        continue
    fi
    case $mark in
    build) needed="$needed$packages" ;;
    *\?) installable $packages || { leave_out $packages && continue; } ;;
    esac
    missing="$missing$packages"
done <"$list"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "install_packages: not a Debian system; needed are:$missing" >&2
    exit 0
fi
[ -n "$missing" ] || exit 0

# Only what the build needs must be had: tests that lack something are skipped.
# shellcheck disable=SC2086
leave_out_conflicts() {
    fitting=$needed
    for package in $missing; do
        case " $needed " in
        *" $package "*) continue ;;
        esac
        if installable $fitting "$package"; then
            fitting="$fitting $package"
        else
            leave_out "$package"
        fi
    done
    missing=$fitting
}

as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        if listed $missing && ! installable $missing; then
            leave_out_conflicts
        fi
        [ -n "$missing" ] || exit 0
        echo "install_packages: this needs root, and there is no sudo. As root, type:" >&2
        echo "    apt-get update && apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
fi

# shellcheck disable=SC2086
install() {
    echo "install_packages: installing:$missing"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove \
        --no-install-recommends install $missing </dev/null
}

$as_root apt-get -q update </dev/null || echo "install_packages: old package lists are used" >&2
install && exit 0
before=$missing
leave_out_conflicts
if [ "$missing" = "$before" ] || { [ -n "$missing" ] && ! install; }; then
    echo "install_packages: apt-get could not install:$missing" >&2
    exit 1
fi
