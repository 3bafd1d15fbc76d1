#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The other kinds cost lanes with four lines a key, the default, nothing: in the module's
# own instructions no function that BPF programs call reaches code of other kinds, except
# through the three functions that are out of line for other instances. And every object keeps the
# kernel's own initialization of locals, as a parser of strangers' packets should.
# shellcheck source=selftests/ktap.sh disable=SC1091
. "$(dirname "$0")/../ktap.sh"

ko=${EPF_KO:-$(dirname "$0")/../../build/kmod/epochfilter.ko}
command -v objdump > /dev/null || ktap_skip_all 'no objdump'
[ -f "$ko" ] || ktap_skip_all "$ko is not built"
! grep -qE '__(asan|tsan)_' "$ko" || ktap_skip_all 'code with checks of KASAN or KCSAN'
tmp=$(mktemp) || exit 1
ktap_cleanup rm -f "$tmp"
objdump -dr --no-show-raw-insn "$ko" | awk '
	/^[0-9a-f]+ <.*>:$/ { fn = substr($2, 2, length($2) - 3) }
	fn ~ /^__pfx_/ { next }
	{ print fn, $0 }' > "$tmp"

# callers PATTERN: prints the functions with an instruction that names such a symbol
callers() {
	grep -E "$1" "$tmp" | cut -d ' ' -f 1 | sed 's/\..*//' | sort -u | paste -s -d ' '
}

ktap_plan 5
got=$(nm "$ko" | grep -cE ' [TtU] epf_(locked|fixed|resizable)_')
ktap_is 'the module has no operation of another kind' "$got" 0
got=$(callers 'indirect_thunk|call +\*' | tr ' ' '\n' | grep -E '_aside$|^bpf_epf_|^epf_table_op$' |
	paste -s -d ' ')
ktap_is 'packet paths that call the operations of a table' "$got" \
	'epf_kfunc_insert_aside epf_kfunc_test_and_insert_aside epf_kfunc_test_aside'
got=$(callers '<epf_kfunc_(test_and_)?(insert|test)_aside[.>]')
ktap_check "those are called where filters are not plain: $(echo "$got" | wc -w) functions" \
	[ "$(echo "$got" | wc -w)" -ge 5 ]
got=$(grep -cE '^bpf_epf_(test|insert|test_and_insert|xdp_test_and_insert)[a-z_]* .*(epf_locked|epf_kind)' "$tmp")
ktap_is 'no function for BPF programs names them' "$got" 0
# The commands that built the objects. The copies that other tests link are built alike.
commands=$(find "${ko%/*}" -name '.*.o.cmd' -exec grep -lE '^(saved)?cmd_.* -c ' {} +)
got=$(echo "$commands" | xargs grep -lE -e '-ftrivial-auto-var-init=uninitialized|-fno-stack-protector' |
	sed 's|.*/\.||; s|\.cmd$||' | paste -s -d ' ')
ktap_is "objects of $(echo "$commands" | wc -l) that opt out of a hardening of the stack" "$got" ''
ktap_finish
