#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The message of make about missing packages: all of them at once, in one line, with the
# command that installs them, which is not advised again after it was followed.
# shellcheck disable=SC2317 # functions that ktap_check calls

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
top=$here/../..
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
ktap_plan 10

# A dpkg-query that knows no package, or those of $tmp/installed
mkdir "$tmp/bin"
cat > "$tmp/bin/dpkg-query" << SCRIPT
#!/bin/sh
for package; do :; done
! grep -qxF "\$package" "$tmp/installed" || printf installed
SCRIPT
printf '#!/bin/sh\n' > "$tmp/bin/apt-get"
chmod 755 "$tmp/bin"/*
: > "$tmp/installed"
unset MAKEFLAGS MFLAGS MAKELEVEL

# says STATUS ARG...: runs make ARG...; its output, without make's own lines, is in
# $tmp/said
says() {
	local want=$1 status

	shift
	PATH=$tmp/bin:$PATH make -C "$top" V=0 BUILD="$tmp/build" "$@" > "$tmp/all" 2>&1
	status=$?
	grep -vE '^make(\[[0-9]+\])?: ' "$tmp/all" > "$tmp/said"
	[ "$status" = "$want" ] || { cat "$tmp/all"; return 1; }
}
# line REGEX...: it prints one line, which matches all of these
line() {
	local regex

	[ "$(wc -l < "$tmp/said")" -eq 1 ] || return
	for regex; do
		grep -qE -- "$regex" "$tmp/said" || return
	done
}
missing=(-C user missing)
bare=(CC=no-such-cc CLANG=no-such-clang PKG_CONFIG=no-such RST2MAN=no-such INCLUDES=/nowhere)

mkdir -p "$tmp/include/pcap"
echo '#error none' > "$tmp/include/pcap/pcap.h"
without_pcap() {
	says 0 "${missing[@]}" CPPFLAGS="-I$tmp/include" &&
		line '^user: missing: ' "libpcap-dev \(no 'dedup', no audits of captures\)" \
			"'(sudo )?make deps FOR=build' installs all of it$"
}
ktap_check 'without libpcap: what that costs, and the command' without_pcap
nothing() {
	says 2 "${missing[@]}" "${bare[@]}" &&
		line '^error: missing: gcc, libc6-dev, libjansson-dev, libxxhash-dev, libinih-dev, ' \
			libncurses-dev libpcap-dev libcsv-dev zlib1g-dev liblzma-dev libzstd-dev pkg-config libfixbuf-dev libbpf-dev clang libxdp-dev \
			libsystemd-dev libmicrohttpd-dev libisal-dev libnats-dev python3-docutils 'make deps FOR=build'
}
ktap_check 'without a compiler: all that is missing, at once' nothing
stops() {
	says 2 -C user "${bare[@]}" && line '^error: missing: gcc' &&
		[ ! -e "$tmp/build/user" ]
}
ktap_check 'and nothing is built' stops
at_once() {
	says 2 -j4 all "${bare[@]}" 'MODULE_LACKS=linux-headers-6.12.1-amd64 pahole' &&
		line 'gcc, .*linux-headers-6.12.1-amd64 \(no module; .make user. goes without\), pahole'
}
ktap_check 'what the module takes is in the same line' at_once
user_alone() {
	says 0 -n user 'MODULE_LACKS=linux-headers-6.12.1-amd64' && ! grep -q linux-headers "$tmp/all"
}
ktap_check "'make user' does not ask for it" user_alone

"$top/scripts/deps.sh" --print build > "$tmp/installed"
followed() {
	says 2 "${missing[@]}" "${bare[@]}" && ! grep -q 'make deps' "$tmp/said" &&
		line "^error: installed, but not found by 'no-such-cc': gcc, .*PATH$"
}
ktap_check 'the command was followed: it is not advised again' followed
followed_pcap() {
	says 0 "${missing[@]}" CPPFLAGS="-I$tmp/include" &&
		line "^user: installed, but not found by 'cc': libpcap-dev: see CC, CPPFLAGS"
}
ktap_check 'nor for one library' followed_pcap
half() {
	sed -i '/^libcsv-dev$/d' "$tmp/installed"
	says 2 "${missing[@]}" "${bare[@]}" &&
		line '^error: missing: libcsv-dev \(no audits of CSV or of nfdump\): .*make deps.*; installed, but not'
}
ktap_check 'half of it there: both are told apart' half
# installs_all: every possible package is named
installs_all() {
	"$top/scripts/deps.sh" --print build > "$tmp/installed"
	{ sed -n 's/^\t\([a-z0-9|* -]*\)) echo.*/\1/p' "$top/scripts/needs.sh" | tr -d ' ' |
		tr '|' '\n' | grep -v '\*'
	echo gcc; echo libc6-dev; echo libjansson-dev; echo libxxhash-dev; echo libinih-dev; } |
		sort > "$tmp/named"
	[ "$(wc -l < "$tmp/named")" -gt 12 ] &&
		[ -z "$(comm -23 "$tmp/named" <(sort "$tmp/installed"))" ]
}
ktap_check "'make deps FOR=build' installs whatever can be named" installs_all
there() {
	says 0 "${missing[@]}" && [ ! -s "$tmp/said" ]
}
ktap_check 'with all there: not a word' there
ktap_finish
