#!/bin/bash
# SPDX-License-Identifier: MIT
# Tries ntprof as one file (make static) where nothing else is: in an empty root, in one of musl, with the glibc of the
# Debian release before, as an ordinary user, and with programs that change their user, root or PID namespace.
# Usage: check_static.sh BUILD   the folder of make static
#
# Needs root for roots; the Debian root is downloaded by mmdebstrap, and left out where that fails.
# Exits with 77 and a reason where nothing can be tried.
set -u

cd "$(dirname "$0")/.." || exit 1
build=$(realpath "${1:?usage: check_static.sh BUILD}")
file=$build/tool/ntprof
[ -x "$file" ] || { echo "check_static: $file is missing; type: make static"; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo 'check_static: only root can make roots'; exit 77; }
unshare --mount --pid --fork true 2>/dev/null || { echo 'check_static: no namespaces can be made here'; exit 77; }

place=$(mktemp -d /tmp/ntprof-static-XXXXXX)
trap 'rm -rf --one-file-system "$place"' EXIT
chmod 755 "$place"
export LC_ALL=C.UTF-8 HOME=$place
unset LD_PRELOAD TERMINFO TERMINFO_DIRS
passed=0
failed=0
left_out=0

# judge NAME STATUS: a line for each thing that was tried, with what was printed if it failed.
judge() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok: $1"
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        sed 's/^/    /' "$place/said"
    fi
}

# leave_out REASON: something that cannot be tried here.
leave_out() {
    left_out=$((left_out + 1))
    echo "not tried: $*"
}

# try NAME PATTERN COMMAND...: it succeeds, what it prints matches, and no loader complains.
try() {
    local name=$1 pattern=$2 status
    shift 2
    timeout 120 "$@" >"$place/said" 2>&1 </dev/null
    status=$?
    [ $status -eq 0 ] && { [ -z "$pattern" ] || grep -qE -- "$pattern" "$place/said"; } &&
        ! grep -q 'ld\.so' "$place/said"
    judge "$name" $?
}

# refuse NAME PATTERN COMMAND...: it fails with one line, which matches.
refuse() {
    local name=$1 pattern=$2 status
    shift 2
    timeout 120 "$@" >"$place/said" 2>&1 </dev/null
    status=$?
    [ $status -eq 125 ] && [ "$(wc -l <"$place/said")" -eq 1 ] && grep -qE -- "$pattern" "$place/said"
    judge "$name" $?
}

# inside ROOT COMMAND...: in a root, with a mount namespace whose /proc it has.
cat >"$place/inside" <<'END'
#!/bin/sh
root=$(dirname "$0")/$1
shift
exec unshare --mount sh -c 'root=$1; shift; mount -t proc proc "$root/proc" && exec chroot "$root" "$@"' sh "$root" "$@"
END
chmod 755 "$place/inside"
PATH=$place:$PATH

# new_root NAME: with the file and an empty /proc.
new_root() {
    mkdir -p "$place/$1/proc" && cp "$file" "$place/$1/ntprof"
}

echo '== the file'
for one in "$file" "$build-arm64/tool/ntprof"; do
    if [ ! -e "$one" ]; then
        leave_out "$one, which is not built"
        continue
    elif [ "$one" -ot "$file" ]; then
        leave_out "$one, which is older than $file"
        continue
    fi
    echo "$one of $(date -r "$one" '+%F %T')"
    readelf -lW "$one" >"$place/said" && readelf -dW "$one" >>"$place/said" &&
        ! grep -qE 'INTERP|NEEDED' "$place/said" && grep -q 'Flags: PIE' "$place/said"
    judge "$one is position independent and needs no other" $?
