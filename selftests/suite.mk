# SPDX-License-Identifier: GPL-2.0
# What the Makefiles of the suites share. Each suite builds in build/selftests/NAME, where
# NAME is its directory.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all check list clean

V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

ROOT := $(abspath ../..)
BUILD ?= $(ROOT)/build
OUT := $(BUILD)/selftests/$(notdir $(CURDIR))
-include $(ROOT)/scripts/moved.mk

CC ?= cc
CLANG ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
# -g1 gives line numbers for backtraces; full debug information would take a quarter
# longer to compile. -O2 would take half as long again: a suite asks for it ("quick") if its
# programs run for longer than they compile.
CFLAGS ?= $(if $(quick),-O2,-O1) -g1

DIRS := -I$(ROOT)/include -I$(ROOT)/include/uapi
EPF_CFLAGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -MMD -MP $(DIRS)
MULTIARCH = $(shell $(CC) -print-multiarch 2>/dev/null)
SYSROOT = $(patsubst %/,%,$(shell $(CC) -print-sysroot 2>/dev/null))
BPF_ARCH = $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(firstword \
	$(subst -, ,$(MULTIARCH)))))
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra \
	-Wno-unused-parameter -MMD -MP $(DIRS) \
	$(addprefix -D__TARGET_ARCH_,$(BPF_ARCH)) \
	$(addprefix -idirafter $(SYSROOT)/usr/include/,$(MULTIARCH))
LIBEPF := $(BUILD)/user/libepf.a

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover -Og
has = $(shell command -v $(1) >/dev/null 2>&1 && echo y)
# FAST=y: as if there were no sanitizers ("make check-fast").
compiles = $(if $(FAST),,$(shell echo 'int main(void){}' | $(1) -x c - -o /dev/null 2>/dev/null && echo y))

$(LIBEPF):
	$(Q)$(MAKE) --no-print-directory -C $(ROOT)/user BUILD=$(BUILD) $@

$(OUT):
	$(Q)mkdir -p $@

clean:
	$(Q)rm -rf $(OUT)

-include $(wildcard $(OUT)/*.d)
