# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of filters and programs that are pure BPF, for run.

make=${MAKE:-make}

need_timers() {
	! uname -v | grep -q PREEMPT_RT || echo 'no timers on PREEMPT_RT'
}

# Can programs be pinned, and does iptables work?
need_pins() {
	selftests/ebpf/pinned.py 'errors are one line' | sed -n 's/^1\.\.0 # SKIP //p'
}

build_agent() {
	script 600 EPF_AGENT="$tmp/epfagent" BUILD="$build" EPF_PATIENCE=15
	relink broken epfagent
}

# usage: including NAME PROGRAM...: the programs that are this source, or include it
including() {
	local name=$1 each
	shift
	for each in "$@"; do
		[ "$each" != "$name" ] && ! grep -q "\"$name.bpf.c\"" "bpf/$each.bpf.c" || echo "$each"
	done
}

# usage: build_attach PROGRAM...: an epfctl with these programs of bpf/, compiled again if
# one of their files is edited; or an epfctl one of whose own files is edited. Leftovers
# show after a few cycles.
build_attach() {
	local program_of name=${file##*/}
	case " $* " in *" ${name%.bpf.c} "*) set -- $(including "${name%.bpf.c}" "$@") ;; esac
	mkdir "$copy/objects" && cp "$build"/bpf/*.bpf.o "$copy/objects" || return
	if [ "$what_it_is" = whole ]; then
		script 300 EPF_CTL="$tmp/epfctl" BUILD="$build"
	else
		script 300 EPF_CTL="$tmp/epfctl" BUILD="$build" EPF_PATIENCE=5 EPF_CYCLES=24
	fi
	if [ "${file#user/}" = "$file" ]; then
		for program_of in "$@"; do
			compile_bpf "$copy/bpf/$program_of.bpf.c" "$copy/objects/$program_of.bpf.o" \
				-I"$copy/include" -I"$copy/include/uapi" || return
		done
		local file=user/epfctl/xdp_obj.c
	fi
	relink broken-ctl epfctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$copy/objects\"' $(pkg-config --cflags libfixbuf 2> /dev/null)"
}

# An epfctl that pins a mutant, or one of whose own files is edited.
build_pin() {
	mkdir "$copy/objects" || return
	script 600 EPF_CTL="$tmp/epfctl"
	if [ "${file#user/}" = "$file" ]; then
		compile_bpf "$copy/bpf/epf_match.bpf.c" "$copy/objects/epf_match.bpf.o" \
			"${bare_flags[@]}" -I"$copy/include" -I"$copy/include/uapi" || return
		local file=user/epfctl/cmd_pin.c
	fi
	relink broken-ctl epfctl CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$copy/objects\"'"
}

# usage: build_own PROGRAM...: these user programs over the headers of bpf/; the others are those
# that are built
build_own() {
	local of with=() patience=15
	[ "$what_it_is" != whole ] || patience=60
	for of in "$@"; do
		with+=("${of^^}=$tmp/$of.bpf.o")
		compile_bpf "selftests/ebpf/$of.bpf.c" "$tmp/$of.bpf.o" -w -I"$copy/bpf" \
			-Iinclude -Iinclude/uapi || return
	done
	script 3000 EPF_PATIENCE=$patience BUILD="$build" "${with[@]}"
}

# On a busy machine a section may end before it is overtaken: try again.
soon() {
	local _
	for _ in 1 2 3 4 5; do
		says "$@" && return
	done
	return 1
}

# The program of the Makefile, with the tree that it is built from. Where one source is
# edited, the objects of the others are there.
build_made() {
	program=("$copy/build/selftests/$test")
	judge=soon
	case $file in
	*.c)
		mkdir -p "$copy/build/selftests/ebpf" &&
			cp "$build"/selftests/ebpf/{steps_*.o,laws.bpf.o,laws.skel.h} "$copy/build/selftests/ebpf" &&
			touch "$copy/$file" || return
		;;
	esac
	"$make" -s -C "$copy/selftests/ebpf" CC="$CC" CLANG="$CLANG" "${program[0]}"
}

# The Makefile of user/ builds again what the edit affects.
build_timer() {
	program=(env EPF_PATIENCE=4 "$copy/build/selftests/ebpf/timer")
	case $file in
	*.h) ;;
	*)
		mkdir -p "$copy/build/selftests/ebpf" &&
			cp "$build"/selftests/ebpf/laws.{bpf.o,skel.h} "$copy/build/selftests/ebpf" || return
		;;
	esac
	"$make" -s -C "$copy/selftests/ebpf" CC="$CC" CLANG="$CLANG" CFLAGS=-O0 "${program[2]}"
}

# usage: counted CLAIM PROGRAM [ARG]...: do as many test points fail as $count says?
counted() {
	local pattern=$1
	shift
	"$@" > "$tmp/out" 2>&1
	cat "$tmp/out"
	[ "$(grep -c -E "$pattern" "$tmp/out")" -eq "$count" ]
}

# usage: build_load COUNT PROGRAM [OPTION]...: a program of bpf/, of which so many must be
# refused
build_load() {
	local object=$copy/$2.bpf.o
	judge=counted count=$1
	program=("$build/selftests/ebpf/load" "$object")
	compile_bpf "$copy/bpf/$2.bpf.c" "$object" "${@:3}" -I"$copy/include" -I"$copy/include/uapi"
}

# The program that removes duplicates, with both filters of a cluster.
build_cluster() {
	local object=$copy/xdp_dedup_inline.bpf.o
	program=("$build/selftests/ebpf/cluster" "$object")
	compile_bpf "$copy/bpf/xdp_dedup_inline.bpf.c" "$object" -I"$copy/include" -I"$copy/include/uapi"
}

# usage: build_load_bare COUNT PROGRAM
build_load_bare() {
	build_load "$@" "${bare_flags[@]}" || return
	program=("${program[0]}" --without-perfmon "${program[1]}")
}

# The timer loads, but not without CAP_PERFMON.
refused_without_perfmon() {
	local pattern=$1
	shift
	"$@" > "$tmp/out" 2>&1
	cat "$tmp/out"
	grep -q '^ok 1' "$tmp/out" && grep -E "$pattern" "$tmp/out"
}

build_load_perfmon() {
	build_load 1 epf_timer || return
	judge=refused_without_perfmon
	program=("${program[@]}" --without-perfmon "${program[1]}")
}
