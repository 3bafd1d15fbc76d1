#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks the house rules that a program can check. Prints each violation on a line,
# and a summary; exit 1 if there are any.

set -u
cd "$(dirname "$0")/.." || exit 1

bad=0
mapfile -t files < <(git ls-files --cached --others --exclude-standard |
	grep -vE '^(LICENSES/|selftests/fuzz/corpus/|.*\.(pcap|json|md|rst)$)')
mapfile -t code < <(printf '%s\n' "${files[@]}" | grep -E '\.(c|cc|h|cu|cuh)$')

say() {
	echo "style: $*"
	bad=$((bad + 1))
}

# usage: only RULE PATTERN ALLOWED-FILES FILE...: allows PATTERN only in ALLOWED-FILES
only() {
	local rule=$1 pattern=$2 allowed=$3 hit
	shift 3
	while read -r hit; do
		[[ ${hit%%:*} =~ ^($allowed)$ ]] || say "$rule: $hit"
	done < <(grep -nE "$pattern" /dev/null "$@")
}

under() {
	printf '%s\n' "${code[@]}" | grep "^$1"
}

only 'platform test outside the shim' \
	'#.*\b(__KERNEL__|__CUDACC__|__CUDA_ARCH__|__bpf__)\b' \
	'include/epf/shim\.h|selftests/core/kat\.cu' "${code[@]}"
only 'kernel version test outside compat.h' \
	'\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b' 'kmod/compat\.h' "${code[@]}"
mapfile -t sources < <(under user/)
only 'a clock is read outside user/libepf/clock.c' \
	'^[^*/]*(\bclock_gettime\(|\bCLOCK_(MONOTONIC|BOOTTIME|REALTIME)\b)' \
	'user/libepf/clock\.[ch]' "${sources[@]}"
for pair in kmod:bpf,user,cuda,selftests bpf:kmod,user,cuda,selftests \
	user:kmod,cuda,selftests cuda:kmod,bpf,user,selftests; do
	mapfile -t sources < <(under "${pair%%:*}/")
	only 'siblings include one another' \
		"#[[:space:]]*include.*[\"/](${pair#*:})/" none "${sources[@]}"
done
# usage: layers DIR FOLDER[,FOLDER]...: lists the folders of DIR, lowest layer first,
# commas between folders of one layer; "." stands for the files of DIR itself. A folder
# includes headers of lower layers only, so each pair of folders is checked, in one
# direction or in both.
layers() {
	local dir=$1 folder higher sources
	shift
	for folder in $(under "$dir/" | sed "s|^$dir/||; /\\//!s|.*|.|; s|/.*||" | sort -u); do
		[[ " ${*//,/ } " = *" $folder "* ]] || say "$dir/$folder: no layer is named for it"
	done
	while [ $# -gt 0 ]; do
		for folder in ${1//,/ }; do
			higher=$(tr ', ' '\n' <<< "$*" | grep -vxF "$folder" | while read -r other; do
				under "$dir/$other/.*\.h$"
			done | sed "s|^$dir/||; s|\.|\\\\.|g" | paste -s -d '|')
			[ -n "$higher" ] || continue
			mapfile -t sources < <(under "$dir/${folder/#./[^/]*$}")
			only "a layer of $dir/ includes one above it" \
				"#[[:space:]]*include[[:space:]]*\"(\.\./)*($higher)\"" none "${sources[@]}"
		done
		shift
	done
}

layers user . libepf records common jobs,ebpf metrics cluster epfctl,epfagent,epfmpi,xt,wiretap,lib,examples
layers kmod . kinds selftest
# The files of the module use one another without a cycle, and none of them calls a kind.
mapfile -t sources < <(under 'kmod/.*\.c$')
while read -r fault; do
	say "kmod: files that use one another: ${fault#tsort: }"
done < <(awk -f scripts/uses.awk "${sources[@]}" | sort -u | tsort 2>&1 > /dev/null | grep -v ':.*loop:$')
while read -r fault; do
	say "kmod: a file uses one of a higher layer: $fault"
done < <(awk -f scripts/uses.awk "${sources[@]}" | grep -E '^kmod/[a-z_]+\.c kmod/kinds/')
while read -r fault; do
	say "a static function is not prefixed with its file: $fault"
done < <(scripts/names.py)
mapfile -t sources < <(under 'kmod/' | grep -v selftest)
while read -r fault; do
	say "no kernel-doc: $fault"
done < <(awk -f scripts/kerneldoc.awk bpf/epf_kfunc.bpf.h "${sources[@]}")
mapfile -t tests < <(under selftests/)
only 'a test includes the module' '#[[:space:]]*include.*kmod/' none "${tests[@]}"
only 'unfinished' '\b(TODO|FIXME|XXX|HACK)\b' 'scripts/style\.sh' "${files[@]}"
only 'white space at the end' '[[:space:]]$' none "${files[@]}"

# What others embed or link is dual (LICENSES/README).
dual='GPL-2.0-only OR BSD-2-Clause'
while IFS=: read -r f license; do
	case $f in
	.gitignore | VERSION | debian/changelog | debian/copyright | debian/source/format | */settings | *.bpf.skel.h) continue ;;
	include/uapi/*) want="((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause)" ;;
	include/* | bpf/* | user/* | cuda/*) want=$dual ;;
	*) want=GPL-2.0 ;;
	esac
	[ "$license" = "$want" ] || say "SPDX line '$license', its folder has '$want': $f"
done < <(awk 'function tell() { if (file != "") print file ":" license }
	FNR == 1 { tell(); file = FILENAME; license = "" }
	sub(/.*SPDX-License-Identifier: /, "") { sub(/ (\*\/|-->).*/, ""); license = $0; nextfile }
	FNR == 3 { nextfile }
	END { tell() }' "${files[@]}")
