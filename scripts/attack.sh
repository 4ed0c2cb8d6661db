#!/bin/bash
# SPDX-License-Identifier: MIT
# Does to the installed command what other users and hostile files did to it once, as root and as an
# ordinary user, and prints a line for each. Needs root, and a build folder that is built.
#
# usage: attack.sh [--quick] BUILD [PATTERN]   rows whose names match the regular expression; quick ones only
#
# A row is a function row_NN_... or long_NN_...; it runs in a folder of its own as one user, ntprof being on
# PATH, and fails by its exit status. Their numbers are of the trial that found them; 10 and 12 are in unit tests
# (unit-api-session) and in ntprof-run(1), 13 is a figure of bench/. Bounds of time and memory are those that the
# manual pages state.
set -u

cd "$(dirname "$0")/.." || exit 1
sources=$PWD
quick=
if [ "${1:-}" = --quick ]; then
    quick=yes
    shift
fi
build=$(realpath "${1:-build}")
pattern=${2:-}
[ "$(id -u)" -eq 0 ] || { echo 'attack.sh: only root can be two users'; exit 77; }

user=65534  # who attacks, and runs ntprof beside root
other=65533 # who attacks an ordinary user
place=$(mktemp -d /tmp/ntprof-attack-XXXXXX)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
meson=/usr/bin/meson
[ -x $meson ] || meson=meson
$meson install -C "$build" --no-rebuild --destdir "$place/installed" >"$place/install.log" 2>&1 ||
    { cat "$place/install.log"; exit 1; }
