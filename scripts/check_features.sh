#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds with the features of meson_options.txt disabled, with tests: the command, and then all libraries
# that the command can do without. What lacks the libraries is only set up, since that is what fails where
# a test uses what another folder made. The word all, which make check-long gives, compiles it, and a
# command with its modules linked in, and sets up what lacks each library alone.
#
# usage: check_features.sh FOLDER [all]
set -eu
cd "$(dirname "$0")/.."
folder=${1:?usage: check_features.sh FOLDER [all]}
all=${2:-}
meson=/usr/bin/meson
[ -x $meson ] || meson=meson

# set_up NAME OPTION...: a new build folder, and tests in it.
set_up() {
    local build=$folder/$1
    shift
    rm -rf "$build"
    $meson setup "$build" -Dtests=enabled -Doptimization=0 "$@"
    $meson introspect --tests "$build" | grep -q '"name"' || { echo "$*: there are no tests"; exit 1; }
}

libraries=()
for feature in $(sed -n "s/^option('\([a-z]*\)', type : 'feature', value : 'auto'.*/\1/p" meson_options.txt); do
    [ "$feature" = tests ] || libraries+=("-D$feature=disabled")
done
[ ${#libraries[@]} -gt 0 ]

rm -rf "$folder/untested"
$meson setup "$folder/untested" -Dtests=disabled
set_up library -Dtool=disabled
$meson compile -C "$folder/library"
$meson test -C "$folder/library" --no-rebuild --suite unit
set_up least "${libraries[@]}"
[ "$all" = all ] || exit 0
$meson compile -C "$folder/least"
for option in "${libraries[@]}"; do
    set_up alone "$option"
done
set_up linked -Dmodules=false
$meson compile -C "$folder/linked"
$meson test -C "$folder/linked" --no-rebuild integration-command-annotate integration-command-store
