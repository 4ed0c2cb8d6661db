#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job, shown: profiles Python at work and a C program with debug information.
# Usage: demo.sh [BUILD]. Can be repeated; writes only to BUILD/demo.
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
ntprof=$build/tool/ntprof
folder=$build/demo
python=/usr/bin/python3
[ -x $python ] || python=python3
mkdir -p "$folder"

title() {
    printf '\n== %s\n\n' "$*"
}

run() {
    printf '$ %s\n' "$*"
    "$@"
}

title "1. Python at work"
run "$ntprof" run --rows 12 -o "$folder/python.pb.gz" -- "$python" examples/work.py 2

title "2. A C program, built with -g"
run "$ntprof" run --rows 8 -o "$folder/busy.pb.gz" -- "$build/examples/busy" 2

title "3. The same profile again, from the file: by image, and by address with lines"
run "$ntprof" report --rows 4 --by image "$folder/busy.pb.gz"
echo
run "$ntprof" report --rows 6 --by address "$folder/busy.pb.gz"

title "4. A program that profiles itself with NT's calls (examples/self.c)"
run "$build/examples/self"

title "What to type next"
cat <<EOF
  profile anything:           $ntprof run -- COMMAND
  what this machine allows:   $ntprof doctor
  other viewers, same file:   go tool pprof -top $folder/busy.pb.gz
  install it:                 make install PREFIX=\$HOME/.local
EOF