ntprof=$(find "$place/installed" -name ntprof -path '*/bin/*' -type f | head -n 1)
library=$(dirname "$(find "$place/installed" -name 'libntprof.so.0' | head -n 1)")
export PATH=${ntprof%/*}:$PATH LD_LIBRARY_PATH=$library LC_ALL=C.UTF-8
export ntprof sources user other

cat >"$place/work.c" <<'C'
/* Works for 0.1 s of processor time. */
#include <time.h>
volatile unsigned sum;
__attribute__((noinline)) static void work(void)
{
    for (unsigned i = 0; i < 1000000; i++) {
        sum += i;
    }
}
int main(void)
{
    while (clock() < CLOCKS_PER_SEC / 10) {
        work();
    }
    return 0;
}
C
gcc -O1 -g -gdwarf-4 -o "$place/work" "$place/work.c" || exit 1
cp "$sources/tests/integration/attack_server.py" "$place" || exit 1 # the user may not see the sources
maker=$place/profile-maker
cp "$build/tests/integration/profile-maker" "$maker" 2>/dev/null || maker=
export place maker

fail() { echo "$*"; exit 1; }

# refused WORDS COMMAND...: the command fails with these words in what it says, and within its bounds.
refused() {
    local words=$1 said status=0
    shift
    said=$("$@" 2>&1 >/dev/null) || status=$?
    [ $status -ne 0 ] || fail "not refused: $*"
    [ $status -ne 99 ] || fail "$said"
    grep -q -- "$words" <<<"$said" || fail "expected \"$words\": $said"
}

# bounded SECONDS KILOBYTES COMMAND...: its status, or 99 if it takes more.
bounded() {
    python3 - "$@" <<'P'
import os, resource, subprocess, sys, time
seconds, kilobytes, command = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
try:
    status = subprocess.run(command, timeout=seconds).returncode
except subprocess.TimeoutExpired:
    print(f"took more than {seconds} s: {command}", file=sys.stderr)
    sys.exit(99)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if peak > kilobytes:
    print(f"took {peak} kB, more than {kilobytes}: {command}", file=sys.stderr)
    sys.exit(99)
sys.exit(status)
P
}

# become USER COMMAND...: as that user.
become() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# --- what root prepares, before the row runs as whoever; $1: that user, $2: the attacker ---

prepare_01_link() {
    chmod 777 . && echo precious >precious && chown "$1:$1" precious && chmod 600 precious &&
        become "$2" ln -s precious ntprof.pb.gz && become "$2" ln -s precious table
}
row_01_link() {
    refused 'link of another user' ntprof run -o ntprof.pb.gz -- true
    refused 'link of another user' ntprof run -o mine.pb.gz --report table -- true
    [ "$(cat precious)" = precious ] && [ "$(stat -c %a precious)" = 600 ] || fail 'changed'
}

# The caller's own link is exchanged for the attacker's all the time: never is the one judged, the other followed.
prepare_01_exchanged_link() {
    chmod 777 . && echo precious >precious && chown "$1:$1" precious && chmod 600 precious || return
    become "$1" ln -s mine ours && become "$2" ln -s precious theirs || return
    become "$2" timeout 60 python3 - >/dev/null 2>&1 <<'P' &
import ctypes, os
libc = ctypes.CDLL(None)
while not os.path.exists("done"):
    libc.renameat2(-100, b"ours", -100, b"theirs", 2)
P
}
row_01_exchanged_link() {
    local i
    ntprof run -q -o profile -- true || fail 'no profile'
    for ((i = 0; i < 100; i++)); do
        ntprof merge -o ours profile >/dev/null 2>&1
    done
    touch done
    [ "$(cat precious)" = precious ] || fail 'another file was replaced'
}

# A link that appears while the program runs: what was recorded is kept beside it.
prepare_01_late_link() {
    chmod 777 . || return
    (until [ -e started ]; do sleep 0.01; done; become "$2" ln -s /dev/null late) >/dev/null 2>&1 &
}
row_01_late_link() {
    ntprof run -q -o late -- sh -c 'touch started; until [ -L late ]; do sleep 0.01; done' 2>said
    ls late.[0-9]* >/dev/null 2>&1 || fail "no profile: $(cat said)"
    grep -q 'the profile is in late' said || fail "$(cat said)"
}

prepare_02_pipe() { chmod 777 . && become "$2" mkfifo -m 666 ntprof.pb.gz; }
row_02_pipe() {
    refused 'pipe of another user' timeout 60 ntprof run -- true
    mkfifo own && { cat own >copy & } && ntprof run -q -o own -- true && wait && [ -s copy ] || fail 'own pipe'
    ntprof run -q -o /dev/stdout -- true | cat >copy && [ -s copy ] || fail '/dev/stdout'
    refused 'pipe of another user' timeout 60 ntprof report ntprof.pb.gz
}

row_08_killed_writer() {
    echo left >.ntprof.pb.gz.ntprof-abcdef
    echo own >.ntprof.pb.gz.backup
    ntprof run -q -- true && [ ! -e .ntprof.pb.gz.ntprof-abcdef ] || fail 'left over'
    [ -e .ntprof.pb.gz.backup ] || fail 'a file of the user is gone'
}

prepare_09_mode() { chmod 1777 . && become "$2" touch theirs && become "$2" chmod 666 theirs; }
row_09_mode() {
    ntprof run -q -- true && chmod 600 ntprof.pb.gz && ntprof run -q -- true &&
        [ "$(stat -c %a ntprof.pb.gz)" = 600 ] || fail "mode $(stat -c %a ntprof.pb.gz)"
    umask 077
    ntprof run -q -o theirs -- true 2>said || [ "$(id -u)" -ne 0 ] || fail "$(cat said)"
    # Only root may replace it: the folder is sticky.
    [ "$(id -u)" -ne 0 ] || [ "$(stat -c %a theirs)" = 600 ] || fail "the mode of another user: $(stat -c %a theirs)"
}

row_03_line_program() {
    cp "$place/work" app && objcopy --dump-section .debug_line=lines app
    python3 - <<'P'
import struct
table = bytearray(open("lines", "rb").read())
length, = struct.unpack_from("<I", table)
table[4 + length:4 + length] = b"\x20" * 10_000_000
struct.pack_into("<I", table, 0, length + 10_000_000)
open("lines", "wb").write(table)
P
    objcopy --update-section .debug_line=lines app && objcopy --compress-debug-sections=zlib app
    bounded 60 600000 ntprof run --max-memory 256M -- ./app >said 2>&1 || fail "$(cat said)"
    grep -q 'function names only' said && ntprof report | grep -q work || fail "$(cat said)"
}

# A program of machine code without a file, whose perf map has so many MiB; 0: it is there already.
make_jit() {
    [ "$(uname -m)" = x86_64 ] || return 77
    cat >jit.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)
{
    unsigned char code[] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    FILE *map;
    memcpy(page, code, sizeof(code));
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    sprintf(path, "/tmp/perf-%d.map", getpid());
    for (long lines = count > 1 ? atol(words[1]) << 15 : 0; lines > 0; lines = 0) {
        map = fopen(path, "wx");
        while (map != NULL && lines-- > 0) {
            fprintf(map, "7000%012lx 10 function\n", lines);
        }
        puts(path);
        if (map == NULL || fclose(map) != 0) {
            return 1;
        }
    }
    while (clock() < CLOCKS_PER_SEC * 2) {
        ((void (*)(void))page)();
    }
    return 0;
}
C
    gcc -o jit jit.c
}