done
for object in "$build"/preload/*.so; do
    objdump -T "$object" | grep -oE 'GLIBC_[0-9.]+' | sort -uV >"$place/said"
    [ "$( (cat "$place/said"; echo GLIBC_2.17) | sort -V | tail -n 1)" = GLIBC_2.17 ]
    judge "$(basename "$object") needs no glibc above 2.17" $?
done

echo '== an empty root'
program=tests/integration/programs/shares.c
shares='right_three_units'
new_root empty
gcc -O2 -g -static -pthread -o "$place/empty/shares" "$program"
if chroot "$place/empty" /ntprof run --hal perf -q -o /p -- /shares 10 >"$place/said" 2>&1; then
    try 'run without /proc' 'no symbols' chroot "$place/empty" /ntprof run -o /p -- /shares 300
    try run "$shares" inside empty /ntprof run -o /p -- /shares 300
    try 'run -g' "$shares" inside empty /ntprof run -g -o /g -- /shares 300
    try report "$shares" inside empty /ntprof report /p
    try 'report --tree' "$shares" inside empty /ntprof report --tree /g
    try annotate '[0-9]%.* addq' inside empty /ntprof annotate /p "$shares"
    for format in pprof folded speedscope callgrind html json csv; do
        try "export --format $format" '' inside empty /ntprof export --format "$format" -o "/x.$format" /p
    done
    "$place/empty/shares" 60000 &
    busy=$!
    try system "$shares" inside empty /ntprof system -o /s --duration 1
    try attach "$shares" inside empty /ntprof attach -o /a --duration 1 "$busy"
    # Written to a terminal of 24 lines by a program that knows nothing of this type.
    for type in xterm xterm-256color screen tmux-256color linux vt100; do
        try "top, TERM=$type" "$shares" env TERM=$type \
            script -qec "stty rows 24 columns 100; inside empty /ntprof top --duration 3 $busy" /dev/null
    done
    refuse 'top, TERM=unheard-of' 'TERM=xterm ntprof top' env TERM=unheard-of script -qec \
        "inside empty /ntprof top --duration 1 1" /dev/null
    kill $busy
    wait $busy 2>/dev/null
else
    leave_out "an empty root, as perf events are refused: $(head -n 1 "$place/said")"
fi
try doctor 'Profiling works' inside empty /ntprof doctor
try 'store of SQLite' '' inside empty /ntprof store init sqlite:/s.db
try 'agent --help' 'usage' inside empty /ntprof help agent
refuse 'store of ClickHouse' 'one file is without libcurl' inside empty /ntprof store stat clickhouse://127.0.0.1/d
refuse serve 'one file is without libmicrohttpd' inside empty /ntprof serve sqlite:/s.db
refuse 'agent --listen' 'one file is without libmicrohttpd' inside empty /ntprof agent --listen 6070 --spool /spool
refuse 'debug information from servers' 'one file is without libdebuginfod' inside empty /ntprof run \
    --debuginfod=http://127.0.0.1:1 -o /d -- /shares 10
refuse 'a static program by timers' 'linked statically' inside empty /ntprof run --hal timer -o /p -- /shares 10

echo '== musl'
if command -v musl-gcc >/dev/null; then
    new_root musl
    mkdir -p "$place/musl/lib" "$place/musl/tmp"
    cp -L /lib/ld-musl-*.so.1 "$place/musl/lib/"
    musl-gcc -O2 -g -o "$place/musl/shares" "$program"
    try 'run by timers' "$shares" inside musl /ntprof run --hal timer -o /p -- /shares 500
    try 'run -g by timers' "$shares" inside musl /ntprof run --hal timer -g -o /p -- /shares 500
else
    leave_out 'a root of musl, as musl-tools is missing'
fi

echo '== glibc of the release before'
# shellcheck disable=SC2016 # apt's own variable
server=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
if mmdebstrap --variant=extract --include=libc6,dash,coreutils,perl-base bullseye "$place/debian" \
    "deb $server bullseye main" >"$place/log" 2>&1; then
    new_root debian
    # shellcheck disable=SC2016 # the program's
    try 'run by timers' 'perl' inside debian /ntprof run --hal timer -o /tmp/p -- \
        /usr/bin/perl -e 'for (1..20000000) { $s += $_ } system "/bin/ls", "-d", "/"'
    try 'its programs' '^/$' inside debian /ntprof run --hal timer -q -o /tmp/p -- /bin/dash -c '/bin/ls -d /; :'
else
    leave_out "an older glibc, as no root can be made: $(grep '^E:' "$place/log" | head -n 1)"
fi

echo '== this glibc'
mkdir -m 777 "$place/all"
gcc -O2 -g -pthread -o "$place/shares" "$program"
run=("$file" run --hal timer -o "$place/all/p")
try 'run by timers' "$shares" "${run[@]}" -- "$place/shares" 500
try 'run -g by timers' "$shares" "${run[@]}" -g -- "$place/shares" 500
try 'an ordinary user' "$shares" setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$file" run --hal timer -o "$place/all/q" -- "$place/shares" 500
if echo 'int main(void) { return 0; }' >"$place/t.c" && $(preload/find_i386_compiler.sh 2>/dev/null) -O2 -g -pthread \
    -o "$place/shares32" "$program" 2>/dev/null && "$place/shares32" 1 2>/dev/null; then
    try '32-bit program' "$shares" "${run[@]}" -- "$place/shares32" 500
else
    leave_out 'a 32-bit program, as none is built or none runs here'
fi

if mkdir "$place/locales" && localedef -i en_US -f ISO-8859-1 "$place/locales/en_US.ISO-8859-1" 2>/dev/null; then
    try 'an encoding that libc loads a library for' "$shares" env LC_ALL=en_US.ISO-8859-1 LOCPATH="$place/locales" \
        "${run[@]}" -- "$place/shares" 500
else
    leave_out 'an encoding that libc loads a library for, as localedef or its files are missing'
fi

echo '== programs that change what they may reach'
run+=(-q --)
try 'another user' '^65534$' "${run[@]}" setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'id -u; ls -d /'
try 'PID namespace' '^1$' "${run[@]}" unshare --pid --fork --mount-proc sh -c 'echo $$; ls -d /'
try 'user namespace' '^0$' "${run[@]}" unshare --user --map-root-user --pid --fork --mount-proc sh -c 'id -u; ls -d /'
if [ -d "$place/debian" ]; then
    try 'root without /proc' '^/$' "${run[@]}" chroot "$place/debian" /bin/dash -c '/bin/ls -d /; :'
    try 'root without /proc, by system()' '^/$' "${run[@]}" python3 -c \
        "import os; os.chroot('$place/debian'); os.chdir('/'); os.system('/bin/ls -d /')"
else
    leave_out 'roots without /proc, as no root could be made'
fi
try 'descriptors closed, and the child still counted' "$shares" "$file" run --hal timer -o "$place/all/p" -- \
    python3 -c "import os, subprocess; os.closerange(3, 5000); subprocess.run(['$place/shares', '400'])"
try 'descriptors closed, system()' "$shares" "$file" run --hal timer -o "$place/all/p" -- python3 -c \
    "import os; os.closerange(3, 5000); os.system('$place/shares 400')"
cat >"$place/spawn.c" <<'END'
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    return count < 2 || posix_spawn(&child, words[1], &actions, NULL, words + 1, environ) != 0 ||
           waitpid(child, NULL, 0) != child;
}
END
if gcc -D_GNU_SOURCE -o "$place/spawn" "$place/spawn.c" 2>/dev/null; then
    try 'descriptors closed in a child of posix_spawn' "$shares" "$file" run --hal timer -o "$place/all/p" -- \
        "$place/spawn" "$place/shares" 400
else
    leave_out 'descriptors closed in a child of posix_spawn, as libc is too old'
fi
try 'user changed and descriptors closed' '^65534$' "${run[@]}" python3 -c \
    "import os, subprocess; os.setuid(65534); os.closerange(3, 5000); os.system('id -u'); subprocess.run(['id', '-u'])"
try 'another object preloaded' '^ours$' env LD_PRELOAD=libdl.so.2 "${run[@]}" \
    python3 -c "import os; os.closerange(3, 5000); os.system('echo ours')"
# Its program goes on when the command has ended.
"${run[@]}" sh -c "(sleep 3; setsid sh -c 'ls -d /; python3 -c \"import os; os.system(chr(108) + chr(115))\"') \
    >'$place/later' 2>&1 & :" >"$place/said" 2>&1
sleep 6
cp "$place/later" "$place/said"
grep -q '^/$' "$place/said" && ! grep -q 'ld\.so' "$place/said"
judge 'a program that outlives the command' $?

echo "check_static: $passed passed, $failed failed, $left_out not tried"
[ $failed -eq 0 ]
