#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The Debian packages that the project needs, by purpose. Guarantees:
#  - exit 0 means that everything the purpose needs is available;
#  - without root nothing changes outside build/: missing packages are printed as
#    one apt line, and the exit status is 1;
#  - apt's lists are refreshed only if they lack what is missing.
#
# Exit: 0 everything is available, 1 something is missing, 2 usage.

set -u

PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
data=$top/build/data
captures='real.pcap random.pcap icmp_ttl.pcap'
older=bookworm # the last release that has the package with the captures
tools=$top/build/tools
servers='bin/prometheus bin/promtool'
loaders='shimx64.efi.signed grubx64.efi.signed'
series=6.12

build_pkgs='gcc libc6-dev make clang llvm libbpf-dev libxdp-dev libpcap-dev libelf-dev
	libjansson-dev libinih-dev libcsv-dev libncurses-dev libfixbuf-dev libisal-dev libmicrohttpd-dev libnats-dev libsystemd-dev libwireshark-dev libxtables-dev libxxhash-dev
	zlib1g-dev liblzma-dev libzstd-dev pahole bpftool kmod python3 python3-cffi python3-docutils pkg-config'
vm_pkgs='qemu-system-x86 busybox-static cpio kmod xz-utils zstd mount iproute2
	iputils-ping ethtool iptables xdp-tools bpftool mmdebstrap ovmf'
test_pkgs='abigail-tools lintian wireshark-common tcpdump nfdump g++ libclang-rt-dev iptables
	libopenmpi-dev openmpi-bin libmpich-dev mpich gnuplot-nox nats-server openssl python3-jsonschema python3-pyte python3-numpy python3-pandas python3-matplotlib mypy'
# For small programs of other architectures (core/foreign).
foreign_pkgs='qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross'
# For other architectures: compilers, and what runs their programs and kernels (selftests/arch.sh).
cross_pkgs='gcc-aarch64-linux-gnu gcc-12-aarch64-linux-gnu gcc-s390x-linux-gnu qemu-user-static qemu-system-arm mmdebstrap kmod
	bpftool pahole'
# For "make deb", beside the Build-Depends of debian/control.
deb_pkgs='build-essential xz-utils'
# The firewalls that "make demo-firewall" compares, and a resolver.
firewall_pkgs='gcc libc6-dev make clang libbpf-dev libelf-dev iproute2 ethtool nftables iptables ipset dnsmasq-base
	python3'
# The papers' figures (selftests/paper).
paper_pkgs='gcc libc6-dev make libxxhash-dev python3 gnuplot-nox'
# For building kernels (scripts/kernel.sh), static checks, installing by DKMS, the packages of
# other distributions (install/recipes), and jobs of Slurm (mpi/slurm).
debug_pkgs="linux-source-$series bc bison flex libelf-dev libssl-dev pahole
	sparse coccinelle clang-format clang-tidy clang llvm lld dkms
	rpm makepkg pacman-package-manager libarchive-tools slurm-wlm munge"

usage() {
	cat <<'USAGE'
usage: scripts/deps.sh [--install|--check|--print|--kernel] [--upgrade]
                       [build|deb|vm|test|firewall|bench|paper|captures|all|debug|cross]...

  --install   (the default) install missing packages, fetch the test captures
              and Prometheus; without root, print the apt line instead of
              installing
  --check     say what is missing, change nothing
  --print     list the packages of the purpose, one a line
  --kernel    print the release of the kernel to build for and to test on
  --upgrade   choose the newest kernel apt offers, not the newest installed

  EPF_KERNEL=RELEASE overrides the choice of kernel. The default purpose is
  all, which is all but debug and cross; bench needs what test needs. Captures are real
  traffic for the tests, make demo and make bench.
USAGE
}

say() {
	echo "deps: $*" >&2
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
		-o Acquire::Retries=5 -o Acquire::http::Timeout=60 \
		-o APT::Sandbox::User=root "$@"
}

# Reads kernel releases, one a line, and prints the newest of Debian's plain amd64
# flavour of $series, e.g. 6.12.117+deb12-amd64.
newest() {
	grep -E "^$(echo "$series" | sed 's/\./\\./g')\.[0-9.]+(\+deb[0-9a-z]+|-[0-9]+)-amd64\$" |
		sort -V | tail -n 1
}

installed_kernel() {
	for dir in /lib/modules/*/build; do
		rel=${dir%/build}
		rel=${rel##*/}
		if [ -e "$dir/Makefile" ] && [ -e "/boot/vmlinuz-$rel" ]; then
			echo "$rel"
		fi
	done | newest
}