row_04_perf_map() {
    make_jit || return
    bounded 60 900000 ntprof run --max-memory 256M -- ./jit 300 >path 2>said || fail "$(cat said)"
    rm -f "$(cat path)"
    grep -q 'perf maps together have more than 256 MiB' said || fail "read, or not tried: $(cat said)"
}

# An unprivileged program that root profiles, in a mount namespace of its own.
row_05_mounted_map() {
    [ "$(id -u)" -eq 0 ] || return 77
    make_jit || return
    chmod 755 . jit
    become $user unshare -Urm true 2>said || return 77
    cat >mounted.sh <<'S'
touch /tmp/perf-$$.map && mount --bind /proc/kmsg /tmp/perf-$$.map && echo $$ && exec ./jit
S
    become $user unshare -Urm sh mounted.sh >pid 2>said &
    until [ -s pid ] || ! kill -0 $!; do sleep 0.01; done
    [ -s pid ] || return 77
    bounded 60 900000 ntprof attach --duration 500ms -p "$(cat pid)" >said 2>&1 || fail "$(cat said)"
    kill $!
    rm -f "/tmp/perf-$(cat pid).map"
    grep -q 'another file is mounted over it' said || fail "read, or not tried: $(cat said)"
}

make_profile() { # NAME HOW: what is small in a file and large in memory
    python3 - "$@" <<'P'
import gzip, sys
start = b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x07samples\x32\x05count"
how = {"strings": lambda: gzip.compress(start + b"\x32\x00" * 9_000_000, 1),
       "mappings": lambda: gzip.compress(start + b"\x1a\x00" * 9_000_000, 1),
       "zeros": lambda: gzip.compress(bytes(1 << 24), 1) * 200,
       "sums": lambda: start + (b"\x12\x0a\x10" + b"\xff" * 8 + b"\x7f") * 3,
       "zip": lambda: b"PK\x03\x04" + bytes(100), "zstd": lambda: b"\x28\xb5\x2f\xfd" + bytes(100),
       "foreign": lambda: start}
open(sys.argv[1], "wb").write(how[sys.argv[1]]())
P
}
row_06_bombs() {
    for name in strings mappings zeros; do
        make_profile $name
        refused 'ntprof: report: ' bounded 60 900000 ntprof report $name
    done
}
row_06_symbols() {
    python3 - >many.s <<'P'
print(".text\n.globl main\n.type main,@function\nmain: xor %eax,%eax\nret\n.section .note.GNU-stack")
print(".text\n" + "\n".join(f".type f{i},@function\nf{i}: nop\n.size f{i},1" for i in range(400000)))
P
    [ "$(uname -m)" = x86_64 ] || return 77
    gcc -o many many.s || return
    refused 'take more than --max-memory' bounded 60 300000 ntprof run --max-memory 16M -e function:none -- ./many
}
row_14_foreign() {
    make_profile sums
    refused 'add up to more than' ntprof report sums
}
row_16_messages() {
    make_profile zip
    make_profile zstd
    refused 'zip' ntprof report zip
    refused 'zstd' ntprof report zstd
}

long_07_diff() {
    [ -n "$maker" ] || return 77
    local rows=() i
    for ((i = 0; i < 50000; i++)); do
        rows+=("$((4096 + 16 * i)):$((i % 5000 + 1))")
    done
    "$maker" image old /bin/app 10000 "${rows[@]}" && "$maker" image new /bin/app 10000 "${rows[@]}" || return 1
    bounded 60 2000000 ntprof diff --by address old new >table || fail 'diff'
}

