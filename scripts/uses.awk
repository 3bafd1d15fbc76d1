# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f uses.awk FILE.c...
#
# Prints which file uses a function or variable of which other file, by names that begin
# with epf_ or bpf_epf_: "USER OWNER" lines, as tsort takes them. Calls inside inline
# functions of headers do not count.

FNR == 1 { last = "" }
/^ \*|^\/\*|^#/ { next }
{ sub(/\/\*.*\*\//, "") }
/^(.*[^a-z_])?(bpf_)?epf_[a-z0-9_]+\(/ && /^[a-z]/ {
	match($0, /(bpf_)?epf_[a-z0-9_]+\(/)
	last = /^static / ? "" : substr($0, RSTART, RLENGTH - 1)
}
/^\{/ && last { owner[last] = FILENAME }
/^(const )?struct [a-z_]+ \*?epf_[a-z_]+( = \{|;)$/ {
	match($0, /epf_[a-z_]+( = \{|;)$/)
	name = substr($0, RSTART, RLENGTH)
	sub(/[ ;].*/, "", name)
	owner[name] = FILENAME
}
{
	line = $0
	gsub(/(struct|union|enum) [a-z_]+/, "", line)
	while (match(line, /[a-z0-9_]+/)) {
		word = substr(line, RSTART, RLENGTH)
		if (word ~ /^(bpf_)?epf_/)
			uses[FILENAME, word]
		line = substr(line, RSTART + RLENGTH)
	}
}
END {
	for (use in uses) {
		split(use, pair, SUBSEP)
		if (pair[2] in owner && owner[pair[2]] != pair[1])
			print pair[1], owner[pair[2]]
	}
}
