#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: steps.sh [--print]
#
# A packet costs no more instructions than steps.table says, in no part of the path: the module's
# kfunc.o and kfunc_held.o are linked into a process, whose calls steps.c follows by single steps, natively and to the
# instruction. Likewise the end of an epoch, which reads the counters of each possible CPU once, and the looks of
# packets (rotate.o, capacity.o), which read none. The numbers hold for one compiler and one kernel, which the table names. --print
# prints the table anew.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
top=$(cd "$here/../.." && pwd)
table=$here/steps.table
kernel=$("$top/scripts/deps.sh" --kernel 2> /dev/null)
headers=/lib/modules/$kernel/build
[ "$(uname -m)" = x86_64 ] || ktap_skip_all 'this is no x86_64'
for tool in nm addr2line gcc make; do
	command -v $tool > /dev/null || ktap_skip_all "no $tool"
done
[ -e "$headers/Makefile" ] || ktap_skip_all "no headers of kernel '$kernel'"
compiler=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\(.*\)"$/\1/p' "$headers/.config")
for_what="# for: $kernel, $compiler"
[ "${1:-}" = --print ] || grep -qxF "$for_what" "$table" ||
	ktap_skip_all "the table is for another kernel or compiler: steps.sh --print"

out=${BUILD:-$top/build}/selftests/module/steps.objects
mkdir -p "$out"
made() {
	make -s -C "$top/kmod" KOUT="$out" KREL="$kernel" links &&
		make -s -C "$headers" M="$out" kmod/{kfunc,kfunc_held,rotate,capacity}.o kmod/selftest/steps.o
}
made > "$out/log" 2>&1 || { cat "$out/log" >&2; ktap_skip_all 'the objects cannot be built'; }
objects=("$out/kmod/"{kfunc,kfunc_held,rotate,capacity,selftest/steps}.o)

# What the objects lack: returns where calls of the path go, traps where none may go.
stubs() {
	echo .text
	nm "${objects[@]}" | awk '$1 == "U" { lack[$2] } $2 ~ /^[TDBRdbr]$/ { has[$3] }
		END { for (name in lack) if (!(name in has)) print name }' | sort | while read -r name; do
		case $name in
		mem* | __stack_chk_fail) continue ;; # the C library's
		__fentry__ | __x86_return_thunk | __rcu_read_lock | __rcu_read_unlock | epf_journal_rotated | ktime_get | \
			queue_delayed_work_on | __SCT__preempt_schedule_notrace) does=ret ;;
		__x86_indirect_thunk_*) does="jmp *%${name##*_}" ;;
		pcpu_hot) echo ".globl pcpu_hot; pcpu_hot = 512"; continue ;; # in the area of the CPU
		__tracepoint_* | __this_module | page_offset_base | vmemmap_base) does='.zero 4096' ;;
		*) does=ud2 ;;
		esac
		printf '.globl %s\n%s: %s\n' "$name" "$name" "$does"
	done
}
stubs > "$out/stubs.S"
gcc -O1 -g -static -no-pie -Wl,-z,muldefs -Wl,-z,noexecstack -o "$out/steps" "$here/steps.c" "$out/stubs.S" \
	"${objects[@]}" 2> "$out/log" || { cat "$out/log" >&2; exit 1; }
"$out/steps" > "$out/trace" || ktap_skip_all "a process cannot be followed (status $?)"

# Prints "CALL PART NUMBER": each instruction belongs to the first part, of those below, one of whose
# functions it was inlined from.
cut -d ' ' -f 2 "$out/trace" | sort -u > "$out/addresses"
addr2line -a -i -f -e "$out/steps" < "$out/addresses" | awk -v trace="$out/trace" '
	function part(chain) {
		if (chain ~ / (epf_digest_words|epf_sip)/) return "hash"
		if (chain ~ / epf_probe/) return "positions"
		if (chain ~ / epf_(flow_plain|packet_plain|pkt_opts)/) return "parse"
		if (chain ~ / epf_lanes_/) return "lanes"
		if (chain ~ / (epf_capacity_sum|epf_table_keys|_find_next_bit)/) return "cpus"
		if (chain ~ / epf_table_(count|verdict|flush)/) return "count"
		return "frame"
	}
	/^0x/ { at = $1; odd = 0; next }
	(odd = !odd) { chain[at] = chain[at] " " $1 }
	END {
		while ((getline < trace) > 0)
			n[$1 " " part(chain[$2])]++
		for (key in n)
			print key, n[key]
	}' | sort > "$out/parts"

if [ "${1:-}" = --print ]; then
	cat <<-'TABLE'
		# SPDX-License-Identifier: GPL-2.0
		# Instructions of a call for one packet, by part (steps.sh --print): a filter of four lines
		# and 16 positions a key, all epochs full.
	TABLE
	echo "$for_what"
	cat "$out/parts"
	# shellcheck disable=SC2034 # of ktap.sh
	ktap_finished=1
	exit
fi
ktap_plan 12
for call in {,held-}{flow,packet}-{new,repeated} {rotation,look}-{2,64}-cpus; do
	grown=$(awk -v call="$call" 'NR == FNR { if ($1 == call) may[$2] = $3; next }
		$1 == call && $3 > may[$2] + 0 { printf "%s takes %d, not %d; ", $2, $3, may[$2] }
		' "$table" "$out/parts")
	sum=$(awk -v call="$call" '$1 == call { n += $3 } END { print n + 0 }' "$out/parts")
	ktap_check "$call: $sum instructions, no part more than it may take${grown:+: $grown}" \
		[ -z "$grown" -a "$sum" -gt 0 ]
done
ktap_finish
