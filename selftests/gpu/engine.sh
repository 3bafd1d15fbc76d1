#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs engine.c with the emulated card.

. "$(dirname "$0")/../cuda/lib.sh"
card_emulated
exec "$BUILD/selftests/gpu/engine" "$BUILD/selftests/gpu/wrong.so"
