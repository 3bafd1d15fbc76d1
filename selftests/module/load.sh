#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Loading and unloading: the self-test, log messages, refusals while an object is held,
# and repeated loading without leaks. Leaves the module loaded. In a VM only, because all
# filters are lost.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
. "$here/modules.sh"
times=${EPF_THOROUGH:+100}
times=${times:-4}

[ -e "$ko" ] || ktap_skip_all "$ko is not built"
[ -x "$built/hold" ] || ktap_skip_all "$built/hold is not built"
ktap_plan 28

work=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$work"
rmmod epochfilter_kinds 2>/dev/null
rmmod epochfilter 2>/dev/null

loaded() {
	[ -d /sys/module/epochfilter ]
}

# Prints what the module logs while a command runs.
log_of() {
	dmesg -C
	"$@"
	dmesg -t | grep '^epochfilter: ' |
		grep -v -e 'out-of-tree module taints' -e 'module verification failed'
}

# usage: hold WHAT NAME; holds it until let_go
hold() {
	mkfifo "$work/in"
	"$built/hold" "$1" "$2" < "$work/in" > "$work/out" &
	holder=$!
	exec 9> "$work/in"
	for _ in $(seq 200); do
		grep -q ready "$work/out" && return
		sleep 0.3
	done
	return 1
}

let_go() {
	exec 9>&-
	wait "$holder"
	rm "$work/in"
}

# Prints the areas of virtual memory that the module's functions have allocated.
areas() {
	grep -c -e epf_ -e '\[epochfilter\]' /proc/vmallocinfo
}

# Waits until memory that is freed late is gone.
no_areas() {
	for _ in $(seq 200); do
		[ "$(areas)" -gt 0 ] || return 0
		sleep 0.5
	done
	grep -e epf_ -e '\[epochfilter\]' /proc/vmallocinfo
	return 1
}

field() {
	awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo
}

# The self-test
log=$(log_of insmod "$ko" selftest=1)
ktap_check 'it loads with selftest=1' loaded
kernel=$(echo "$log" | sed -n 's/^epochfilter: selftest: digest //p')
user=$("$built/kat" | sed -n 's/.*: digest //p')
ktap_is 'known answers in the kernel are those in user space' "$kernel" "$user"
ktap_is 'a digest is printed' "$(echo "$kernel" | grep -cE '^[0-9a-f]{16}$')" 1
ktap_is 'the self-test says pass, and that is all' "$log" "epochfilter: selftest: digest $user
epochfilter: selftest: pass"
ktap_check 'there is a character device' test -c /dev/epochfilter
ktap_is 'of mode 0600, owned by root' "$(stat -c '%a %u %g' /dev/epochfilter)" '600 0 0'
ktap_check 'the module has BTF' test -s /sys/kernel/btf/epochfilter
ktap_refuse 'it cannot be loaded twice' insmod "$ko"
ktap_check 'it unloads' rmmod epochfilter
ktap_refuse 'the device is gone' test -e /dev/epochfilter
ktap_refuse 'selftest=perhaps is refused' insmod "$ko" selftest=perhaps
ktap_refuse 'max_filters=-1 is refused' insmod "$ko" max_filters=-1

# Without the self-test
ktap_is 'without the self-test it says nothing' "$(log_of insmod "$ko" max_filters=2)" ''
ktap_is 'a parameter is taken' "$(cat /sys/module/epochfilter/parameters/max_filters)" 2
"$built/hold" nothing mod-load-1 > /dev/null && "$built/hold" nothing mod-load-2 > /dev/null
ktap_refuse 'and obeyed' "$built/hold" nothing mod-load-3
ktap_check 'it unloads with filters that nobody holds' rmmod epochfilter
ktap_check 'their memory is free' no_areas
insmod "$ko"

# While an object is held
for what in control filter mapping; do
	ktap_check "a $what is held" hold $what mod-load
	ktap_refuse "unloading is refused while a $what is held" rmmod epochfilter
	let_go
done
ktap_check 'let go, it unloads' rmmod epochfilter

# usage: again TIMES; loads and unloads, every fourth time with a filter inside
again() {
	for i in $(seq "$1"); do
		insmod "$ko" || return
		if [ $((i % 4)) -eq 0 ]; then
			"$built/hold" nothing mod-load > /dev/null || return
		fi
		rmmod epochfilter || return
	done
}

# The first rounds fill caches that stay.
again 8
slab=$(field Slab) vmalloc=$(field VmallocUsed) percpu=$(field Percpu)
ktap_check "it loads and unloads $times times" again $times
ktap_check 'no area of memory is left' no_areas
ktap_diag "Slab $slab -> $(field Slab) KiB, VmallocUsed $vmalloc -> $(field VmallocUsed) KiB, Percpu $percpu -> $(field Percpu) KiB"
# KASAN keeps what was freed, up to 1/32 of the memory; there kmemleak looks for leaks.
room=8192
! grep -q __asan_ "$ko" || room=$(($(field MemTotal) / 32))
small() {
	[ $(($(field VmallocUsed) - vmalloc)) -lt 1024 ] &&
		[ $(($(field Percpu) - percpu)) -lt 1024 ] &&
		[ $(($(field Slab) - slab)) -lt $room ]
}
ktap_check 'memory in use has not grown' small
# KCSAN names the modules of a race in brackets; only those of this module count.
complaints() {
	dmesg | grep -E 'WARNING:|BUG:|Oops|Call Trace|refcount_t|corruption' |
		grep -v 'BUG: KCSAN: [^[]*$'
}
ktap_refuse 'the kernel has not complained' complaints
insmod "$ko"
ktap_finish
