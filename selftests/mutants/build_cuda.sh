# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the emulated kernels, for run.

built=$build/selftests/cuda

# usage: build_kernels UNIT|-OPTION...: these units of cuda/ are compiled again
build_kernels() {
	local unit flags='' units='' objects=()
	for unit in "$@"; do
		case $unit in
		-*) flags+=" $unit" ;;
		*) units+=" $unit " ;;
		esac
	done
	for unit in insert probe query ready rotate tally; do
		case $units in
		*" $unit "*)
			# shellcheck disable=SC2086 # a list
			"$CXX" -x c++ -O0 -std=c++17 -DEPF_CUDA_EMU -Iinclude -Iinclude/uapi \
				-I"$copy/cuda" $flags -c "$copy/cuda/$unit.cu" -o "$tmp/$unit.o" || return
			objects+=("$tmp/$unit.o")
			;;
		*) objects+=("$build/cuda/emu/$unit.o") ;;
		esac
	done
	limit=600
	# shellcheck disable=SC2086 # a list
	"$CXX" $flags "${objects[@]}" "$built/${test#cuda/}_test.o" "$build/cuda/emu/device.o" \
		"$built/now.o" "$build/user/libepf.a" -o "$program" -lxxhash -lm \
		-pthread
}

# usage: objects bench|device|library|rivals
objects() {
	local gpu=$build/bench/gpu/emulated emulated=$built/emulated unit
	case $1 in
	bench)
		for unit in cuda/bench/*.cu; do
			[ "$unit" = cuda/bench/cuco.cu ] && continue # not without cuCollections
			unit=${unit##*/}
			echo "$gpu/${unit%.cu}.o"
		done
		;;
	device | library) printf '%s\n' "$emulated"/{"$1",host}.o ;;
	rivals) printf '%s\n' "$emulated"/{rivals,host,cbf}.o "$gpu"/{classic,counting,keys,run}.o ;;
	esac
	printf '%s\n' "$build"/cuda/emu/*.o
}

# usage: build_emulated bench|device|library|rivals UNIT: compiles UNIT, a path from the top,
# again, for few keys
build_emulated() {
	local left=/emu/${2##*/}.o
	case $2 in
	selftests/* | cuda/bench/*) left=/emulated/${2##*/}.o ;;
	esac
	limit=600
	"$CXX" -x c++ -O0 -std=c++17 -w -DEPF_CUDA_EMU -DKEYS=20000ULL -Iinclude -Iinclude/uapi \
		-I"$copy/cuda" -I"$copy/cuda/emu" -Iuser/libepf -Iuser/lib -iquote selftests/cuda \
		-include "$copy/cuda/bench/emulated.h" -c "$copy/$2.cu" -o "$tmp/unit.o" || return
	# shellcheck disable=SC2046 # a list
	"$CXX" "$tmp/unit.o" $(objects "$1" | grep -vF "$left") -o "$program" -lm -pthread
}
