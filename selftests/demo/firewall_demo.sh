#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: firewall_demo.sh [OPTION of firewall.sh]...
#
# Both parts of the firewall demo: on this machine's own kernel (firewall.sh), and the
# module's match for iptables in a VM (firewall_guest.sh). A part that cannot run says
# so in one line, and the other one decides. With --json each part prints a line.
#
# Exit: 0 as promised, 1 not, 2 no part could run.

set -u

demo=$(cd "$(dirname "$0")" && pwd)

common=()
for option in "$@"; do
	case $option in
	-h | --help) exec "$demo/firewall.sh" --help ;;
	-j | --json | --prepared) common+=("$option") ;;
	esac
done

status=2
# usage: decide COMMAND...
decide() {
	"$@"
	case $? in
	0) [ $status -ne 2 ] || status=0 ;;
	1) status=1 ;;
	esac
}

decide "$demo/firewall.sh" "$@"
decide "$demo/firewall_guest.sh" "${common[@]}"
exit $status
