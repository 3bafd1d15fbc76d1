#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds kernels that Debian does not have, to test the module on, from Debian's
# kernel source and selftests/vm/{kernel,NAME}.config. Guarantees:
#  - build/kernels/NAME is a complete build or lacks its stamp; it is rebuilt if the
#    source version, the configuration or the compiler has changed, and only then;
#  - every option of the two files is in force, or nothing is built.
#
# Exit: 0 the kernel is available, 1 it cannot be built, 2 usage.

set -u -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
configs=$top/selftests/vm
state=$top/build/kernels
series=6.12

usage() {
	cat <<'USAGE'
usage: scripts/kernel.sh [-j N] NAME | --source | --list

  NAME     builds the kernel of selftests/vm/NAME.config in build/kernels/NAME
           if it is not there, and prints that directory: the module builds
           with KDIR=DIRECTORY, run.sh boots DIRECTORY/arch/x86/boot/bzImage
  -j N     jobs at once (2)
  --source unpacks the source only and prints where
  --list   the names there are
USAGE
}

say() {
	echo "kernel: $*" >&2
}

die() {
	say "$*"
	exit 1
}

jobs=2 name=
while [ $# -gt 0 ]; do
	case $1 in
	-j) jobs=${2:?}; shift ;;
	--list)
		find "$configs" -name '*.config' ! -name kernel.config -printf '%f\n' |
			sed 's/\.config$//' | sort
		exit
		;;
	--source) name=source ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) name=$1 ;;
	esac
	shift
done
[ -n "$name" ] || { usage >&2; exit 2; }
fragments=("$configs/kernel.config" "$configs/$name.config")
[ "$name" = source ] || [ -r "${fragments[1]}" ] ||
	die "no configuration ${fragments[1]}"

package=linux-source-$series
version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)
[ -n "$version" ] || die "$package is missing: scripts/deps.sh debug"
source=$state/$package
out=$state/$name
log=$state/$name.log
stamp=$out/epf-stamp

wanted() {
	echo "$version"
	gcc --version | head -n 1
	cat "${fragments[@]}" 2>/dev/null
}

unpack() {
	[ "$(cat "$source/epf-version" 2>/dev/null)" != "$version" ] || return 0
	say "unpacking $package $version"
	rm -rf "$source"
	tar -C "$state" -xf "/usr/src/$package.tar.xz" &&
		echo "$version" > "$source/epf-version"
}

built() {
	[ "$(cat "$stamp" 2>/dev/null)" = "$(wanted)" ]
}

mkdir -p "$state" || exit 1
exec 9> "$state/lock"
if ! built && ! flock -n 9; then
	say 'waiting for another build'
	flock 9
fi
if [ "$name" = source ]; then
	unpack || die "cannot unpack $package"
	echo "$source"
	exit
fi
if built; then
	echo "$out"
	exit
fi

# Kconfig silently drops options whose dependencies are not met, so check each one.
configure() {
	local line refused=0
	cat "${fragments[@]}" > "$out/epf.config"
	KCONFIG_ALLCONFIG=$out/epf.config make -C "$source" O="$out" allnoconfig \
		> "$log" 2>&1 || die "cannot configure; see $log"
	while read -r line; do
		case $line in
		CONFIG_*) grep -qxF "$line" "$out/.config" ;;
		'# CONFIG_'*) ! grep -q "^${line:2:-11}=" "$out/.config" ;;
		*) true ;;
		esac || {
			say "not in force: $line"
			refused=1
		}
	done < "$out/epf.config"
	[ "$refused" -eq 0 ]
}

compile() {
	local begun=$SECONDS pid
	make -C "$source" O="$out" -j "$jobs" KBUILD_BUILD_USER=epf \
		KBUILD_BUILD_HOST=epf bzImage modules >> "$log" 2>&1 9>&- &
	pid=$!
	# shellcheck disable=SC2064 # this process
	trap "kill $pid 2>/dev/null" EXIT
	while kill -0 "$pid" 2>/dev/null; do
		sleep 5
		[ $(((SECONDS - begun) % 30)) -ge 5 ] ||
			say "$name: $((SECONDS - begun)) s, $(wc -l < "$log") steps"
	done
	trap - EXIT
	wait "$pid"
}

rm -f "$stamp"
mkdir -p "$out"
unpack || die "cannot unpack $package"
configure || die "$name: the configuration is not what was asked for"
begun=$SECONDS
compile || die "$name: the build failed; see the end of $log"
wanted > "$stamp"
say "$name: built in $((SECONDS - begun)) s"
echo "$out"
