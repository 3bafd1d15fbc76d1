#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What the project needs, by purpose. Guarantees:
#  - exit 0 means that everything the purpose needs is available: what scripts/packages names by its header or
#    command, wherever it comes from; other packages by dpkg, where that is;
#  - without root nothing changes outside build/: missing packages are printed as one line for apt, dnf or
#    pacman, and the exit status is 1; with root apt installs them, and on other systems the line is printed;
#  - apt's lists are refreshed only if they lack what is missing.
#
# Exit: 0 everything is available, 1 something is missing, 2 usage.

set -u

PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
older=bookworm # the last release that has the package with the captures
series=6.12

build_pkgs='gcc libc6-dev make clang llvm libbpf-dev libxdp-dev libpcap-dev libelf-dev
	libjansson-dev libinih-dev libcsv-dev libncurses-dev libfixbuf-dev libisal-dev libmicrohttpd-dev libnats-dev libssl-dev libsystemd-dev libwireshark-dev libxtables-dev libxxhash-dev
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
# The first part of "make demo": epfctl as far as it replays a capture.
demo_pkgs='gcc libc6-dev make clang libbpf-dev libpcap-dev libjansson-dev libinih-dev libxxhash-dev bpftool iproute2 python3'
# For "make deb", beside the Build-Depends of debian/control.
deb_pkgs='build-essential xz-utils'
# Beside those of the demo: the firewalls that "make demo-firewall" compares, and a resolver.
firewall_pkgs='ethtool nftables iptables ipset dnsmasq-base'
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
                       [demo|build|deb|vm|test|firewall|bench|paper|captures|all|debug|cross]...
       scripts/deps.sh --lacks CC "REQUIRED PACKAGE..." "OTHER PACKAGE..."

  --install   (the default) install missing packages, fetch the test captures
              and Prometheus; without root or apt, print the line that
              installs them
  --check     say what is missing, change nothing
  --print     list the packages of the purpose, one a line
  --kernel    print the release of the kernel to build for and to test on
  --upgrade   choose the newest kernel apt offers, not the newest installed
  --lacks     for the build: report in one line what CC did not find; fail if
              a required package is among it

  EPF_KERNEL=RELEASE overrides the choice of kernel. The default purpose is
  all, which is all but debug and cross; bench needs what test needs. Captures are real
  traffic for the tests, make demo and make bench. build goes without a kernel
where apt offers none: then "make user" builds all but the module.
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

# usage: want_only PURPOSE: what "all" does not have
want_only() {
	case " $purposes " in
	*" $1 "*) ;;
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
	if want build; then set -- $build_pkgs ${kernel:+"linux-headers-$kernel"}; fi
	# shellcheck disable=SC2086
	if want_only demo; then set -- "$@" $demo_pkgs; fi
	# shellcheck disable=SC2046,SC2086
	if want deb; then set -- "$@" $deb_pkgs $(build_depends); fi
	# shellcheck disable=SC2086
	if want vm; then set -- "$@" $vm_pkgs; fi
	# shellcheck disable=SC2086
	if want test bench; then set -- "$@" $test_pkgs; fi
	# shellcheck disable=SC2086
	if want test; then set -- "$@" $foreign_pkgs; fi
	# shellcheck disable=SC2086
	if want firewall test; then set -- "$@" $demo_pkgs $firewall_pkgs; fi
	# shellcheck disable=SC2086
	if want paper; then set -- "$@" $paper_pkgs; fi
	if want build vm; then set -- "$@" ${kernel:+"linux-image-$kernel"}; fi
	# shellcheck disable=SC2086
	if want_only cross; then set -- "$@" $cross_pkgs; fi
	# shellcheck disable=SC2086
	if want_only debug; then
		set -- "$@" $debug_pkgs "linux-headers-$rt" "linux-image-$rt"
	fi
	printf '%s\n' "$@" | sort -u
}

# usage: row PACKAGE: its names on Fedora and Arch, what shows it, and what is missing without it
row() {
	awk -v name="$1" '!/^#/ && (name == $1 || $1 ~ /\*$/ && index(name, substr($1, 1, length($1) - 1)) == 1) { sub(/^[^ ]+ +/, ""); gsub(/ +/, " "); print }' \
		"$top/scripts/packages"
}

# usage: shown PACKAGE: is there what shows it?
shown() {
	# shellcheck disable=SC2046 # three words
	set -- $(row "$1")
	case ${3:--} in
	-) false ;;
	pc:*) pkg-config --exists "${3#pc:}" ;;
	py:*) "${PYTHON:-/usr/bin/python3}" -c "import ${3#py:}" ;;
	*.h) "${CC:-cc}" -fsyntax-only -include "$3" -xc /dev/null ;;
	*) command -v "$3" ;;
	esac > /dev/null 2>&1
}

# Without dpkg only what can be shown is asked for: tests go without the rest.
missing_packages() {
	wanted=$(list_packages)
	# shellcheck disable=SC2086
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null)
	for pkg in $wanted; do
		[ -n "$debian" ] || [ -n "$(row "$pkg")" ] || continue
		echo "$have" | grep -qxF "installed $pkg" || shown "$pkg" || echo "$pkg"
	done
}

