#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# nvcc compiles the kernels without a warning; none has a stack or spills. With EPF_THOROUGH
# for each architecture that it knows, with a kernel that spills, and the table is
# build/cuda/resources.txt; else for sm_90, in a folder of the test, since build/cuda is for all.

. "$(dirname "$0")/lib.sh"

card_nvcc
archs=$(sed -n 's/^CUDA_ARCHS ?= //p' cuda/Makefile) out=$BUILD/cuda
[ -n "${EPF_THOROUGH:-}" ] || archs=90 out=$tmp/quick
table=$out/resources.txt

# Prints every kernel of the sources; a template gives several.
kernels() {
	cat cuda/*.cu | awk '/__global__/ { g = 1 }
		g && /\(/ { sub(/__launch_bounds__\([A-Z]*\)/, "")
			if (match($0, /[a-z_]+\(/)) {
				print substr($0, RSTART, RLENGTH - 1); g = 0 } }' | sort -u
}

build() {
	make -C cuda OUT="$out" CUDA_ARCHS="$archs" resources > "$tmp/said" 2>&1 || { cat "$tmp/said"; return 1; }
	grep -i -e warning -e error "$tmp/said" && return 1
	return 0
}

# usage: complete ARCH: is each kernel in the table?
complete() {
	[ "$(kernels | wc -l)" -ge 8 ] || return
	kernels | while read -r k; do
		grep -qE "^$1 +$k(<|  )" "$table" || { echo "no $k"; exit 1; }
	done
}

# usage: clean ARCH [TABLE]; columns 5 to 7 are bytes of stack, spill stores, spill loads
clean() {
	awk -v arch="$1" '$1 == arch { n++; if ($5 + $6 + $7) { print; bad = 1 } }
		END { exit bad || !n }' "${2:-$table}"
}

# Kernels with too few registers must show up in the table.
spilled() {
	cp -r cuda "$tmp/" && ln -s "$PWD/include" "$tmp/include" &&
		sed -i 's/__launch_bounds__(BLOCK)/__launch_bounds__(BLOCK, 8)/' "$tmp/cuda/query.cu" &&
		make -s -C "$tmp/cuda" OUT="$tmp/few" CUDA_ARCHS=90 "$tmp/few/query.o" &&
		cuda/resources.sh < "$tmp/few/query.o.log" > "$tmp/few.txt"
}

knows() {
	"$NVCC" --list-gpu-arch | grep -qx "compute_$1"
}

# An nvcc that does not know the newest architecture still gives code for the others.
older() {
	printf '#!/bin/sh\nprintf "compute_80\\ncompute_90\\n"\n' > "$tmp/nvcc" &&
		chmod +x "$tmp/nvcc" &&
		make -n -B -C cuda NVCC="$tmp/nvcc" OUT="$tmp/older" card > "$tmp/said" &&
		grep -q 'compute_90,code=compute_90' "$tmp/said" && ! grep compute_100 "$tmp/said"
}

spill_is_noticed() {
	if spilled > "$tmp/said" 2>&1; then
		ktap_refuse 'a kernel that spills is noticed' clean sm_90 "$tmp/few.txt"
	else
		ktap_fail 'a kernel that spills is noticed' "$(cat "$tmp/said")"
	fi
}

results=$((2 + 2 * $(echo "$archs" | wc -w)))
ktap_plan $results $((results + 1))
ktap_check 'compiled, without a warning' build
for a in $archs; do
	if knows "$a"; then
		ktap_check "sm_$a: every kernel is there" complete "sm_$a"
		ktap_check "sm_$a: no stack, no spills" clean "sm_$a"
	else
		ktap_skip "sm_$a: every kernel is there" "this nvcc is older"
		ktap_skip "sm_$a: no stack, no spills" "this nvcc is older"
	fi
done
ktap_check 'an older nvcc compiles for what it knows' older
ktap_thorough spill_is_noticed
ktap_finish
