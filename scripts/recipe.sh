#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: recipe.sh rpm|arch [DIRECTORY] [OPTION]...	(build/packages/rpm, .../arch)
#
# Builds packages by rpmbuild or makepkg of the tree that scripts/dist.sh packs, and prints their
# paths. Options go to the program. makepkg refuses to run as root.

set -eu -o pipefail
umask 022
top=$(cd "$(dirname "$0")/.." && pwd)
kind=${1:?usage: recipe.sh rpm|arch [DIRECTORY] [OPTION]...}
out=$(realpath -m "${2:-$top/build/packages/$kind}")
version=$(cat "$top/VERSION")
log=$out/build.log
# make's own variables would reach the inner make.
unset MAKEFLAGS MAKELEVEL MFLAGS

fill_in() {
	sed "s/@VERSION@/$version/; s/@SHA256@/$(sha256sum < "$tarball" | cut -d ' ' -f 1)/" "$top/packaging/$1.in" > "$out/$1"
}

build_rpm() {
	fill_in epochfilter.spec
	rpmbuild -bb -D "_topdir $out" -D "_sourcedir $out" "$@" "$out/epochfilter.spec"
}

build_arch() {
	fill_in PKGBUILD
	cp "$top/packaging/epochfilter.install" "$out/"
	cd "$out"
	PKGDEST=$out makepkg "$@"
}

rm -rf "$out"
mkdir -p "$out"
tarball=$("$top/scripts/dist.sh" "$out")
"build_$kind" "${@:3}" > "$log" 2>&1 || {
	tail -n 20 "$log" >&2
	echo "recipe: the build failed: $log" >&2
	exit 1
}
find "$out" -name '*.rpm' -o -name '*.pkg.tar*'
