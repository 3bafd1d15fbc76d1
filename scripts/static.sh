#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What compilers and checkers say of the sources without running them. Builds
# in build/static only. Prints what a tool has found, and a line for each tool;
# exit 1 if one found anything or is missing.
#
# Smatch is not packaged.

set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH=$PATH:/usr/sbin:/sbin
top=$PWD
out=$top/build/static
bad=0
mkdir -p "$out"

usage() {
	echo 'usage: scripts/static.sh [gcc|clang|sparse|coccinelle|checkpatch|tidy]...'
}

# usage: clean NAME COMMAND...: it says nothing and exits 0
clean() {
	local name=$1 said begun=$SECONDS
	shift
	if said=$("$@" 2>&1) && [ -z "$said" ]; then
		echo "ok - $name: clean, $((SECONDS - begun)) s"
	else
		printf '%s\nnot ok - %s\n' "$said" "$name"
		bad=$((bad + 1))
	fi
}

# usage: module DIRECTORY VARIABLE=VALUE...
module() {
	local kout=$out/$1
	shift
	rm -rf "$kout"
	make -s -C "$top/kmod" KOUT="$kout" W=1 "$@"
}

check_gcc() {
	module gcc
}

# The kernel's own headers let clang build against a kernel that gcc built.
check_clang() {
	module clang LLVM=1
}

# Sparse has no __has_include, cannot follow a lock that may be had or not,
# and does not know that kfuncs are called by name.
check_sparse() {
	module sparse C=2 CF="-D__CHECK_ENDIAN__ '-D__has_include(x)=1'" 2>&1 |
		grep -v -e "context imbalance in 'epf_table_try_rotate'" \
			-e "symbol 'bpf_epf_[a-z_]*' was not declared"
	return "${PIPESTATUS[0]}"
}

kernel_source() {
	[ -n "${source:-}" ] || source=$("$top/scripts/kernel.sh" --source)
}

# The kernel's semantic patches, but for those that need OCaml.
check_coccinelle() {
	local patch options
	kernel_source || return
	while read -r patch; do
		grep -q '^virtual.*report' "$patch" || continue
		! grep -q 'ocaml' "$patch" || continue
		options=$(sed -n 's|^// Options:||p' "$patch")
		# shellcheck disable=SC2086 # a list
		spatch -D report --very-quiet $options --cocci-file "$patch" \
			-I include -I include/uapi -I kmod kmod/*.c kmod/selftest/core.c 2>&1 |
			grep -v 'metavariable?$'
	done < <(find "$source/scripts/coccinelle" -name '*.cocci' | sort)
	return 0
}

# Left out: tables made by macros; what the compatibility header is for.
check_checkpatch() {
	kernel_source || return
	perl "$source/scripts/checkpatch.pl" --no-tree --terse --show-types --no-summary \
		--ignore COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,MACRO_ARG_UNUSED \
		--ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,BLOCK_COMMENT_STYLE \
		-f kmod/*.[ch] kmod/selftest/*.c include/uapi/linux/*.h
}

# Left out: taste; bounds that snprintf would not make safer; two that take a
# parameter for something that was never set.
check_tidy() {
	local checks='-*,clang-analyzer-*,bugprone-*' name
	for name in clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
		clang-analyzer-security.insecureAPI.strcpy \
		clang-analyzer-security.FloatLoopCounter \
		clang-analyzer-valist.Uninitialized \
		bugprone-easily-swappable-parameters bugprone-narrowing-conversions \
		bugprone-reserved-identifier bugprone-suspicious-string-compare \
		bugprone-integer-division \
		bugprone-implicit-widening-of-multiplication-result; do
		checks+=,-$name
	done
	command -v clang-tidy > /dev/null || { echo 'clang-tidy is missing'; return 1; }
	clang-tidy --quiet --checks="$checks" user/libepf/*.c user/epfctl/*.c -- \
		-std=gnu11 -D_GNU_SOURCE= -DEPF_VERSION='"0"' -DEPF_BPF_OUT='"build/bpf"' \
		-include user/poison.h -Iuser -Iuser/libepf -Iinclude -Iinclude/uapi 2>&1 |
		grep -E ' (warning|error): ' |
		grep -v -e "opt.c:.*field 'longs' results in a dereference" \
			-e 'lanes.h:.*1st function call argument is an uninit'
	return 0
}

[ $# -gt 0 ] || set -- gcc clang sparse checkpatch coccinelle tidy
for tool in "$@"; do
	declare -F "check_$tool" > /dev/null || { usage >&2; exit 2; }
	clean "$tool" "check_$tool"
done
[ "$bad" -eq 0 ]
