#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the Debian packages of what is committed in a clean root, and uses them in a fresh one: lintian,
# installation by apt, removal, autopkgtest. Usage: check_package.sh [FOLDER that gets the packages]
#        check_package.sh --for arm64 FOLDER   only builds them, by a cross compiler; check_machines.py tries them
#
# The roots are made by mmdebstrap from the package sources of this machine and are removed at the end. Needs root
# and 3 GB in /tmp. Exits with 77 and a reason where it cannot be done.
set -eu

cd "$(dirname "$0")/.."
machine=
if [ "${1:-}" = --for ]; then
    machine=$2
    shift 2
    [ $# -eq 1 ] || { echo 'usage: check_package.sh --for MACHINE FOLDER'; exit 1; }
fi
result=${1:+$(realpath "$1")}
skip() { echo "check_package: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip 'only root can make roots'
command -v mmdebstrap >/dev/null || skip 'mmdebstrap is missing; type: apt-get install mmdebstrap'
unshare --mount --pid --fork true 2>/dev/null || skip 'no namespaces can be made here'

place=$(mktemp -d /tmp/ntprof-package-XXXXXX)
trap 'rm -rf --one-file-system "$place"' EXIT
chmod 755 "$place"
# Messages are read below, and dpkg's diversions must not ask.
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

step() { printf '== %s (%d s)\n' "$1" $SECONDS; }
fail() { echo "check_package: $*"; exit 1; }

# quietly COMMAND...: what it prints only if it fails.
quietly() {
    "$@" >"$place/log" 2>&1 || { tail -n 60 "$place/log"; fail "failed: $*"; }
}

# inside ROOT COMMAND...: in a root with mounts and processes of its own, which end with the command.
inside() {
    local root=$place/$1
    shift
    # shellcheck disable=SC2016 # the inner shell's arguments
    unshare --mount --pid --fork --kill-child bash -c '
        root=$1; shift
        mount --rbind /dev "$root/dev" && mount -t sysfs sysfs "$root/sys" && mount -t proc proc "$root/proc" &&
            cd / && exec chroot "$root" "$@"' inside "$root" "$@"
}

# as_user ROOT SCRIPT: by an ordinary user in the folder /build, without a network.
as_user() {
    inside "$1" unshare --net setpriv --reuid builder --regid builder --init-groups env -i HOME=/build \
        PATH=/usr/bin:/bin LC_ALL=C.UTF-8 bash -euc "cd /build; $2"
}

step 'source archive'
quietly scripts/make_dist.sh "$place"
version=$(basename "$(echo "$place"/ntprof-*.tar.gz)" .tar.gz)
version=${version#ntprof-}

step 'clean root'
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u >"$place/sources"
[ -s "$place/sources" ] || skip "apt knows no source of Debian's packages; type: apt-get update"
quietly mmdebstrap --variant=apt --mode=root --skip=cleanup/apt/lists "$suite" "$place/fresh" "$place/sources"
cp -L /etc/resolv.conf /etc/hosts "$place/fresh/etc/"
cp -a "$place/fresh" "$place/clean"

step 'build dependencies'
inside clean useradd --create-home --home-dir /build builder
tar -xzf "$place/ntprof-$version.tar.gz" -C "$place/clean/build"
inside clean chown -R builder: /build
quietly inside clean apt-get -q -y --no-install-recommends install build-essential fakeroot
if [ -n "$machine" ]; then
    quietly inside clean dpkg --add-architecture "$machine"
    quietly inside clean apt-get -q update
    quietly inside clean apt-get -q -y --no-install-recommends install "crossbuild-essential-$machine"
    quietly inside clean apt-get -q -y --no-install-recommends build-dep -a "$machine" -P cross,nocheck \
        "/build/ntprof-$version"
    step "build for $machine, without a network"
    quietly as_user clean \
        "cd ntprof-$version; DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b -a $machine -Pcross,nocheck"
    cp "$place"/clean/build/*.deb "$result"
    step 'done'
    exit
fi
quietly inside clean apt-get -q -y --no-install-recommends build-dep "/build/ntprof-$version"

step 'build, with its unit tests, without a network'
quietly as_user clean "cd ntprof-$version; dpkg-buildpackage -us -uc"
find "$place/clean/build" -maxdepth 1 -name '*ntprof*_*' -exec cp -t "${result:-$place}" {} +

step 'lintian'
quietly inside clean apt-get -q -y --no-install-recommends install lintian
as_user clean "lintian --fail-on error,warning --tag-display-limit 0 *.changes" ||
    fail 'lintian found errors or warnings'

step 'installation on a fresh root'
mkdir "$place/fresh/packages"
cp "$place"/clean/build/*.deb "$place/fresh/packages/"
before=$(inside fresh dpkg-query -W -f '${Package}\n')
quietly inside fresh bash -c 'apt-get -q -y --no-install-recommends install /packages/*.deb'
inside fresh ntprof version
inside fresh setpriv --reuid 65534 --regid 65534 --clear-groups bash -euc '
    cd /tmp && ntprof run -q -- bash -c "for ((i = 0; i < 300000; i++)); do :; done"
    ntprof report --by image | tee report && grep -q bash report && rm report ntprof.pb.gz'

step 'removal'
quietly inside fresh apt-get -q -y purge ntprof libntprof0 libntprof-core0 libntprof-dev
left=$(find "$place/fresh/usr" "$place/fresh/etc" "$place/fresh/var/lib" -name '*ntprof*' -print)
[ -z "$left" ] || fail "left by the packages: $left"
quietly inside fresh apt-get -q -y autoremove --purge
[ "$before" = "$(inside fresh dpkg-query -W -f '${Package}\n')" ] || fail 'packages of the fresh root have changed'

step 'autopkgtest'
quietly inside fresh apt-get -q -y --no-install-recommends install autopkgtest
cp "$place/clean/build/"ntprof_*.dsc "$place/clean/build/"ntprof_*.tar.* "$place/fresh/packages/"
# It skips what cannot be measured; here nothing may be skipped.
quietly inside fresh bash -c 'autopkgtest --summary-file=/packages/summary /packages/*.deb /packages/*.dsc -- null'
cat "$place/fresh/packages/summary"
step 'done'
