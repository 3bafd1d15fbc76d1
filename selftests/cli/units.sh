#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The units of declared filters, and the agent's with a hook, under a systemd of their own: in
# namespaces, with this machine's /usr and otherwise an empty root that ends with the
# namespaces. The filters are pure BPF. Hash keys are credentials in each way of
# epochfilter.conf(5) that this systemd has.
#
# usage: units.sh
#        units.sh boot ROOT	makes the root and becomes its init; ROOT/../out has the results
#        units.sh drive		what runs inside, as a unit
# shellcheck disable=SC2317 # functions that checks call

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
systemd=/lib/systemd/systemd
epfctl=$top/build/user/epfctl
conf=/etc/epochfilter/filters.d/all.conf
key=000102030405060708090a0b0c0d0e0f
sealed=101112131415161718191a1b1c1d1e1f
imported=202122232425262728292a2b2c2d2e2f
agent=$top/build/user/epfagent
version=$(systemctl --version 2> /dev/null | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
imports() { [ "${version:-0}" -ge 254 ]; }

# Outside

boot() {
	local root=$1 dir unit

	mount -t tmpfs tmpfs "$root" && cd "$root" || exit
	mkdir -p usr proc sys run tmp dev root etc/systemd/system/multi-user.target.wants \
		etc/epochfilter/filters.d var/lib ".$top"
	for dir in bin sbin lib lib64; do
		if [ -L "/$dir" ]; then
			ln -s "usr/$dir" "$dir"
		else
			mkdir -p "$dir" && mount --rbind "/$dir" "$dir"
		fi
	done
	mount --rbind /usr usr && mount --bind "$top" ".$top" && mount --rbind /dev dev &&
		mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t bpf bpf sys/fs/bpf &&
		mount -t tmpfs tmpfs sys/fs/cgroup && mount -t tmpfs tmpfs run &&
		mkdir out && mount --bind "$root/../out" out || exit
	cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc/
	echo 0123456789abcdef0123456789abcdef > etc/machine-id
	# Of this machine's units only targets, and nothing that its generators make.
	mkdir units && cp /lib/systemd/system/{*.target,systemd-exit.service} units/ 2> /dev/null
	mount --bind units usr/lib/systemd/system
	mkdir none && for dir in system-generators system-environment-generators; do
		[ ! -d "usr/lib/systemd/$dir" ] || mount --bind none "usr/lib/systemd/$dir"
	done
	for unit in epochfilter.service epochfilter-save.service; do
		sed "s|@BINDIR@/epfctl|$epfctl|; s|@CREDENTIALS@|LoadCredential=seen.key:/etc/epochfilter/seen.key|" \
			"$top/user/epfctl/$unit.in" > "etc/systemd/system/$unit"
		mkdir "etc/systemd/system/$unit.d"
		printf '[Service]\nEnvironment=EPF_BACKEND=bpf\nStandardOutput=append:/run/%s\nStandardError=inherit\n' \
			"$unit" > "etc/systemd/system/$unit.d/test.conf"
	done
	seals
	[ ! -x "$agent" ] || watches
	sed 's/1min/1s/; s/10s/100ms/' "$top/user/epfctl/epochfilter-save.timer" \
		> etc/systemd/system/epochfilter-save.timer
	# what "systemctl enable" makes
	ln -s ../epochfilter.service etc/systemd/system/multi-user.target.wants/
	mkdir etc/systemd/system/epochfilter.service.wants
	ln -s ../epochfilter-save.timer etc/systemd/system/epochfilter.service.wants/
	printf '[Unit]\nAfter=epochfilter.service\n[Service]\nType=oneshot\nEnvironment=EPF_BACKEND=bpf\nExecStart=%s drive\nStandardOutput=file:/out/said\nStandardError=inherit\n' \
		"$here/units.sh" > etc/systemd/system/driver.service
	ln -s ../driver.service etc/systemd/system/multi-user.target.wants/
	ln -s multi-user.target etc/systemd/system/default.target
	(umask 077 && echo "$key" > etc/epochfilter/seen.key)
	declares > ".$conf"
	ip link set lo up
	ip link add v0 type veth peer name v1
	mount --make-rshared "$root" # systemd mounts credentials in a namespace of the unit
	export container=test
	exec chroot . "$systemd" --system --log-target=null --show-status=0
}

# A key that is encrypted on disk, by the drop-in of the manual page; one that is imported.
seals() {
	mkdir -p var/lib/systemd
	(
		umask 077
		mkdir -p etc/credstore
		echo "$imported" > etc/credstore/epochfilter.imported.key
		echo "$sealed" | chroot . systemd-creds encrypt --with-key=host --name=sealed.key - - \
			> etc/epochfilter/sealed.cred
	)
	cat > etc/systemd/system/epochfilter.service.d/sealed.conf <<- END
		[Service]
		LoadCredentialEncrypted=sealed.key:/etc/epochfilter/sealed.cred
	END
	! imports || printf '[Service]\nImportCredential=epochfilter.*\n' \
		> etc/systemd/system/epochfilter.service.d/imported.conf
}

# A watched directory with a hook that runs as nobody, by the drop-in of epfagent(8). The unit
# has a /tmp of its own, so its programs are copied.
watches() {
	local unit

	mkdir -m 755 opt watched && mkdir -m 777 told && cp "$agent" opt/
	for unit in epfagent.service epfagent.socket; do
		sed 's|@BINDIR@|/opt|' "$top"/user/epfagent/$unit* > "etc/systemd/system/$unit"
	done
	mkdir etc/systemd/system/epfagent.service.d
	cat > etc/systemd/system/epfagent.service.d/hook.conf <<- END
		[Service]
		Environment=EPF_BACKEND=bpf
		StandardError=append:/run/epfagent.service
		ReadWritePaths=/watched /told
		CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_KILL
		SystemCallFilter=setgroups setresgid setresuid
	END
	cat > etc/epochfilter/agent.conf <<- END
		[watch in]
		dir = /watched
		filter = sealed
		format = csv
		fields = 1
		hook = /opt/hook
		user = nobody
	END
	printf '#!/bin/sh\necho "$(id -u) $(id -G) $1" > /told/new && mv /told/new /told/hook\n' > opt/hook
	chmod 755 opt/hook
}

declares() {
	cat <<- END
		[filter sealed]
		window = 1000
		rotate = kernel
		save = no
		key-file = sealed.key
	END
	! imports || cat <<- END
		[filter imported]
		window = 1000
		rotate = kernel
		key-file = epochfilter.imported.key
	END
	cat <<- END
		[filter seen]
		time = 1h
		rate = 1000
		rotate = kernel
		save = 1s
		key-file = seen.key
		[attach v0]
		filter = seen
		no-dispatcher = yes
		no-vlan = yes
		[attach v9]
		filter = seen
		no-dispatcher = yes
		no-vlan = yes
	END
}

# Inside

state() {
	systemctl show -P "$2" "$1"
}

# usage: soon COMMAND...: it succeeds within ten seconds
soon() {
	local n

	for ((n = 0; n < 100; n++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

# usage: epf WORD...: its output is hidden
epf() {
	"$epfctl" "$@" > /dev/null 2>&1
}

partly() {
	[ "$(state epochfilter ActiveState)" = active ] &&
		[[ $(state epochfilter ExecStartPre) == *status=1* ]] && epf show seen && epf status v0 &&
		! epf status v9
}

shown() {
	"$epfctl" doctor | grep -q 'missing  declared .*partly, without attach v9$' &&
		"$epfctl" status | grep -q '^v9: declared, but not attached: there is no such interface'
}

saved_since() {
	[ "$(stat -c %Y.%y /var/lib/epochfilter/seen.epf 2> /dev/null)" != "$1" ]
}

timer_saves() {
	local before

	soon saved_since '' || return
	epf insert seen one
	before=$(stat -c %Y.%y /var/lib/epochfilter/seen.epf)
	soon saved_since "$before"
}

all_there() {
	"$epfctl" doctor | grep -q "ok       declared .*$1 sections, all there"
}

comes_later() {
	ip link add v9 type veth peer name v8 && soon epf status v9 && soon all_there "$(grep -c "^\[" "$conf")"
}

comes_back() {
	ip link del v9 && sleep 0.2 && ip link add v9 type veth peer name v8 && soon epf status v9
}

# The machine goes down and comes up again: nothing but files is left.
next_boot() {
	systemctl stop epochfilter-save.timer
	epf insert seen two
	systemctl stop epochfilter && [ "$(state epochfilter ActiveState)" = inactive ] &&
		epf detach v0 && epf detach v9 && epf destroy seen && systemctl start epochfilter &&
		epf test seen one two && epf status v0 && epf status v9 &&
		[[ $(state epochfilter ExecStartPre) == *status=0* ]] &&
		grep -q '^restored seen: saved .* ago' /run/epochfilter.service
}

reloads() {
	printf '[filter more]\nwindow = 1000\nrotate = kernel\n' >> "$conf"
	systemctl reload epochfilter && epf show more && epf test seen two
}

wrong_file() {
	local before

	before=$(cat "$conf")
	echo '[filter' >> "$conf"
	! systemctl reload epochfilter && [ "$(state epochfilter ActiveState)" = active ] &&
		epf test seen two && grep -q "no ']'" /run/epochfilter.service
	printf '%s\n' "$before" > "$conf"
}

# usage: has_key FILTER KEY: its hash key is that of 32 hex digits
has_key() {
	epf save "$1" "/tmp/$1.epf" && [[ $(od -An -v -tx1 "/tmp/$1.epf" | tr -d ' \n') == *$2* ]]
}

hooked() {
	epf insert sealed two && systemctl start epfagent && echo two > /watched/.x && mv /watched/.x /watched/x &&
		soon grep -qx '65534 65534 /watched/x.audit.json' /told/hook &&
		grep -q '"present": 1,' /watched/x.audit.json
}

drive() {
	cd "$here" || exit
	. ../ktap.sh
	ktap_plan 12
	ktap_check 'at boot everything is made but what lacks its interface, and the unit is active' \
		partly
	ktap_check 'status and doctor name what is not there' shown
	ktap_check 'the timer saves nevertheless' timer_saves
	ktap_check 'when the interface appears it is attached' comes_later
	ktap_check 'and again when it comes back' comes_back
	ktap_check 'a stop saves, and the next start restores' next_boot
	ktap_check 'a reload makes what is new' reloads
	ktap_check 'a file that is wrong is an error of the reload, and everything stays' wrong_file
	# two saves of a filter at once exclude each other
	systemctl stop epochfilter-save.timer epochfilter-save.service
	ktap_check 'the hash key is that of the credential' has_key seen "$key"
	ktap_check 'also of one that is encrypted' has_key sealed "$sealed"
	if imports; then
		ktap_check 'or imported' has_key imported "$imported"
	else
		ktap_skip 'or imported' "ImportCredential= came with systemd 254, this is $version"
	fi
	if [ -x "$agent" ]; then
		ktap_check 'the hook of a watched directory runs as another user' hooked
	else
		ktap_skip 'the hook of a watched directory runs as another user' 'no epfagent'
	fi
	(ktap_finish)
	[ "$ktap_failed" = 0 ] || tail -n 5 /run/*.service | sed 's/^/# /'
	systemctl exit 0
	exec sleep 60 # until systemd ends it
}

case ${1:-} in
boot) boot "$2" ;;
drive) drive; exit ;;
esac

. "$here/../ktap.sh"
[ -n "${EPF_THOROUGH:-}" ] || ktap_skip_all 'only with EPF_THOROUGH'
[ "$(id -u)" = 0 ] || ktap_skip_all 'needs root'
[ -x "$systemd" ] || ktap_skip_all 'no systemd'
[ -x "$epfctl" ] || ktap_skip_all 'needs epfctl: make user'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# In each hierarchy the control groups that systemd makes are below one that goes.
groups=
for dir in /sys/fs/cgroup /sys/fs/cgroup/*; do
	[ ! -e "$dir/cgroup.procs" ] || ! mkdir "$dir/epf-units.$$" ||
		groups="$groups $dir/epf-units.$$"
done 2> /dev/null
[ -n "$groups" ] || ktap_skip_all 'no control groups'
ungroup() {
	# shellcheck disable=SC2086 # a list
	for _ in 1 2 3 4 5 6 7 8 9; do
		find $groups -depth -type d -exec rmdir {} \; 2> /dev/null
		sleep 0.1
	done
}
ktap_cleanup ungroup
mkdir "$tmp/root" "$tmp/out"
(
	for dir in $groups; do
		echo "$BASHPID" > "$dir/cgroup.procs"
	done
	exec timeout -s KILL 60 unshare --pid --mount --fork --net --ipc --uts --cgroup \
		--kill-child "$here/units.sh" boot "$tmp/root"
) > "$tmp/said" 2>&1
said=$(cat "$tmp/out/said" 2> /dev/null)
ktap_diag "$said"
ktap_plan 1
case $said in
*' failed 0 skipped '*) ktap_ok 'systemd runs the units' ;;
*) ktap_fail 'systemd runs the units' "$(tail -n 5 "$tmp/said")" ;;
esac
ktap_finish
