#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The device suite on the card of this machine: builds it and runs it, then with fewer
# keys under compute-sanitizer; then audits from end to end, if epfctl and epfagent can be
# built. Ends with totals as every suite does.
#
# Exit: 0 passed; 1 not; 4: there is no card, or no nvcc.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export BUILD=${BUILD:-$top/build}
PATH=$PATH:/usr/local/cuda/bin

cannot() {
	echo "check-gpu: SKIP $*" >&2
	exit 4
}

[ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ] || [ -e /dev/dxg ] ||
	nvidia-smi -L > /dev/null 2>&1 || cannot 'no card: there is no driver of one here'
command -v "${NVCC:-nvcc}" > /dev/null || cannot 'no nvcc: it comes with the CUDA toolkit'
jobs=${JOBS:-$(nproc)}
make -C "$here" -j "$jobs" card && make -C "$top/cuda" -j "$jobs" card || exit 1
# Without the libraries of epfctl (scripts/deps.sh) the audits report a skip.
make -C "$top/user" -j "$jobs" && make -C "$top/selftests/agent" -j "$jobs" &&
	make -C "$top/selftests/gpu" "$BUILD/selftests/gpu/wrong.so" ||
	echo 'check-gpu: epfctl was not built: no audits from end to end'
export EPF_CUDA_CARD=1 EPF_GPU_CARD=$BUILD/cuda/libepf_cuda.so
programs=$BUILD/selftests/cuda/card
"$top/selftests/runner.sh" -t 900 "$programs/device" "$programs/rivals" "$programs/table" \
	"$programs/library" "$here/join.sh" "$here/device_arrays.py" "$here/memory_checked.sh" "$top/selftests/gpu/audits.py"
