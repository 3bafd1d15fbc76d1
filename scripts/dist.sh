#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: dist.sh [DIRECTORY]	(build/dist)
#
# Packs the committed tree as epochfilter-VERSION.tar.xz, and prints its path. Two
# clones of one commit give the same bytes: git sorts the files, gives them the time of
# the commit and root as their owner, and the user's settings do not count. A tree
# without git, such as an unpacked tarball, is packed as it stands, without build/.

set -eu
umask 022
cd "$(dirname "$0")/.."
out=${1:-build/dist}
version=$(cat VERSION)
tarball=$out/epochfilter-$version.tar.xz
partial=$tarball.$$
export LC_ALL=C
trap 'rm -f "$partial" "$partial.xz"' EXIT

committed() {
	[ -z "$(git status --porcelain)" ] ||
		echo 'dist: uncommitted changes are left out' >&2
	git -c tar.umask=0022 -c core.autocrlf=false -c core.attributesFile=/dev/null \
		archive --format=tar --prefix="epochfilter-$version/" HEAD
}

as_it_stands() {
	tar -c --format=gnu --sort=name --mtime=@"$(stat -c %Y VERSION)" --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go=rX --exclude=./build --transform="s,^\.,epochfilter-$version," .
}

mkdir -p "$out"
if [ -e .git ]; then committed; else as_it_stands; fi > "$partial"
# One thread: more would cut the stream at other places.
xz -T1 -1 "$partial"
mv "$partial.xz" "$tarball"
echo "$tarball"
