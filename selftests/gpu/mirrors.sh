#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs mirrors.c with the emulated card.

. "$(dirname "$0")/../cuda/lib.sh"
card_emulated
exec "$BUILD/selftests/gpu/mirrors"
