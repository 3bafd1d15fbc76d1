# SPDX-License-Identifier: GPL-2.0
#
# What selftests/cuda builds and selftests/gpu uses too: the audit part of libepf, and the
# emulated card, with sanitizers.

LIB := $(patsubst $(ROOT)/user/libepf/%.c,%,$(wildcard $(ROOT)/user/libepf/query/*.c)) \
	copy dev backend
SANITIZED_CARD := $(BUILD)/selftests/cuda/sanitized/libepf_cuda_emu.so
SANITIZED_LIB := $(LIB:%=$(BUILD)/selftests/cuda/sanitized/lib/%.o)
