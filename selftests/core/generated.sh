#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The reference model against published values; the generated headers are what
# it generates.

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
ktap_plan $((3 + $#))
ktap_check 'the model agrees with what others published' \
	env PYTHONDONTWRITEBYTECODE=1 "$PYTHON" selftests/model/test_model.py
ktap_check 'include/epf/vectors.h is as generated' \
	same selftests/model/gen_vectors.py include/epf/vectors.h
ktap_check 'selftests/core/size_vectors.h is as generated' \
	same selftests/model/gen_size.py selftests/core/size_vectors.h
for kind in $kinds; do
	ktap_check "selftests/core/${kind}_vectors.h is as generated" \
		same "selftests/model/$kind.py" "selftests/core/${kind}_vectors.h"
done
ktap_finish
