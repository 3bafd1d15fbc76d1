#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: deb.sh [DIRECTORY]	(build/deb)
#
# Builds Debian packages, source and binary, of the tree that scripts/dist.sh packs, and prints their paths.
# Needs no root. The package for GPUs is built where nvcc is. Guarantee: the directory has the packages of one build or none.
# EPF_DEB_ARCH: for this architecture (deb_cross.sh).

set -eu -o pipefail
umask 022
top=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$top/build/deb}")
version=$(cat "$top/VERSION")
log=$out/build.log

profiles=
if [ -n "${EPF_DEB_ARCH:-}" ]; then
	profiles=-Pcross,nocheck # nvcc is that of this machine
elif make -s -C "$top/cuda" can 2> /dev/null; then
	profiles=-Ppkg.epochfilter.cuda
else
	echo 'deb: no nvcc: epochfilter-cuda is not built' >&2
fi
rm -rf "$out"
mkdir -p "$out"
tarball=$("$top/scripts/dist.sh" "$out")
mv "$tarball" "$out/epochfilter_$version.orig.tar.xz"
tar -C "$out" -xJf "$out/epochfilter_$version.orig.tar.xz"
cd "$out/epochfilter-$version"
# make's own variables would reach the inner make.
# shellcheck disable=SC2086 # an option or none
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage ${EPF_DEB_ARCH:+"-a$EPF_DEB_ARCH"} $profiles -us -uc -j"$(nproc)" > "$log" 2>&1 || {
	tail -n 20 "$log" >&2
	rm -f "$out"/*.deb
	echo "deb: the build failed: $log" >&2
	exit 1
}
rm -rf "${out:?}/epochfilter-$version"
ls "$out"/*.deb