row_11_moved_code() {
    cat >moved.c <<'C'
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <time.h>
int main(void)
{
    unsigned char code[] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    char *old = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(old, code, sizeof(code));
    mprotect(old, 4096, PROT_READ | PROT_EXEC);
    void (*moved)(void) = (void (*)(void))mremap(old, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, old + (1 << 24));
    while (clock() < CLOCKS_PER_SEC / 5) {
        moved();
    }
    return 0;
}
C
    [ "$(uname -m)" = x86_64 ] || return 77
    gcc -o moved moved.c && ntprof run -- ./moved >said 2>&1 || fail "$(cat said)"
    grep -q '\[anon:[0-9]' said || fail "moved code is in no row: $(grep expected said)"
    ! grep -q 'no row.*complete$' said || fail "called complete: $(grep expected said)"
}

row_15_set_uid() {
    cp "$place/work" owned && chmod 4755 owned && chmod 755 . || return 1
    [ "$(id -u)" -eq 0 ] || return 77
    ntprof run -- setpriv --reuid $user --regid $user --clear-groups ./owned >said 2>&1 || fail "$(cat said)"
    grep -q '1 program could not be followed.*Linux ends the counters of such a process, also root' said ||
        fail "another reason: $(grep warning said)"
}

row_17_signals() {
    local signal child
    for signal in ALRM USR1 VTALRM XCPU PWR HUP TERM RTMIN; do
        rm -f ntprof.pb.gz started
        ntprof run -q -- sh -c 'touch started; exec sleep 30' 2>said &
        child=$!
        until [ -e started ]; do sleep 0.01; done
        kill -s $signal $child
        wait $child
        [ -s ntprof.pb.gz ] || fail "SIG$signal: no profile: $(cat said)"
    done
}

row_18_first_instruction() {
    cat >odd.c <<'C'
__asm__(".text\n.p2align 4\nbefore:\n ret\n.type before, @function\n.size before, 1\n"
        ".globl odd\n.type odd, @function\n"
        "odd:\n mov $300000000, %ecx\n1: dec %ecx\n jnz 1b\n ret\n.size odd, . - odd\n");
void odd(void);
int main(void) { odd(); return 0; }
C
    [ "$(uname -m)" = x86_64 ] || return 77
    gcc -o odd odd.c && ntprof run -q -- ./odd && ntprof report --by function >table || fail 'no table'
    grep -q ' odd ' table && ! grep -q ' before ' table || fail "$(head -5 table)"
}

# Files that others put beside a store in a folder of all users, as SQLite would believe them.
prepare_19_siblings() {
    local name
    chmod 1777 . || return
    for name in wal shm journal pipe link folder; do
        become "$1" "$ntprof" store init sqlite:$name.db && rm $name.db-* || return
    done
    for name in wal shm journal; do
        become "$2" touch $name.db-$name || return
    done
    become "$2" mkfifo -m 666 pipe.db-wal && become "$2" ln -s precious link.db-shm &&
        become "$2" mkdir folder.db-journal
}
row_19_siblings() {
    local name
    for name in wal shm journal; do
        refused "$name.db-$name beside it belongs to another user" bounded 60 300000 ntprof store stat sqlite:$name.db
        refused 'remove it' bounded 60 300000 ntprof report sqlite:$name.db
        refused 'remove it' bounded 60 300000 ntprof serve sqlite:$name.db
        refused 'remove it' bounded 60 300000 ntprof store prune sqlite:$name.db --before 1d
    done
    for name in pipe link folder; do
        refused 'beside it is no regular file' bounded 60 300000 ntprof store stat sqlite:$name.db
    done
    [ ! -e precious ] || fail 'the link was followed'
}

