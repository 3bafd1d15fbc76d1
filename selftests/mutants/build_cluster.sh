# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of live clusters, for run.

need_isal() {
	[ -e /usr/include/isa-l/crc.h ] || echo 'libisal-dev is missing'
}

# usage: build_cluster: a test with the edited files; what no edit affects is built once
build_cluster() {
	local name in=selftests/cluster objects=() parts=(wire stamp span coverage coverage_until)
	local tests=("${test##*/}") of=test
	[ "${test##*/}" != laws ] || tests+=(sim sim_net sim_host)
	[ "${test##*/}" != receive ] || parts+=(live_receive apply_pool)
	[ "${test##*/}" != publish ] || parts+=(publish)
	[[ $file != *.h ]] || of=test-edited
	local at=(-O1 -std=gnu11 -D_GNU_SOURCE= "-I$copy/user" "-I$copy/user/libepf" "-I$copy/include" "-I$copy/include/uapi")
	for name in "${tests[@]}"; do
		objects+=("$tmp/$of-$name.o")
		[ $of = test ] && [ -e "$tmp/$of-$name.o" ] ||
			"$CC" "${at[@]}" -c "$in/$name.c" -o "$tmp/$of-$name.o" || return
	done
	for name in "${parts[@]}"; do
		case $file in
		*.h | "user/cluster/$name.c") "$CC" "${at[@]}" -c "$copy/user/cluster/$name.c" -o "$tmp/edited-$name.o" &&
			objects+=("$tmp/edited-$name.o") ;;
		*) [ -e "$tmp/whole-$name.o" ] || "$CC" "${at[@]}" -c "user/cluster/$name.c" -o "$tmp/whole-$name.o" &&
			objects+=("$tmp/whole-$name.o") ;;
		esac || return
	done
	"$CC" "${objects[@]}" user/records/rec_error.c user/libepf/clock.c -D_GNU_SOURCE= -Iuser -Iuser/libepf -Iinclude -Iinclude/uapi -o "$program" -lisal -pthread
}

# Real agents, a real server: one case fails, or waits for what does not come.
build_agent() {
	script 900 EPF_AGENT="$tmp/epfagent" BUILD="$build" EPF_PATIENCE=40
	relink broken epfagent
}

# An epfctl whose program for duplicates has the edited header.
build_dedup() {
	local file=user/epfctl/xdp_obj.c program_of
	script 900 EPF_CTL="$tmp/epfctl" BUILD="$build" EPF_PATIENCE=60
	mkdir "$copy/objects" && cp "$build"/bpf/*.bpf.o "$copy/objects" &&
		mkdir -p "$copy/${file%/*}" && cp "$file" "$copy/$file" || return
	for program_of in xdp_dedup_inline xdp_dedup_bare; do
		compile_bpf "$copy/bpf/$program_of.bpf.c" "$copy/objects/$program_of.bpf.o" \
			-I"$copy/include" -I"$copy/include/uapi" || return
	done
	relink broken-ctl epfctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$copy/objects\"' $(pkg-config --cflags libfixbuf 2> /dev/null)"
}

# The tests with real agents run as root only, where there is a server.
need_live() {
	[ "$(id -u)" -eq 0 ] || echo 'needs root'
	command -v nats-server > /dev/null || [ -x /usr/sbin/nats-server ] || echo 'nats-server is missing'
}