# Releases that have both packages: apt may offer an image without its headers.
offered_kernel() {
	for half in headers image; do
		apt-cache pkgnames "linux-$half-$series." | sed "s/^linux-$half-//" | sort -u
	done | sort | uniq -d | newest
}

choose_kernel() {
	kernel=${EPF_KERNEL:-}
	[ -n "$kernel$upgrade" ] || kernel=$(installed_kernel)
	[ -n "$kernel" ] || kernel=$(offered_kernel)
	[ -n "$kernel" ]
}

want() {
	for purpose in $purposes; do
		for name in all "$@"; do
			[ "$purpose" != "$name" ] || return 0
		done
	done
	return 1
}

want_debug() {
	case " $purposes " in
	*' debug '*) ;;
	*) return 1 ;;
	esac
}

want_cross() {
	case " $purposes " in
	*' cross '*) ;;
	*) return 1 ;;
	esac
}

# The packages of Build-Depends; two names in it are provided by packages of other names.
build_depends() {
	sed -n '/^Build-Depends:/,/^[^ ]/s/^ \([a-z0-9.+-]*\).*/\1/p' "$top/debian/control" |
		sed 's/^debhelper-compat$/debhelper/; s/^dh-sequence-/dh-/'
}

list_packages() {
	rt=${kernel%-amd64}-rt-amd64
	set --
	# shellcheck disable=SC2086 # one word per package
	if want build; then set -- $build_pkgs "linux-headers-$kernel"; fi
	# shellcheck disable=SC2046,SC2086
	if want deb; then set -- "$@" $deb_pkgs $(build_depends); fi
	# shellcheck disable=SC2086
	if want vm; then set -- "$@" $vm_pkgs; fi
	# shellcheck disable=SC2086
	if want test bench; then set -- "$@" $test_pkgs; fi
	# shellcheck disable=SC2086
	if want test; then set -- "$@" $foreign_pkgs; fi
	# shellcheck disable=SC2086
	if want firewall test; then set -- "$@" $firewall_pkgs; fi
	# shellcheck disable=SC2086
	if want paper; then set -- "$@" $paper_pkgs; fi
	if want build vm; then set -- "$@" "linux-image-$kernel"; fi
	# shellcheck disable=SC2086
	if want_cross; then set -- "$@" $cross_pkgs; fi
	# shellcheck disable=SC2086
	if want_debug; then
		set -- "$@" $debug_pkgs "linux-headers-$rt" "linux-image-$rt"
	fi
	printf '%s\n' "$@" | sort -u
}

missing_packages() {
	wanted=$(list_packages)
	# shellcheck disable=SC2086
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null)
	for pkg in $wanted; do
		echo "$have" | grep -qxF "installed $pkg" || echo "$pkg"
	done
}

missing_captures() {
	want test bench captures || return 0
	for file in $captures; do
		[ -s "$data/$file" ] || echo "build/data/$file"
	done
}

# Servers that are neither in build/tools nor in the PATH.
missing_servers() {
	want test || return 0
	for file in $servers; do
		name=${file##*/}
		[ -x "$tools/$name" ] || command -v "$name" >/dev/null ||
			echo "build/tools/$name"
	done
}

# What boots a guest with Secure Boot.
missing_loaders() {
	want vm || return 0
	for file in $loaders; do
		[ -s "$tools/$file" ] || echo "build/tools/$file"
	done
}

refresh_lists() {
	[ -z "$refreshed" ] || return 1
	say 'refreshing the package lists'
	apt -o APT::Update::Error-Mode=any update >/dev/null && refreshed=1
}

# Fresh lists that offer no kernel are final, so there is no further attempt.
learn_kernel() {
	choose_kernel || [ -n "$refreshed" ]
}

install_packages() {
	# shellcheck disable=SC2086
	log=$(apt install --no-install-recommends $missing 2>&1)
}

# usage: older OPTION...: apt, in the current folder, for Debian $older of the archive that this machine uses
older() {
	# shellcheck disable=SC2016 # of apt
	archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' |
		grep -E '/debian/?$' | head -n 1)
	mkdir -p lists/partial cache/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $older main" > sources.list
	apt -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$PWD/lists" \
		-o "Dir::Cache=$PWD/cache" "$@"
}

# usage: download PACKAGE: into the current folder
download() {
	apt download "$1" && return
	! apt-cache policy "$1" | grep -q 'Candidate: [0-9]' && older update && older download "$1"
}

