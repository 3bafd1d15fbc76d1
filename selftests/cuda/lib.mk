# SPDX-License-Identifier: GPL-2.0
#
# With sanitizers: the audit part of libepf, which selftests/audit builds, and the emulated
# card, which selftests/cuda builds. selftests/gpu uses both.

LIB := $(patsubst $(ROOT)/user/libepf/%.c,%,$(wildcard $(ROOT)/user/libepf/query/*.c)) \
	clock copy dev backend
SANITIZED_CARD := $(BUILD)/selftests/cuda/sanitized/libepf_cuda_emu.so
SANITIZED_LIB := $(LIB:%=$(BUILD)/selftests/audit/sanitized/lib/%.o)

$(SANITIZED_LIB) &: FORCE
	$(Q)$(MAKE) --no-print-directory -C ../audit BUILD=$(BUILD) sanitized_lib

.PHONY: FORCE
FORCE:
