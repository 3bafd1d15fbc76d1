#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: needs.sh CC "REQUIRED PACKAGE..." "OTHER PACKAGE..."
#
# Reports in one line, on standard error, what the build did not find, which features
# are missing without it, and the command that installs it. For packages that are
# installed it does not advise that command: then the compiler looks elsewhere.
#
# Exit: 1 if a required package is among them, else 0.

set -u
cc=$1 required=$2 other=$3

# The features that are missing without package $1.
cost() {
	case $1 in
	libpcap-dev) echo "no 'dedup', no audits of captures" ;;
	zlib1g-dev) echo 'no input compressed by gzip' ;;
	liblzma-dev) echo 'no input compressed by xz' ;;
	libzstd-dev) echo 'no input compressed by zstd' ;;
	libncurses-dev) echo "'watch' prints lines only" ;;
	libcsv-dev) echo 'no audits of CSV or of nfdump' ;;
	libfixbuf-dev | pkg-config) echo 'no audits of IPFIX' ;;
	libbpf-dev | clang) echo "no 'attach'" ;;
	libxdp-dev) echo "'attach' has the interface to itself" ;;
	libsystemd-dev) echo 'no epfagent' ;;
	libwireshark-dev) echo "no captures in Wireshark's other formats" ;;
	libxtables-dev) echo 'no iptables match' ;;
	libisal-dev | libnats-dev) echo 'no live clusters' ;;
	libmicrohttpd-dev) echo 'no metrics of epfagent' ;;
	python3-docutils) echo 'no man pages' ;;
	linux-headers-* | pahole) echo "no module; 'make user' goes without" ;;
	esac
}

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

# usage: join TEXT MORE: joins the two with a comma
join() {
	echo "${1:+$1, }$2"
}

absent=''
unseen=''
for package in $required $other; do
	text=$(cost "$package")
	if installed "$package"; then
		unseen=$(join "$unseen" "$package")
	else
		absent=$(join "$absent" "$package${text:+ ($text)}")
	fi
done
[ -n "$absent$unseen" ] || exit 0

line=
if [ -n "$absent" ]; then
	mend="'sudo make deps FOR=build' installs all of it"
	[ "$(id -u)" -ne 0 ] || mend=$(echo "$mend" | sed 's/sudo //')
	command -v apt-get > /dev/null || mend="names of Debian's packages, to be installed"
	line="missing: $absent: $mend"
fi
[ -z "$unseen" ] || line="${line:+$line; }installed, but not found by '$cc': $unseen: see CC, CPPFLAGS and PATH"
if [ -z "$required" ]; then
	echo "user: $line" >&2
	exit 0
fi
echo "error: $line" >&2
exit 1
