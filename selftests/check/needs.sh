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
ktap_plan 18

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
			libsystemd-dev libmicrohttpd-dev libisal-dev libnats-dev libssl-dev python3-docutils 'make deps FOR=build'
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
	grep -oE '\b(lib[a-z0-9]+-dev|zlib1g-dev|python3-[a-z]+|gcc|clang|pkg-config)\b' "$top/user/Makefile" | sort -u > "$tmp/named"
	[ "$(wc -l < "$tmp/named")" -gt 12 ] &&
		[ -z "$(comm -23 "$tmp/named" <(sort "$tmp/installed"))" ] &&
		[ -z "$(comm -23 "$tmp/named" <(sed -n 's/^\([a-z][^ ]*\).*/\1/p' "$top/scripts/packages" | sort))" ]
}
ktap_check "'make deps FOR=build' installs whatever can be named, and the table has it" installs_all
there() {
	says 0 "${missing[@]}" && [ ! -s "$tmp/said" ]
}
ktap_check 'with all there: not a word' there

# usage: would_run TARGET: what make TARGET runs
would_run() {
	make -n -C "$top" BUILD="$tmp/build" "$1" 2>&1
}
user_space() {
	! would_run install | grep -F scripts/module.sh && would_run install | grep -q "echo .*'make install-module'" &&
		would_run install-module | grep -F 'scripts/module.sh install'
}
ktap_check 'make install is user space and one line on the module, make install-module the module' user_space

# Systems without dpkg: all commands of this one but its own and MISSING...
# usage: elsewhere MANAGER MISSING...
elsewhere() {
	rm -rf "$tmp/else" && mkdir "$tmp/else" && find /usr/bin -maxdepth 1 -xtype f -exec cp -s -t "$tmp/else" {} + &&
		(cd "$tmp/else" && rm -f dpkg-query apt-get apt-cache dnf pacman "${@:2}") &&
		printf '#!/bin/sh\n' > "$tmp/else/$1" && chmod 755 "$tmp/else/$1"
}
# usage: asks STATUS TEXT ARG...: what deps.sh ARG... says there
asks() {
	PATH=$tmp/else "$top/scripts/deps.sh" "${@:3}" > "$tmp/all" 2>&1
	[ $? -eq "$1" ] && [ "$(cat "$tmp/all")" = "deps: $2" ] || { cat "$tmp/all"; return 1; }
}
elsewhere dnf
ktap_check 'without dpkg, with all there: the demo wants nothing' asks 0 'everything is there' --check demo
elsewhere dnf clang python3
ktap_check 'what is missing: by the names of Fedora' asks 1 'missing, run as root: dnf install clang python3' --install demo
PATH=$tmp/else CC=no-such-cc "$top/scripts/deps.sh" --lacks no-such-cc 'libjansson-dev' 'libnats-dev' 2> "$tmp/said"
ktap_check 'the same of make' line \
	"^error: missing: libjansson-dev, libnats-dev \(no live clusters\): run as root: dnf install jansson-devel 'pkgconfig\(libnats\)'$"
elsewhere pacman clang python3
ktap_check 'by the names of Arch' asks 1 'missing, run as root: pacman -S --needed clang python' --install demo

# An apt that offers no kernel.
PATH=$tmp/bin:$PATH
printf '#!/bin/sh\n' > "$tmp/bin/apt-cache"
chmod 755 "$tmp/bin/apt-cache"
no_kernel() {
	"$top/scripts/deps.sh" --check --upgrade "$@" > "$tmp/said" 2>&1
}
soft() {
	no_kernel build && grep -q "no stock .* kernel with headers, so none for the module; 'make user'" "$tmp/said"
}
ktap_check 'where apt offers no kernel the build goes without' soft
quiet() {
	no_kernel demo && ! grep kernel "$tmp/said"
}
ktap_check 'the demo asks for none' quiet
ktap_refuse 'a virtual machine takes one' no_kernel vm
ktap_finish
