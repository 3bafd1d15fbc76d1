#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The reference model against published values; the generated headers are what
# it generates, and so is the manual's table of what repeats by nature.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

PYTHON=${PYTHON:-python3}
command -v "$PYTHON" > /dev/null || ktap_skip_all "no $PYTHON"

# usage: same GENERATOR HEADER
same() {
	PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$1" | cmp - "$2"
}

# Each by selftests/model/KIND.py.
kinds='ge gebl apbf apbbf tlbf chain elastic dict'

# shellcheck disable=SC2086 # a list
set -- $kinds
ktap_plan $((5 + $#))
ktap_check 'the model agrees with what others published' \
	env PYTHONDONTWRITEBYTECODE=1 "$PYTHON" selftests/model/test_model.py
ktap_check 'include/epf/vectors.h is as generated' \
	same selftests/model/gen_vectors.py include/epf/vectors.h
ktap_check 'selftests/core/size_vectors.h is as generated' \
	same selftests/model/gen_size.py selftests/core/size_vectors.h
ktap_check 'selftests/core/told_vectors.h is as generated' \
	same selftests/model/told.py selftests/core/told_vectors.h
for kind in $kinds; do
	ktap_check "selftests/core/${kind}_vectors.h is as generated" \
		same "selftests/model/$kind.py" "selftests/core/${kind}_vectors.h"
done

# All lines of the table stand in the manual, in this order, indented alike.
manual_has_table() {
	build/selftests/core/repeats --table | sed 's/^/    /' > "$1" &&
		grep -xFf "$1" docs/epfctl.8.rst | cmp - "$1"
}
table=$(mktemp) || exit 1
trap 'rm -f "$table"' EXIT
ktap_check 'what repeats by nature: epfctl(8) says what is so' \
	manual_has_table "$table"
ktap_finish
