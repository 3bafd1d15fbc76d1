#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: moved.sh TREE BUILD
#
# Changes the dependency files of the folder BUILD to where it and the sources in TREE are now, by
# BUILD/.here, which has where they were. Makes that run at the same time may all do this.

set -eu
tree=$1 build=$2

# usage: literal PATH: as a regular expression
literal() {
	printf '%s' "$1" | sed 's/[].[*^$#\\]/\\&/g'
}

mkdir -p "$build"
if [ -s "$build/.here" ]; then
	read -r tree_then build_then < "$build/.here"
	find "$build" -name '*.d' -type f -exec sed -i \
		-e "s#\(^\| \)$(literal "$build_then")/#\1$build/#g" -e "s#\(^\| \)$(literal "$tree_then")/#\1$tree/#g" {} +
fi
echo "$tree $build" > "$build/.here.$$"
mv "$build/.here.$$" "$build/.here"
