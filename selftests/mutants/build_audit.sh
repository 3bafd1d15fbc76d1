# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of libepf's audits, for run. The linker takes from libepf what
# the edited files do not define.

sanitize='-fsanitize=address,undefined -fno-sanitize-recover'

need_avx2() {
	grep -qwm 1 avx2 /proc/cpuinfo || echo 'no AVX2 here, and only vector engines have the edit'
}

need_sanitizers() {
	echo 'int main(void){}' | "$CC" $sanitize -x c - -o /dev/null 2> /dev/null ||
		echo "no $CC with sanitizers"
}

# usage: audit_cc ARG...; a test that is killed leaves its files in $tmp
audit_cc() {
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= "$@" -o "$program" -lxxhash -lm -pthread || return
	program=(env TMPDIR="$tmp" "$program")
}

# The sources that an edit affects: for a header, those that include it.
edited_sources() {
	local of
	for of in $file; do
		case $of in
		*.h) grep -l "\"${of##*/}\"" "$copy"/user/libepf/query/*.c ;;
		*) echo "$copy/$of" ;;
		esac
	done
}

# usage: build_engines: a test of engines, of estimates, or of the choice of an engine
build_engines() {
	# shellcheck disable=SC2046 # a list
	audit_cc -Iuser/libepf -Iinclude -Iinclude/uapi "selftests/$test.c" \
		$(edited_sources) "$build/user/libepf.a"
}

# No edit affects the test itself.
build_steps() {
	local at=(-w -Iuser/libepf -Iuser/libepf/query -Iinclude -Iinclude/uapi)
	[ -e "$tmp/steps.o" ] ||
		"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= "${at[@]}" -c selftests/audit/steps.c \
			-o "$tmp/steps.o" || return
	audit_cc "${at[@]}" "$tmp/steps.o" "$copy/$file" "$build/user/libepf.a"
}

# The sanitizer detects a mutant that lets a test access outside its memory. Most of the time
# goes into compiling, which takes a quarter as long without optimization and UBSan.
build_images() {
	audit_cc -O0 -fsanitize=address "-I$copy/include" -Iinclude -Iinclude/uapi -Iuser/libepf \
		selftests/audit/images.c user/libepf/query/kinds.c "$build/user/libepf.a"
}

# Snapshots are written to memory; parts independent of the edits are built once.
build_merge() {
	local of
	if [ -z "${merge_in:-}" ]; then
		merge_in=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d) || return
		ktap_cleanup rm -rf "$merge_in"
		for of in snap order atomic_file dev backend copy query/kinds; do
			"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -Iuser/libepf -Iinclude -Iinclude/uapi \
				-c "user/libepf/$of.c" -o "$merge_in/${of##*/}.o" || return
		done
	fi
	cases=("$merge_in")
	audit_cc "-I$copy/include" -Iuser/libepf -Iinclude -Iinclude/uapi \
		selftests/audit/merge.c "$copy/user/libepf/merge.c" "$merge_in"/*.o
}

build_marks() {
	audit_cc -Iuser -Iuser/epfctl -Iuser/libepf -Iinclude -Iinclude/uapi selftests/audit/marks.c \
		"$copy/user/epfctl/audit_marks.c" "$build/user/libepf.a"
}
