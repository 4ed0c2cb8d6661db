#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes a machine of what init has mounted, runs steps.py by the arguments in the file steps, and powers off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=xterm LC_ALL=C.UTF-8
mount -t tmpfs run /run
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
mount -t securityfs securityfs /sys/kernel/security
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
if grep -qw cgroup_v1 /proc/cmdline; then
    mount -t tmpfs cgroup /sys/fs/cgroup
    for one in cpu,cpuacct memory pids perf_event; do
        mkdir "/sys/fs/cgroup/$one" && mount -t cgroup -o "$one" cgroup "/sys/fs/cgroup/$one"
    done
else
    mount -t cgroup2 cgroup /sys/fs/cgroup
    # As systemd does: before any controller is given to children, these have no perf_event either (Linux 6.1).
    echo +pids >/sys/fs/cgroup/cgroup.subtree_control
fi
hostname guest
ip link set lo up
mkdir /tmp/work
chmod 1777 /tmp /tmp/work
cd /tmp/work || exit
# shellcheck disable=SC2046 # words
python3 /out/steps.py $(</out/steps) >/out/steps.log 2>&1
dmesg >/out/dmesg
umount /out
echo o >/proc/sysrq-trigger
sleep 60
