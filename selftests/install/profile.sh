#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "make deb" builds epochfilter-cuda where nvcc is, and says in one line where it is not. It does
# not compile here: a program in place of dpkg-buildpackage keeps its arguments.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$*" > %s/arguments\n: > ../one.deb\n' "$tmp" > "$tmp/bin/dpkg-buildpackage"
printf '#!/bin/sh\n' > "$tmp/bin/nvcc"
chmod +x "$tmp/bin/"*

# usage: deb NVCC
deb() {
	PATH=$tmp/bin:$PATH NVCC=$1 "$top/scripts/deb.sh" "$tmp/deb" > "$tmp/out" 2> "$tmp/err"
}

# What it says of nvcc; a tree with changes gives another line.
said() {
	grep -v uncommitted "$tmp/err"
}

profile() {
	grep -oE '(^| )-P[^ ]*' "$tmp/arguments"
}

ktap_plan 4
ktap_check 'without nvcc it builds packages' deb "$tmp/none"
ktap_is 'without the profile, and says so in one line' "$(profile)$(said)" \
	'deb: no nvcc: epochfilter-cuda is not built'
ktap_check 'with nvcc, too' deb "$tmp/bin/nvcc"
ktap_is 'with the profile that has the package' "$(profile)$(said)" \
	"$(sed -n 's/^Build-Profiles: <\(pkg.*\)>$/-P\1/p' "$top/debian/control")"
ktap_finish
