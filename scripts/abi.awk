# SPDX-License-Identifier: GPL-2.0
# Reads libepf.h, then what abidiff --leaf-changes-only says. Exit 0: no more has changed than that
# structs which begin with their size have grown at their end. Any other line is exit 1.

FILENAME ~ /\.h$/ && /^struct libepf_[a-z_]+ \{$/ { name = $2 }
FILENAME ~ /\.h$/ && /^\tuint32_t size;$/ { sized[name] = 1 }
FILENAME ~ /\.h$/ || /^$/ || / summary: / { next }

/^'struct libepf_[a-z_]+' changed:$/ && substr($2, 1, length($2) - 1) in sized { next }
/^  type size changed from [0-9]+ to [0-9]+ \(in bits\)$/ { end = $5; next }
/^  [0-9]+ data member insertions?:$/ { next }
/^    '.*', at offset [0-9]+ \(in bits\)$/ && $(NF - 2) >= end + 0 { next }

{ bad = 1; exit }
END { exit bad }
