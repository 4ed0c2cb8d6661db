#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job, shown: profiles Perl at work, a C program with debug information, and Python, some of whose functions
# have no names until a package is installed. Usage: demo.sh [BUILD]. Can be repeated; writes only to BUILD/demo.
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
ntprof=$build/tool/ntprof
folder=$build/demo
python=/usr/bin/python3
[ -x $python ] || python=python3
mkdir -p "$folder"
number=0

title() {
    number=$((number + 1))
    printf '\n== %s. %s\n\n' "$number" "$*"
}

run() {
    printf '$ %s\n' "$*"
    "$@"
}

# Debian's Perl exports nearly all of its functions, so that they have names on every machine.
if [ -x /usr/bin/perl ]; then
    title "Perl at work"
    run "$ntprof" run --rows 12 -o "$folder/perl.pb.gz" -- /usr/bin/perl examples/work.pl 2
fi

title "A C program, built with -g"
run "$ntprof" run --rows 8 -o "$folder/busy.pb.gz" -- "$build/examples/busy" 2

title "The same profile again, from the file: by image, and by address with lines"
run "$ntprof" report --rows 4 --by image "$folder/busy.pb.gz"
echo
run "$ntprof" report --rows 6 --by address "$folder/busy.pb.gz"

title "Python at work: its own functions, and those of libraries whose symbols were stripped"
run "$ntprof" run --rows 12 -o "$folder/python.pb.gz" -- "$python" examples/work.py 2
cat <<EOF

Rows such as libz.so.1!0x4a20 are functions without a name: packages have symbols only of functions that they export.
The lines below the table say in which files these are, and what to install.
EOF

title "A program that profiles itself with NT's calls (examples/self.c)"
run "$build/examples/self"

printf '\n== What to type next\n\n'
cat <<EOF
  profile anything:           $ntprof run -- COMMAND
  what this machine allows:   $ntprof doctor
  other viewers, same file:   go tool pprof -top $folder/busy.pb.gz
  install it:                 make install PREFIX=\$HOME/.local
EOF
