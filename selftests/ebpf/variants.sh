# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Variants of attach's programs and of the tool, each with one edit, that the named cases of
# a test must notice. To be included behind ktap.sh, in the top directory, with
#	$object    of epfctl, which has to be built
#	$programs  of bpf/, which are built anew where one of their sources is edited
#	$asked     the test in selftests/ebpf; may change in between

CLANG=${CLANG:-clang}
build=${BUILD:-$PWD/build}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
# shellcheck disable=SC2154 # set by whoever includes this
[ -e "$build/user/obj/epfctl/$object.o" ] || ktap_skip_all 'no objects to link with'
EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || ktap_skip_all 'no BPF here'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

compile() {
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/bpf/$1.bpf.c" -o "$tmp/$1.bpf.o"
}

link() {
	make -s -C user BUILD="$build" BROKEN="$1" BROKEN_OF="$2" BROKEN_OUT="$tmp/epfctl" broken-ctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$tmp\"' $(pkg-config --cflags libfixbuf 2> /dev/null)"
}

# usage: variant FILE EDIT; an edit that changes nothing is an error
variant() {
	local program
	rm -rf "${tmp:?}"/* && cp -r include bpf "$tmp" && cp "$build"/bpf/*.bpf.o "$tmp" || return
	sed "$2" "$1" > "$tmp/edited" || return
	! cmp -s "$1" "$tmp/edited" || return
	if [ "${1#user/}" != "$1" ]; then
		mv "$tmp/edited" "$tmp/edited.c" && link "$tmp/edited.c" "epfctl/$(basename "${1%.c}")"
		return
	fi
	mv "$tmp/edited" "$tmp/$1" || return
	# shellcheck disable=SC2154 # set by whoever includes this
	for program in $programs; do
		compile "$program" || return
	done
	link epfctl/xdp_obj.c epfctl/xdp_obj
}

# shellcheck disable=SC2154 # set by whoever includes this
claim_fails() {
	EPF_CTL=$tmp/epfctl BUILD=$build EPF_PATIENCE=5 timeout 300 "selftests/ebpf/$asked" "$1" | grep '^not ok'
}

holds() {
	EPF_CTL=$tmp/epfctl BUILD=$build timeout 300 "selftests/ebpf/$asked" "$1"
}

# usage: broken WHAT FILE EDIT CLAIM
broken() {
	if variant "$2" "$3"; then
		ktap_check "$1" claim_fails "$4"
	else
		ktap_fail "$1" 'not built'
	fi
}
