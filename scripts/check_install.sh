#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty folder and uses what is there as a stranger would: the command, the header,
# pkg-config, the library. Usage: check_install.sh BUILD
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
home=$(mktemp -d)
prefix=$home/.local
trap 'rm -rf "$home"' EXIT

# The README's own lines install the library and use it; what they make goes into $home.
ln -s "$PWD/examples" "$home/examples"
sed -n '/^```sh$/,/^```$/p' README.md | sed -n '/^make install/,/^```$/{/^```/!p}' | sed '1a cd' >"$home/lines"
grep -q 'pkg-config' "$home/lines"
env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH HOME="$home" BUILD="$build" sh -eu "$home/lines" \
    >"$home/install.log" 2>&1 || {
    cat "$home/install.log"
    exit 1
}
# make prints it for who does not read it.
grep -q "^export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib\$" "$home/install.log"
grep -q ' hits in mix$' "$home/install.log"
for file in bin/ntprof lib/ntprof/libntprof-agent.so lib/ntprof/ntprof-reader.so \
    include/ntprof/ntprof.h lib/libntprof.so lib/pkgconfig/ntprof.pc \
    include/ntprof/core.h lib/libntprof-core.a lib/libntprof-core.so lib/pkgconfig/ntprof-core.pc \
    share/man/man1/ntprof.1 share/man/man3/libntprof.3 share/man/man3/NtCreateProfileEx.3 \
    share/man/man3/ntprof_session_close.3 share/man/man5/ntprof-profile.5 \
    share/bash-completion/completions/ntprof share/zsh/site-functions/_ntprof \
    share/fish/vendor_completions.d/ntprof.fish; do
    [ -e "$prefix/$file" ] || {
        echo "check_install: $file was not installed"
        exit 1
    }
done

# No help from the environment: the command must find its library by itself.
env -i PATH=/usr/bin:/bin "$prefix/bin/ntprof" version
# And its preload object.
(cd "$prefix" && env -i PATH=/usr/bin:/bin bin/ntprof run --hal timer -q -- true)
# And its modules.
(cd "$prefix" &&
    env -i PATH=/usr/bin:/bin bin/ntprof run -q -o busy.pb.gz -- \
        sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' &&
    env -i PATH=/usr/bin:/bin bin/ntprof report --by function --csv busy.pb.gz >functions &&
    grep -q 'libc\.so\.6' functions && grep -v '\[' functions | grep -q 'libc\.so\.6' &&
    ! { [ -e lib/ntprof/ntprof-sqlite.so ] &&
        env -i PATH=/usr/bin:/bin bin/ntprof store init sqlite:busy.db 2>&1 | grep -q 'install'; })

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
# shellcheck disable=SC2046 # the flags are words
gcc -O2 -Wall -Wextra -Werror examples/self.c -o "$prefix/self" $(pkg-config --cflags --libs ntprof)
LD_LIBRARY_PATH="$prefix/lib" "$prefix/self"

# An embedder, with the archive and with the library.
# shellcheck disable=SC2046 # the flags are words
gcc -O2 -Wall -Wextra -Werror examples/embed/embed.c -o "$prefix/embed" $(pkg-config --cflags ntprof-core) \
    "$(pkg-config --variable=archive ntprof-core)"
# shellcheck disable=SC2046
gcc -O2 -Wall -Wextra -Werror examples/embed/embed.c -o "$prefix/embed-shared" \
    $(pkg-config --cflags --libs ntprof-core)
"$prefix/embed" >"$prefix/embed.txt"
LD_LIBRARY_PATH="$prefix/lib" "$prefix/embed-shared" | cmp - "$prefix/embed.txt"
nm -g --defined-only "$prefix/lib/libntprof-core.a" | awk 'NF == 3 && $3 !~ /^ntprof_Ex/ { print; bad = 1 }
    END { exit bad }'

# Every page under every name, each found by man; the programs in them run.
for page in docs/man/*.[1-9]; do
    sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([^ ,]*\).*/\1/p' "$page" | while read -r name; do
        MANPATH="$prefix/share/man" man -w "${page##*.}" "$name" >"$prefix/page" || {
            echo "check_install: no page $name(${page##*.}) was installed"
            exit 1
        }
    done
done
# Each shell finds its completions where they are, by itself.
export XDG_DATA_DIRS="$prefix/share:/usr/share"
bash --norc -c '. /usr/share/bash-completion/bash_completion
    _completion_loader ntprof; complete -p ntprof' | grep -q -- '-F _ntprof ntprof'
HOME=$prefix PATH=$prefix/bin:$PATH fish -c 'complete -C "ntprof r"' | grep -q '^report'
zsh -f -c 'fpath=($1/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D
    [[ $_comps[ntprof] == _ntprof ]]' zsh "$prefix"

mkdir "$prefix/examples"
scripts/check_manual.py --examples "$prefix/examples"
for program in "$prefix"/examples/*.c; do
    # shellcheck disable=SC2046 # the flags are words
    gcc -O2 -Wall -Wextra -Werror "$program" -o "${program%.c}" \
        $(pkg-config --cflags --libs ntprof)
    LD_LIBRARY_PATH="$prefix/lib" "${program%.c}" >"$prefix/said" 2>&1 || {
        cat "$prefix/said"
        echo "check_install: the example of $(basename "${program%.c}")(3) failed"
        exit 1
    }
done
echo "check_install: pages, completions and $(ls "$prefix"/examples/*.c | wc -l) examples"