# Somebody tries all the time to make such files first, and shortens what he gets.
prepare_19_shortened() {
    chmod 1777 . && become "$1" "$ntprof" store init sqlite:s.db || return
    become "$2" timeout 60 /usr/bin/python3 - >/dev/null 2>&1 <<'P' &
import os
while not os.path.exists("done"):
    for name in "s.db-shm", "s.db-wal", "s.db-journal":
        try:
            fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
            os.ftruncate(fd, 0)
            os.close(fd)
        except OSError:
            pass
P
}
row_19_shortened() {
    local i
    for ((i = 0; i < 20; i++)); do
        ntprof store stat sqlite:s.db >/dev/null 2>said &&
            ntprof store prune sqlite:s.db --before 1d >/dev/null 2>said ||
            fail "$(cat said)"
    done
    touch done
    [ "$(stat -c %u s.db-* | sort -u)" = "$(id -u)" ] || fail "$(ls -l)"
}

prepare_19_folders() {
    local name
    chmod 755 . || return
    for name in open closed; do
        mkdir $name && chown "$1:$1" $name && become "$1" "$ntprof" store init sqlite:$name/s.db || return
    done
    chmod 777 open && mkdir open/in && mv closed/s.db open/in/s.db && chown "$1:$1" open/in &&
        mkdir sticky && chmod 1777 sticky && become "$2" "$ntprof" store init sqlite:sticky/theirs.db &&
        become "$2" ln -s theirs.db sticky/link.db && chmod 644 sticky/*.db
}
row_19_folders() {
    refused 'every user may write to the folder' ntprof store stat sqlite:open/s.db
    refused 'every user may write to the folder' ntprof store stat sqlite:open/in/s.db
    refused 'every user may write to the folder' ntprof store init sqlite:open/new.db
    refused 'ntprof serve' ntprof store stat sqlite:sticky/theirs.db
    refused 'link of another user' ntprof store stat sqlite:sticky/link.db
}

# A user who may read a file of a store can lock it.
prepare_20_modes() { chmod 1777 .; }
row_20_modes() {
    local where
    umask 0
    mkdir own && chmod 755 own || fail 'mkdir'
    for where in . own; do
        ntprof store init sqlite:$where/s.db && ntprof store prune sqlite:$where/s.db --before 1d >/dev/null ||
            fail "$where"
        [ "$(stat -c %a $where/s.db* | sort -u)" = 600 ] || fail "$(ls -l $where)"
    done
    [ "$(find . -maxdepth 1 -name 's.db*' | wc -l)" = 4 ] || fail "$(ls -l)"
}

# A file system takes requests and answers none: calls that no signal ends. The quick part runs beside other tests,
# whose agents it would disturb; command_hanging.py has the same alone.
prepare_21_hanging_files() {
    printf 'int main(void) { for (volatile unsigned long n = 0;; n++) { } }\n' >spin.c
    gcc -O1 -o spin spin.c && mkdir mount || return
    (
        /usr/bin/python3 "$sources/tests/integration/hanging_files.py" spin mount >/dev/null 2>&1 &
        for ((i = 0; i < 600; i++)); do
            [ -e ready ] || [ ! -e mount/hanging ] || touch ready
            [ -e done ] && break
            kill -0 $! 2>/dev/null || break
            sleep 0.2
        done 2>/dev/null
        kill -9 $!; umount -l mount
        touch unmounted
    ) >/dev/null 2>&1 &
}
long_21_hanging_files() {
    local i status=0 agent program
    trap 'touch done; until [ -e unmounted ]; do sleep 0.1; done' EXIT
    until [ -e ready ] || [ -e unmounted ]; do sleep 0.1; done
    [ -e ready ] || exit 77 # no file systems of FUSE here
    (sleep 1 && touch mount.hang) &
    bounded 60 1000000 ntprof run -q -F 100 -o ours -- timeout 4 mount/hanging >/dev/null 2>said || status=$?
    [ $status -eq 124 ] && [ -s ours ] || fail "$status: $(cat said)"
    [ "$(id -u)" -eq 0 ] || exit 0
    rm mount.hang
    mount/hanging &
    program=$!
    sleep 1 && touch mount.hang
    ntprof agent --window 1s --spool "$PWD/spool" --store "sqlite:$PWD/mount/hanging" 2>said &
    agent=$!
    sleep 4
    kill $agent
    for ((i = 0; i < 60; i++)); do
        kill -0 $agent 2>/dev/null || break
        sleep 1
    done
    kill -9 $program
    ls spool/*.pb.gz >/dev/null && ! kill -0 $agent 2>/dev/null || fail "the agent goes on: $(cat said)"
}

# Links of another user, to folders and files that are private to the caller.
prepare_23_links() {
    chmod 1777 . && mkdir private && echo 'rate = 99' >private/conf && become "$2" ln -s private spool &&
        become "$2" ln -s private/conf conf && become "$2" ln -s private/ctl ctl &&
            become "$2" ln -s /dev/full device &&
        mkfifo -m 600 private/ctl && chown -R "$1:$1" private
}
row_23_links() {
    refused 'link of another user' timeout 60 ntprof agent --spool "$PWD/spool"
    refused 'link of another user' timeout 60 ntprof agent --spool "$PWD/spool/"
    refused 'link of another user' timeout 60 ntprof agent --spool "$PWD/spool/in"
    refused 'link of another user' timeout 60 ntprof agent --config "$PWD/conf" --spool "$PWD/own"
    refused 'link of another user' timeout 60 ntprof run -q --control ctl -- true
    refused 'link of another user' timeout 60 ntprof run -q --report device -- true
    ntprof run -q -o profile -- true || fail 'no profile'
    refused 'link of another user' ntprof export --format folded -o conf profile
    refused 'link of another user' ntprof merge -o spool/x profile
    [ "$(ls -A private)" = "$(printf 'conf\nctl')" ] && grep -q 99 private/conf || fail "$(ls -la private)"
}

# Requests of other sites' pages, and connections that keep a server busy for nothing.
row_24_server() {
    local server port status=0
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    ntprof store init "sqlite:$PWD/s.db" || fail 'no store'
    ntprof serve --listen "$port" "sqlite:$PWD/s.db" >said 2>&1 &
    server=$!
    timeout 200 python3 "$place/attack_server.py" "$port" || status=$?
    kill $server
    [ $status -eq 0 ] || fail "$status: $(cat said)"
}

row_26_secrets() {
    local url
    for url in clickhouse://u:s3cret@h/d clickhouse:u:s3cret@h/d clickhouse://u:s3cret \
        'clickhouse://h/d?password=s3cret' \
        https://u:s3cret@h/d; do
        ! ntprof report "$url" >said 2>&1 && ! grep s3cret said || fail "$url: $(cat said)"
        ntprof agent --check-config --spool "$PWD/spool" --store "$url" >said 2>&1
        ! grep s3cret said || fail "$url: $(cat said)"
    done
    ! ntprof report "$(printf 'one\342\200\213name')" 2>said &&
        grep -qF 'one\xe2\x80\x8bname' said || fail "$(cat said)"
}

# --- running them ---

tried=0
failed=0
skipped=0

try() { # ROW USER ATTACKER
    local row=$1 who=$2 attacker=$3 folder name status
    name=${row}_$([ "$who" -eq 0 ] && echo root || echo user)
    folder=$(mktemp -d "$place/row-XXXXXX")
    chown "$who:$who" "$folder"
    if declare -F "prepare_${row#*_}" >/dev/null; then
        if ! (cd "$folder" && "prepare_${row#*_}" "$who" "$attacker"); then
            echo "FAIL $name: not prepared"
            failed=$((failed + 1))
            return
        fi
    fi
    (cd "$folder" && timeout 300 setpriv --reuid "$who" --regid "$who" --clear-groups \
        bash -c "$row" </dev/null) >"$place/said" 2>&1
    status=$?
    if [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "skip $name"
        return
    fi
    tried=$((tried + 1))
    if [ $status -eq 0 ]; then
        echo "pass $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name: $(tail -n 3 "$place/said" | tr '\n' ' ')"
    fi
    rm -rf "$folder"
}

export build
while read -r row; do
    export -f "${row?}"
done < <(declare -F | awk '$3 ~ /^(row_|long_|fail$|refused$|bounded$|make_profile$|make_jit$|become$)/ { print $3 }')
while read -r row; do
    [[ $row =~ $pattern ]] || continue
    case $quick:$row in yes:long_*) continue ;; esac
    try "$row" 0 $user
    try "$row" $user $other
done < <(declare -F | awk '$3 ~ /^(row|long)_/ { print $3 }')
echo "$tried tried, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
