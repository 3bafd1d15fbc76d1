#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Programs that the verifier must reject, and programs that must load and run.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/load.sh"
[ -x "$built/verifier" ] || skip_all "$built/verifier is not built"
exec "$built/verifier" "$built"/*_fail.bpf.o "$built/ok.bpf.o"
