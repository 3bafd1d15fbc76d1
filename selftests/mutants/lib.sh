# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For run and build_SUITE.sh, sourced by run: what mutants need, how a variant is
# prepared, how its test is judged. Of a row (table.py) $id, $file, $edit, $build_by,
# $tree, $test, $claim and the array cases are set; the copy is in $copy, the rest of
# what a variant leaves is in $tmp.

CC=${CC:-cc} CXX=${CXX:-c++} CLANG=${CLANG:-clang}
build=$(realpath -m "${BUILD:-build}")

# Each need_* function prints why the need is not met here, or nothing.

need_cc() {
	command -v "$CC" > /dev/null || echo "no $CC"
}

need_cxx() {
	command -v "$CXX" > /dev/null || echo "no $CXX"
}

need_clang() {
	command -v "$CLANG" > /dev/null || echo "no $CLANG"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || echo 'needs root'
}

need_x86_64() {
	[ "$(uname -m)" = x86_64 ] || echo 'for x86-64 only'
}

need_guest() {
	[ -n "${EPF_VM:-}" ] || echo 'this is no VM'
}

# usage: need_built PATH, below build/
need_built() {
	[ -e "$build/$1" ] || echo "build/$1 is not built"
}

# The module and the iptables match with all mutants of each, which ../xt/Makefile has built for the
# stock kernel.
edited=$build/selftests/xt/broken

need_stock() {
	if ! [ -e "$edited/xt_epf.ko" ]; then
		echo "$edited/xt_epf.ko is not built"
	elif [ -n "${EPF_KO:-}" ]; then
		echo 'it is built for the stock kernel'
	fi
}

# The memory of destroyed filters keeps the module for a grace period.
unload() {
	for _ in 1 2 3 4 5; do
		rmmod xt_epf epochfilter_kinds epochfilter 2> /dev/null
		[ -d /sys/module/epochfilter ] || return 0
		sleep 0.2
	done
	return 1
}

need_unloaded() {
	unload || echo 'the modules are in use'
}

# usage: need_linux VERSION
need_linux() {
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ] ||
		echo "Linux $1 is needed"
}

# Can BPF filters be made here?
need_bpf() {
	EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || echo 'no BPF here'
}

# usage: unmet NEED...: sets $reason to the first need that is not met, and why; or to nothing.
# Each is asked once, "loads" once for each way to build: so not in a subshell.
declare -A asked
unmet() {
	local need key
	reason=
	for need in "$@"; do
		case $need in
		*=*) ;;
		*) need=$need= ;;
		esac
		key=$need
		[ "$need" != loads= ] || key=$need$build_by
		[ -n "${asked[$key]+yes}" ] || asked[$key]=$("need_${need%%=*}" "${need#*=}")
		reason=${asked[$key]}
		[ -z "$reason" ] || return 0
	done
}

# Copies $tree, or only the edited files, and makes the edit in each of its files. An edit that
# changes nothing is an error.
prepare() {
	local name
	rm -rf "$copy" && mkdir "$copy" || return
	# shellcheck disable=SC2086 # a list
	cp -r --parents ${tree:-$file} "$copy" || return
	[ -n "$edit" ] || return 0
	for name in $file; do
		sed -i "$edit" "$copy/$name" || return
		! cmp -s "$name" "$copy/$name" || { echo "the edit changes nothing in $name"; return 1; }
	done
}

# Builds the variant of this row: $program is what the test runs, $judge how it is judged.
make_variant() {
	program=("$tmp/${test##*/}") judge=says limit=3000
	# shellcheck disable=SC2086 # a list
	prepare && set -- $build_by && "build_$1" "${@:2}"
}

# usage: relink broken|broken-ctl PROGRAM [VARIABLE=VALUE]...: the agent, or epfctl, with
# the edited file compiled again and linked with the other objects
relink() {
	local of=${file#user/}
	make -s -C user BUILD="$build" BROKEN="$copy/$file" BROKEN_OF="${of%.c}" \
		BROKEN_OUT="$tmp/$2" "$1" "${@:3}"
}

# usage: compile_bpf SOURCE OBJECT [OPTION]...
compile_bpf() {
	"$CLANG" -target bpf -mcpu=v3 -O2 -g "${@:3}" \
		-idirafter "/usr/include/$("$CC" -print-multiarch)" -c "$1" -o "$2"
}

# As in bpf/Makefile, for programs that load without CAP_PERFMON.
bare_flags=(-DEPF_NO_PERFMON -mllvm -no-stack-slot-sharing)

# Can BPF programs be loaded? The unmutated variant shows it; if it cannot be built, its
# first test says so. $tmp/passed lists whole variants that have passed here.
need_loads() {
	local status
	edit='' make_variant > /dev/null 2>&1 || return 0
	passes > /dev/null 2>&1
	status=$?
	[ $status -ne 4 ] || echo 'BPF programs cannot be loaded here'
	[ "$what_it_is$status" != whole0 ] || echo "$id" >> "$tmp/passed"
}

# usage: script SECONDS [NAME=VALUE]...: the test is a script with this environment
script() {
	local at
	for at in "selftests/$test".{py,sh}; do
		[ ! -e "$at" ] || program=(env "${@:2}" timeout "$1" "$at")
	done
	judge=finishes
}

# usage: says PATTERN PROGRAM [ARG]... Does it print a matching line? The first one ends
# it, so that a mutant that never ends costs no time.
says() {
	local pattern=$1 pid said
	shift
	[ -p "$tmp/said" ] || mkfifo "$tmp/said" || return
	# In the foreground, so that it ends with the script.
	timeout --foreground "$limit" "$@" > "$tmp/said" 2>&1 &
	pid=$!
	grep -m 1 -E "$pattern" < "$tmp/said"
	said=$?
	kill "$pid" 2> /dev/null
	wait "$pid"
	return $said
}

# The same, but the program runs to its end: for tests that have to clean up.
finishes() {
	local pattern=$1
	shift
	"$@" | grep -E "$pattern"
}

# Does it crash, by SIGSEGV or SIGBUS?
crashes() {
	"$@" > /dev/null 2>&1
	case $? in
	$((128 + $(kill -l SEGV))) | $((128 + $(kill -l BUS)))) ;;
	*) return 1 ;;
	esac
}

# The test fails with the claim; neither a crash (unless it is the claim) nor an endless
# loop counts.
caught() {
	if [ "$claim" = crash ]; then
		crashes "${program[@]}" $args "${cases[@]}"
		return
	fi
	"$judge" "${claim:-^not ok}" "${program[@]}" $args "${cases[@]}"
}

passes() {
	"${program[@]}" $args "${cases[@]}"
}
