#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In a guest whose root has the packages installed: README's commands; an upgrade and a
# removal while a filter is attached. packages.py boots it: EPF_README has the commands,
# EPF_FRAME a frame in hexadecimal, and /debs/next the packages of the next version.
# shellcheck disable=SC2317 # functions that ktap_check calls

[ -n "${EPF_VM:-}" ] && [ -d /debs/next ] || exec echo '1..0 # SKIP packages.py boots this'
. "$(dirname "$0")/../ktap.sh"
bb=/run/epf/busybox
next=/tmp/next
ktap_plan 9

loads() {
	echo /sbin/modprobe > /proc/sys/kernel/modprobe
	modprobe epochfilter && [ "$(cat /sys/module/epochfilter/version)" = "$(modinfo -F version epochfilter)" ]
}

advises_nothing_done() {
	epfctl doctor > /tmp/doctor && cat /tmp/doctor && ! grep -E 'modprobe|make ' /tmp/doctor
}

# Perl is in every root of Debian's. AF_PACKET, SOCK_RAW, ETH_P_IP.
send_twice() {
	perl -e 'my ($frame, $ifindex) = @ARGV;
		socket(my $s, 17, 3, 0) or die "socket: $!";
		my $to = pack("SniSCCa8", 17, 0x0800, $ifindex, 0, 0, 6, "");
		for (1, 2) { send($s, pack("H*", $frame), 0, $to) or die "send: $!" }' \
		"$EPF_FRAME" "$(cat "/sys/class/net/$peer/ifindex")"
}

# The block's lines; a frame comes twice before the status.
drops_the_duplicate() {
	local line
	while IFS= read -r line; do
		case $line in
		*' status '*) send_twice || return
			epfctl -j status eth0 | tee /tmp/status
			grep -qE '"recent": *\{"verdict": *"drop", *"packets": *1,' /tmp/status || return ;;
		esac
		eval "$line" || { echo "exit $?: $line"; return 1; }
	done <<< "$EPF_README"
}

keeps() {
	epfctl create kept --time 1h --rate 1k && epfctl insert kept 192.0.2.7 &&
		epfctl create dict --kind dict --time 1h --rate 100 && epfctl insert dict 192.0.2.8 &&
		epfctl attach eth0 --filter repeats --action count --vlan-offload off
}

# Filters, keys and the attachment.
there() {
	epfctl test kept 192.0.2.7 && epfctl test dict 192.0.2.8 && epfctl status eth0 | grep 'filter repeats'
}

# DKMS compiled natively; here it would take minutes.
upgrades() {
	mkdir $next && cp "/lib/modules/$(uname -r)"/updates/dkms/*.ko* $next/ &&
		touch /etc/dkms/no-autoinstall && dpkg -i /debs/next/*.deb > /tmp/upgrade 2>&1
	local status=$?
	cat /tmp/upgrade
	[ $status -eq 0 ] && grep -q '/usr/lib/epochfilter/upgrade.sh. loads the new one' /tmp/upgrade && there
}

replaces() {
	/usr/lib/epochfilter/upgrade.sh "$(echo $next/epochfilter.ko*)" > /tmp/replace 2>&1
	cat /tmp/replace
	grep -qE '^upgraded: 3 filters, 1 interfaces' /tmp/replace && there
}

removes() {
	dpkg --remove epochfilter-dkms > /tmp/remove 2>&1
	local status=$?
	cat /tmp/remove
	[ $status -eq 0 ] && grep -q '^unload: filters exist' /tmp/remove &&
		grep -q 'stay loaded' /tmp/remove && there
}

unloads() {
	epfctl detach eth0 && epfctl destroy repeats && epfctl destroy kept && epfctl destroy dict &&
		/usr/lib/epochfilter/unload.sh && ! grep -E '^(epochfilter|xt_epf)' /proc/modules
}

$bb ip link add eth0 type veth
peer=$($bb ip -o link | sed -n 's/^[0-9]*: \(veth[0-9]*\)@.*/\1/p')
$bb ip link set eth0 up && $bb ip link set "$peer" up
ktap_check 'modprobe finds the modules of DKMS' loads
ktap_check 'doctor advises nothing that was just done' advises_nothing_done
ktap_check "README's commands drop a duplicate" drops_the_duplicate
ktap_check 'filters of two kinds have keys, and one is attached' keeps
ktap_check 'an upgrade leaves the loaded module, and names what replaces it' upgrades
ktap_check 'that replaces it, and keeps filters and attachment' replaces
ktap_check 'a removal unloads nothing that is in use, and says why' removes
ktap_check 'what is not in use is unloaded' unloads
ktap_check 'purging leaves no file' sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package} " "epochfilter*") && ! ls /etc/epochfilter /usr/src/epochfilter* /usr/bin/epf* 2> /dev/null'
ktap_finish