while read -r hit; do
	say "BPF program without 'Dual BSD/GPL': $hit"
done < <(printf '%s\n' "${code[@]}" | grep '^bpf/' | xargs grep -n 'SEC("license")' | grep -v '"Dual BSD/GPL"')

# Generated tables may be long, and so may the one file of all figures.
while read -r lines f; do
	case $f in *vectors.h | docs/figures.toml | total) continue ;; esac
	[ "$lines" -le 800 ] || say "$lines lines, two subjects perhaps: $f"
done < <(wc -l "${files[@]}")

# Length of each function: from its '{' to its '}' in the first column.
lengths=$(awk 'FNR == 1 { start = 0 }
	/^\{/ { start = FNR }
	/^\}/ && start { print FNR - start - 1, FILENAME ":" start; start = 0 }' \
	"${code[@]}" | sort -n)
while read -r n where; do
	[ "$n" -le 80 ] || say "function of $n lines: $where"
done <<< "$lengths"

while read -r f n; do
	say "line of $n characters: $f"
done < <(awk '{ gsub(/\t/, "        ") } length > 100 && !/"/ && FILENAME !~ /vectors\.h/ {
	print FILENAME ":" FNR, length }' "${code[@]}")

printf '%s\n' "${files[@]}" | grep '\.py$' | xargs /usr/bin/python3 -c 'import ast, sys
for f in sys.argv[1:]: ast.parse(open(f).read(), f)' || say 'not Python'
# Other versions format differently; so the layout is that of Debian 12's.
if clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
	while read -r f; do
		say "clang-format -i changes it: $f"
	done < <(printf '%s\n' "${code[@]}" | xargs -P "$(nproc)" -n 40 clang-format -n 2>&1 |
		sed -n 's/:[0-9]*:[0-9]*: warning: .*//p' | sort -u)
else
	echo 'style: layout not checked, which takes clang-format 14'
fi
if command -v shellcheck > /dev/null; then
	while read -r f; do
		say "shellcheck: $f"
	done < <(awk '/^#!\/bin\/(ba)?sh/ { print FILENAME } { nextfile }' "${files[@]}" |
		xargs -P "$(nproc)" -n 40 shellcheck -x -f gcc -S warning -e SC2154,SC1091,SC2010)
fi

while read -r fault; do
	say "$fault"
done < <(scripts/claims.py | grep -E '^claims: [^0-9]|^claims: 0 ')
while read -r fault; do
	say "figures: $fault"
done < <(python3 -B scripts/figures.py 2>&1)
# README's own program, as selftests/ebpf/outside.sh builds it.
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md | cmp -s - bpf/example.bpf.c ||
	say 'the program in README.md is not bpf/example.bpf.c'
# A rename must not leave a mutant without an effect (selftests/mutants).
while read -r fault; do
	say "mutant: $fault"
done < <(selftests/mutants/table.py check 2>&1; selftests/mutants/sample.py check 2>&1)

# VERSION is the only source of the version; these two repeat it for their readers.
version=$(cat VERSION)
grep -m 1 '^## ' CHANGELOG.md | grep -qE "^## ${version//./\\.}(,|\$)" ||
	say "CHANGELOG.md does not begin with version $version"
head -n 1 debian/changelog | grep -q "^epochfilter (${version//./\\.}-" ||
	say "debian/changelog does not begin with version $version"
# One maintainer, whom SECURITY.md sends reports to.
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
grep -qxF "M:	$maintainer" MAINTAINERS || say "MAINTAINERS does not name the maintainer of debian/control"
grep -m 1 '^ -- ' debian/changelog | grep -qF -- " -- $maintainer  " ||
	say "debian/changelog does not name the maintainer of debian/control"
# The placeholder of an address receives no mail.
head -n 1 debian/changelog | grep -q UNRELEASED || ! grep -q '@[a-z.]*\.invalid>' debian/control debian/changelog ||
	say "a release names a maintainer's address that receives mail: debian/control, debian/changelog"

nr=$(wc -l <<< "$lengths")
echo "style: $nr functions, median $(awk -v m=$(((nr + 1) / 2)) 'NR == m { print $1 }' \
	<<< "$lengths") lines; ${#files[@]} files; $bad faults"
[ "$bad" -eq 0 ]
