#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# engine.c and the emulated card, with address and undefined-behaviour sanitizers.

cd "$(dirname "$0")" || exit 1
. ../ktap.sh
BUILD=${BUILD:-$(cd ../.. && pwd)/build}
export EPF_CUDA_LIBRARY="$BUILD/selftests/gpu/libepf_cuda_emu_sanitized.so"
export UBSAN_OPTIONS=print_stacktrace=1
# leaks: what the card and the library hold lives as long as the process
export ASAN_OPTIONS=detect_leaks=0
[ -e "$EPF_CUDA_LIBRARY" ] || ktap_skip_all 'no C++ compiler'
exec "$BUILD/selftests/gpu/engine_sanitized" "$BUILD/selftests/gpu/wrong.so"
