#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the first of these commands that compiles and links the preload object and a program for 32 bits.
# Usage: find_i386_compiler.sh [COMMAND... [-- FLAGS for the preload object]]
#
# Without commands: cc -m32, and Debian's cross compiler. A compiler may link 32-bit programs and lack
# the kernel's headers for them, so what is compiled is the preload object. Says on standard
# error what each command that does not work said first; status 1 if none works.
set -u
cd "$(dirname "$0")/.." || exit 1

[ $# -gt 0 ] || set -- 'cc -m32' i686-linux-gnu-gcc
commands=
while [ $# -gt 0 ]; do
    word=$1
    shift
    [ "$word" != -- ] || break
    commands="$commands$word
"
done
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
echo 'int main(void) { return 0; }' >"$folder/main.c"

# Headers and libraries are the same with and without optimisation.
object='-O0 -shared preload/*.c src/hal/timer/thread_timer.c'
flags='-std=gnu11 -D_GNU_SOURCE -fPIC -pthread -I. -Iinclude -Isrc'
status=1
while read -r command; do
    [ -n "$command" ] || continue
    # shellcheck disable=SC2086 # commands and flags are words
    if { $command $flags $object "$@" -o "$folder/object.so" &&
        $command -o "$folder/main" "$folder/main.c"; } >"$folder/said" 2>&1 </dev/null; then
        printf '%s\n' "$command"
        status=0
        break
    fi
    printf '%s: %s\n' "$command" "$(grep -m 1 -iE 'error|not found|cannot' "$folder/said" ||
        head -n 1 "$folder/said")" >&2
done <<EOF
$commands
EOF
exit $status
