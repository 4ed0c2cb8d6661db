#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format over all C files, without changing them. Usage: check_format.sh
set -u

cd "$(dirname "$0")/.." || exit 1
formatter=clang-format-14
command -v $formatter >/dev/null || formatter=clang-format
git ls-files -z '*.c' '*.h' | xargs -0 -n 100 -P "$(nproc)" $formatter --dry-run -Werror
