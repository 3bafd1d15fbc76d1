#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# engine.c, with the emulated card.

cd "$(dirname "$0")" || exit 1
. ../ktap.sh
BUILD=${BUILD:-$(cd ../.. && pwd)/build}
export EPF_CUDA_LIBRARY="$BUILD/cuda/libepf_cuda_emu.so"
[ -e "$EPF_CUDA_LIBRARY" ] || ktap_skip_all 'no C++ compiler'
exec "$BUILD/selftests/gpu/engine" "$BUILD/selftests/gpu/wrong.so"