# usage: fetch PACKAGE DIR FILE...: extracts files from a package without installing it
fetch() {
	tmp=$(mktemp -d) || return 1
	log=$(
		package=$1 dir=$2
		shift 2
		cd "$tmp" && download "$package" 2>&1 &&
			dpkg -x "$package"_*.deb root 2>&1 && mkdir -p "$dir" 2>&1 &&
			for file in "$@"; do
				find root -path "*/$file" -exec cp {} "$dir/" \; 2>&1
			done
	)
	rm -rf "$tmp"
}

# Captures of real traffic.
fetch_captures() {
	# shellcheck disable=SC2086 # one word per file
	fetch pathspider "$data" $captures
	[ -z "$(missing_captures)" ]
}

# The package is not installed, because it would start a server that anybody can reach.
fetch_servers() {
	# shellcheck disable=SC2086
	fetch prometheus "$tools" $servers
	# On Debian 13 promtool is a package of its own.
	# shellcheck disable=SC2086
	[ -z "$(missing_servers)" ] || fetch promtool "$tools" $servers
	[ -z "$(missing_servers)" ]
}

# Not installed, because their packages change how this machine boots.
fetch_loaders() {
	# shellcheck disable=SC2086
	fetch shim-signed "$tools" $loaders && fetch grub-efi-amd64-signed "$tools" $loaders
	[ -z "$(missing_loaders)" ]
}

# Runs a step that leaves its output in $log. After a failure it is repeated after each
# of $pauses, with fresh lists. Once one step has given up, later steps wait less.
attempt() {
	for pause in $pauses 0; do
		"$@" && return
		[ "$pause" -gt 0 ] || break
		say "that failed, trying again in $pause s"
		sleep "$pause"
		[ "$(id -u)" -ne 0 ] || refresh_lists
	done
	pauses=5
	[ -z "$log" ] || echo "$log" | tail -n 20 >&2
	return 1
}

action=install
upgrade=
purposes=
refreshed=
pauses='5 30 120'
log=
for arg in "$@"; do
	case $arg in
	--print | --check | --install | --kernel) action=${arg#--} ;;
	--upgrade) upgrade=1 ;;
	build | deb | vm | test | firewall | bench | paper | captures | all | debug | cross) purposes="$purposes $arg" ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
purposes=${purposes:-all}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	say 'not a Debian system; the packages are named at the top of scripts/deps.sh'
	exit 1
fi

kernel=
if [ "$action" = kernel ] || want build vm || want_debug; then
	if ! choose_kernel; then
		# A machine that never fetched the lists knows no kernel.
		if [ "$action" = install ] && [ "$(id -u)" -eq 0 ]; then
			refresh_lists
			attempt learn_kernel
		fi
	fi
	if [ -z "$kernel" ]; then
		say "apt offers no stock $series kernel with headers; run apt-get update, or set EPF_KERNEL to a release it offers"
		exit 1
	fi
fi

case $action in
kernel) echo "$kernel"; exit ;;
print) list_packages; exit ;;
esac

missing=$(missing_packages | paste -s -d ' ')
if [ -n "$missing" ] && [ "$action" = install ] && [ "$(id -u)" -eq 0 ]; then
	say "installing $missing"
	attempt install_packages || exit 1
	missing=$(missing_packages | paste -s -d ' ')
fi
if [ -n "$(missing_captures)" ] && [ "$action" = install ]; then
	say 'fetching the test captures into build/data'
	attempt fetch_captures
fi
if [ -n "$(missing_servers)" ] && [ "$action" = install ]; then
	say 'fetching Prometheus into build/tools'
	attempt fetch_servers
fi
if [ -n "$(missing_loaders)" ] && [ "$action" = install ]; then
	say 'fetching boot loaders into build/tools'
	attempt fetch_loaders
fi

absent=$(missing_captures | paste -s -d ' ')
unserved=$(missing_servers | paste -s -d ' ')
unloaded=$(missing_loaders | paste -s -d ' ')
[ -z "$missing" ] || say "missing, run as root: apt-get install --no-install-recommends $missing"
[ -z "$absent" ] || say "missing test captures: $absent (from the package pathspider of Debian $older)"
[ -z "$unserved" ] || say "missing: $unserved (from Debian's packages prometheus and promtool)"
[ -z "$unloaded" ] || say "missing: $unloaded (from Debian's packages shim-signed and grub-efi-amd64-signed)"
[ -z "$missing$absent$unserved$unloaded" ] && say 'everything is there'
