#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the core alone, without libc, for 64 and for 32 bits, and looks at what it still asks for:
# no more than the three functions of memory that compilers call by themselves. Then links it with
# examples/embed and looks at what that prints, and with the test of what sessions are by default.
# Usage: check_freestanding.sh [TREE]
set -u

cd "${1:-$(dirname "$0")/..}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

warnings='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Werror'
# hal/backend.c only names the back ends, so it compiles alone, but it is no part of the core.
core='rtl ke mm se ps ob ex'
failed=0

for bits in 64 32; do
    objects=
    # As src/meson.build has it: registers that interrupts save.
    registers=
    [ $bits = 32 ] || registers='-mgeneral-regs-only -mno-red-zone'
    for layer in $core hal; do
        for source in src/"$layer"/*.c; do
            [ -f "$source" ] || continue
            object=$work/$layer-$(basename "$source" .c).$bits.o
            # shellcheck disable=SC2086 # the warnings are words
            if ! ${CC:-gcc} -m$bits -std=gnu11 -O2 -ffreestanding -fno-pic -fno-stack-protector \
                $registers $warnings -Iinclude -Isrc -c "$source" -o "$object"; then
                failed=$((failed + 1))
                continue
            fi
            [ "$layer" = hal ] || objects="$objects $object"
        done
    done
    if [ -z "$objects" ]; then
        echo "check_freestanding: no core sources"
        exit 1
    fi

    # One relocatable object: what is undefined in it must come from the embedder.
    emulation=elf_x86_64
    [ $bits = 64 ] || emulation=elf_i386
    # shellcheck disable=SC2086
    ld -m $emulation -r -o "$work/core.$bits.o" $objects || failed=$((failed + 1))
    asked=$(nm -u "$work/core.$bits.o" | awk '{ print $2 }' |
        grep -vxE 'memcpy|memmove|memset')
    if [ -n "$asked" ]; then
        echo "check_freestanding: $bits bits: the core needs" $asked
        failed=$((failed + 1))
    fi
    # What a kernel gets: code and constants, without unwind tables.
    text=$(size -A "$work/core.$bits.o" | awk '/^\.(text|rodata)/ { sum += $2 } END { print sum }')
    if [ "$text" -gt 36000 ]; then
        echo "check_freestanding: $bits bits: $text bytes of code and constants, more than 36000"
        failed=$((failed + 1))
    fi
    echo "check_freestanding: $bits bits: $(echo $objects | wc -w) objects, $text bytes of code and constants"

    # A program needs a libc and a kernel that runs it, which for 32 bits are not everywhere.
    if ! printf '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' |
        ${CC:-gcc} -m$bits -x c -o "$work/has-libc" - 2>"$work/no-libc" ||
        ! "$work/has-libc" >"$work/no-libc" 2>&1; then
        echo "check_freestanding: $bits bits: no libc, or no kernel that runs its programs:" \
            "examples/embed and tests/abi/default_abi.c are not built"
        continue
    fi
    # shellcheck disable=SC2086
    if ${CC:-gcc} -m$bits -std=gnu11 -O2 -no-pie $warnings -Iinclude -Isrc tests/abi/default_abi.c \
        src/host/sim/*.c "$work/core.$bits.o" -o "$work/default_abi" &&
        "$work/default_abi" >"$work/default_abi.txt"; then
        echo "check_freestanding: $bits bits: $(cat "$work/default_abi.txt")"
    else
        cat "$work/default_abi.txt"
        echo "check_freestanding: $bits bits: tests/abi/default_abi.c"
        failed=$((failed + 1))
    fi
    # shellcheck disable=SC2016,SC2086 # the fences of Markdown; the warnings are words
    if ${CC:-gcc} -m$bits -std=gnu11 -O2 -no-pie $warnings -Iinclude -Isrc \
        examples/embed/embed.c "$work/core.$bits.o" -o "$work/embed" &&
        "$work/embed" >"$work/embed.txt" &&
        sed -n '/^```$/,/^```$/p' examples/embed/README.md | grep -v '^```' |
        diff "$work/embed.txt" -; then
        echo "check_freestanding: $bits bits: examples/embed prints what its README.md says"
    else
        echo "check_freestanding: $bits bits: examples/embed"
        failed=$((failed + 1))
    fi
done

# The commands that README.md gives, word for word, in a folder that has the sources alone.
mkdir "$work/tree" && cp -r include src examples/embed/embed.c "$work/tree" || exit 1
# shellcheck disable=SC2016 # the backquotes of Markdown
grep -o '`cc [^`]*`' examples/embed/README.md | tr -d '`' >"$work/commands"
# shellcheck disable=SC2016
if (cd "$work/tree" && sh -e "$work/commands" && ./embed) >"$work/embed.txt" &&
    sed -n '/^```$/,/^```$/p' examples/embed/README.md | grep -v '^```' |
    diff "$work/embed.txt" -; then
    echo "check_freestanding: the commands of examples/embed/README.md build it"
else
    echo "check_freestanding: the commands of examples/embed/README.md fail"
    failed=$((failed + 1))
fi

# The counting arithmetic and the search of the index are shared with BPF programs, which fetch the
# nodes themselves and need a bound for each loop.
if command -v clang >/dev/null; then
    cat >"$work/bpf.c" <<'END'
#include "ke/bucket.h"
#include "ke/index.h"
const KI_NODE *Fetch(ULONG Number);
ULONG64 Use(ULONG64 Address, ULONG Size, ULONG64 Set, ULONG Root);
static ULONG64
CountInLeaf(const KI_NODE *Leaf, ULONG64 Place, ULONG Source, ULONG Processor)
{
    ULONG64 Sum = 0;

    for (ULONG At = KiFindSpan(Leaf, Place, 0); At < KI_FANOUT;
         At = KiFindSpan(Leaf, Place, At + 1)) {
        const KI_RANGE *const Range = &Leaf->Ranges[At];

        if (KiHitMatches(Range->Source, Range->Segment, Range->Processors, Source, 0,
                         Processor)) {
            Sum += KiBucketNumber(Place, Leaf->Spans[At].Base, Range->BucketLog2);
        }
    }
    return Sum;
}
ULONG64
Use(ULONG64 Address, ULONG Size, ULONG64 Set, ULONG Root)
{
    ULONG64 Sum = KiBucketIndex(Address, Set, Size, 2) + KiBucketsFit(Set, 2, Size);
    KI_SEARCH Search;

    KiBeginSearch(&Search, Root, Address);
    for (ULONG Visits = 0; Visits < 1000; Visits++) {
        const ULONG Number = KiNextNode(&Search);
        const KI_NODE *const Node = Fetch(Number);

        if (Number == 0 || Node == 0) {
            break;
        }
        if ((Number & KI_LEAF) != 0) {
            Sum += CountInLeaf(Node, Address, Size, 0);
            KiLeaveLeaf(&Search);
        } else {
            KiEnterChild(&Search, Node);
        }
    }
    return Sum;
}
END
    # shellcheck disable=SC2086
    clang -target bpf -std=gnu11 -O2 -ffreestanding $warnings -Iinclude -Isrc \
        -c "$work/bpf.c" -o "$work/bpf.o" || failed=$((failed + 1))
    echo "check_freestanding: BPF: ke/bucket.h, ke/index.h"
else
    echo "check_freestanding: no clang: ke/bucket.h and ke/index.h not tried for BPF"
fi
[ $failed -eq 0 ]
