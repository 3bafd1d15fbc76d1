#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module of the locked kinds: it is loaded with the first filter of such a kind and
# stays while there is one; its absence is reported. In a VM only, whose kernel finds the
# module by vm/stage2. Leaves epochfilter loaded.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
. "$here/modules.sh"
demand=$built/demand
kinds=${ko%/*}/epochfilter_kinds.ko
helper=/proc/sys/kernel/modprobe

[ -e "$kinds" ] || ktap_skip_all "$kinds is not built"
[ -x "$demand" ] || ktap_skip_all "$demand is not built"
ktap_plan 22

work=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$work"
modprobe=$(cat $helper)
ktap_cleanup sh -c "echo '$modprobe' > $helper"

loaded() {
	[ -d /sys/module/epochfilter_kinds ]
}

unloads() {
	remove epochfilter_kinds
}

# Prints what the kernel logs while a filter of kind ge is created.
notices() {
	dmesg -C
	"$demand" create mod-demand > "$work/out"
	dmesg -t | grep '^epochfilter: '
}

# Prints a copy of the module whose table has another size: the first word of "kinds" in
# its read-only data is changed.
misfit() {
	python3 - "$kinds" "$work/misfit.ko" << 'END'
import subprocess
import sys

def told(*how):
    return subprocess.run(["readelf", "-W", *how, sys.argv[1]], check=True,
                          capture_output=True, text=True).stdout.splitlines()

at, section = next((int(l.split()[1], 16), l.split()[6]) for l in told("-s")
                   if l.split()[-1:] == ["kinds"] and "OBJECT" in l)
offset = next(int(l.split("]")[1].split()[3], 16) for l in told("-S")
              if l.strip().startswith(f"[{section:>2}]"))
module = bytearray(open(sys.argv[1], "rb").read())
module[offset + at] ^= 8
open(sys.argv[2], "wb").write(module)
END
}

unloads 2> /dev/null
rmmod epochfilter 2> /dev/null
ktap_check 'the module of lanes loads alone' insmod "$ko"
ktap_is 'a filter of lanes is made' "$("$demand" lanes mod-lanes)" ready
ktap_refuse 'which does not load the kinds' loaded

ktap_is 'a filter of kind ge is made' "$("$demand" create mod-demand)" ready
ktap_check 'which loads them' loaded
ktap_refuse 'they stay while there is such a filter' rmmod epochfilter_kinds
ktap_refuse 'and so does the module of lanes' rmmod epochfilter

mkfifo "$work/in"
"$demand" snapshot mod-demand < "$work/in" > "$work/out" &
holder=$!
exec 9> "$work/in"
for _ in $(seq 200); do
	grep -q ready "$work/out" && break
	sleep 0.3
done
ktap_is 'a snapshot of it is held, the filter destroyed' "$(cat "$work/out")" ready
sleep 1
ktap_refuse 'they stay while the snapshot does' rmmod epochfilter_kinds
exec 9>&-
wait $holder
ktap_check 'after that they unload' unloads
ktap_refuse 'and are gone' loaded

ktap_is 'the next filter loads them again' "$("$demand" create mod-demand)" ready
ktap_is 'it is destroyed' "$("$demand" destroy mod-demand)" ready
ktap_check 'they unload' unloads

echo /bin/false > $helper
log=$(notices)
ktap_is 'where they cannot be loaded, creation says so' "$(cat "$work/out")" \
	'Operation not supported'
ktap_is 'and the log says what is missing, in one line' \
	"$(echo "$log" | grep -c "needs the module epochfilter_kinds.*'modprobe epochfilter_kinds'")/$(echo "$log" | wc -l)" 1/1
ktap_is 'nothing is left of it' "$("$demand" destroy mod-demand)" 'No such file or directory'
ktap_is 'and lanes work' "$("$demand" lanes mod-more)" ready

ktap_check 'a module is made that was built with another table' misfit
ktap_refuse 'it is refused' insmod "$work/misfit.ko"
ktap_check 'with a line that says why' grep -q 'built from another version' << END
$(dmesg)
END
ktap_check 'the right one loads by hand' insmod "$kinds"
unloads
ktap_finish
