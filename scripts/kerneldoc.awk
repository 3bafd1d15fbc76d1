# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f kerneldoc.awk FILE...
#
# Prints the functions that are not static and have no kernel-doc in any of the files, as
# "FILE:LINE: NAME()". The kernel-doc may be beside the definition or the declaration.

FNR == 1 { last = "" }
/^\/\*/ { doc = /^\/\*\*$/ }
doc && /^ \* [a-z_0-9]+\(\) - / {
	name = $2
	sub(/\(.*/, "", name)
	documented[name]
}
/^ \*|^\/\*|^#/ { next }
/^[a-z_].*[a-z_0-9]+\(/ {
	match($0, /[a-z_0-9]+\(/)
	last = /^static / ? "" : substr($0, RSTART, RLENGTH - 1)
	line = FNR
}
/^\{/ && last { where[last] = FILENAME ":" line }
/^\}/ { last = "" }
END {
	for (name in where)
		if (!(name in documented))
			print where[name] ": " name "()"
}
