#!/bin/sh
# SPDX-License-Identifier: MIT
# Looks for what does not belong into the tree: registry hosts, paths of one machine, names of
# somebody's own tools. The brackets keep this file from finding itself. Usage: check_names.sh [TREE]
set -u

cd "${1:-$(dirname "$0")/..}" || exit 1
pattern='(^|[^A-Za-z0-9_.])/[w]ork/|/[r]oot/|/[h]ome/[a-z]|\.[p]yenv'
pattern="$pattern|[p]ypi\\.org|[n]pmjs|[c]rates\\.io|proxy\\.[g]olang|deb\\.[d]ebian|[g]hcr\\.io|[d]ocker\\.io"
pattern="$pattern|[i]ssues show|[b]efore-stop|shared/[fdsp][a-z]*|[s]eeds/|[c]laude|[a]nthropic"

found=$(git grep -nIE "$pattern" -- . || true)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "check_names: $(printf '%s\n' "$found" | wc -l) lines that do not belong here"
    exit 1
fi
echo "check_names: none"
