#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The example user/examples/join.cu counts the rows that are not in a snapshot: 100,000 of
# 262,144 keys are, and it finds at most a thousandth of the others.
#
# EPF_CUDA_CARD=1: on a card, else under emulation

. "$(dirname "$0")/lib.sh"

program=$BUILD/selftests/cuda/join_emulated
[ -z "${EPF_CUDA_CARD:-}" ] || program=$BUILD/selftests/cuda/card/join
[ -x "$program" ] || ktap_skip_all 'not built'

# usage: stays FEWEST MOST: so many rows stay
stays() {
	said=$("$program" 100000) || return
	echo "$said"
	echo "$said" | sed -n 's/^no error: \([0-9]*\) of 262144 rows stay$/\1/p' | {
		read -r n && [ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
	}
}

ktap_plan 2
ktap_check 'the rows of absent keys stay' stays $((162144 * 999 / 1000)) 162144
ktap_refuse 'an argument is needed' "$program"
ktap_finish
