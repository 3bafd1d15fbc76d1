#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: deb_cross.sh ARCH [DIRECTORY]	(build/deb/ARCH)
#
# As deb.sh, for another architecture of Debian, such as arm64, with Debian's cross compiler. Needs
# root and Debian's archive. Guarantee: what is installed for that is seen by this script only. The
# system's directories are overlaid for it, and the overlay is removed when it ends. So the packages
# may not be built below those.

set -eu -o pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
arch=${1:?an architecture}
out=$(realpath -m "${2:-$top/build/deb/$arch}")

if [ -z "${EPF_OVERLAID:-}" ]; then
	mkdir -p "${out%/*}"
	scratch=$(mktemp -d "$out.XXXXXX")
	trap 'rm -rf --one-file-system "$scratch"' EXIT
	EPF_OVERLAID=$scratch unshare --mount "$0" "$arch" "$out"
	exit
fi

for dir in usr var etc; do
	mkdir "$EPF_OVERLAID/$dir" "$EPF_OVERLAID/work.$dir"
	mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$EPF_OVERLAID/$dir,workdir=$EPF_OVERLAID/work.$dir" "/$dir"
done
export DEBIAN_FRONTEND=noninteractive
{
	dpkg --add-architecture "$arch"
	apt-get -q update
	apt-get -q -y -o APT::Sandbox::User=root --no-install-recommends build-dep -P cross,nocheck -a "$arch" "$top"
} > "$EPF_OVERLAID/log" 2>&1 < /dev/null || {
	tail -n 20 "$EPF_OVERLAID/log" >&2
	echo "deb: cannot install what $arch needs" >&2
	exit 1
}
# nvcc compiles for this machine only.
NVCC=none EPF_DEB_ARCH=$arch "$top/scripts/deb.sh" "$out"
