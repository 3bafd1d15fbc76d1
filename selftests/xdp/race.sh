#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Filters that a map holds, under programs that interrupt one another.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/load.sh"
[ -x "$built/race" ] || skip_all "$built/race is not built"
printf '6.9\n%s\n' "$(uname -r)" | sort -V -C || skip_all 'Linux 6.9 is needed'
exec "$built/race" "$built/race.bpf.o" "$built/race_slot.bpf.o"
