# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What the scripts of selftests/cuda and selftests/gpu begin with. The working directory
# is the top of the tree from here on.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

BUILD=${BUILD:-$PWD/build}
NVCC=${NVCC:-nvcc}
PATH=$PATH:/usr/local/cuda/bin
export BUILD NVCC

# makes $tmp, a folder of the script
card_folder() {
	tmp=$(mktemp -d) || exit 1
	ktap_cleanup rm -rf "$tmp"
}

# usage: card_nvcc [ARCH]: skips unless there is an nvcc that compiles for this
# architecture
card_nvcc() {
	command -v "$NVCC" > /dev/null || ktap_skip_all "no $NVCC"
	[ $# -eq 0 ] || "$NVCC" --list-gpu-arch | grep -qx "compute_$1" ||
		ktap_skip_all "$NVCC has no sm_$1"
	card_folder
}

# usage: card_emulated [LIBRARY]: lets engine cuda use the emulated card of this library
card_emulated() {
	EPF_CUDA_LIBRARY=${1:-$BUILD/cuda/libepf_cuda_emu.so}
	export EPF_CUDA_LIBRARY
	[ -e "$EPF_CUDA_LIBRARY" ] || ktap_skip_all 'no C++ compiler'
}
