#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# engine.c and the emulated card, with address and undefined-behaviour sanitizers.

. "$(dirname "$0")/../cuda/lib.sh"
export UBSAN_OPTIONS=print_stacktrace=1
# leaks: memory of the card and the library lives as long as the process
export ASAN_OPTIONS=detect_leaks=0
card_emulated "$BUILD/selftests/cuda/sanitized/libepf_cuda_emu.so"
exec "$BUILD/selftests/gpu/engine_sanitized" "$BUILD/selftests/gpu/wrong.so"