# usage: line PACKAGE...: the command that installs them
line() {
	if [ -n "$debian" ]; then
		echo "apt-get install --no-install-recommends $*"
		return
	fi
	for pkg; do
		row "$pkg"
	done | if command -v dnf > /dev/null; then
		echo "dnf install $(awk '!had[$1]++ { print $1 }' | sed "s/.*(.*/'&'/" | paste -s -d ' ')"
	elif command -v pacman > /dev/null; then
		echo "pacman -S --needed $(awk '!had[$2]++ { print $2 }' | paste -s -d ' ')"
	else
		echo "install, by the names of Debian, $*"
	fi
}

# usage: lacks CC "REQUIRED PACKAGE..." "OTHER PACKAGE...": reports in one line what a build by CC did not find, which
# features are missing without it, and the command that installs it, which is not advised for what is installed: then
# CC looks elsewhere. Fails if a required package is among them.
lacks() {
	absent='' names='' unseen=''
	for pkg in $2 $3; do
		if [ "$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2> /dev/null)" = installed ]; then
			unseen="$unseen${unseen:+, }$pkg"
		else
			cost=$(row "$pkg" | cut -d ' ' -f 4-)
			absent="$absent${absent:+, }$pkg${cost:+ ($cost)}" names="$names $pkg"
		fi
	done
	[ -n "$absent$unseen" ] || return 0
	sudo='sudo '
	[ "$(id -u)" -ne 0 ] || sudo=
	mend="'${sudo}make deps FOR=build' installs all of it"
	# shellcheck disable=SC2086 # one word each
	[ -n "$debian" ] || mend="run as root: $(line $names)"
	text="${absent:+missing: $absent: $mend}"
	[ -z "$unseen" ] || text="${text:+$text; }installed, but not found by '$1': $unseen: see CC, CPPFLAGS and PATH"
	if [ -n "$2" ]; then
		echo "error: $text" >&2
		return 1
	fi
	echo "user: $text" >&2
}

# What is fetched into build/, and not installed: captures of real traffic; a server that anybody could
# reach, with its tool, on Debian 13 a package of its own; and boot loaders, for guests with Secure Boot.
# usage: what NAME: sets the purposes, packages, folder and files
what() {
	case $1 in
	captures) for='test bench captures' from=pathspider dir=data files='real.pcap random.pcap icmp_ttl.pcap' ;;
	Prometheus) for=test from='prometheus promtool' dir=tools files='bin/prometheus bin/promtool' ;;
	loaders) for=vm from='shim-signed grub-efi-amd64-signed' dir=tools files='shimx64.efi.signed grubx64.efi.signed' ;;
	esac
}

# usage: missing_files NAME
missing_files() {
	what "$1"
	# shellcheck disable=SC2086 # one word each
	want $for || return 0
	[ -n "$debian" ] || want_only "$1" || return 0
	for file in $files; do
		name=${file##*/}
		[ -s "$top/build/$dir/$name" ] || { [ "$file" != "$name" ] && command -v "$name" > /dev/null; } ||
			echo "build/$dir/$name"
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

# usage: fetch_files NAME
fetch_files() {
	for package in $from; do
		# shellcheck disable=SC2086
		[ -z "$(missing_files "$1")" ] || fetch "$package" "$top/build/$dir" $files
	done
	[ -z "$(missing_files "$1")" ]
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
debian=
refreshed=
pauses='5 30 120'
log=
absent=
if command -v dpkg-query > /dev/null && command -v apt-get > /dev/null; then debian=1; fi
for arg in "$@"; do
	case $arg in
	--print | --check | --install | --kernel) action=${arg#--} ;;
	--lacks)
		shift
		lacks "$@"
		exit
		;;
	--upgrade) upgrade=1 ;;
	demo | build | deb | vm | test | firewall | bench | paper | captures | all | debug | cross) purposes="$purposes $arg" ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
purposes=${purposes:-all}

kernel=
if [ "$action" = kernel ] || want build vm || want_only debug; then
	if [ -n "$debian" ] && ! choose_kernel; then
		# A machine that never fetched the lists knows no kernel.
		if [ "$action" = install ] && [ "$(id -u)" -eq 0 ]; then
			refresh_lists
			attempt learn_kernel
		fi
	fi
	if [ -z "$kernel" ]; then
		text="apt offers no stock $series kernel with headers"
		[ -n "$debian" ] || text="no stock $series kernel, which is Debian's"
		if [ "$action" = kernel ] || want vm || want_only debug; then
			say "$text; run apt-get update, or set EPF_KERNEL to a release it offers"
			exit 1
		fi
		say "$text, so none for the module; 'make user' builds the rest"
	fi
fi

case $action in
kernel) echo "$kernel"; exit ;;
print) list_packages; exit ;;
esac

missing=$(missing_packages | paste -s -d ' ')
if [ -n "$missing" ] && [ -n "$debian" ] && [ "$action" = install ] && [ "$(id -u)" -eq 0 ]; then
	say "installing $missing"
	attempt install_packages || exit 1
	missing=$(missing_packages | paste -s -d ' ')
fi
for name in captures Prometheus loaders; do
	# Without the packages there is another run, which fetches.
	if [ -z "$missing" ] && [ -n "$debian" ] && [ "$action" = install ] && [ -n "$(missing_files $name)" ]; then
		say "fetching $name into build/"
		what $name
		attempt fetch_files $name
	fi
	files=$(missing_files $name | paste -s -d ' ')
	[ -z "$files" ] || absent="$absent${absent:+; }$files (from Debian's $(what $name; echo "$from"))"
done

# shellcheck disable=SC2086
if [ -n "$missing" ]; then
	say "missing, run as root: $(line $missing)${absent:+ # and then again: it fetches $absent}"
elif [ -n "$absent" ]; then
	say "missing: $absent"
else
	say 'everything is there'
	exit 0
fi
exit 1
