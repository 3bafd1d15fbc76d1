#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the device suite with few keys under compute-sanitizer: no access outside memory,
# no race in shared memory. check_gpu.sh builds the programs.

. "$(dirname "$0")/lib.sh"

programs=$BUILD/selftests/cuda/card
keys=50000
[ -x "$programs/device" ] || ktap_skip_all 'no device suite was built'
command -v compute-sanitizer > /dev/null || ktap_skip_all 'no compute-sanitizer'

# Some machines do not let it use the card, so it is first tried on a known program.
tried=$(compute-sanitizer --tool memcheck "$programs/rivals" 20000 2>&1)
case $tried in
*'Device not supported'*)
	ktap_skip_all "compute-sanitizer cannot use the card: $(echo "$tried" |
		grep -m 1 'not supported')" ;;
esac

# usage: clean TOOL PROGRAM
clean() {
	timeout 600 compute-sanitizer --tool "$1" --error-exitcode 9 "$programs/$2" $keys
}

ktap_plan 8
for tool in memcheck racecheck; do
	for program in device rivals table library; do
		ktap_check "$tool: $program" clean "$tool" "$program"
	done
done
ktap_finish
