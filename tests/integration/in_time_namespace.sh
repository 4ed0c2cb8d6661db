#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test in a time namespace: in_time_namespace.sh SECONDS PROGRAM [ARGUMENT...]. Both clocks are ahead of the
# kernel's by so much, or behind. Rights do not depend on clocks: only make check-long runs it as each user.
offset=$1
shift
if ! unshare -T --fork --monotonic "$offset" --boottime "$offset" true 2>/dev/null; then
    echo "no time namespace can be made here, or not one that is $offset s off"
    exit 77
fi
[ "${NTPROF_TEST_USERS:-}" = all ] || export NTPROF_TEST_USERS=caller
exec unshare -T --fork --kill-child --monotonic "$offset" --boottime "$offset" "$@"
