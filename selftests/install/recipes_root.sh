# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For recipes.sh: roots that its packages are installed in, by rpm and pacman of this machine. What
# they depend on is not asked. An empty root runs no script. A borrowed one has this machine's files,
# as the lower layer of an overlay in memory, so that DKMS can build modules for the kernel
# of the tests, and systemctl can enable units.

release=$("$top/scripts/deps.sh" --kernel)
next=${version%.*}.$((${version##*.} + 1))

# A /dev of its own, since removing the root must not reach that of this machine.
make_dev() {
	mount -t tmpfs tmpfs "$1" && mknod -m 666 "$1/null" c 1 3 && mknod -m 666 "$1/zero" c 1 5 &&
		mknod -m 666 "$1/urandom" c 1 9 && ln -s /proc/self/fd "$1/fd"
}

# Of what this machine may have of us nothing is lent. "uname -r" tells the kernel of the tests.
borrow() {
	local root=$1/root
	mkdir -p "$1" && mount -t tmpfs tmpfs "$1" && ktap_cleanup umount -R "$1" && mkdir "$1/upper" "$1/work" "$root" &&
		mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$root" &&
		mount -t proc proc "$root/proc" && make_dev "$root/dev" || return
	sed -i '/^epochfilter:/d' "$root/etc/group" "$root/etc/gshadow"
	rm -rf "$root"/usr/src/epochfilter-* "$root/var/lib/dkms/epochfilter" "$root/etc/epochfilter" \
		"$root"/etc/systemd/system/*.wants/{epf,epochfilter}* "$root"/lib/modules/*/updates
	mv "$root/usr/bin/uname" "$root/usr/bin/uname.real"
	printf '#!/bin/sh\n[ "$*" != -r ] || exec echo %s\nexec uname.real "$@"\n' "$release" > "$root/usr/bin/uname"
	chmod 755 "$root/usr/bin/uname"
}

# usage: left ROOT: files and folders of ours
left() {
	find "$1" \( -path "$1/var" -o -path "$1/proc" \) -prune -o \( -name '*epf*' -o -name '*epochfilter*' \) -print
}

# usage: runs ROOT: the tool that is installed there, with the libraries of this machine
runs() {
	[ "$("$1/usr/bin/epfctl" --version)" = "epfctl $version" ]
}

enabled() {
	find "$1/etc/systemd" -lname '*/system/ep[fo]*' | LC_ALL=C sort
}

# usage: has_modules ROOT VERSION: they are signed, and none of another version is there
has_modules() {
	local name field folder=$1/lib/modules/$release/updates/dkms
	for name in epochfilter epochfilter_kinds xt_epf; do
		[ "$(modinfo -F version "$folder/$name.ko"*)" = "$2" ] && [ -n "$(modinfo -F signer "$folder/$name.ko"*)" ] ||
			{ echo "$name is not there, of another version, or not signed"; return 1; }
	done
	field=$(cd "$1/var/lib/dkms/epochfilter" && echo [0-9]*)
	[ "$field" = "$2" ] || { echo "DKMS has $field"; return 1; }
}

# usage: has_group ROOT
has_group() {
	grep '^epochfilter:' "$1/etc/group" || { echo 'no group'; return 1; }
}

# --- rpm

# usage: rpm_in ROOT OPTION...
rpm_in() {
	rpm --root "$1" --dbpath /var/lib/epf-rpm "${@:2}"
}

rpm_empty() {
	local root=$tmp/rpm-empty found
	mkdir -p "$root/var" && rpm_in "$root" -i --nodeps --noscripts "$tmp"/rpm/RPMS/*/*.rpm &&
		rpm_in "$root" -Va --nodeps --noscripts && runs "$root" && cp -a "$root" "$tmp/stage" || return
	rpm_in "$root" -qa --qf '%{NAME}\n' | xargs rpm --root "$root" --dbpath /var/lib/epf-rpm -e --nodeps --noscripts || return
	found=$(left "$root")
	[ -z "$found" ] || { echo "left: $found"; return 1; }
}

rpm_scripts() {
	local root=$tmp/rpm-root/root
	borrow "$tmp/rpm-root" && rpm_in "$root" -i --nodeps "$tmp"/rpm/RPMS/*/*.rpm || return
	has_group "$root" && has_modules "$root" "$version" && [ -z "$(enabled "$root")" ]
}

# The packages of the next version: the same files with its number. The stage has them as installed.
rpm_next() {
	local spec=$tmp/next.spec stage=$tmp/stage
	rm -rf "${stage:?}/var" && mv "$stage/usr/src/epochfilter-$version" "$stage/usr/src/epochfilter-$next" &&
		sed -i "s/$version/$next/" "$stage/usr/src/epochfilter-$next"/{VERSION,dkms.conf} || return
	sed "/^Source0/d; s/^Version: .*/Version: $next/; /^%license/d; /^%doc/d; /^%prep/,/^# Nothing/d
		/^%pre\$/i %install\ncp -a $stage/. %{buildroot}/\nrm -rf %{buildroot}/usr/share/doc %{buildroot}/usr/share/licenses\n" \
		"$tmp/rpm/epochfilter.spec" > "$spec"
	rpmbuild -bb --nodeps -D "_topdir $tmp/next" "$spec" 2>&1 | tail -n 20
}

rpm_upgrade() {
	local root=$tmp/rpm-root/root before
	rpm_next && chroot "$root" systemctl enable epfagent.service epochfilter.service || return
	before=$(enabled "$root")
	echo 'hold = no' > "$root/etc/epochfilter/agent.conf"
	rpm_in "$root" -U --nodeps "$tmp"/next/RPMS/*/*.rpm && has_group "$root" && has_modules "$root" "$next" || return
	[ "$(cat "$root/etc/epochfilter/agent.conf")" = 'hold = no' ] && [ -n "$before" ] && [ "$(enabled "$root")" = "$before" ]
}

rpm_removal() {
	local root=$tmp/rpm-root/root
	rpm_in "$root" -qa --qf '%{NAME}\n' | xargs rpm --root "$root" --dbpath /var/lib/epf-rpm -e --nodeps || return
	find "$root/lib/modules/$release/updates" -name '*.ko*' | grep . && return 1
	[ -z "$(enabled "$root")" ] || { enabled "$root"; return 1; }
	ls "$root/etc/epochfilter/agent.conf.rpmsave"
}

# --- pacman

# usage: pacman_in ROOT OPTION...
pacman_in() {
	printf '[options]\nArchitecture = x86_64\nSigLevel = Never\nLocalFileSigLevel = Never\n' > "$tmp/pacman.conf"
	mkdir -p "$1/var/lib/epf-pacman" &&
		pacman --config "$tmp/pacman.conf" --root "$1" --dbpath "$1/var/lib/epf-pacman" --cachedir "$tmp" \
			--logfile "$tmp/pacman.log" --gpgdir "$tmp" --noconfirm "${@:2}"
}

pacman_empty() {
	local root=$tmp/pacman-empty found
	pacman_in "$root" -Udd --noscriptlet "$tmp"/arch/*.pkg.tar* && pacman_in "$root" -Qkk && runs "$root" || return
	pacman_in "$root" -Qq | xargs -d '\n' -- echo > "$tmp/names"
	# shellcheck disable=SC2046 # names
	pacman_in "$root" -Rddn --noscriptlet $(cat "$tmp/names") || return
	found=$(left "$root")
	[ -z "$found" ] || { echo "left: $found"; return 1; }
}

pacman_scripts() {
	local root=$tmp/pacman-root/root
	borrow "$tmp/pacman-root" && pacman_in "$root" -Udd "$tmp"/arch/*.pkg.tar* || return
	has_group "$root" && [ -z "$(enabled "$root")" ]
}

pacman_upgrade() {
	local root=$tmp/pacman-root/root
	echo 'hold = no' > "$root/etc/epochfilter/agent.conf"
	pacman_in "$root" -Udd "$tmp"/arch/*.pkg.tar* && has_group "$root" &&
		[ "$(cat "$root/etc/epochfilter/agent.conf")" = 'hold = no' ]
}
