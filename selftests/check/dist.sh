#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make dist": two clones of one commit give the same bytes, whoever packs them where; the
# tarball has the committed files, and can be packed again where there is no git.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
[ -e "$top/.git" ] && command -v git > /dev/null || ktap_skip_all 'not a git tree'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
name=epochfilter-$(cat "$top/VERSION")
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'

# usage: pack FOLDER UMASK TIMEZONE [CONFIGURATION]: the tarball of a clone, as FOLDER.xz
pack() {
	(
		umask "$2" && git clone -q --depth 1 "file://$top" "$tmp/$1" &&
			touch -d '2001-01-01' "$tmp/$1/VERSION" && echo stray > "$tmp/$1/stray" &&
			printf '%s\n' "${@:4}" > "$tmp/$1.config" || exit
		packed=$(TZ=$3 GIT_CONFIG_GLOBAL=$tmp/$1.config make -s -C "$tmp/$1" dist) &&
			[ "$packed" = "build/dist/$name.tar.xz" ] && mv "$tmp/$1/$packed" "$tmp/$1.xz"
	)
}

# The files in a tarball.
names() {
	tar -tJf "$1" | grep -v '/$' | sort
}

committed() {
	git -C "$top" ls-tree -r --name-only HEAD | sed "s|^|$name/|" | LC_ALL=C sort
}

unpack() {
	mkdir "$tmp/out" && tar -C "$tmp/out" -xJf "$tmp/one.xz" && make -s -C "$tmp/out/$name" dist
}

ktap_plan 6
ktap_check 'a clone is packed' pack one 022 UTC
ktap_check 'so is another, with umask 077, in another folder and time zone, with settings of git' \
	pack some/where/two 077 Asia/Kolkata '[tar]' 'umask = 0077' '[core]' 'autocrlf = true'
ktap_check 'both have the same bytes' cmp "$tmp/one.xz" "$tmp/some/where/two.xz"
ktap_is 'it has the committed files, below one folder' \
	"$(names "$tmp/one.xz" | LC_ALL=C sort | sha256sum)" "$(committed | sha256sum)"
ktap_check 'it can be packed where there is no git' unpack
ktap_is 'with the same files' "$(names "$tmp/out/$name/build/dist/$name.tar.xz")" "$(names "$tmp/one.xz")"
ktap_finish
